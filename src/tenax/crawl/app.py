"""Runs the parts of one crawl together, reports its progress, and closes the parts afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Protocol

from tenax.clock import Clock
from tenax.crawl.ended_tasks import requeue_for_settings
from tenax.crawl.engine import Engine
from tenax.crawl.supervisor import Supervisor
from tenax.database import Database, Frontier
from tenax.errors import DatabaseLost, StorageFull, TenaxError
from tenax.events.relay import Relay
from tenax.hosts.records import MemoryHosts
from tenax.logs import logger
from tenax.metrics import RATE_WINDOW_SECONDS
from tenax.model import Ending, HostBackoff, Progress, TransportKind
from tenax.runtime.cancellation import cancel_and_wait

MAX_SHOWN_BACKOFFS = 5


class Meter:
    """Reports the progress of a run: the counts of the database, and for this run those of the engine's metrics."""

    def __init__(self, clock: Clock, frontier: Frontier, hosts: MemoryHosts, engine: Engine) -> None:
        self._clock = clock
        self._frontier = frontier
        self._hosts = hosts
        self._engine = engine
        self._started_at = clock.now()

    def progress(self) -> Progress:
        now = self._clock.now()
        counts = self._frontier.counts()
        backoffs, active = self._host_activity(now)
        return Progress(
            now=now,
            elapsed_seconds=now - self._started_at,
            pages=counts.pages,
            articles=counts.articles,
            pages_this_run=self._engine.metrics.pages_this_run,
            pages_per_second=self._pages_per_second(now),
            waiting=counts.waiting,
            in_flight=len(self._engine.in_flight),
            hosts_active=active,
            backing_off=tuple(backoffs[:MAX_SHOWN_BACKOFFS]),
            hosts_backing_off=len(backoffs),
            failures=_failure_counts(counts.outcomes),
            wire_bytes=counts.wire_bytes,
            pages_in_python=self._engine.metrics.native_refusals.total(),
            native_refusal=next(iter(self._engine.metrics.native_refusals), ""),
            is_stopping=self._engine.is_stopping,
        )

    def _pages_per_second(self, now: float) -> float:
        times = self._engine.metrics.recent_page_times
        while times and times[0] < now - RATE_WINDOW_SECONDS:
            times.popleft()
        return len(times) / max(min(RATE_WINDOW_SECONDS, now - self._started_at), 0.001)

    def _host_activity(self, now: float) -> tuple[list[HostBackoff], int]:
        """The hosts that back off, the longest backoff first, and the number of hosts with recent requests."""
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


log = logger(__name__)

BackgroundTask = Callable[[], Coroutine[Any, Any, None]]


class Closable(Protocol):
    def close(self) -> Awaitable[None]: ...


class App:
    """Built by `wiring`; runs once."""

    def __init__(
        self,
        database: Database,
        hosts: MemoryHosts,
        engine: Engine,
        *,
        relays: tuple[Relay, ...],
        supervisor: Supervisor,
        background: Sequence[BackgroundTask],
        parts: Sequence[Closable],
    ) -> None:
        """`background` runs until the crawl ends. `parts` are closed in order, and then the database."""
        self.database = database
        self.hosts = hosts
        self.engine = engine
        self.crawl_rules = engine.crawl_rules
        self.relays = relays
        self.supervisor = supervisor
        self._background = background
        self._parts = parts
        self._stop_requested = asyncio.Event()

    async def requeue_browser_tasks(self) -> int:
        """Requeue the tasks that wait for a browser, if there is a browser now. Returns the number of URLs."""
        is_used = any(TransportKind.BROWSER in site.fetch.fallbacks for site in self.engine.sites)
        if (
            TransportKind.BROWSER not in self.engine.pipeline.available_transports
            or not is_used
            or not self.database.counts().needs_browser
        ):
            return 0
        return await self.database.replay(None, needs_browser=True)

    async def requeue_for_settings(self) -> int:
        """Requeue what the settings of earlier runs or other workers ended, and those of this one may end otherwise.
        Returns the number of URLs."""
        return await requeue_for_settings(self.database, self.engine.sites)

    def stop(self) -> None:
        """Claim no more tasks. Visits in flight are finished and committed, and then `run` returns."""
        self.engine.stop()
        self._stop_requested.set()

    async def abandon_after(self, grace_seconds: float) -> None:
        """A background task: visits still in flight this long after `stop` are left to other workers."""
        await self._stop_requested.wait()
        await asyncio.sleep(grace_seconds)
        count = self.engine.abandon()
        log.warning("visits did not end in time, left to other workers", count=count)

    async def run(self, *extra_tasks: BackgroundTask) -> Ending:
        """Crawl to the end, with `extra_tasks` in the background."""
        try:
            return await self._run(extra_tasks)
        except BaseExceptionGroup as errors:
            raise _first_error(errors) or errors from None

    async def _run(self, extra_tasks: Sequence[BackgroundTask]) -> Ending:
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(work()) for work in (self.supervisor.run, *self._background, *extra_tasks)]
            relaying = [group.create_task(relay.run()) for relay in self.relays]
            # In a task of its own, because it wakes up for every URL, and no outer task needs to.
            crawling = group.create_task(self.engine.run())
            crawling.add_done_callback(lambda _: self._stop_others(watching))
            try:
                await asyncio.wait((crawling, *relaying))
            finally:
                await cancel_and_wait(*watching)
        await self.supervisor.check_files()  # stored pages must be in the files at these paths
        if self.supervisor.error is not None:
            raise self.supervisor.error
        return crawling.result()

    def _stop_others(self, watching: Iterable[asyncio.Task[None]]) -> None:
        """At the end of the crawl. The relays still write what is committed."""
        for task in watching:
            task.cancel()
        for relay in self.relays:
            relay.stop()

    async def close(self) -> None:
        for part in (*self._parts, *self.relays, self.database):
            await part.close()


def _first_error(group: BaseExceptionGroup[BaseException]) -> TenaxError | None:
    """The error to report: many visits may raise the same one. A full disk and a lost file come first."""
    found: list[TenaxError] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop()
        if isinstance(error, BaseExceptionGroup):
            pending.extend(error.exceptions)
        elif isinstance(error, TenaxError):
            found.append(error)
    return next(
        (error for error in found if isinstance(error, (StorageFull, DatabaseLost))), found[0] if found else None
    )
