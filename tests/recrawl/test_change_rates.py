"""What visits say about how often a page changes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model import PageKind
from tenax.recrawl.change_rates import (
    DEFAULT_PRIORS,
    RATES_PER_DAY,
    Belief,
    Tally,
    effective_days,
    gamma_belief,
    normalize_weights,
    pack_belief,
    prior_belief,
    shift_belief,
    unpack_belief,
    update_changed,
    update_from_report,
    update_tally,
    update_unchanged,
)

OTHERS = DEFAULT_PRIORS[PageKind.OTHER]
SLOW, QUICK = RATES_PER_DAY[3], RATES_PER_DAY[10]

beliefs = st.lists(st.floats(1e-12, 1.0), min_size=15, max_size=15).map(normalize_weights)
spans = st.floats(1e-6, 1e4)


def only(*rates: float) -> Belief:
    """These rates are equally likely, and no other."""
    return normalize_weights([float(rate in rates) for rate in RATES_PER_DAY])


def likely(belief: Belief, per_day: float) -> float:
    return belief.weights[RATES_PER_DAY.index(per_day)]


@pytest.mark.parametrize("days", [0.1, 1.0, 5.0, 90.0])
def test_what_was_seen_is_weighed_by_how_likely_it_was(days: float) -> None:
    """For two equally likely rates: one change or more, none, and one with a date."""
    belief, quiet = only(SLOW, QUICK), [math.exp(-rate * days) for rate in (SLOW, QUICK)]
    for after, odds in (
        (update_unchanged(belief, days, belief), quiet),
        (update_changed(belief, days, belief), [1 - odd for odd in quiet]),
        (update_from_report(belief, days), [SLOW * quiet[0], QUICK * quiet[1]]),
        (update_from_report(belief, days, is_change=False), quiet),
        (update_from_report(belief, days, 0.5), [math.sqrt(SLOW * quiet[0]), math.sqrt(QUICK * quiet[1])]),
    ):
        assert likely(after, QUICK) == pytest.approx(odds[1] / sum(odds), rel=1e-6, abs=1e-12)
        assert sum(after.weights) == pytest.approx(1)


def test_the_rate_is_the_mean_of_the_likely_ones() -> None:
    assert only(QUICK).per_day == pytest.approx(QUICK)
    assert only(SLOW, QUICK).per_day == pytest.approx((SLOW + QUICK) / 2)


def test_what_was_as_if_seen_is_a_gamma_distribution() -> None:
    """Its mean, except for the steps between the rates and the minimum weight of each."""
    assert gamma_belief(4.0, 8.0).per_day == pytest.approx(0.5, rel=0.05)
    assert min(OTHERS.weights) > 1e-6


@given(beliefs, spans)
def test_a_change_raises_the_rate_and_none_lowers_it(belief: Belief, days: float) -> None:
    assert update_changed(belief, days, OTHERS).per_day >= belief.per_day * (1 - 1e-9)
    assert update_unchanged(belief, days, OTHERS).per_day <= belief.per_day * (1 + 1e-9)


@given(beliefs, spans, st.floats(0, 1e4))
def test_a_dated_change_does_not_slow_a_page(belief: Belief, days: float, quiet: float) -> None:
    assert update_changed(belief, days, OTHERS, quiet).per_day >= belief.per_day * (1 - 1e-9)


@given(beliefs, spans)
def test_beliefs_stay_numbers(belief: Belief, days: float) -> None:
    for after in (
        update_changed(belief, days, OTHERS),
        update_unchanged(belief, days, OTHERS),
        update_from_report(belief, days),
    ):
        assert all(0 <= weight <= 1 for weight in after.weights)
        assert sum(after.weights) == pytest.approx(1)


@pytest.mark.parametrize(
    ("long", "then", "visits"),
    [(update_unchanged, update_changed, 3), (update_changed, update_unchanged, 12)],
    ids=["wakes up", "falls asleep"],
)
def test_other_habits_are_noticed_however_long_they_had_been_the_same(
    long: Callable[..., Belief], then: Callable[..., Belief], visits: int
) -> None:
    belief = OTHERS
    for _ in range(1000):
        belief = long(belief, 1.0, OTHERS)
    before = belief.per_day
    for _ in range(visits):
        belief = then(belief, 1.0, OTHERS)
    assert belief.per_day > 0.2 > 50 * before if then is update_changed else belief.per_day < 0.15 < before / 5


@given(beliefs)
def test_a_belief_is_stored_in_thirty_bytes(belief: Belief) -> None:
    stored = pack_belief(belief)
    assert len(stored) == 30
    back = unpack_belief(stored)
    assert back is not None
    assert back.weights == pytest.approx(belief.weights, rel=1e-3, abs=1e-12)
    assert pack_belief(back) == stored


@pytest.mark.parametrize("stored", [b"", b"x", b"x" * 31])
def test_what_is_no_belief_is_none(stored: bytes) -> None:
    assert unpack_belief(stored) is None


@pytest.mark.parametrize(("times", "steps"), [(2.5, 1), (0.4, -1), (39.0, 4), (1e9, 4), (1e-9, -10)])
def test_a_coloured_belief_is_half_that_of_other_rates(times: float, steps: int) -> None:
    assert shift_belief(only(QUICK), times) == only(QUICK, RATES_PER_DAY[10 + steps])
    assert shift_belief(only(QUICK), 1.2) == only(QUICK)


@pytest.mark.parametrize("days", [0.0, -5.0])
def test_no_elapsed_time_changes_nothing(days: float) -> None:
    belief = gamma_belief(1.0, 5.0)
    assert update_changed(belief, days, OTHERS) == update_unchanged(belief, days, OTHERS) == belief


@pytest.mark.parametrize(("per_day", "every"), [(0.02, 10.0), (0.3, 2.0), (1.0, 1.5), (3.0, 0.5)])
def test_irregular_visits_find_the_rate(per_day: float, every: float) -> None:
    """Counting the visits that saw a change would give at most one per visit: two fifths too few of the third."""
    chance = random.Random(7)
    found = []
    for _ in range(40):
        belief = OTHERS
        for _ in range(60):
            days = every * chance.uniform(0.3, 1.7)
            update = update_changed if chance.random() < -math.expm1(-per_day * days) else update_unchanged
            belief = update(belief, days, OTHERS)
        found.append(belief.per_day)
    assert per_day * 0.8 < sum(found) / len(found) < per_day * 1.3


def test_the_tally_learns_how_pages_of_a_kind_differ() -> None:
    tally = Tally()
    for rate in (SLOW, QUICK) * 100:
        tally = update_tally(tally, None, only(rate))
    learned = prior_belief(PageKind.OTHER, tally)
    assert likely(learned, SLOW) == pytest.approx(0.5, abs=0.05)
    assert likely(learned, QUICK) == pytest.approx(0.5, abs=0.05)
    few = prior_belief(PageKind.OTHER, update_tally(Tally(), None, only(QUICK)))
    assert likely(OTHERS, QUICK) < likely(few, QUICK) < 0.2


def test_a_page_counts_once_in_the_tally() -> None:
    tally = update_tally(Tally(), None, only(SLOW))
    assert update_tally(tally, only(SLOW), only(QUICK)) == Tally(only(QUICK).weights)
    # What was never added, because the page had another kind, does not make a sum negative.
    assert min(update_tally(tally, only(QUICK), only(SLOW)).weights) == 0


@pytest.mark.parametrize(
    "weights",
    [(), (3.0, 9.0), (-1.0,) * 15, (math.nan,) * 15, (math.inf,) * 15],
    ids=["new", "old", "-1", "nan", "inf"],
)
def test_a_tally_that_cannot_be_teaches_nothing(weights: tuple[float, ...]) -> None:
    assert (
        prior_belief(PageKind.HUB, Tally(weights)) == prior_belief(PageKind.HUB, None) == DEFAULT_PRIORS[PageKind.HUB]
    )
    assert update_tally(Tally(weights), None, only(SLOW)) == Tally(only(SLOW).weights)


def test_an_article_settles_with_age() -> None:
    assert effective_days(0, 2) > 5 * effective_days(20, 22)
    assert effective_days(100, 110) == pytest.approx(effective_days(300, 310))
    assert effective_days(-5, 0) == effective_days(3, 3) == effective_days(9, 4) == 0


@given(st.floats(0, 400), st.floats(0, 100), st.floats(0, 100))
def test_settling_adds_up(start: float, first: float, second: float) -> None:
    middle, end = start + first, start + first + second
    assert effective_days(start, end) == pytest.approx(
        effective_days(start, middle) + effective_days(middle, end), abs=1e-9
    )
