"""The age of stored pages: a simulated year of 5,000 pages with a fixed number of requests per day.

All policies have the same pages (`bench.recrawl_world`), the same number of requests and the same first crawl, which
takes the first five days; a page published later is found when it appears, and its first visit is one of the requests.
The age of a page is the time since the first unseen change, 0 if there is none; its mean is over all stored pages and
the whole year. Ours starts without knowledge of any page. Several seeds are run, and the worst one counts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise, repeat

from bench.recrawl_plot import PLOT, drawn
from bench.recrawl_policies import Doubling, Oracle, Ours, Policy, RoundRobin
from bench.recrawl_world import YEAR, SimulatedPage, world
from bench.report import Report, run, say, short, table

PAGES, PER_DAY = 5000, 1000
QUICK_PAGES, QUICK_PER_DAY = 1000, 200
SEEDS, QUICK_SEEDS = (1, 2, 3), (1,)
WEEK = 7.0
LEARNING_WEEKS = 4
"""Excluded from the figure for the steady state."""

LOWER_BAR = 0.30
ABOVE_ORACLE_BAR = 0.15

POLICIES: dict[str, Callable[[Sequence[SimulatedPage], float], Policy]] = {
    "fixed": lambda pages, per_day: RoundRobin(),
    "doubling": lambda pages, per_day: Doubling(len(pages)),
    "oracle": Oracle,
    "tenax": Ours,
}


@dataclass
class Year:
    """A simulated year: visits per page, days of age and days stored per week."""

    visits: list[int]
    age: list[float] = field(default_factory=lambda: [0.0] * (int(YEAR // WEEK) + 1))
    stored_days: list[float] = field(default_factory=lambda: [0.0] * (int(YEAR // WEEK) + 1))

    def stale(self, since: float, until: float) -> None:
        """Add the age of a page that was out of date between these days."""
        for week, start, end in _weeks(since, until):
            self.age[week] += ((end - since) ** 2 - (start - since) ** 2) / 2

    def holding(self, since: float) -> None:
        for week, start, end in _weeks(since, YEAR):
            self.stored_days[week] += end - start

    def mean_age(self, first_week: int = 0) -> float:
        return sum(self.age[first_week:]) / sum(self.stored_days[first_week:])


def _weeks(since: float, until: float) -> list[tuple[int, float, float]]:
    first, last = int(since // WEEK), int(until // WEEK)
    edges = [since, *(week * WEEK for week in range(first + 1, last + 1)), until]
    return [(first + n, start, end) for n, (start, end) in enumerate(pairwise(edges))]


def main() -> None:
    run("recrawl", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    count, per_day = (QUICK_PAGES, QUICK_PER_DAY) if chosen.quick else (PAGES, PER_DAY)
    seeds = QUICK_SEEDS if chosen.quick else SEEDS
    say(f"{count:,} pages, {per_day:,} requests a day, {YEAR:.0f} days, {len(seeds)} seeds: a minute each…")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as processes:
        years = list(processes.map(years_of, seeds, repeat(count), repeat(per_day)))
    if not chosen.quick:
        PLOT.write_text(drawn(world(seeds[0], count), years[0]), encoding="utf-8")
    _write_report(report, {name: [one[name] for one in years] for name in POLICIES}, (count, per_day, list(seeds)))


def years_of(seed: int, count: int, per_day: int) -> dict[str, Year]:
    """Simulate the same pages with each policy."""
    pages = world(seed, count)
    return {name: year_of(pages, policy(pages, per_day), per_day) for name, policy in POLICIES.items()}


def year_of(pages: Sequence[SimulatedPage], policy: Policy, per_day: float) -> Year:
    """Requests are evenly spaced; one without a page to visit is lost."""
    year, last = Year([0] * len(pages)), [YEAR] * len(pages)
    births = sorted(((page.born, number) for number, page in enumerate(pages)), reverse=True)
    for slot in range(int(YEAR * per_day)):
        day = (slot + 1) / per_day
        if slot % per_day == 0:
            policy.morning(day, sum(born <= day for born, _ in births))
        is_first = bool(births) and births[-1][0] <= day
        number = births.pop()[1] if is_first else policy.next_page(day)
        if number is None:
            continue
        changed_at = YEAR if is_first else pages[number].first_change_after(last[number])
        if is_first:
            year.holding(day)
        elif changed_at <= day:
            year.stale(changed_at, day)
        year.visits[number] += 1
        last[number] = day
        policy.visited(number, day, None if is_first else changed_at <= day)
    for page, visited in zip(pages, last, strict=True):
        if (changed_at := page.first_change_after(visited)) < YEAR:
            year.stale(changed_at, YEAR)
    return year


def _write_report(report: Report, runs: dict[str, list[Year]], size: tuple[int, int, list[int]]) -> None:
    ages = {name: [year.mean_age() for year in years] for name, years in runs.items()}
    later = {name: [year.mean_age(LEARNING_WEEKS) for year in years] for name, years in runs.items()}
    requests = {name: [sum(year.visits) for year in years] for name, years in runs.items()}
    table(
        ["", "mean age, days", "after four weeks", "requests"],
        [
            [name, *("  ".join(short(one) for one in what[name]) for what in (ages, later, requests))]
            for name in POLICIES
        ],
    )  # fmt: skip
    report.figure("pages", size[0])
    report.figure("requests_per_day", size[1])
    report.figure("seeds", [*size[2]])
    for name in POLICIES:
        report.figure(
            name,
            {"mean_age_days": [*ages[name]], "after_four_weeks": [*later[name]], "requests": [*requests[name]]},
        )
    report.figure("later_above_oracle", max(_excess(later, "oracle")))
    report.at_least("lower_than_fixed", min(-one for one in _excess(ages, "fixed")), LOWER_BAR)
    report.at_most("above_oracle", max(_excess(ages, "oracle")), ABOVE_ORACLE_BAR)
    report.at_most("requests_beside_fixed", 1 + max(_excess(requests, "fixed")), 1.0)
    report.at_most("requests_beside_oracle", 1 + max(_excess(requests, "oracle")), 1.0)


def _excess(what: dict[str, list[float]] | dict[str, list[int]], beside: str) -> list[float]:
    return [ours / other - 1 for ours, other in zip(what["tenax"], what[beside], strict=True)]


if __name__ == "__main__":
    main()
