"""Pages with known changes, for the simulated year of `bench.recrawl`; times are days since its start.

The mix: lists that change about daily; articles that change after publication and then settle, some published during
the year; pages with log-normal and Pareto rates, from several changes per day to one in many years; some that change
at fixed times, some in bursts or with changing rates, some never. Nothing is drawn from the crawler's own model: each
article settles at its own pace, and half of them with another power of their age.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tenax.model import PageKind

BEFORE, YEAR = -200.0, 365.0
QUICKEST_PER_DAY = 12.0
HOSTS = 20


@dataclass(frozen=True)
class Phase:
    """From this day on a page changes at this rate."""

    since: float
    per_day: float


@dataclass(frozen=True)
class SimulatedPage:
    """A page, all its changes, and the true rate."""

    host: int
    kind: PageKind
    habit: str
    born: float
    """The day it is found; 0 for all that are there from the start."""
    changes: list[float]
    phases: tuple[Phase, ...]
    published: float | None = None
    """The publication date on an article, if any."""
    settles: Callable[[float], float] | None = None
    """Of an article: its rate on a day."""
    has_last_modified: bool = False
    """Has a correct Last-Modified."""

    def first_change_after(self, day: float) -> float:
        position = bisect.bisect_right(self.changes, day)
        return self.changes[position] if position < len(self.changes) else math.inf

    def last_change_before(self, day: float) -> float | None:
        position = bisect.bisect_right(self.changes, day)
        return self.changes[position - 1] if position else None

    def per_day(self, day: float) -> float:
        """The true rate on a day."""
        if self.settles is not None:
            return self.settles(day)
        position = bisect.bisect_right(self.phases, day, key=lambda phase: phase.since)
        return self.phases[max(position - 1, 0)].per_day

    def next_phase_after(self, day: float) -> float:
        position = bisect.bisect_right(self.phases, day, key=lambda phase: phase.since)
        return self.phases[position].since if position < len(self.phases) else math.inf


def world(seed: int, count: int) -> list[SimulatedPage]:
    """This many pages on several hosts; deterministic by seed."""
    chance = random.Random(seed)
    hosts = [math.exp(chance.gauss(0, 0.6)) for _ in range(HOSTS)]
    habits = list(_HABITS.values())
    makers = chance.choices([make for _, make in habits], [share for share, _ in habits], k=count)
    pages = []
    for make in makers:
        host = chance.randrange(HOSTS)
        pages.append(make(chance, host, hosts[host]))
    return pages


def _hub(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    return _steady(chance, host, PageKind.HUB, "hub", _log_normal(chance, 1.0 * factor, 1.0))


def _plain(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    kind = chance.choice([PageKind.PRODUCT, PageKind.DOCUMENTATION, PageKind.OTHER])
    return _steady(chance, host, kind, "log-normal", _log_normal(chance, factor / 40, 2.0))


def _forum(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    return _steady(chance, host, PageKind.FORUM, "Pareto", 0.01 * factor * chance.paretovariate(0.8))


def _never(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    kind = chance.choice([PageKind.ARTICLE, PageKind.OTHER, PageKind.DOCUMENTATION])
    return _steady(chance, host, kind, "never", 0.0)


def _steady(chance: random.Random, host: int, kind: PageKind, habit: str, per_day: float) -> SimulatedPage:
    per_day = min(per_day, QUICKEST_PER_DAY)
    changes = list(_by_chance(chance, BEFORE, YEAR, per_day))
    return SimulatedPage(
        host, kind, habit, 0.0, changes, (Phase(BEFORE, per_day),), has_last_modified=chance.random() < 0.3
    )  # fmt: skip


def _article(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    published = chance.uniform(-700, 0) if chance.random() < 0.6 else chance.uniform(0, YEAR)
    first, days = min(_log_normal(chance, 1.5 * factor, 0.8), QUICKEST_PER_DAY), _log_normal(chance, 1.5, 0.7)
    power = 1.0 if chance.random() < 0.5 else chance.uniform(0.7, 1.6)

    def per_day(day: float) -> float:
        return float(first / (1 + max(0.0, day - published) / days) ** power)

    changes, at = [], published
    while True:
        highest = per_day(at)
        at += chance.expovariate(highest)
        if at >= YEAR:
            break
        if chance.random() * highest < per_day(at):
            changes.append(at)
    shown = published if chance.random() < 0.8 else None
    return SimulatedPage(
        host, PageKind.ARTICLE, "settling", max(0.0, published), changes, (), shown, per_day, chance.random() < 0.3
    )  # fmt: skip


def _periodic(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    period = chance.choice([0.5, 1.0, 7.0, 30.0])
    changes, at = [], BEFORE + chance.random() * period
    while at < YEAR:
        changes.append(at)
        at += period * chance.uniform(0.95, 1.05)
    kind = chance.choice([PageKind.HUB, PageKind.OTHER, PageKind.PRODUCT])
    return SimulatedPage(host, kind, "periodic", 0.0, changes, (Phase(BEFORE, 1 / period),))


def _bursty(chance: random.Random, host: int, factor: float) -> SimulatedPage:
    """Busy for days and quiet for weeks; or, for half of them, with rates that change every few months."""
    busy_days, quiet_days = (10.0, 60.0) if chance.random() < 0.5 else (120.0, 120.0)
    busy, quiet = _log_normal(chance, 1.5, 0.7), 0.005
    changes: list[float] = []
    phases: list[Phase] = []
    at, is_busy = BEFORE, chance.random() < busy_days / (busy_days + quiet_days)
    while at < YEAR:
        per_day = min(busy, QUICKEST_PER_DAY) if is_busy else quiet
        until = at + chance.expovariate(1 / (busy_days if is_busy else quiet_days))
        phases.append(Phase(at, per_day))
        changes += _by_chance(chance, at, min(until, YEAR), per_day)
        at, is_busy = until, not is_busy
    kind = chance.choice([PageKind.FORUM, PageKind.PRODUCT, PageKind.OTHER])
    return SimulatedPage(host, kind, "bursty", 0.0, changes, tuple(phases))


def _by_chance(chance: random.Random, since: float, until: float, per_day: float) -> Iterator[float]:
    at = since
    while per_day > 0:
        at += chance.expovariate(per_day)
        if at >= until:
            return
        yield at


def _log_normal(chance: random.Random, median: float, spread: float) -> float:
    return median * math.exp(chance.gauss(0, spread))


_Maker = Callable[[random.Random, int, float], SimulatedPage]
_HABITS: dict[str, tuple[float, _Maker]] = {
    "hub": (0.10, _hub),
    "settling": (0.35, _article),
    "log-normal": (0.25, _plain),
    "Pareto": (0.08, _forum),
    "periodic": (0.06, _periodic),
    "bursty": (0.06, _bursty),
    "never": (0.10, _never),
}
