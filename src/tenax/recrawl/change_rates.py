"""How often a page changes, learned from visits that only tell whether it changed since the one before.

The belief about a page's rate is how likely each of some rates is, from one change in decades to forty a day. A visit
is weighed exactly: an unchanged one after t days is as likely as exp(-rate * t), a changed one, which tells "at least
once", as 1 - exp(-rate * t). Taking it for one change is the bias that Cho and Garcia-Molina describe (Estimating
frequency of change, 2003).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tenax.model import PageKind, Value

STEP = 10**0.4
RATES_PER_DAY = tuple(1e-4 * STEP**step for step in range(15))
"""Each two and a half times the one before: visits follow the cube root of a rate, so finer ones gain nothing."""
HABIT_DAYS = 365.0
"""A page takes up other habits about once in so many days."""
LEAST_WEIGHT = 1e-4
"""Beside the most likely rates of a kind, no rate is less likely than this."""
SETTLING_DAYS = 2.0
"""An article of this age changes half as often as a new one, and later in proportion to one over its age."""
SETTLED_DAYS = 60.0
"""From this age on it changes as any page does, at a rate of its own."""
PAGES_OF_A_PRIOR = 10.0
"""As many pages of a host say as much about the others as what is usual for their kind."""
_PACKED = struct.Struct(f"<{len(RATES_PER_DAY)}H")
_PARTS = 2000.0
"""Weights are stored as logarithms, in so many parts of one: two bytes each, and the least of them is e**-32."""


class Belief(Value, frozen=True):
    """How likely each of `RATES_PER_DAY` is; together 1."""

    weights: tuple[float, ...]

    @property
    def per_day(self) -> float:
        return _mean(self.weights, RATES_PER_DAY)


def _mean(weights: Sequence[float], numbers: Sequence[float]) -> float:
    return sum(weight * number for weight, number in zip(weights, numbers, strict=True))


def of_weights(weights: Sequence[float]) -> Belief:
    """The belief in which rates are as likely as these beside each other."""
    total = math.fsum(weights)
    return Belief(tuple(weight / total for weight in weights))


def gamma(changes: float, days: float) -> Belief:
    """What is believed as if so many changes had been seen in so many days, and nothing before."""
    weights = [rate**changes * math.exp(-days * rate) for rate in RATES_PER_DAY]
    weights[0] /= 1 - STEP**-changes  # all the slower rates, which are as good as never
    return of_weights([weight + LEAST_WEIGHT * max(weights) for weight in weights])


USUAL: Mapping[PageKind, Belief] = MappingProxyType({
    PageKind.HUB: gamma(0.4, 0.8),
    PageKind.ARTICLE: gamma(0.3, 0.9),
    PageKind.FORUM: gamma(0.3, 2.4),
    PageKind.PRODUCT: gamma(0.3, 6.0),
    PageKind.DOCUMENTATION: gamma(0.25, 10.0),
    PageKind.OTHER: gamma(0.25, 5.0),
})  # fmt: skip
"""What is believed of a page before it was visited twice; an article's rate is that of the day it was published."""


class Tally(Value, frozen=True):
    """What the pages of one host and kind have taught: what is believed of each, added up."""

    weights: tuple[float, ...] = ()

    @property
    def is_sound(self) -> bool:
        return len(self.weights) == len(RATES_PER_DAY) and all(0 <= weight < math.inf for weight in self.weights)


def prior(kind: PageKind, tally: Tally | None = None) -> Belief:
    """What to believe of a new page: what is usual for its kind, and more and more what the host's others do."""
    usual = USUAL[kind]
    if tally is None or not tally.is_sound:
        return usual
    pairs = zip(usual.weights, tally.weights, strict=True)
    return of_weights([weight * PAGES_OF_A_PRIOR + taught for weight, taught in pairs])


def tallied(tally: Tally, before: Belief | None, after: Belief) -> Tally:
    """The sums with what is now believed of a page in place of what it had added before, if anything."""
    sums = tally.weights if tally.is_sound else (0.0,) * len(RATES_PER_DAY)
    gone = before.weights if before is not None else (0.0,) * len(RATES_PER_DAY)
    return Tally(tuple(max(0.0, own + new - old) for own, new, old in zip(sums, after.weights, gone, strict=True)))


