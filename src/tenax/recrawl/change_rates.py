"""Estimates how often a page changes, from visits that only show whether it has changed since the previous visit.

The belief about a page is the probability of each of fifteen rates, from one change in decades to forty a day. The
likelihood of an unchanged visit after t days is exp(-rate * t). A changed visit means "at least one change", so its
likelihood is 1 - exp(-rate * t). Counting it as exactly one change is the bias that Cho and Garcia-Molina describe
(Estimating frequency of change, 2003).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tenax.model import PageKind, Value

RATE_STEP = 10**0.4
RATES_PER_DAY = tuple(1e-4 * RATE_STEP**step for step in range(15))
"""Each rate is two and a half times the previous one. Visits follow the cube root of a rate, so a finer grid gains
nothing."""
REGIME_CHANGE_DAYS = 365.0
"""A page is assumed to change its behaviour about once in this many days."""
MIN_WEIGHT = 1e-4
"""Lower bound of a prior's weights, relative to the largest."""
HALF_RATE_AGE_DAYS = 2.0
"""An article of this age changes half as often as a new one; then its rate is inversely proportional to its age."""
STABLE_AGE_DAYS = 60.0
"""From this age on an article changes like any other page, at a rate of its own."""
PRIOR_PAGES = 10.0
"""This many pages of a host count as much as the default belief about their kind."""
_PACK_FORMAT = struct.Struct(f"<{len(RATES_PER_DAY)}H")
_LOG_SCALE = 2000.0
"""Weights are stored as logarithms in units of 1/2000: two bytes each, with a minimum of e**-32."""


class Belief(Value, frozen=True):
    """The probability of each of `RATES_PER_DAY`; the sum is 1."""

    weights: tuple[float, ...]

    @property
    def per_day(self) -> float:
        return _mean(self.weights, RATES_PER_DAY)


def _mean(weights: Sequence[float], numbers: Sequence[float]) -> float:
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True))


def normalize_weights(weights: Sequence[float]) -> Belief:
    """The belief with these relative weights."""
    total = math.fsum(weights)
    return Belief(tuple(weight / total for weight in weights))


def gamma_belief(changes: float, days: float) -> Belief:
    """The belief after this many changes in this many days, without any earlier knowledge."""
    weights = [rate**changes * math.exp(-days * rate) for rate in RATES_PER_DAY]
    weights[0] /= 1 - RATE_STEP**-changes  # add all slower rates, which practically mean never
    return normalize_weights([weight + MIN_WEIGHT * max(weights) for weight in weights])


DEFAULT_PRIORS: Mapping[PageKind, Belief] = MappingProxyType({
    PageKind.HUB: gamma_belief(0.4, 0.8),
    PageKind.ARTICLE: gamma_belief(0.3, 0.9),
    PageKind.FORUM: gamma_belief(0.3, 2.4),
    PageKind.PRODUCT: gamma_belief(0.3, 6.0),
    PageKind.DOCUMENTATION: gamma_belief(0.25, 10.0),
    PageKind.OTHER: gamma_belief(0.25, 5.0),
})  # fmt: skip
"""The belief about a page before its second visit. For an article it is the rate on the day of its publication."""


class Tally(Value, frozen=True):
    """The sum of the beliefs about the pages of one host and kind."""

    weights: tuple[float, ...] = ()

    @property
    def is_valid(self) -> bool:
        return len(self.weights) == len(RATES_PER_DAY) and all(0 <= weight < math.inf for weight in self.weights)


def prior_belief(kind: PageKind, tally: Tally | None = None) -> Belief:
    """The belief about a new page: the default of its kind. The more pages of the host are known, the less the default
    counts."""
    usual = DEFAULT_PRIORS[kind]
    if tally is None or not tally.is_valid:
        return usual
    pairs = zip(usual.weights, tally.weights, strict=True)
    return normalize_weights([weight * PRIOR_PAGES + learned for weight, learned in pairs])


def update_tally(tally: Tally, before: Belief | None, after: Belief) -> Tally:
    """The sum with the new belief about a page. It replaces the previous belief about that page, if there is one."""
    sums = tally.weights if tally.is_valid else (0.0,) * len(RATES_PER_DAY)
    gone = before.weights if before is not None else (0.0,) * len(RATES_PER_DAY)
    return Tally(tuple(max(0.0, own + new - old) for own, new, old in zip(sums, after.weights, gone, strict=True)))


