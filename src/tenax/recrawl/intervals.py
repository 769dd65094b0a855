"""When to visit a page again: at a rate learned from its visits, within bounds and a budget.

The age of a stored copy is the time since the first change that we have not seen, and 0 if there is no such change, as
Cho and Garcia-Molina define it (Synchronizing a database to improve freshness, 2000). For a page that changes at random
at a known rate, and is visited at a fixed interval, the mean age can be computed, and also how much one more visit
would lower it. The mean over all pages is smallest when one more visit would save the same amount on every page. This
amount is the price.

Our own observations count most: the same text or not. Next are the page's own dates of change and publication. A
sitemap is believed until it is wrong several times in a row. `changefreq` affects only the belief before the second
visit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec

from tenax.model import ChangeHistory, PageKind, Value
from tenax.recrawl.change_rates import (
    DEFAULT_PRIORS,
    Belief,
    Tally,
    effective_days,
    pack_belief,
    shift_belief,
    unpack_belief,
    update_changed,
    update_from_report,
    update_tally,
    update_unchanged,
)

MAX_STEPS = 60
MIN_RATE_PER_DAY = 1e-6
"""A slower page practically never changes."""
DEFAULT_RATE_PER_DAY = 0.05
GAIN_PER_DAY = 1.0
MAX_FACTOR_PER_DAY = 3.0
"""A price changes by at most this factor in a day."""
CATCH_UP_DAYS = 5.0
"""Overdue visits are made up for within this many days."""
BACKLOG_DAYS = 0.18
"""Visits for this long may always wait. Without any, requests are lost whenever nothing is due."""
MIN_PRICE, MAX_PRICE = 1e-9, 1e9


def mean_age_days(per_day: float, interval_days: float) -> float:
    """The mean age of a page with this rate, over time, at this interval."""
    changes = per_day * interval_days
    if changes < 1e-3:  # where the differences below lose their significant digits
        return interval_days * (changes / 6 - changes**2 / 24)
    return interval_days * (0.5 - 1 / changes - math.expm1(-changes) / changes**2)


def visit_saving(per_day: float, interval_days: float) -> float:
    """By how much one more visit a day would lower the mean age, in days squared. This is the price that the interval
    pays.

    It is the integral of t * (1 - exp(-rate * t)) over the interval: the age at each moment, times the probability that
    the page has changed by then.
    """
    changes = per_day * interval_days
    if changes < 1e-3:
        return interval_days**2 * (changes / 3 - changes**2 / 8)
    return (changes**2 / 2 + (1 + changes) * math.exp(-changes) - 1) / per_day**2


def interval_days(per_day: float, price: float) -> float:
    """The interval for a page with this rate: longer at a higher price, shorter at a higher rate.

    The visits of a slow page follow the cube root of its rate; those of a fast page grow more slowly. A page with
    several changes between two visits is nearly always out of date, so one more visit gains the same short time
    whatever its rate.
    """
    per_day = max(per_day, MIN_RATE_PER_DAY)
    days = max(math.cbrt(3 * price / per_day), math.sqrt(2 * price))
    for _ in range(MAX_STEPS):
        # Newton's method on a convex, rising function: it passes the root at most once, and then approaches it from
        # above.
        step = (visit_saving(per_day, days) - price) / (days * -math.expm1(-per_day * days))
        days -= step
        if abs(step) <= 1e-3 * days:  # the error is of the order of the square of the step
            break
    return days


def budget_price(rates_per_day: Iterable[float], visits_per_day: float, bounds_days: tuple[float, float]) -> float:
    """The price at which pages with these rates need this many visits a day, all together and within the bounds."""
    rates = list(rates_per_day)
    shortest_days, longest_days = bounds_days
    low, high = math.log(MIN_PRICE), math.log(MAX_PRICE)
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2
        planned_per_day = sum(
            1 / min(max(interval_days(rate, math.exp(middle)), shortest_days), longest_days) for rate in rates
        )
        low, high = (middle, high) if planned_per_day > visits_per_day else (low, middle)
        if high - low < 1e-4:
            break
    return math.exp(high)


def initial_price(pages: int, visits_per_day: float) -> float:
    """The first price, while nothing is known about the pages: as if all changed at the same rate, once in some
    weeks."""
    return visit_saving(DEFAULT_RATE_PER_DAY, max(pages, 1) / visits_per_day)


def next_price(
    price: float, planned_per_day: float, overdue: int, allowed_per_day: float, elapsed_days: float
) -> float:
    """The price after some time: higher if more visits are planned than allowed, lower if fewer are planned.

    `planned_per_day` is the sum of 1 / interval over all pages, as last planned; `overdue` is the number of due visits.
    The price changes slowly, because planned visits follow it only when their pages are planned again.
    """
    wanted_per_day = planned_per_day + (overdue - BACKLOG_DAYS * allowed_per_day) / CATCH_UP_DAYS
    if not (math.isfinite(wanted_per_day) and wanted_per_day > 0 and allowed_per_day > 0 and elapsed_days > 0):
        return price
    most = math.log(MAX_FACTOR_PER_DAY)
    step = min(max(GAIN_PER_DAY * math.log(wanted_per_day / allowed_per_day), -most), most) * min(elapsed_days, 1.0)
    return min(max(price * math.exp(step), MIN_PRICE), MAX_PRICE)


DAY_SECONDS = 86_400.0
EARLIEST_DATE = 631_152_000.0
"""The year 1990. Earlier dates on the web are wrong."""
MIN_DATE_AGE_SECONDS = 60.0
"""A date within the last minute is only the time at which the page was generated."""
TRUST_PAGE, TRUST_SITEMAP = 0.5, 0.25
"""The weight of a change that a page or a sitemap reports, and of the quiet time since, before we have seen a change
ourselves."""
MAX_QUIET_DAYS = 365.0
MAX_FALSE_ALARMS = 2
"""After this many false reports of a change in a row, the sitemap of a page is ignored."""
CONDITIONAL_COST = 0.8
"""The cost of a visit that may end in a 304, relative to a full one."""
HUB_WEIGHT = 1.1
"""An outdated list also hides new pages, so it counts more."""
CHANGEFREQ_PER_DAY: Mapping[str, float] = MappingProxyType({
    "always": 24.0, "hourly": 24.0, "daily": 1.0, "weekly": 1 / 7, "monthly": 1 / 30, "yearly": 1 / 365,
    "never": 1 / 3650,
})  # fmt: skip


class ChangeStatus(StrEnum):
    """What a visit found."""

    FIRST = "first"
    """The page is new, so there is nothing to compare it with."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """A 304, or practically the same text."""
    GONE = "gone"
    """404 or 410."""
    FAILED = "failed"
    """Nothing was learned about the page."""


class Observation(Value, frozen=True):
    """What a visit found, and what was reported about the page since the last visit. Impossible dates are ignored."""

    status: ChangeStatus
    kind: PageKind = PageKind.OTHER
    last_modified_at: float | None = None
    """Stated by the page: its Last-Modified, or a modification date in its metadata."""
    published_at: float | None = None
    lastmod_at: float | None = None
    """Stated by the sitemap of the page."""
    changefreq: str | None = None
    has_validator: bool = False
    """The page has an ETag or Last-Modified, so the next visit may end in a 304."""


class IntervalBounds(Value, frozen=True):
    """Bounds of the interval between visits; a site may have its own."""

    min_seconds: float = 3600.0
    max_seconds: float = 90 * DAY_SECONDS
    gone_first_seconds: float = DAY_SECONDS
    """When a page that was found gone is checked again. The time triples with each further check."""


def prior_kind(observation: Observation, now: float) -> PageKind:
    """The kind whose prior applies. An article without a date may have any age, so it is treated like an ordinary
    page."""
    is_dated = _credible_time(observation.published_at, now) is not None
    return PageKind.OTHER if observation.kind is PageKind.ARTICLE and not is_dated else observation.kind


def update_history(
    history: ChangeHistory | None, observation: Observation, now: float, bounds: IntervalBounds, prior: Belief
) -> ChangeHistory | None:
    """The history of a page after a visit; None while nothing is known about the page.

    A visit that failed, or that found the page gone, says nothing about how often the page changes.
    """
    if observation.status in (ChangeStatus.FAILED, ChangeStatus.GONE):
        return None if history is None else _record_miss(history, observation, now)
    if history is None or observation.status is ChangeStatus.FIRST:
        return _first_history(observation, now, prior)
    belief = _updated_belief(history, observation, now, bounds, prior)
    is_change = observation.status is ChangeStatus.CHANGED
    return ChangeHistory(
        seen_at=now,
        rates=pack_belief(belief),
        list_hash=history.list_hash,
        visits=history.visits + 1,
        changes=history.changes + is_change,
        published_at=history.published_at,
        false_alarms=_false_alarm_count(history, observation, now),
        is_hub=observation.kind is PageKind.HUB,
        has_validator=observation.has_validator,
    )


def _record_miss(history: ChangeHistory, observation: Observation, now: float) -> ChangeHistory:
    gone = history.gone + 1 if observation.status is ChangeStatus.GONE else history.gone
    misses = history.misses + 1 if observation.status is ChangeStatus.FAILED else 0
    return msgspec.structs.replace(history, tried_at=now, gone=gone, misses=misses)


def _first_history(observation: Observation, now: float, prior: Belief) -> ChangeHistory:
    published_at = _credible_time(observation.published_at, now) if observation.kind is PageKind.ARTICLE else None
    belief = _apply_first_dates(_apply_changefreq(prior, observation.changefreq), observation, published_at, now)
    return ChangeHistory(
        seen_at=now,
        rates=pack_belief(belief),
        published_at=published_at,
        is_hub=observation.kind is PageKind.HUB,
        has_validator=observation.has_validator,
    )


def _apply_changefreq(prior: Belief, changefreq: str | None) -> Belief:
    """The prior after `changefreq`: half of its weight moves halfway, in orders of magnitude, to the rate that the
    sitemap claims."""
    claimed = CHANGEFREQ_PER_DAY.get((changefreq or "").strip().lower())
    return prior if claimed is None else shift_belief(prior, math.sqrt(claimed / prior.per_day))


def _apply_first_dates(belief: Belief, observation: Observation, published_at: float | None, now: float) -> Belief:
    """Apply what the page, or else its sitemap, says about the time before the first visit: one change then, and none
    since.

    The publication of an article is not a change.
    """
    for reported_at, trust in ((observation.last_modified_at, TRUST_PAGE), (observation.lastmod_at, TRUST_SITEMAP)):
        if (at := _credible_time(reported_at, now)) is not None and at < now - MIN_DATE_AGE_SECONDS:
            quiet = min(_days_between(published_at, at, now), MAX_QUIET_DAYS)
            return update_from_report(
                belief, quiet, trust, is_change=published_at is None or at > published_at + MIN_DATE_AGE_SECONDS
            )
    return belief


def _updated_belief(
    history: ChangeHistory, observation: Observation, now: float, bounds: IntervalBounds, prior: Belief
) -> Belief:
    belief = unpack_belief(history.rates) or prior
    # A clock that jumped ahead does not prove that the page was unchanged for years. A clock that was set back proves
    # nothing.
    since = max(history.seen_at, now - 2 * bounds.max_seconds)
    days = _days_between(history.published_at, since, now)
    if observation.status is ChangeStatus.UNCHANGED:
        return update_unchanged(belief, days, prior)
    at = _credible_time(observation.last_modified_at, now)
    is_reported = at is not None and since < at < now - MIN_DATE_AGE_SECONDS
    quiet = _days_between(history.published_at, at, now) if is_reported and at is not None else None
    return update_changed(belief, days, prior, quiet)


def update_prior(tally: Tally, before: ChangeHistory | None, after: ChangeHistory) -> Tally:
    """The sum for a host and kind, including this visit. A first visit adds nothing yet."""
    if before is None or after.visits == before.visits:
        return tally
    return update_tally(tally, unpack_belief(before.rates) if before.visits > 1 else None, history_belief(after))


def _days_between(published_at: float | None, since: float, until: float) -> float:
    """The number of days that count for the belief. For an article they are fewer the older it is."""
    if published_at is None:
        return max(0.0, until - since) / DAY_SECONDS
    return effective_days((since - published_at) / DAY_SECONDS, (until - published_at) / DAY_SECONDS)


def _false_alarm_count(history: ChangeHistory, observation: Observation, now: float) -> int:
    if observation.status is ChangeStatus.CHANGED:
        return 0
    return history.false_alarms + _is_announced(history, observation.lastmod_at, now)


def _is_announced(history: ChangeHistory, lastmod_at: float | None, now: float) -> bool:
    at = _credible_time(lastmod_at, now)
    return at is not None and at > history.seen_at


def history_belief(history: ChangeHistory) -> Belief:
    return unpack_belief(history.rates) or DEFAULT_PRIORS[PageKind.OTHER]


def rate_per_day(history: ChangeHistory, now: float, ahead_days: float = 0.0) -> float:
    """How often the page changes, as far as is known: now, or on average over the days ahead."""
    belief = history_belief(history)
    if history.published_at is None:
        return belief.per_day
    ahead = max(ahead_days, 1 / 24)
    return belief.per_day * _days_between(history.published_at, now, now + ahead * DAY_SECONDS) / ahead


def next_visit_at(
    history: ChangeHistory, now: float, bounds: IntervalBounds, price: float, lastmod_at: float | None = None
) -> tuple[float, str]:
    """When to visit the page again, and a reason for display.

    `lastmod_at` is what the sitemap has reported since the last visit. The time is within the bounds after that visit.
    It is never further in the future than the upper bound, even if the clock has jumped.
    """
    shortest, longest = bounds.min_seconds, max(bounds.min_seconds, bounds.max_seconds)
    last = min(now, history.tried_at if history.tried_at is not None else history.seen_at)
    seconds, why = _unbounded_interval(history, last, bounds, price, _is_announcement_trusted(history, lastmod_at, now))
    seconds = min(max(seconds, shortest), longest)
    return last + seconds, f"{why}; next visit after {format_duration(seconds)}"


def _unbounded_interval(
    history: ChangeHistory, last: float, bounds: IntervalBounds, price: float, is_announced: bool
) -> tuple[float, str]:
    """How long to wait, before the bounds apply, and the reason."""
    if history.gone:
        seconds = bounds.gone_first_seconds * 3.0 ** min(history.gone - 1, 20)
        return seconds, f"gone, found so {_format_times(history.gone)}"
    if is_announced:
        return 0.0, "its sitemap reports a change"
    seconds = planned_days(history, last, price) * DAY_SECONDS
    if history.misses:
        return seconds * 2.0 ** min(history.misses, 20), f"failed {_format_times(history.misses)}"
    return seconds, _describe_history(history, last)


def planned_days(history: ChangeHistory, now: float, price: float) -> float:
    """The interval at this price, without bounds. The rate of an article falls, so its mean over the time ahead is
    used."""
    worth = HUB_WEIGHT if history.is_hub else 1.0
    paid = price * (CONDITIONAL_COST if history.has_validator else 1.0) / worth
    days = interval_days(rate_per_day(history, now), paid)
    return days if history.published_at is None else interval_days(rate_per_day(history, now, days), paid)


def _is_announcement_trusted(history: ChangeHistory, lastmod_at: float | None, now: float) -> bool:
    return history.false_alarms < MAX_FALSE_ALARMS and _is_announced(history, lastmod_at, now)


def _describe_history(history: ChangeHistory, now: float) -> str:
    every = format_duration(DAY_SECONDS / max(rate_per_day(history, now), 1e-9))
    if history.visits < 2:
        return f"new, assumed to change about every {every}"
    settling = ", an article that settles" if history.published_at is not None else ""
    return f"changed in {history.changes} of {history.visits - 1} visits, about every {every}{settling}"


def _format_times(count: int) -> str:
    return "once" if count == 1 else f"{count} times in a row"


def format_duration(seconds: float) -> str:
    """The duration rounded for display: `40 min`, `3.5 h`, `2 d`."""
    for unit, name in ((DAY_SECONDS, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            count = seconds / unit
            return f"{count:.0f} {name}" if count >= 10 else f"{count:.2g} {name}"
    return f"{seconds:.0f} s"


def _credible_time(at: float | None, now: float) -> float | None:
    """A plausible time: after 1990, not in the future, and finite; else None."""
    return at if at is not None and math.isfinite(at) and EARLIEST_DATE <= at <= now else None
