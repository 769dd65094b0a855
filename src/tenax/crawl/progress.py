"""How a running crawl is doing, for those who watch it."""

from __future__ import annotations

from collections import deque

from tenax.clock import Clock
from tenax.crawl.engine import Engine
from tenax.database import Ledger
from tenax.hosts.records import MemoryHosts
from tenax.model import Progress, Resting, Unchanged, Visit

RATE_WINDOW_SECONDS = 10.0
SHOWN_RESTING = 5


class Meter:
    """Counts what the ledger does not: this run, and the last seconds of it."""

    def __init__(self, clock: Clock, ledger: Ledger, hosts: MemoryHosts, engine: Engine) -> None:
        self._clock = clock
        self._ledger = ledger
        self._hosts = hosts
        self._engine = engine
        self._began_at = clock.now()
        self._pages = 0
        self._lately: deque[float] = deque()

    def visited(self, visit: Visit) -> None:
        if visit.page is not None or isinstance(visit.outcome, Unchanged):
            self._pages += 1
            self._lately.append(visit.finished_at)

    def progress(self) -> Progress:
        now = self._clock.now()
        counts = self._ledger.counts()
        resting, active = self._hosts_now(now)
        return Progress(
            now=now,
            elapsed_seconds=now - self._began_at,
            pages=counts.pages,
            articles=counts.articles,
            pages_this_run=self._pages,
            pages_per_second=self._rate(now),
            waiting=counts.waiting,
            in_flight=len(self._engine.in_flight),
            hosts_active=active,
            resting=tuple(resting[:SHOWN_RESTING]),
            hosts_resting=len(resting),
            failures=_troubles(counts.outcomes),
            wire_bytes=counts.wire_bytes,
            is_stopping=self._engine.is_stopping,
        )

    def _rate(self, now: float) -> float:
        while self._lately and self._lately[0] < now - RATE_WINDOW_SECONDS:
            self._lately.popleft()
        return len(self._lately) / max(min(RATE_WINDOW_SECONDS, now - self._began_at), 0.001)

    def _hosts_now(self, now: float) -> tuple[list[Resting], int]:
        """Who rests, the longest first, and how many hosts had a turn lately."""
        resting, active = [], 0
        for record in self._hosts.records():
            if record.resting_why and record.next_at > now:
                resting.append(Resting(origin=record.origin, until=record.next_at, why=record.resting_why))
            elif self._hosts.is_busy(record.origin) or record.next_at > now - RATE_WINDOW_SECONDS:
                active += 1
        resting.sort(key=lambda one: -one.until)
        return resting, active


def _troubles(outcomes: dict[str, int]) -> dict[str, int]:
    """Visits that gave no page, by what was in the way: `timeout_total`, `robots`, `empty`."""
    troubles: dict[str, int] = {}
    for outcome, count in outcomes.items():
        how, _, what = outcome.partition(":")
        if how in ("failed", "refused", "rejected"):
            troubles[what] = troubles.get(what, 0) + count
    return troubles
