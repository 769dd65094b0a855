"""When a page is visited again: at its own pace, learned from what its visits found, within bounds and a budget.

What we saw ourselves counts most: the same text or not. Then comes what the page says of itself, when it last changed
and when it was published. What its sitemap says is believed for as long as it turns out true, and `changefreq` colours
only what is believed before the second visit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from tenax.model import Freshness, PageKind, Value
from tenax.recrawl.change_rates import (
    USUAL,
    Belief,
    Tally,
    changed,
    coloured,
    heard,
    packed,
    settled_days,
    tallied,
    unchanged,
    unpacked,
)
from tenax.recrawl.visit_budget import interval_days

DAY = 86_400.0
EARLIEST_DATE = 631_152_000.0
"""The year 1990: no page of the web is older, so no date is that is."""
STAMP_SECONDS = 60.0
"""A page that says it changed within the last minute says when it was made for us."""
TRUST_PAGE, TRUST_SITEMAP = 0.5, 0.25
"""How much of a change that a page or a sitemap tells of, and of the quiet since, counts before we saw any of it."""
MOST_QUIET_DAYS = 365.0
ALARMS_BELIEVED = 2
"""After so many announced changes in a row that were none, a page's sitemap is not heard."""
CHEAP_COST = 0.8
"""A visit that may end in a 304, beside one that brings the whole page."""
HUB_WORTH = 1.1
"""An old list hides new pages as well."""
CHANGEFREQ_PER_DAY: Mapping[str, float] = MappingProxyType({
    "always": 24.0, "hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "monthly": 1 / 30, "yearly": 1 / 365,
    "never": 1 / 3650,
})  # fmt: skip


