"""How long to wait between visits when they cannot all be afforded: the least mean age for a number of requests a day.

The age of what we hold is the time since the first change that we have not seen, and 0 while there is none, as Cho
and Garcia-Molina define it (Synchronizing a database to improve freshness, 2000). Of a page that changes by chance at
some rate and is visited every so many days, the mean age is known, and so is how much of it one more visit saves. It
is least, over all pages, when every page's last visit saves the same: the price.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

MAX_STEPS = 60
MIN_RATE_PER_DAY = 1e-6
"""A slower page is as good as one that never changes."""
DEFAULT_RATE_PER_DAY = 0.05
GAIN_PER_DAY = 1.0
MAX_FACTOR_PER_DAY = 3.0
"""A price rises or falls by no more than this factor in a day, whatever it is told."""
CATCH_UP_DAYS = 5.0
"""In so many days what is overdue is to be caught up with."""
BACKLOG_DAYS = 0.18
"""Visits for so long may always be waiting: with none, requests are lost whenever chance leaves nothing due."""
MIN_PRICE, MAX_PRICE = 1e-9, 1e9


def mean_age_days(per_day: float, interval_days: float) -> float:
    """Of a page that changes at this rate, averaged over time, when it is visited so often."""
    changes = per_day * interval_days
    if changes < 1e-3:  # where the differences below lose their digits
        return interval_days * (changes / 6 - changes**2 / 24)
    return interval_days * (0.5 - 1 / changes - math.expm1(-changes) / changes**2)


def visit_saving(per_day: float, interval_days: float) -> float:
    """By how much one more visit a day would lower the mean age, in days squared: the price this interval pays.

    It is the integral of t * (1 - exp(-rate * t)) over the interval: the age that would have been, at each moment,
    times the chance that there is any.
    """
    changes = per_day * interval_days
    if changes < 1e-3:
        return interval_days**2 * (changes / 3 - changes**2 / 8)
    return (changes**2 / 2 + (1 + changes) * math.exp(-changes) - 1) / per_day**2


def interval_days(per_day: float, price: float) -> float:
    """How long to wait for a page of this rate: longer the dearer, shorter the more it changes.

    A slow page is visited as the cube root of its rate. A quick one ever less above that: beyond a few changes between
    two visits it is stale nearly always, and one more visit buys it the same short while whatever its rate.
    """
    per_day = max(per_day, MIN_RATE_PER_DAY)
    days = max(math.cbrt(3 * price / per_day), math.sqrt(2 * price))
    for _ in range(MAX_STEPS):
        # Newton's step on a convex, rising function: it passes the root once at most, then comes down to it.
        step = (visit_saving(per_day, days) - price) / (days * -math.expm1(-per_day * days))
        days -= step
        if abs(step) <= 1e-3 * days:  # its error is of the order of its square
            break
    return days


def budget_price(rates_per_day: Iterable[float], visits_per_day: float, bounds_days: tuple[float, float]) -> float:
    """The price at which pages of these rates ask for so many visits a day, together and within the bounds."""
    rates = list(rates_per_day)
    shortest_days, longest_days = bounds_days
    low, high = math.log(MIN_PRICE), math.log(MAX_PRICE)
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2
        asked = sum(1 / min(max(interval_days(rate, math.exp(middle)), shortest_days), longest_days) for rate in rates)
        low, high = (middle, high) if asked > visits_per_day else (low, middle)
        if high - low < 1e-4:
            break
    return math.exp(high)


def initial_price(pages: int, visits_per_day: float) -> float:
    """The price to begin with, before anything is known of the pages: as if all changed alike, once in some weeks."""
    return visit_saving(DEFAULT_RATE_PER_DAY, max(pages, 1) / visits_per_day)


def next_price(
    price: float, planned_per_day: float, overdue: int, allowed_per_day: float, elapsed_days: float
) -> float:
    """The price a while later: dearer while more is planned than allowed, cheaper while less is.

    `planned_per_day` is the sum of one over the interval of each page, as it was last planned; `overdue` is how many
    wait for a visit that was due. What they ask for together follows the price only as pages come up for their next
    plan, so it is led there gently.
    """
    asked = planned_per_day + (overdue - BACKLOG_DAYS * allowed_per_day) / CATCH_UP_DAYS
    if not (math.isfinite(asked) and asked > 0 and allowed_per_day > 0 and elapsed_days > 0):
        return price
    most = math.log(MAX_FACTOR_PER_DAY)
    step = min(max(GAIN_PER_DAY * math.log(asked / allowed_per_day), -most), most) * min(elapsed_days, 1.0)
    return min(max(price * math.exp(step), MIN_PRICE), MAX_PRICE)
