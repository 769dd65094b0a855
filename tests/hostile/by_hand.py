"""A crawl on a manual clock: real parts and real sockets, and hours that pass at once.

When nothing is in flight and no host is ready, the clock advances to the next claim. So times are exact: an interval is
a decision of the crawl, never the speed of the machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

from tenax.clock import ManualClock
from tenax.config import Config, Sites
from tenax.crawl import DATABASE_FILE
from tenax.crawl.app import App
from tenax.crawl.location import Location
from tenax.crawl.wiring import build_app
from tenax.database import Admission
from tenax.database.sqlite import SqliteDatabase
from tenax.hosts.rules import HostPace
from tenax.metrics import Metrics
from tenax.model import Ending, Visit
from tenax.urls.admit import build_rules, seed_candidates
from tests.hostile.crawling import Settings, config_for

DEADLINE_SECONDS = 120.0
PATIENT: Settings = {
    "crawl.max_idle_seconds": 1e9,
    "events.jsonl": "",
    "database.fsync": False,
    "database.lease_seconds": 1e9,
}
"""The clock advances by hours, so neither the idle limit nor a lease may expire."""

Happening = Callable[[], Awaitable[None] | None]


class Days:
    """The clock, and what happens in the world at times of its own."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.started_at = self.clock.now()
        self._happenings: list[tuple[float, int, Happening]] = []
        self._numbers = count()

    def time(self) -> float:
        """Seconds since the beginning."""
        return self.clock.now() - self.started_at

    def at(self, seconds: float, happening: Happening) -> None:
        heappush(self._happenings, (seconds, next(self._numbers), happening))

    async def leap(self, to: float) -> None:
        """Up to this time by the clock, or up to the next happening if that comes first."""
        seconds = to - self.started_at
        if self._happenings and self._happenings[0][0] <= seconds:
            due, _, happening = heappop(self._happenings)
            self.clock.advance(max(due - self.time(), 0.0))
            if (more := happening()) is not None:
                await more
        else:
            self.clock.advance(max(seconds - self.time(), 0.0))


class LeapingDatabase(SqliteDatabase):
    """Where others would wait for work, time passes."""

    days: Days
    _was_idle = False

    async def wait_for_work(self, timeout_seconds: float) -> None:
        claim_at = self.next_claim_at()
        is_idle = not self._claims and not self._pending and not self._writing_count and not self._window.is_filling
        if not is_idle or claim_at is None or claim_at <= self._clock.now():
            self._was_idle = False
            await super().wait_for_work(min(timeout_seconds, 0.05))
        elif self._was_idle:
            self._was_idle = False
            await self.days.leap(claim_at)
        else:  # the crawl may decide to end, now that the time of the next claim is known
            self._was_idle = True
            await asyncio.sleep(0)


class ByHand:
    """A crawl that is ready to run, and every visit it made."""

    def __init__(self, app: App, database: LeapingDatabase, visits: list[Visit]) -> None:
        self.app = app
        self.database = database
        self.visits = visits

    async def run(self) -> Ending:
        """Run to the end, with a deadline in real time."""
        running, end = asyncio.ensure_future(self.app.engine.run()), time.monotonic() + DEADLINE_SECONDS
        while not running.done() and time.monotonic() < end:
            await asyncio.wait((running,), timeout=1.0)
        if not running.done():
            running.cancel()
        return await running

    def stop(self) -> None:
        self.app.engine.stop()

    @property
    def stored(self) -> set[str]:
        """The URLs of the pages that this run stored."""
        return {visit.page.url for visit in self.visits if visit.page is not None}


@asynccontextmanager
async def crawl_by_hand(
    seeds: Sequence[str], out: Path, days: Days, settings: Settings | None = None, *, ports: Sequence[int] = ()
) -> AsyncIterator[ByHand]:
    """A crawl in this directory: new, or the one that is there already."""
    config = config_for(seeds, {**PATIENT, **(settings or {})}, ports)
    rules = build_rules(seeds, config, 2026)
    database = await _opened(out, days, config)
    visits: list[Visit] = []

    def note(visit: Visit, admission: Admission) -> None:
        visits.append(visit)

    app = await build_app(Location(out), database, rules, config, days.clock, allowed_origins=(), metrics=Metrics())
    app.engine.listeners.append(note)
    try:
        await database.admit(seed_candidates(rules))
        yield ByHand(app, database, visits)
    finally:
        await app.close()


async def _opened(out: Path, days: Days, config: Config) -> LeapingDatabase:
    database = await LeapingDatabase.open(out / DATABASE_FILE, config.database, days.clock, HostPace(Sites(config)))
    assert isinstance(database, LeapingDatabase)
    database.days = days
    return database