def unchanged(belief: Belief, days: float, prior: Belief) -> Belief:
    """The belief after so many days without a change; its mean never rises."""
    if days <= 0:
        return belief
    odds = _quiet(days)
    learned = _weighed(_doubted(belief, prior, days, odds), odds)
    return learned if learned.per_day <= belief.per_day else _weighed(belief, odds)


def changed(belief: Belief, days: float, prior: Belief, quiet_days: float | None = None) -> Belief:
    """The belief after at least one change in so many days; its mean never falls.

    `quiet_days`: how long ago the last of those changes was, if that is known. Then it says exactly this: one change,
    and none since. A quiet time longer than a change takes on average is cut there: the page did change.
    """
    if days <= 0:
        return belief
    odds = _change(days)
    doubted = _doubted(belief, prior, days, odds)
    if quiet_days is not None:
        learned = heard(doubted, min(quiet_days, 1 / doubted.per_day))
        return learned if learned.per_day >= belief.per_day else belief
    learned = _weighed(doubted, odds)
    return learned if learned.per_day >= belief.per_day else _weighed(belief, odds)


def heard(belief: Belief, quiet_days: float, trust: float = 1.0, is_change: bool = True) -> Belief:
    """The belief after it was said that the last change, or what began the quiet time, was so many days ago."""
    odds = _quiet(quiet_days)
    if is_change:
        odds = [rate * odd for rate, odd in zip(RATES_PER_DAY, odds, strict=True)]
    return _weighed(belief, [odd**trust for odd in odds])


def coloured(belief: Belief, times: float) -> Belief:
    """The belief, and as likely the same about a page that changes so many times as often."""
    steps, last = round(math.log(times, STEP)), len(RATES_PER_DAY) - 1
    weights = list(belief.weights)
    for place, weight in enumerate(belief.weights):
        weights[min(max(place + steps, 0), last)] += weight
    return of_weights(weights)


def _doubted(belief: Belief, prior: Belief, days: float, odds: Sequence[float]) -> Belief:
    """The belief before what was seen is weighed, mixed with the usual one if that explains it better.

    So one that falls asleep, or wakes up, is noticed after a few visits, however long it had been otherwise; and one
    that lives as before is believed ever more firmly to.
    """
    if _mean(prior.weights, odds) <= _mean(belief.weights, odds):
        return belief
    other = -math.expm1(-days / HABIT_DAYS)
    pairs = zip(belief.weights, prior.weights, strict=True)
    return Belief(tuple((1 - other) * own + other * usual for own, usual in pairs))


def _weighed(belief: Belief, odds: Sequence[float]) -> Belief:
    return of_weights([max(weight * odd, 1e-300) for weight, odd in zip(belief.weights, odds, strict=True)])


def _quiet(days: float) -> list[float]:
    return [math.exp(-rate * days) for rate in RATES_PER_DAY]


def _change(days: float) -> list[float]:
    return [-math.expm1(-rate * days) for rate in RATES_PER_DAY]


def packed(belief: Belief) -> bytes:
    """The belief in thirty bytes, as it is stored with every page."""
    most = max(belief.weights)
    return _PACKED.pack(
        *(min(round(_PARTS * math.log(most / max(weight, 1e-300))), 65535) for weight in belief.weights)
    )


def unpacked(stored: bytes) -> Belief | None:
    """The belief that was packed; None for what is none."""
    if len(stored) != _PACKED.size:
        return None
    return of_weights([math.exp(-part / _PARTS) for part in _PACKED.unpack(stored)])


def settled_days(since_age_days: float, until_age_days: float) -> float:
    """How many days of a new article's changing lie between two ages of it."""
    return max(0.0, _settled_by(until_age_days) - _settled_by(since_age_days))


def _settled_by(age_days: float) -> float:
    young, old = min(max(0.0, age_days), SETTLED_DAYS), max(0.0, age_days - SETTLED_DAYS)
    return SETTLING_DAYS * math.log1p(young / SETTLING_DAYS) + old / (1 + SETTLED_DAYS / SETTLING_DAYS)