def update_unchanged(belief: Belief, days: float, prior: Belief) -> Belief:
    """The belief after this many days without a change. Its mean never rises."""
    if days <= 0:
        return belief
    odds = _no_change_odds(days)
    learned = _apply_likelihood(_mix_with_prior(belief, prior, days, odds), odds)
    return learned if learned.per_day <= belief.per_day else _apply_likelihood(belief, odds)


def update_changed(belief: Belief, days: float, prior: Belief, quiet_days: float | None = None) -> Belief:
    """The belief after at least one change in this many days. Its mean never falls.

    `quiet_days`: how long ago the last of those changes was, if known. This means exactly one change then, and none
    since. A quiet time longer than the mean interval between changes is shortened to that interval, because the page
    did change.
    """
    if days <= 0:
        return belief
    odds = _change_odds(days)
    mixed = _mix_with_prior(belief, prior, days, odds)
    if quiet_days is not None:
        learned = update_from_report(mixed, min(quiet_days, 1 / mixed.per_day))
        return learned if learned.per_day >= belief.per_day else belief
    learned = _apply_likelihood(mixed, odds)
    return learned if learned.per_day >= belief.per_day else _apply_likelihood(belief, odds)


def update_from_report(belief: Belief, quiet_days: float, trust: float = 1.0, is_change: bool = True) -> Belief:
    """The belief after a report that the last change was this many days ago. Without `is_change`, only that the page
    has not changed since."""
    odds = _no_change_odds(quiet_days)
    if is_change:
        odds = [rate * odd for rate, odd in zip(RATES_PER_DAY, odds, strict=True)]
    return _apply_likelihood(belief, [odd**trust for odd in odds])


def shift_belief(belief: Belief, factor: float) -> Belief:
    """The mean of two beliefs: this one, and the same for a page that changes this many times as often."""
    steps, last = round(math.log(factor, RATE_STEP)), len(RATES_PER_DAY) - 1
    weights = list(belief.weights)
    for index, weight in enumerate(belief.weights):
        weights[min(max(index + steps, 0), last)] += weight
    return normalize_weights(weights)


def _mix_with_prior(belief: Belief, prior: Belief, days: float, odds: Sequence[float]) -> Belief:
    """The belief before an observation, mixed with the prior if the prior explains the observation better.

    So Tenax notices within a few visits that a page has stopped or started changing, whatever its history. The belief
    about a page that continues as before becomes more and more certain.
    """
    if _mean(prior.weights, odds) <= _mean(belief.weights, odds):
        return belief
    other = -math.expm1(-days / REGIME_CHANGE_DAYS)
    pairs = zip(belief.weights, prior.weights, strict=True)
    return Belief(tuple((1 - other) * own + other * usual for own, usual in pairs))


def _apply_likelihood(belief: Belief, odds: Sequence[float]) -> Belief:
    return normalize_weights([max(weight * odd, 1e-300) for weight, odd in zip(belief.weights, odds, strict=True)])


def _no_change_odds(days: float) -> list[float]:
    return [math.exp(-rate * days) for rate in RATES_PER_DAY]


def _change_odds(days: float) -> list[float]:
    return [-math.expm1(-rate * days) for rate in RATES_PER_DAY]


def pack_belief(belief: Belief) -> bytes:
    """The belief in thirty bytes, as stored with every page."""
    most = max(belief.weights)
    return _PACK_FORMAT.pack(
        *(min(round(_LOG_SCALE * math.log(most / max(weight, 1e-300))), 65535) for weight in belief.weights)
    )


def unpack_belief(stored: bytes) -> Belief | None:
    """The packed belief; None if it is invalid."""
    if len(stored) != _PACK_FORMAT.size:
        return None
    return normalize_weights([math.exp(-part / _LOG_SCALE) for part in _PACK_FORMAT.unpack(stored)])


def effective_days(since_age_days: float, until_age_days: float) -> float:
    """The changes between two ages of an article, as days in the life of a new article."""
    return max(0.0, _effective_age_days(until_age_days) - _effective_age_days(since_age_days))


def _effective_age_days(age_days: float) -> float:
    young, old = min(max(0.0, age_days), STABLE_AGE_DAYS), max(0.0, age_days - STABLE_AGE_DAYS)
    return HALF_RATE_AGE_DAYS * math.log1p(young / HALF_RATE_AGE_DAYS) + old / (
        1 + STABLE_AGE_DAYS / HALF_RATE_AGE_DAYS
    )
