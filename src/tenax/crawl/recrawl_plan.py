"""Keeping up with a page: what a visit says about how often it changes, and when it is visited again.

Pure. How rates are learned and visits are priced is known to `discover`; here a visit is put in its words. Each host
has a budget of visits a day, and a price that rises while its pages ask for more than that.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from tenax.config import FreshnessConfig
from tenax.crawl.reader.messages import Reading
from tenax.fetch.answer import Answer
from tenax.model import (
    Claim,
    Failed,
    FailureKind,
    Fetched,
    Freshness,
    Held,
    Outcome,
    PageKind,
    Rejected,
    Task,
    Unchanged,
    Upkeep,
    Value,
)
from tenax.recrawl.change_rates import Tally, prior
from tenax.recrawl.intervals import FreshnessBounds, Seen, Sight, after_visit, kin, next_visit_at, taught
from tenax.recrawl.visit_budget import first_price, next_price

DAY_SECONDS = 86_400.0
LEAST_PRICE = 0.02
"""However few pages a host has, none is asked for again and again to save it a few minutes of age: at this price a page
that changes daily is visited two or three times a day, one that changes once a year every few days."""
SAME_LIKENESS = 0.98
"""Texts as alike as this are the same: a counter or an advertisement differs."""
LISTED_CHARS = 16
_NOT_THERE = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})


class Kept(Value, frozen=True):
    """What came of a visit for keeping up."""

    upkeep: Upkeep
    freshness: Freshness | None = None
    at: float | None = None
    """When the page is to be visited again; None: not for its freshness."""
    why: str = ""


def kept_up(
    upkeep: Upkeep,
    claim: Claim,
    answer: Answer,
    outcome: Outcome,
    reading: Reading | None,
    now: float,
    config: FreshnessConfig,
    likeness: float | None,
) -> Kept:
    """`likeness` is that of the page's text to the one we held; None when they were not compared."""
    held = claim.held
    before = held.freshness if held is not None else None
    sight = _sight(outcome, held, reading, likeness)
    if sight is None:
        return _not_seen(upkeep, before, claim.task, outcome, now, config)
    seen = _seen(sight, answer, reading, claim, now)
    bounds = _bounds(config)
    kind = kin(seen, now)
    tally = Tally(upkeep.taught.get(kind, ()))
    after = after_visit(before, seen, now, bounds, prior(kind, tally))
    if after is None:
        return Kept(upkeep)
    if reading is not None and reading.catalogue:
        after = msgspec.structs.replace(after, listed=reading.content_hash[:LISTED_CHARS])
    upkeep = _taught(upkeep, kind, taught(tally, before, after))
    price = max(upkeep.price, LEAST_PRICE)
    if sight is Sight.FIRST:  # while pages are still found, they must not ask for more than they can get
        price = max(price, first_price(claim.host.page_count, config.visits_per_day))
    at, why = next_visit_at(after, now, bounds, price)
    upkeep = _planned(upkeep, claim, before, at - now, now, config, price)
    return Kept(upkeep, msgspec.structs.replace(after, planned_seconds=round(at - now)), at, why)


def _not_seen(
    upkeep: Upkeep, before: Freshness | None, task: Task, outcome: Outcome, now: float, config: FreshnessConfig
) -> Kept:
    """A page that was there and could not be seen: nothing is learned, but for one bad day it is not given up."""
    if before is None or not _is_of_page(outcome):
        return Kept(upkeep, before)
    # Attempts that follow one another closely are one failure.
    after = msgspec.structs.replace(
        before, tried_at=now, misses=before.misses + (not task.attempt or not before.misses)
    )
    at, why = next_visit_at(after, now, _bounds(config), max(upkeep.price, LEAST_PRICE))
    return Kept(upkeep, after, at, why)


def _is_of_page(outcome: Outcome) -> bool:
    """Whether it is this page that failed, and not its host or our pace."""
    if isinstance(outcome, Failed):
        return not outcome.is_site_wide and outcome.kind is not FailureKind.RATE_LIMITED
    return isinstance(outcome, Rejected)


def _sight(outcome: Outcome, held: Held | None, reading: Reading | None, likeness: float | None) -> Sight | None:
    """What the visit found; None when nothing was looked at."""
    match outcome:
        case Fetched() if held is None or held.freshness is None:
            return Sight.FIRST
        case Fetched(catalogue=catalogue) if catalogue and reading is not None:
            known = held.freshness.listed if held is not None and held.freshness is not None else ""
            return Sight.UNCHANGED if known == reading.content_hash[:LISTED_CHARS] else Sight.CHANGED
        case Fetched() if reading is not None and held is not None:
            is_same = reading.content_hash == held.content_hash or (likeness or 0.0) >= SAME_LIKENESS
            return Sight.UNCHANGED if is_same else Sight.CHANGED
        case Unchanged(why=""):
            return Sight.UNCHANGED
        case Failed(kind=kind) if kind in _NOT_THERE:
            return Sight.GONE
        case _:
            return None


def _seen(sight: Sight, answer: Answer, reading: Reading | None, claim: Claim, now: float) -> Seen:
    held, task = claim.held, claim.task
    announced_at = now if task.is_announced else None
    headers = answer.response.headers if answer.response is not None else None
    changed_at = http_time(headers.get("Last-Modified")) if headers is not None else None
    if reading is None:
        kind = (held.kind if held is not None else None) or PageKind.OTHER
        return Seen(sight, kind, changed_at, lastmod_at=announced_at, has_validator=True)
    return Seen(
        sight,
        PageKind.HUB if reading.catalogue else reading.kind,
        iso_time(reading.modified) or changed_at,
        iso_time(reading.published),
        announced_at,
        task.changefreq,
        has_validator=headers is not None and bool(headers.get("ETag") or headers.get("Last-Modified")),
    )


def _taught(upkeep: Upkeep, kind: PageKind, tally: Tally) -> Upkeep:
    if not tally.weights:
        return upkeep
    sums = tuple(float(f"{weight:.5g}") for weight in tally.weights)  # more digits than are known
    return msgspec.structs.replace(upkeep, taught={**upkeep.taught, kind: sums})


def _planned(
    upkeep: Upkeep,
    claim: Claim,
    before: Freshness | None,
    seconds: float,
    now: float,
    config: FreshnessConfig,
    price: float,
) -> Upkeep:
    """The host's budget after one of its pages was planned anew, and the price that follows."""
    planned = upkeep.planned_per_day + DAY_SECONDS / max(seconds, 1.0)
    if before is not None and before.planned_seconds:
        planned -= DAY_SECONDS / before.planned_seconds
    elapsed = (now - upkeep.priced_at) / DAY_SECONDS if upkeep.priced_at else 0.0
    priced = next_price(price, max(planned, 0.0), claim.waiting or 0, config.visits_per_day, elapsed)
    return msgspec.structs.replace(
        upkeep, price=max(priced, LEAST_PRICE), priced_at=now, planned_per_day=max(planned, 0.0)
    )


def _bounds(config: FreshnessConfig) -> FreshnessBounds:
    return FreshnessBounds(config.shortest_seconds, config.longest_seconds)


def http_time(text: str | None) -> float | None:
    """A date of HTTP as seconds since 1970; None for what is none."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def iso_time(text: str | None) -> float | None:
    """A date or a moment of ISO 8601; one without a zone is taken for UTC."""
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if at is None:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
