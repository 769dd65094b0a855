"""What visits tell about how often a page changes."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.discover.change_rates import (
    MOST_CHANGES,
    USUAL,
    Belief,
    Tally,
    changed,
    prior,
    relent,
    settled_days,
    tallied,
    unchanged,
)
from tenax.model import PageKind

OTHERS = USUAL[PageKind.OTHER]

beliefs = st.builds(Belief, st.floats(0.05, MOST_CHANGES), st.floats(1e-3, 1e4))
spans = st.floats(1e-6, 1e4)


def exact(belief: Belief, days: float) -> tuple[float, float]:
    """Mean and variance of the rate given a change, by adding up the density."""
    top = 60 * (belief.changes + 5) / belief.days
    rates = [top * (n + 0.5) / 200_000 for n in range(200_000)]
    weights = [
        rate ** (belief.changes - 1) * math.exp(-belief.days * rate) * -math.expm1(-rate * days) for rate in rates
    ]
    total = sum(weights)
    mean = sum(rate * weight for rate, weight in zip(rates, weights, strict=True)) / total
    return mean, sum(rate**2 * weight for rate, weight in zip(rates, weights, strict=True)) / total - mean**2


@pytest.mark.parametrize(
    ("belief", "days"), [(Belief(1.5, 4.0), 1.0), (Belief(3.0, 2.0), 5.0), (Belief(2.0, 9.0), 90.0)]
)
def test_a_change_is_weighed_as_at_least_one(belief: Belief, days: float) -> None:
    after = changed(belief, days, belief)
    mean, variance = exact(belief, days)
    # Believing a little less firmly that it lives as before, where both explain it alike, changes no mean by much.
    assert after.per_day == pytest.approx(mean, rel=0.02)
    assert after.changes / after.days**2 == pytest.approx(variance, rel=0.06)


@given(beliefs, spans)
def test_a_change_raises_the_rate_and_none_lowers_it(belief: Belief, days: float) -> None:
    assert changed(belief, days, OTHERS).per_day >= belief.per_day * (1 - 1e-9)
    assert unchanged(belief, days, OTHERS).per_day <= belief.per_day * (1 + 1e-9)


@given(beliefs, spans, st.floats(0, 1e4))
def test_a_dated_change_does_not_slow_a_page(belief: Belief, days: float, quiet: float) -> None:
    assert changed(belief, days, OTHERS, quiet).per_day >= belief.per_day * (1 - 1e-9)


@given(beliefs, spans)
def test_beliefs_stay_numbers(belief: Belief, days: float) -> None:
    for after in (changed(belief, days, OTHERS), unchanged(belief, days, OTHERS)):
        assert 0 < after.changes <= MOST_CHANGES * 1.001 and 0 < after.days < math.inf
        assert 0 <= after.lent <= 1 and 0 <= after.days_of_others <= after.days * (1 + 1e-9)


@pytest.mark.parametrize("days", [0.0, -5.0])
def test_no_time_tells_nothing(days: float) -> None:
    belief = Belief(1.0, 5.0)
    assert changed(belief, days, OTHERS) == unchanged(belief, days, OTHERS) == belief
    assert tallied(Tally(2, 9), belief, days, is_changed=True) == Tally(2, 9)


@pytest.mark.parametrize(("per_day", "every"), [(0.02, 10.0), (0.3, 2.0), (1.0, 1.5), (3.0, 0.5)])
def test_irregular_visits_find_the_rate(per_day: float, every: float) -> None:
    """Counting the visits that saw a change would give at most one change a visit: two fifths too few of the third."""
    chance = random.Random(7)
    found = []
    for _ in range(40):
        belief = OTHERS
        for _ in range(60):
            days = every * chance.uniform(0.3, 1.7)
            told = changed if chance.random() < -math.expm1(-per_day * days) else unchanged
            belief = told(belief, days, OTHERS)
        found.append(belief.per_day)
    assert per_day * 0.8 < sum(found) / len(found) < per_day * 1.3


def test_the_tally_learns_the_mean_of_a_kind() -> None:
    tally = Tally()
    for _ in range(500):
        tally = tallied(tally, Belief(5.0, 5.0), 2.0, is_changed=True)
    assert tally.changes / tally.days == pytest.approx(1 / -math.expm1(-2.0))
    learned = prior(PageKind.OTHER, tally)
    assert learned.changes == OTHERS.changes and learned.per_day == pytest.approx(1.06, rel=0.1)


@pytest.mark.parametrize("tally", [None, Tally(), Tally(-1.0, 5.0), Tally(math.nan, 5.0), Tally(1.0, math.inf)])
def test_a_tally_that_cannot_be_teaches_nothing(tally: Tally | None) -> None:
    assert prior(PageKind.HUB, tally) == USUAL[PageKind.HUB]


def test_lent_days_follow_the_prior_and_own_days_stay() -> None:
    lent = relent(unchanged(OTHERS, 3.0, OTHERS), Belief(OTHERS.changes, OTHERS.days * 2))
    assert lent.days == pytest.approx(OTHERS.days * 2 + 3.0, rel=0.05)
    assert relent(lent, OTHERS).days == pytest.approx(OTHERS.days + 3.0, rel=0.05)


def test_an_article_settles_with_age() -> None:
    assert settled_days(0, 2) > 5 * settled_days(20, 22)
    assert settled_days(100, 110) == pytest.approx(settled_days(300, 310))
    assert settled_days(-5, 0) == settled_days(3, 3) == settled_days(9, 4) == 0


@given(st.floats(0, 400), st.floats(0, 100), st.floats(0, 100))
def test_settling_adds_up(start: float, first: float, second: float) -> None:
    middle, end = start + first, start + first + second
    assert settled_days(start, end) == pytest.approx(settled_days(start, middle) + settled_days(middle, end), abs=1e-9)