class Sight(StrEnum):
    """What a visit found."""

    FIRST = "first"
    """The page is new to us: there was nothing to compare it with."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """A 304, the same text, or one as good as the same."""
    GONE = "gone"
    """404 or 410."""
    FAILED = "failed"
    """Nothing was learned about the page."""


class Seen(Value, frozen=True):
    """What a visit found, and what was said about the page meanwhile; hints that cannot be are ignored."""

    sight: Sight
    kind: PageKind = PageKind.OTHER
    last_modified_at: float | None = None
    """What the page says: its Last-Modified, or a date of change in its metadata."""
    published_at: float | None = None
    lastmod_at: float | None = None
    """What its sitemap says."""
    changefreq: str | None = None
    has_validator: bool = False
    """It came with an ETag or a Last-Modified: the next visit may end in a 304."""


class FreshnessBounds(Value, frozen=True):
    """Between which intervals pages are visited again; a site may have its own."""

    shortest_seconds: float = 3600.0
    longest_seconds: float = 90 * DAY
    gone_first_seconds: float = DAY
    """How long after a page was first found gone it is looked for again; three times as long each time after."""


def kin(seen: Seen, now: float) -> PageKind:
    """Whose pages a page is believed to be like: an article without a date may be of any age, and settled long ago."""
    is_dated = _credible(seen.published_at, now) is not None
    return PageKind.OTHER if seen.kind is PageKind.ARTICLE and not is_dated else seen.kind


def after_visit(
    freshness: Freshness | None, seen: Seen, now: float, bounds: FreshnessBounds, prior: Belief
) -> Freshness | None:
    """What is remembered of a page after a visit; None while nothing is known of it yet.

    A failed visit, and one that found nothing, teach nothing about how often the page changes.
    """
    if seen.sight in (Sight.FAILED, Sight.GONE):
        return None if freshness is None else _missed(freshness, seen, now)
    if freshness is None or seen.sight is Sight.FIRST:
        return _first(seen, now, prior)
    belief = _belief_after(freshness, seen, now, bounds, prior)
    is_change = seen.sight is Sight.CHANGED
    return Freshness(
        seen_at=now,
        rates=packed(belief),
        listed=freshness.listed,
        visits=freshness.visits + 1,
        changed=freshness.changed + is_change,
        published_at=freshness.published_at,
        false_alarms=_alarms_after(freshness, seen, now),
        is_hub=seen.kind is PageKind.HUB,
        is_cheap=seen.has_validator,
    )


def _missed(freshness: Freshness, seen: Seen, now: float) -> Freshness:
    gone = freshness.gone + 1 if seen.sight is Sight.GONE else freshness.gone
    misses = freshness.misses + 1 if seen.sight is Sight.FAILED else 0
    return msgspec.structs.replace(freshness, tried_at=now, gone=gone, misses=misses)


def _first(seen: Seen, now: float, prior: Belief) -> Freshness:
    published_at = _credible(seen.published_at, now) if seen.kind is PageKind.ARTICLE else None
    belief = _told_at_first(_coloured(prior, seen.changefreq), seen, published_at, now)
    return Freshness(
        seen_at=now,
        rates=packed(belief),
        published_at=published_at,
        is_hub=seen.kind is PageKind.HUB,
        is_cheap=seen.has_validator,
    )


def _coloured(prior: Belief, changefreq: str | None) -> Belief:
    """The prior, half of it moved halfway, in orders of magnitude, to what the sitemap claims: no more is believed."""
    claimed = CHANGEFREQ_PER_DAY.get((changefreq or "").strip().lower())
    return prior if claimed is None else coloured(prior, math.sqrt(claimed / prior.per_day))


def _told_at_first(belief: Belief, seen: Seen, published_at: float | None, now: float) -> Belief:
    """What the page, or else its sitemap, says of the time before we came: a change then, and none since.

    That an article was made is no change of it.
    """
    for said_at, trust in ((seen.last_modified_at, TRUST_PAGE), (seen.lastmod_at, TRUST_SITEMAP)):
        if (at := _credible(said_at, now)) is not None and at < now - STAMP_SECONDS:
            quiet = min(_days_between(published_at, at, now), MOST_QUIET_DAYS)
            return heard(belief, quiet, trust, is_change=published_at is None or at > published_at + STAMP_SECONDS)
    return belief


def _belief_after(freshness: Freshness, seen: Seen, now: float, bounds: FreshnessBounds, prior: Belief) -> Belief:
    belief = unpacked(freshness.rates) or prior
    # A clock that jumped ahead is not evidence of years without a change; one that was set back is none at all.
    since = max(freshness.seen_at, now - 2 * bounds.longest_seconds)
    days = _days_between(freshness.published_at, since, now)
    if seen.sight is Sight.UNCHANGED:
        return unchanged(belief, days, prior)
    at = _credible(seen.last_modified_at, now)
    is_told = at is not None and since < at < now - STAMP_SECONDS
    quiet = _days_between(freshness.published_at, at, now) if is_told and at is not None else None
    return changed(belief, days, prior, quiet)


def taught(tally: Tally, before: Freshness | None, after: Freshness) -> Tally:
    """What the pages of a host and kind have taught, this visit included; a first visit teaches nothing yet."""
    if before is None or after.visits == before.visits:
        return tally
    return tallied(tally, unpacked(before.rates) if before.visits > 1 else None, belief_of(after))


def _days_between(published_at: float | None, since: float, until: float) -> float:
    """Days that count for the belief: of an article, fewer the older it is."""
    if published_at is None:
        return max(0.0, until - since) / DAY
    return settled_days((since - published_at) / DAY, (until - published_at) / DAY)


def _alarms_after(freshness: Freshness, seen: Seen, now: float) -> int:
    if seen.sight is Sight.CHANGED:
        return 0
    return freshness.false_alarms + _is_announced(freshness, seen.lastmod_at, now)


def _is_announced(freshness: Freshness, lastmod_at: float | None, now: float) -> bool:
    at = _credible(lastmod_at, now)
    return at is not None and at > freshness.seen_at


def belief_of(freshness: Freshness) -> Belief:
    return unpacked(freshness.rates) or USUAL[PageKind.OTHER]


def rate_per_day(freshness: Freshness, now: float, ahead_days: float = 0.0) -> float:
    """How often the page changes, by what is known: now, or on average over the days ahead."""
    belief = belief_of(freshness)
    if freshness.published_at is None:
        return belief.per_day
    ahead = max(ahead_days, 1 / 24)
    return belief.per_day * _days_between(freshness.published_at, now, now + ahead * DAY) / ahead


def next_visit_at(
    freshness: Freshness, now: float, bounds: FreshnessBounds, price: float, lastmod_at: float | None = None
) -> tuple[float, str]:
    """When the page is to be visited again, and why then, for people.

    `lastmod_at`: what the sitemap has said since the last visit. The time lies within the bounds after that visit, and
    never further ahead of now than the longest of them, wherever the clock has jumped to.
    """
    shortest, longest = bounds.shortest_seconds, max(bounds.shortest_seconds, bounds.longest_seconds)
    last = min(now, freshness.tried_at if freshness.tried_at is not None else freshness.seen_at)
    seconds, why = _wanted(freshness, last, bounds, price, _is_believed(freshness, lastmod_at, now))
    seconds = min(max(seconds, shortest), longest)
    return last + seconds, f"{why}; asked again after {duration(seconds)}"


def _wanted(
    freshness: Freshness, last: float, bounds: FreshnessBounds, price: float, is_announced: bool
) -> tuple[float, str]:
    """How long to wait, before the bounds, and the reason."""
    if freshness.gone:
        seconds = bounds.gone_first_seconds * 3.0 ** min(freshness.gone - 1, 20)
        return seconds, f"gone, seen so {_times(freshness.gone)}"
    if is_announced:
        return 0.0, "its sitemap tells of a change"
    seconds = planned_days(freshness, last, price) * DAY
    if freshness.misses:
        return seconds * 2.0 ** min(freshness.misses, 20), f"failed {_times(freshness.misses)}"
    return seconds, _story(freshness, last)


def planned_days(freshness: Freshness, now: float, price: float) -> float:
    """The interval at this price, without bounds. Of an article that settles, the rate is that of the time ahead."""
    worth = HUB_WORTH if freshness.is_hub else 1.0
    paid = price * (CHEAP_COST if freshness.is_cheap else 1.0) / worth
    days = interval_days(rate_per_day(freshness, now), paid)
    return days if freshness.published_at is None else interval_days(rate_per_day(freshness, now, days), paid)


def _is_believed(freshness: Freshness, lastmod_at: float | None, now: float) -> bool:
    return freshness.false_alarms < ALARMS_BELIEVED and _is_announced(freshness, lastmod_at, now)


def _story(freshness: Freshness, now: float) -> str:
    every = duration(DAY / max(rate_per_day(freshness, now), 1e-9))
    if freshness.visits < 2:
        return f"new, taken to change about every {every}"
    settling = ", an article that settles" if freshness.published_at is not None else ""
    return f"changed in {freshness.changed} of {freshness.visits - 1} visits, about every {every}{settling}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


def duration(seconds: float) -> str:
    """`40 min`, `3.5 h`, `2 d`: as much as a person wants to know."""
    for unit, name in ((DAY, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            count = seconds / unit
            return f"{count:.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return f"{seconds:.0f} s"


def _credible(at: float | None, now: float) -> float | None:
    """A time that can be: not before the web, not ahead of now, and a number at all."""
    return at if at is not None and math.isfinite(at) and EARLIEST_DATE <= at <= now else None
