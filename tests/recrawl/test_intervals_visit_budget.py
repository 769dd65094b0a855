"""Intervals for a price, and the price for a budget."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.recrawl.intervals import (
    MAX_FACTOR_PER_DAY,
    MAX_PRICE,
    MIN_PRICE,
    budget_price,
    initial_price,
    interval_days,
    mean_age_days,
    next_price,
    visit_saving,
)

rates = st.floats(1e-5, 1e3)
prices = st.floats(1e-6, 1e6)


@pytest.mark.parametrize(
    ("per_day", "interval", "age"),
    [(1.0, 1.0, 0.5 - math.exp(-1)), (1e-6, 10.0, 1e-6 * 100 / 6), (1e6, 4.0, 2.0)],
)
def test_mean_age(per_day: float, interval: float, age: float) -> None:
    assert mean_age_days(per_day, interval) == pytest.approx(age, rel=1e-3)


@given(rates, st.floats(0.01, 1000))
def test_mean_age_is_the_mean_of_the_age(per_day: float, interval: float) -> None:
    """By summing, over the interval, the probability of a change times the age since the first one."""
    steps = 2000
    moments = [(n + 0.5) * interval / steps for n in range(steps)]
    total = sum(moment + math.expm1(-per_day * moment) / per_day for moment in moments) / steps
    assert mean_age_days(per_day, interval) == pytest.approx(total, rel=1e-2, abs=1e-9)


@given(rates, prices)
def test_an_interval_pays_its_price(per_day: float, price: float) -> None:
    assert visit_saving(per_day, interval_days(per_day, price)) == pytest.approx(price, rel=1e-3)


@given(rates, st.floats(1.01, 100), prices, st.floats(1.01, 100))
def test_quicker_pages_come_sooner_and_dearer_visits_later(
    per_day: float, quicker: float, price: float, dearer: float
) -> None:
    days = interval_days(per_day, price)
    assert interval_days(per_day * quicker, price) <= days * 1.0001
    assert interval_days(per_day, price * dearer) > days


def test_pages_that_change_very_often_do_not_get_everything() -> None:
    """A thousand times as many changes: not even twice the visits."""
    assert interval_days(1.0, 2.0) / interval_days(1000.0, 2.0) < 2
    assert interval_days(1e4, 2.0) == pytest.approx(math.sqrt(2 * 2.0), rel=1e-3)
    # Slow ones follow the cube root.
    assert interval_days(1e-4, 2.0) / interval_days(1e-1 / 8, 2.0) == pytest.approx(5, rel=0.08)


def test_a_page_that_never_changes_is_hardly_visited() -> None:
    assert 100 < interval_days(0.0, 2.0) < math.inf


RATES = [0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 4.0]


def test_the_price_spends_the_budget() -> None:
    price = budget_price(RATES, 2.0, (0.01, 1000.0))
    assert sum(1 / interval_days(rate, price) for rate in RATES) == pytest.approx(2.0, rel=1e-3)


def test_the_price_gives_the_least_mean_age() -> None:
    """Moving visits from any page to any other raises the mean age."""
    price = budget_price(RATES, 2.0, (0.01, 1000.0))
    visits = [1 / interval_days(rate, price) for rate in RATES]
    best = sum(mean_age_days(rate, 1 / often) for rate, often in zip(RATES, visits, strict=True))
    for giving, taking in (*pairwise(range(7)), *pairwise(range(6, -1, -1)), (0, 6), (6, 0)):
        moved = list(visits)
        part = 0.2 * min(visits)
        moved[giving] -= part
        moved[taking] += part
        assert sum(mean_age_days(rate, 1 / often) for rate, often in zip(RATES, moved, strict=True)) > best


def test_the_first_price_is_one_visit_for_each_page() -> None:
    assert interval_days(0.05, initial_price(5000, 1000.0)) == pytest.approx(5.0, rel=1e-3)
    assert initial_price(0, 1000.0) > 0


def test_the_price_converges_to_the_budget() -> None:
    """Pages are planned again when they are visited; a tenth of them each day."""
    pages, price = RATES * 10, 1000.0
    planned = [interval_days(rate, price) for rate in pages]
    for day in range(200):
        price = next_price(price, sum(1 / days for days in planned), 4, 20.0, 1.0)
        for number in range(day % 10, len(pages), 10):
            planned[number] = interval_days(pages[number], price)
    assert sum(1 / days for days in planned) == pytest.approx(20.0, rel=0.02)


@pytest.mark.parametrize(
    ("planned", "overdue", "allowed"), [(math.nan, 0, 5.0), (math.inf, 0, 5.0), (0.0, 0, 5.0), (5.0, 0, 0.0)]
)
def test_a_price_stays_without_information(planned: float, overdue: int, allowed: float) -> None:
    assert next_price(3.0, planned, overdue, allowed, 1.0) == 3.0
    assert next_price(3.0, 9.0, 0, 5.0, -1.0) == 3.0


@given(st.floats(MIN_PRICE, MAX_PRICE), st.floats(0, 1e12), st.integers(0, 10**9), st.floats(0, 1e9), st.floats(0, 1e6))
def test_a_price_moves_no_faster_than_it_may(
    price: float, planned: float, overdue: int, allowed: float, elapsed: float
) -> None:
    after = next_price(price, planned, overdue, allowed, elapsed)
    assert MIN_PRICE <= after <= MAX_PRICE
    assert price / MAX_FACTOR_PER_DAY * 0.999 <= after <= price * MAX_FACTOR_PER_DAY * 1.001


def test_what_is_overdue_makes_it_dearer() -> None:
    dearer, same, cheaper = (next_price(2.0, 100.0, overdue, 100.0, 1.0) for overdue in (50, 18, 0))
    assert dearer > same > cheaper and same == pytest.approx(2.0)
