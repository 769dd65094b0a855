"""Recrawl policies of the simulated year of `bench.recrawl`: ours and the ones to compare with."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Protocol

from bench.recrawl_world import SimulatedPage
from tenax.model import ChangeHistory, PageKind
from tenax.recrawl.change_rates import Tally, prior_belief
from tenax.recrawl.intervals import (
    DAY_SECONDS,
    ChangeStatus,
    IntervalBounds,
    Observation,
    budget_price,
    initial_price,
    interval_days,
    next_price,
    next_visit_at,
    prior_kind,
    update_history,
    update_prior,
)

EPOCH = 1_700_000_000.0
"""Start of the simulated year."""
BOUNDS = IntervalBounds()
SHORTEST_DAYS, LONGEST_DAYS = BOUNDS.min_seconds / DAY_SECONDS, BOUNDS.max_seconds / DAY_SECONDS


class Policy(Protocol):
    """Gets each visit, and chooses the next page."""

    def visited(self, number: int, day: float, is_changed: bool | None) -> None:
        """A page was visited; None means for the first time."""

    def next_page(self, day: float) -> int | None:
        """The page to visit now; None when none is worth it."""

    def morning(self, day: float, waiting: int) -> None:
        """A day begins with this many pages that were never visited."""


class RoundRobin:
    """Round robin: a fixed interval, as short as the budget allows."""

    def __init__(self) -> None:
        self._line: deque[int] = deque()

    def visited(self, number: int, day: float, is_changed: bool | None) -> None:
        self._line.append(number)

    def next_page(self, day: float) -> int | None:
        return self._line.popleft() if self._line else None

    def morning(self, day: float, waiting: int) -> None:
        pass


class Doubling:
    """Halves the interval after a change, doubles it without one; the page that is due first is next."""

    def __init__(self, pages: int) -> None:
        self._days = [5.0] * pages
        self._due: list[tuple[float, int]] = []

    def visited(self, number: int, day: float, is_changed: bool | None) -> None:
        if is_changed is not None:
            days = self._days[number] * (0.5 if is_changed else 2.0)
            self._days[number] = min(max(days, SHORTEST_DAYS), LONGEST_DAYS)
        heapq.heappush(self._due, (day + self._days[number], number))

    def next_page(self, day: float) -> int | None:
        return heapq.heappop(self._due)[1] if self._due else None

    def morning(self, day: float, waiting: int) -> None:
        pass


class Oracle:
    """Knows the current change rate of each page, but not the times of changes."""

    RENEWED_DAYS = 5.0
    SAMPLE = 1000
    """Sample of pages, evenly chosen by rate, that determines the price."""

    def __init__(self, pages: Sequence[SimulatedPage], per_day: float) -> None:
        self._pages, self._per_day = pages, per_day
        self._price = self._solved = 1.0
        self._beyond, self._renew_at = 1.0, 0.0
        self._last = [0.0] * len(pages)
        self._due: list[tuple[float, int, bool]] = []

    def visited(self, number: int, day: float, is_changed: bool | None) -> None:
        self._last[number] = day
        self._plan(number, day)

    def _plan(self, number: int, day: float) -> None:
        page = self._pages[number]
        days = self._interval(page.per_day(day))
        if page.settles is not None:
            days = self._interval(sum(page.per_day(day + days * part) for part in (0.1, 0.3, 0.5, 0.7, 0.9)) / 5)
        due, other = self._last[number] + days, page.next_phase_after(day)
        heapq.heappush(self._due, (min(due, other), number, other < due))

    def _interval(self, per_day: float) -> float:
        return min(max(interval_days(per_day, self._price), SHORTEST_DAYS), LONGEST_DAYS)

    def next_page(self, day: float) -> int | None:
        while self._due and self._due[0][0] <= day:
            _, number, is_thought_only = heapq.heappop(self._due)
            if not is_thought_only:
                return number
            self._plan(number, day)
        return None

    def morning(self, day: float, waiting: int) -> None:
        overdue = sum(due <= day for due, _, _ in self._due)
        # Some requests stay unused by chance; so it plans for a few more, unless they accumulate.
        self._beyond *= 0.995 if overdue > max(self._per_day / 20, 5) else 1.005
        if day >= self._renew_at:
            self._renew_at = day + self.RENEWED_DAYS
            rates = sorted(page.per_day(day) for page in self._pages if page.born <= day + self.RENEWED_DAYS)
            one_in = max(1, len(rates) // self.SAMPLE)
            few = rates[one_in // 2 :: one_in]
            self._solved = budget_price(few, self._per_day * len(few) / len(rates), (SHORTEST_DAYS, LONGEST_DAYS))
        self._price = self._solved / self._beyond


class Ours:
    """The crawler's policy: learns the change rate of each page, and meets the budget by the price of a visit."""

    def __init__(self, pages: Sequence[SimulatedPage], per_day: float) -> None:
        self._pages, self._per_day = pages, per_day
        self.price = initial_price(sum(page.born == 0 for page in pages), per_day)
        self._known: list[ChangeHistory | None] = [None] * len(pages)
        self._tallies: defaultdict[tuple[int, PageKind], Tally] = defaultdict(Tally)
        self._days = [0.0] * len(pages)
        self._planned = 0.0
        self._due: list[tuple[float, int]] = []

    def visited(self, number: int, day: float, is_changed: bool | None) -> None:
        page, before, now = self._pages[number], self._known[number], EPOCH + day * DAY_SECONDS
        seen = _seen(page, day, is_changed)
        kind = prior_kind(seen, now)
        tally = self._tallies[page.host, kind]
        after = update_history(before, seen, now, BOUNDS, prior_belief(kind, tally))
        assert after is not None
        self._known[number] = after
        self._tallies[page.host, kind] = update_prior(tally, before, after)
        at, _ = next_visit_at(after, now, BOUNDS, self.price)
        self._plan(number, day, (at - now) / DAY_SECONDS)

    def _plan(self, number: int, day: float, days: float) -> None:
        if self._days[number]:
            self._planned -= 1 / self._days[number]
        self._days[number] = days
        self._planned += 1 / days
        heapq.heappush(self._due, (day + days, number))

    def next_page(self, day: float) -> int | None:
        return heapq.heappop(self._due)[1] if self._due and self._due[0][0] <= day else None

    def morning(self, day: float, waiting: int) -> None:
        overdue, known = sum(due <= day for due, _ in self._due), len(self._due)
        # Pages without a visit will need as many further visits as the others.
        planned = self._planned * (1 + waiting / max(known, 1))
        self.price = next_price(self.price, planned, overdue, self._per_day, 1.0)


def _seen(page: SimulatedPage, day: float, is_changed: bool | None) -> Observation:
    sight = ChangeStatus.FIRST if is_changed is None else ChangeStatus.CHANGED if is_changed else ChangeStatus.UNCHANGED
    modified_at = page.last_change_before(day) if page.has_last_modified else None
    return Observation(
        sight,
        page.kind,
        last_modified_at=None if modified_at is None else EPOCH + modified_at * DAY_SECONDS,
        published_at=None if page.published is None else EPOCH + page.published * DAY_SECONDS,
    )
