"""Intervals under a budget: the least mean age for a given number of requests a day.

The age of a stored copy is the time since the first change that we have not seen, and 0 while there is none, as Cho and
Garcia-Molina define it (Synchronizing a database to improve freshness, 2000). For a page that changes at random at some
rate and is visited at a fixed interval, the mean age is known, and so is how much one more visit saves. The mean over
all pages is least when the last visit of every page saves the same amount: the price.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

MAX_STEPS = 60
MIN_RATE_PER_DAY = 1e-6
"""A slower page practically never changes."""
DEFAULT_RATE_PER_DAY = 0.05
GAIN_PER_DAY = 1.0
MAX_FACTOR_PER_DAY = 3.0
"""A price changes by at most this factor in a day."""
CATCH_UP_DAYS = 5.0
"""Overdue visits are caught up within this many days."""
BACKLOG_DAYS = 0.18
"""Visits for this long may always wait: without any, requests are lost whenever nothing happens to be due."""
MIN_PRICE, MAX_PRICE = 1e-9, 1e9


def mean_age_days(per_day: float, interval_days: float) -> float:
    """Of a page with this rate, averaged over time, at this interval."""
    changes = per_day * interval_days
    if changes < 1e-3:  # where the differences below lose their digits
        return interval_days * (changes / 6 - changes**2 / 24)
    return interval_days * (0.5 - 1 / changes - math.expm1(-changes) / changes**2)


def visit_saving(per_day: float, interval_days: float) -> float:
    """By how much one more visit a day would lower the mean age, in days squared: the price that this interval pays.

    The integral of t * (1 - exp(-rate * t)) over the interval: the age at each moment, times the probability that there
    is any.
    """
    changes = per_day * interval_days
    if changes < 1e-3:
        return interval_days**2 * (changes / 3 - changes**2 / 8)
    return (changes**2 / 2 + (1 + changes) * math.exp(-changes) - 1) / per_day**2


def interval_days(per_day: float, price: float) -> float:
    """The interval for a page with this rate: longer at a higher price, shorter at a higher rate.

    The visits of a slow page follow the cube root of its rate, those of a fast one ever less: with several changes
    between two visits it is stale nearly always, and one more visit gains the same short time whatever its rate.
    """
    per_day = max(per_day, MIN_RATE_PER_DAY)
    days = max(math.cbrt(3 * price / per_day), math.sqrt(2 * price))
    for _ in range(MAX_STEPS):
        # Newton's method on a convex, rising function: it passes the root at most once, then descends to it.
        step = (visit_saving(per_day, days) - price) / (days * -math.expm1(-per_day * days))
        days -= step
        if abs(step) <= 1e-3 * days:  # its error is of the order of its square
            break
    return days


def budget_price(rates_per_day: Iterable[float], visits_per_day: float, bounds_days: tuple[float, float]) -> float:
    """The price at which pages with these rates need this many visits a day, together and within the bounds."""
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
    """The first price, while nothing is known of the pages: as if all changed at the same rate, once in some weeks."""
    return visit_saving(DEFAULT_RATE_PER_DAY, max(pages, 1) / visits_per_day)


def next_price(
    price: float, planned_per_day: float, overdue: int, allowed_per_day: float, elapsed_days: float
) -> float:
    """The price after a while: higher if more visits are planned than allowed, lower if fewer are.

    `planned_per_day` is the sum of 1 / interval over all pages, as last planned; `overdue` is the number of due visits.
    The planned visits follow the price only as pages are planned again, so it changes slowly.
    """
    wanted_per_day = planned_per_day + (overdue - BACKLOG_DAYS * allowed_per_day) / CATCH_UP_DAYS
    if not (math.isfinite(wanted_per_day) and wanted_per_day > 0 and allowed_per_day > 0 and elapsed_days > 0):
        return price
    most = math.log(MAX_FACTOR_PER_DAY)
    step = min(max(GAIN_PER_DAY * math.log(wanted_per_day / allowed_per_day), -most), most) * min(elapsed_days, 1.0)
    return min(max(price * math.exp(step), MIN_PRICE), MAX_PRICE)
