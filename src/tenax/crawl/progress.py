"""The progress of a running crawl, for display."""

from __future__ import annotations

from collections import deque

from tenax.clock import Clock
from tenax.crawl.engine import Engine
from tenax.database import Database
from tenax.hosts.records import MemoryHosts
from tenax.model import HostBackoff, Progress, Unchanged, Visit

RATE_WINDOW_SECONDS = 10.0
MAX_SHOWN_BACKOFFS = 5


class Meter:
    """Counts what the database does not: this run, and its last seconds."""

    def __init__(self, clock: Clock, database: Database, hosts: MemoryHosts, engine: Engine) -> None:
        self._clock = clock
        self._database = database
        self._hosts = hosts
        self._engine = engine
        self._started_at = clock.now()
        self._pages = 0
        self._recent_page_times: deque[float] = deque()

    def record_visit(self, visit: Visit) -> None:
        if visit.page is not None or isinstance(visit.outcome, Unchanged):
            self._pages += 1
            self._recent_page_times.append(visit.finished_at)

    def progress(self) -> Progress:
        now = self._clock.now()
        counts = self._database.counts()
        backoffs, active = self._host_activity(now)
        return Progress(
            now=now,
            elapsed_seconds=now - self._started_at,
            pages=counts.pages,
            articles=counts.articles,
            pages_this_run=self._pages,
            pages_per_second=self._pages_per_second(now),
            waiting=counts.waiting,
            in_flight=len(self._engine.in_flight),
            hosts_active=active,
            backing_off=tuple(backoffs[:MAX_SHOWN_BACKOFFS]),
            hosts_backing_off=len(backoffs),
            failures=_failure_counts(counts.outcomes),
            wire_bytes=counts.wire_bytes,
            is_stopping=self._engine.is_stopping,
        )

    def _pages_per_second(self, now: float) -> float:
        while self._recent_page_times and self._recent_page_times[0] < now - RATE_WINDOW_SECONDS:
            self._recent_page_times.popleft()
        return len(self._recent_page_times) / max(min(RATE_WINDOW_SECONDS, now - self._started_at), 0.001)

    def _host_activity(self, now: float) -> tuple[list[HostBackoff], int]:
        """The hosts that back off, longest first, and the number of hosts with recent requests."""
        backoffs, active = [], 0
        for record in self._hosts.records():
            if record.backoff_reason and record.next_at > now:
                backoffs.append(HostBackoff(origin=record.origin, until=record.next_at, why=record.backoff_reason))
            elif self._hosts.is_busy(record.origin) or record.next_at > now - RATE_WINDOW_SECONDS:
                active += 1
        backoffs.sort(key=lambda one: -one.until)
        return backoffs, active


def _failure_counts(outcomes: dict[str, int]) -> dict[str, int]:
    """Visits without a page, by reason: `timeout_total`, `robots`, `empty`."""
    failures: dict[str, int] = {}
    for outcome, count in outcomes.items():
        how, _, what = outcome.partition(":")
        if how in ("failed", "refused", "rejected"):
            failures[what] = failures.get(what, 0) + count
    return failures
