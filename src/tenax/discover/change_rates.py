"""How often a page changes, learned from visits that only tell whether it changed since the one before.

The belief about a page's rate is a Gamma distribution. An unchanged visit after t days is exact: t more days without a
change. A changed one tells "at least once", however often it was: taking it for one change is the bias that Cho and
Garcia-Molina describe (Estimating frequency of change, 2003). Here the true posterior's mean and variance are taken,
which have a closed form, and the Gamma distribution that has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from tenax.model import PageKind, Value

MOST_CHANGES = 12.0
"""Nothing is believed more firmly than after so many changes: what a page did long ago fades as it changes."""
LIFE_CHANGES = 0.02
"""How likely it is, at each visit, that a page took up other habits since the one before."""
FEWEST_CHANGES = 0.05
"""However surprised we are, so much stays of what was known, or the next visit would decide alone."""
SETTLING_DAYS = 2.0
"""An article of this age changes half as often as a new one, and later in proportion to one over its age."""
SETTLED_DAYS = 60.0
"""From this age on it changes as any page does, at a rate of its own."""
PAGES_OF_A_PRIOR = 10.0
"""As many pages of a host say as much about the others as what is usual for their kind."""


class Belief(Value, frozen=True):
    """A Gamma distribution of changes per day: as if so many changes had been seen in so many days."""

    changes: float
    days: float
    lent: float = 1.0
    """How much of what other pages taught is still in it; the page's own visits push it out …"""
    lent_days: float | None = None
    """… and how many of the days are of that; None: all, for nothing else is known."""

    @property
    def per_day(self) -> float:
        return self.changes / self.days

    @property
    def days_of_others(self) -> float:
        return self.days if self.lent_days is None else self.lent_days

    def chance_of_change(self, days: float) -> float:
        return -math.expm1(-self.changes * math.log1p(days / self.days))


USUAL: Mapping[PageKind, Belief] = MappingProxyType({
    PageKind.HUB: Belief(0.4, 0.8),
    PageKind.ARTICLE: Belief(0.3, 0.9),
    PageKind.FORUM: Belief(0.3, 2.4),
    PageKind.PRODUCT: Belief(0.3, 6.0),
    PageKind.DOCUMENTATION: Belief(0.25, 10.0),
    PageKind.OTHER: Belief(0.25, 5.0),
})  # fmt: skip
"""What is believed of a page before it was visited twice; an article's rate is that of the day it was published."""


class Tally(Value, frozen=True):
    """What the pages of one host and kind have taught: two sums, kept up with each visit."""

    changes: float = 0.0
    days: float = 0.0


def prior(kind: PageKind, tally: Tally | None = None) -> Belief:
    """What to believe of a new page: what is usual for its kind, and more and more what the host's others do.

    Only the mean is learned. How much pages of a kind differ is as usual: that needs many pages to be told.
    """
    usual = USUAL[kind]
    if tally is None or not 0 <= tally.changes < math.inf or not 0 < tally.days < math.inf:
        return usual
    changes = usual.changes * PAGES_OF_A_PRIOR + tally.changes
    days = usual.days * PAGES_OF_A_PRIOR + tally.days
    return Belief(usual.changes, usual.changes * days / changes)


def tallied(tally: Tally, belief: Belief, days: float, is_changed: bool) -> Tally:
    """The sums with one more visit; a change counts for as many as there were, by what was believed of the page."""
    if days <= 0:
        return tally
    changes = belief.per_day * days
    return Tally(tally.changes + (changes / -math.expm1(-changes) if is_changed else 0.0), tally.days + days)


def relent(belief: Belief, prior: Belief) -> Belief:
    """The belief with what other pages taught meanwhile in place of what they had taught before."""
    lent_days = belief.lent * prior.days
    return Belief(belief.changes, belief.days - belief.days_of_others + lent_days, belief.lent, lent_days)


def unchanged(belief: Belief, days: float, prior: Belief) -> Belief:
    """The belief after so many days without a change; its mean never rises."""
    if days <= 0:
        return belief
    own, others = 1 - belief.chance_of_change(days), 1 - prior.chance_of_change(days)
    kept = _faded(belief, own, others)
    return _bounded(kept, kept.changes, kept.days + days)


def changed(belief: Belief, days: float, prior: Belief, quiet_days: float | None = None) -> Belief:
    """The belief after at least one change in so many days; its mean never falls.

    `quiet_days`: how long ago the last of those changes was, if that is known. Then it says exactly this: one change,
    and none since. A quiet time longer than a change takes on average is cut there: the page did change.
    """
    if days <= 0:
        return belief
    kept = _faded(belief, belief.chance_of_change(days), prior.chance_of_change(days))
    if quiet_days is not None:
        return _bounded(kept, kept.changes + 1, kept.days + min(quiet_days, kept.days / kept.changes))
    return _bounded(kept, *_matched(kept, days))


def _matched(belief: Belief, days: float) -> tuple[float, float]:
    """The Gamma distribution with the mean and variance of this one given at least one change in so many days.

    The posterior density is that of the Gamma times 1 - exp(-rate * days), so its moments are differences of those of
    two Gammas. Of a few seconds it tells one change exactly; the differences would lose their digits there.
    """
    shape, quotient = belief.changes, math.log1p(days / belief.days)
    if shape * quotient < 1e-7:
        return shape + 1, belief.days
    weights = [-math.expm1(-(shape + power) * quotient) for power in (0, 1, 2)]
    mean = shape / belief.days * weights[1] / weights[0]
    square = shape * (shape + 1) / belief.days**2 * weights[2] / weights[0]
    variance = max(square - mean**2, mean**2 / (shape + 1))
    return mean**2 / variance, mean / variance


def _faded(belief: Belief, own: float, others: float) -> Belief:
    """The same rate, believed less firmly where a page that lives like others explains better what was seen.

    `own` and `others` are the chances that this belief and the usual one gave to it. So one that falls asleep, or
    wakes up, is noticed after a few visits, however long it had been otherwise.
    """
    same = (1 - LIFE_CHANGES) * own
    kept = same / (same + LIFE_CHANGES * others) if same > 0 else 0.0
    return _part(belief, max(kept, FEWEST_CHANGES / belief.changes))


def _bounded(belief: Belief, changes: float, days: float) -> Belief:
    now = Belief(changes, days, belief.lent, belief.days_of_others)
    return _part(now, MOST_CHANGES / changes)


def _part(belief: Belief, kept: float) -> Belief:
    kept = min(1.0, kept)
    return Belief(belief.changes * kept, belief.days * kept, belief.lent * kept, belief.days_of_others * kept)


def settled_days(since_age_days: float, until_age_days: float) -> float:
    """How many days of a new article's changing lie between two ages of it."""
    return max(0.0, _settled_by(until_age_days) - _settled_by(since_age_days))


def _settled_by(age_days: float) -> float:
    young, old = min(max(0.0, age_days), SETTLED_DAYS), max(0.0, age_days - SETTLED_DAYS)
    return SETTLING_DAYS * math.log1p(young / SETTLING_DAYS) + old / (1 + SETTLED_DAYS / SETTLING_DAYS)
