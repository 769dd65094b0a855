"""Updates after a visit: the host's record, new candidates, and the recrawl plan of the page. Pure.

For recrawls, `tenax.recrawl` learns rates and prices visits; this module translates visits for it. Each host has a
daily budget of visits, and a price that rises while its pages ask for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import msgspec

from tenax.config import RecrawlConfig
from tenax.crawl.discovery_candidates import count_withheld_guesses, guess_urls, robots_sitemap_candidates
from tenax.crawl.reader.messages import ExtractedPage
from tenax.discovery.repeats import FacetPage, SeriesPage, is_combined, record_facet_page, record_series_page, shape_of
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.fetch.retry import update_host
from tenax.model import (
    Candidate,
    ChangeHistory,
    Claim,
    Failed,
    FailureKind,
    Fetched,
    GuessState,
    HostRecord,
    Outcome,
    PageKind,
    Plan,
    RecrawlCost,
    Rejected,
    Reschedule,
    StoredCopy,
    Task,
    Unchanged,
    Value,
)
from tenax.recrawl.change_rates import Tally, prior_belief
from tenax.recrawl.intervals import (
    ChangeStatus,
    IntervalBounds,
    Observation,
    initial_price,
    next_price,
    next_visit_at,
    prior_kind,
    update_history,
    update_prior,
)
from tenax.text.fingerprint import fingerprint_similarity
from tenax.urls.admit import Rules

DAY_SECONDS = 86_400.0
MIN_PRICE = 0.02
"""Lower bound of the price, however few pages a host has. At this price a page that changes daily is visited two or
three times a day, and one that changes once a year every few days."""
SAME_TEXT_SIMILARITY = 0.98
"""Texts that are at least this similar count as equal, because they differ only in a counter or an advertisement."""
LIST_HASH_CHARS = 16
_GONE_KINDS = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})


class RecrawlPlan(Value, frozen=True):
    """The recrawl plan of a page after a visit."""

    recrawl_cost: RecrawlCost
    change_history: ChangeHistory | None = None
    next_visit_at: float | None = None
    """When to recrawl the page; None: never."""
    why: str = ""


def plan_recrawl(
    recrawl_cost: RecrawlCost,
    claim: Claim,
    end: VisitEnd,
    extracted: ExtractedPage | None,
    similarity: float | None,
) -> RecrawlPlan:
    """The recrawl plan after a visit. `similarity` is that of the page's text to the stored copy; None if they were not
    compared."""
    outcome, now, config = end.outcome, end.now, end.site.recrawl
    stored_copy = claim.stored_copy
    before = stored_copy.change_history if stored_copy is not None else None
    status = _change_status(outcome, stored_copy, extracted, similarity)
    if status is None:
        return _plan_after_failure(recrawl_cost, before, claim.task, outcome=outcome, now=now, config=config)
    observation = _build_observation(status, end.answer, extracted, claim, now)
    bounds = _interval_bounds(config)
    kind = prior_kind(observation, now)
    tally = Tally(recrawl_cost.priors.get(kind, ()))
    after = update_history(before, observation, now, bounds, prior_belief(kind, tally))
    if after is None:
        return RecrawlPlan(recrawl_cost)
    if extracted is not None and extracted.url_list:
        after = msgspec.structs.replace(after, list_hash=extracted.content_hash[:LIST_HASH_CHARS])
    recrawl_cost = _store_tally(recrawl_cost, kind, update_prior(tally, before, after))
    price = max(recrawl_cost.price, MIN_PRICE)
    if status is ChangeStatus.FIRST:  # while pages are still found, they must not ask for more than the budget
        price = max(price, initial_price(claim.host.page_count, config.visits_per_day))
    at, why = next_visit_at(after, now, bounds, price)
    recrawl_cost = _update_price(recrawl_cost, claim, end, before=before, seconds=at - now, price=price)
    return RecrawlPlan(recrawl_cost, msgspec.structs.replace(after, planned_seconds=round(at - now)), at, why)


def _plan_after_failure(
    recrawl_cost: RecrawlCost,
    before: ChangeHistory | None,
    task: Task,
    outcome: Outcome,
    now: float,
    config: RecrawlConfig,
) -> RecrawlPlan:
    """The page exists and could not be fetched. Nothing is learned, and the recrawls of the page continue."""
    if before is None or not _is_page_failure(outcome):
        return RecrawlPlan(recrawl_cost, before)
    # Attempts in quick succession count as one failure.
    after = msgspec.structs.replace(
        before, tried_at=now, misses=before.misses + (not task.attempt or not before.misses)
    )
    at, why = next_visit_at(after, now, _interval_bounds(config), max(recrawl_cost.price, MIN_PRICE))
    return RecrawlPlan(recrawl_cost, after, at, why)


def _is_page_failure(outcome: Outcome) -> bool:
    """Whether this page failed, and not its host or our own pace."""
    if isinstance(outcome, Failed):
        return not outcome.is_site_wide and outcome.kind is not FailureKind.RATE_LIMITED
    return isinstance(outcome, Rejected)


def _change_status(
    outcome: Outcome, stored_copy: StoredCopy | None, extracted: ExtractedPage | None, similarity: float | None
) -> ChangeStatus | None:
    """What the visit found; None if the page was not checked."""
    match outcome:
        case Fetched() if stored_copy is None or stored_copy.change_history is None:
            return ChangeStatus.FIRST
        case Fetched(url_list=url_list) if url_list and extracted is not None:
            known = (
                stored_copy.change_history.list_hash
                if stored_copy is not None and stored_copy.change_history is not None
                else ""
            )
            return ChangeStatus.UNCHANGED if known == extracted.content_hash[:LIST_HASH_CHARS] else ChangeStatus.CHANGED
        case Fetched() if extracted is not None and stored_copy is not None:
            is_same = extracted.content_hash == stored_copy.content_hash or (similarity or 0.0) >= SAME_TEXT_SIMILARITY
            return ChangeStatus.UNCHANGED if is_same else ChangeStatus.CHANGED
        case Unchanged(why=""):
            return ChangeStatus.UNCHANGED
        case Failed(kind=kind) if kind in _GONE_KINDS:
            return ChangeStatus.GONE
        case _:
            return None


def _build_observation(
    status: ChangeStatus, answer: FetchResult, extracted: ExtractedPage | None, claim: Claim, now: float
) -> Observation:
    stored_copy, task = claim.stored_copy, claim.task
    announced_at = now if task.is_announced else None
    headers = answer.response.headers if answer.response is not None else None
    changed_at = parse_http_time(headers.get("Last-Modified")) if headers is not None else None
    if extracted is None:
        kind = (stored_copy.kind if stored_copy is not None else None) or PageKind.OTHER
        return Observation(status, kind, changed_at, lastmod_at=announced_at, has_validator=True)
    return Observation(
        status,
        PageKind.HUB if extracted.url_list else extracted.kind,
        parse_iso_time(extracted.modified) or changed_at,
        published_at=parse_iso_time(extracted.published),
        lastmod_at=announced_at,
        changefreq=task.changefreq,
        has_validator=headers is not None and bool(headers.get("ETag") or headers.get("Last-Modified")),
    )


def _store_tally(recrawl_cost: RecrawlCost, kind: PageKind, tally: Tally) -> RecrawlCost:
    if not tally.weights:
        return recrawl_cost
    sums = tuple(float(f"{weight:.5g}") for weight in tally.weights)  # more digits than are significant
    return msgspec.structs.replace(recrawl_cost, priors={**recrawl_cost.priors, kind: sums})


def _update_price(
    recrawl_cost: RecrawlCost,
    claim: Claim,
    end: VisitEnd,
    before: ChangeHistory | None,
    seconds: float,
    price: float,
) -> RecrawlCost:
    """The budget and price of the host, after one of its pages was planned again."""
    now = end.now
    planned = recrawl_cost.planned_per_day + DAY_SECONDS / max(seconds, 1.0)
    if before is not None and before.planned_seconds:
        planned -= DAY_SECONDS / before.planned_seconds
    elapsed = (now - recrawl_cost.priced_at) / DAY_SECONDS if recrawl_cost.priced_at else 0.0
    priced = next_price(price, max(planned, 0.0), claim.waiting or 0, end.site.recrawl.visits_per_day, elapsed)
    return msgspec.structs.replace(
        recrawl_cost, price=max(priced, MIN_PRICE), priced_at=now, planned_per_day=max(planned, 0.0)
    )


def _interval_bounds(config: RecrawlConfig) -> IntervalBounds:
    return IntervalBounds(config.min_interval_seconds, config.max_interval_seconds)


def parse_http_time(text: str | None) -> float | None:
    """An HTTP date in seconds since 1970; None if it is not one."""
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def parse_iso_time(text: str | None) -> float | None:
    """An ISO 8601 date or time in seconds since 1970. Without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if at is None:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


class VisitUpdate(NamedTuple):
    """The state after a visit."""

    host: HostRecord
    candidates: tuple[Candidate, ...] = ()
    """Candidates from discovery, besides the links of the page."""
    change_history: ChangeHistory | None = None
    next_visit_at: float | None = None
    """When to recrawl the page; None: never."""
    why: str = ""
    cut_off: Mapping[str, int] = {}
    """Number of guesses that limits hold back, by limit. The links of the page are counted elsewhere."""

    def adjust_plan(self, plan: Plan) -> Plan:
        """The plan of the task. A task that is done, given up or parked is rescheduled if its page is recrawled."""
        if self.next_visit_at is None or isinstance(plan, Reschedule):
            return plan
        return Reschedule(self.next_visit_at, why=self.why)


def apply_visit(
    host: HostRecord,
    claim: Claim,
    end: VisitEnd,
    extracted: ExtractedPage | None,
    new_candidates: tuple[Candidate, ...],
    rules: Rules,
) -> VisitUpdate:
    """What a visit changes. `host` is its latest record, `new_candidates` are those of the page."""
    answer, outcome, site = end.answer, end.outcome, end.site
    new_host = update_host(host, end)
    guess_state, guesses = guess_urls(
        new_host.guess_state, claim, end, extracted, len(new_candidates), rules=rules, similarity=fingerprint_similarity
    )
    guess_state = _update_facets(guess_state, claim, outcome, extracted, new_candidates)
    if extracted is not None and isinstance(outcome, Fetched) and not outcome.url_list:
        task = claim.task
        shape = shape_of(extracted.text, extracted.words)
        page = SeriesPage(
            task.url, task.via, extracted.content_hash, extracted.fingerprint, words=extracted.words, shape=shape
        )
        guess_state = record_series_page(guess_state, page, task.origin, new_candidates, fingerprint_similarity)
    if guess_state is not new_host.guess_state:
        new_host = msgspec.structs.replace(new_host, guess_state=guess_state)
    sitemaps = (
        robots_sitemap_candidates(claim.task.origin, answer.robots, rules, site.discovery)
        if answer.robots is not None
        else ()
    )
    candidates = sitemaps + guesses
    cut_off = count_withheld_guesses(host.guess_state, guess_state, claim.task.url, end.now, site.discovery)
    if not site.recrawl.continuous:
        return VisitUpdate(new_host, candidates, cut_off=cut_off)
    similarity = _stored_copy_similarity(claim, extracted)
    recrawl_plan = plan_recrawl(new_host.recrawl_cost, claim, end, extracted, similarity)
    new_host = msgspec.structs.replace(new_host, recrawl_cost=recrawl_plan.recrawl_cost)
    return VisitUpdate(
        new_host,
        candidates,
        change_history=recrawl_plan.change_history,
        next_visit_at=recrawl_plan.next_visit_at,
        why=recrawl_plan.why,
        cut_off=cut_off,
    )


def _update_facets(
    guess_state: GuessState,
    claim: Claim,
    outcome: Outcome,
    extracted: ExtractedPage | None,
    new_candidates: tuple[Candidate, ...],
) -> GuessState:
    """Record whether a URL with a query shows anything new, for the other queries of its path."""
    url, origin = claim.task.url, claim.task.origin
    if extracted is None or "?" not in url or not isinstance(outcome, Fetched):
        return guess_state
    own = url.partition("?")[0] + "?"
    beyond = sum(1 for candidate in new_candidates if not candidate.url.startswith(own))
    page = FacetPage(
        url,
        extracted.kind,
        extracted.content_hash,
        extracted.fingerprint,
        new_urls=beyond,
        is_combined=is_combined(url, (candidate.url for candidate in new_candidates)),
    )
    return record_facet_page(guess_state, page, origin, fingerprint_similarity)


def _stored_copy_similarity(claim: Claim, extracted: ExtractedPage | None) -> float | None:
    """How similar the page is to the stored copy; None if they cannot be compared."""
    stored_copy = claim.stored_copy
    if extracted is None or stored_copy is None or not extracted.fingerprint or not stored_copy.fingerprint:
        return None
    return fingerprint_similarity(extracted.fingerprint, stored_copy.fingerprint)
