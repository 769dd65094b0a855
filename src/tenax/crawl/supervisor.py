"""Detects that a crawl has stalled, looks for the cause, and ends a run that cannot recover.

There are two kinds of stall. In the first, the event loop is blocked by code that computes or waits in it; a thread
watches for this. In the second, the loop runs, but no visit ends although some are in flight, or the engine no longer
looks for work; then the network and the database are checked.

If the network is down, the crawl waits for it (`connectivity`). It also waits for a server that the database knows to
be unavailable, however long this takes. Otherwise, a database that does not answer, and a stall without a cause, end
the run with an error of their own. Everything committed is safe, and the run can be started again. A database file that
was deleted or replaced ends the run too. So does too much memory, after the visits in flight are finished.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from tenax.clock import Clock
from tenax.config import ResilienceConfig
from tenax.crawl.connectivity import NetworkMonitor
from tenax.errors import CrawlStalled, DatabaseError, DatabaseLost, DatabaseTimeout, MemoryExceeded, TenaxError
from tenax.runtime.resources import container_limit_bytes, release_memory, used_bytes

log = logging.getLogger(__name__)

MAX_DATABASE_CHECKS = 3
MAX_DIAGNOSES = 3
"""How many times one stall is checked before the run ends."""
EXIT_GRACE_SECONDS = 30.0
"""How long a run that gave up may take to end by itself."""
DRAIN_GRACE_SECONDS = 120.0
"""The same, if it first finishes the visits in flight."""
CONTAINER_MEMORY_SHARE = 0.9
"""Share of the memory limit of a container. Above it the system may kill the process at any time."""
MAX_SHOWN = 10


class WatchedLoop(NamedTuple):
    """What the supervisor watches of the crawl loop."""

    in_flight: Collection[tuple[str, float]]
    """The URLs being visited and their start times."""
    last_activity: Callable[[], float]
    """When a visit last ended."""
    last_claim_attempt: Callable[[], float] | None = None
    """When the loop last looked for work."""
    stop: Callable[[], None] | None = None
    """Ends the run after the visits in flight are committed. Without it memory is not watched."""


class WatchedDatabase(NamedTuple):
    """What the supervisor watches of the database."""

    ping: Callable[[], Awaitable[object]] | None = None
    """A cheap query. It only matters whether there is a reply."""
    is_away: Callable[[], bool] = lambda: False
    """Whether the database knows that its server is unavailable, and reconnects by itself."""
    lost_file: Callable[[], str] = lambda: ""
    """A database file that is no longer in its place. Called in a thread."""


class Timing(NamedTuple):
    """How long the supervisor waits."""

    check_seconds: float = 1.0
    """Time between two checks."""
    blocked_seconds: float = 10.0
    """An event loop that has not run for this long is blocked."""
    database_timeout_seconds: float = 10.0
    """How long the database may take for its smallest reply while the crawl is stalled."""


NO_DATABASE = WatchedDatabase()
DEFAULT_TIMING = Timing()


class Supervisor:
    """Watches one engine."""

    def __init__(
        self,
        clock: Clock,
        loop: WatchedLoop,
        resilience: ResilienceConfig | None = None,
        *,
        database: WatchedDatabase = NO_DATABASE,
        network: NetworkMonitor | None = None,
        timing: Timing = DEFAULT_TIMING,
        used_memory: Callable[[], int] = used_bytes,
    ) -> None:
        resilience = resilience or ResilienceConfig()
        self._clock = clock
        self._loop = loop
        self._database = database
        self._network = network
        self._timing = timing
        self._stall_seconds = resilience.stall_seconds
        self._max_memory_bytes = _memory_limit(resilience.max_memory_bytes)
        self._used_memory = used_memory
        self._heartbeat_at = clock.now()
        self._has_ended = threading.Event()
        self._loop_thread = 0
        self.exit_process: Callable[[int], None] | None = None
        """The last resort if the loop is blocked for good or does not end: `os._exit`, in a process of our own."""
        self.error: TenaxError | None = None
        """Why the run was stopped. Raised when it has ended."""
        self.stalls = 0
        self.blocks = 0

    async def run(self) -> None:
        """Watch until cancelled. Raises `NetworkLost`, `DatabaseTimeout`, `DatabaseLost` or `CrawlStalled` when the run
        cannot recover."""
        self._loop_thread = threading.get_ident()
        self._heartbeat_at = self._clock.now()
        watcher = threading.Thread(target=self._watch_loop, name="supervisor", daemon=True)
        watcher.start()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._run_heartbeat())
                group.create_task(self._watch_visits())
                group.create_task(self._watch_memory())
                group.create_task(self._watch_files())
                if self._network is not None:
                    group.create_task(self._network.run())
        finally:
            self._has_ended.set()
            watcher.join()

    async def _run_heartbeat(self) -> None:
        while True:
            self._heartbeat_at = self._clock.now()
            await asyncio.sleep(self._timing.check_seconds)

    # -- the visits -----------------------------------------------------------------------------------------

    async def _watch_visits(self) -> None:
        progress_at, diagnosed_at, diagnoses = self._last_progress_at(), 0.0, 0
        while True:
            if self._last_progress_at() > progress_at:
                progress_at, diagnosed_at, diagnoses = self._last_progress_at(), 0.0, 0
            if self._clock.now() - max(progress_at, diagnosed_at) > self._stall_seconds:
                if diagnoses == MAX_DIAGNOSES:
                    minutes = (self._clock.now() - progress_at) / 60
                    raise self._schedule_exit(
                        CrawlStalled(
                            f"no progress for {minutes:.0f} minutes, and neither the network nor the database is "
                            "the reason; everything committed is safe: run the same command again"
                        )
                    )
                diagnoses += 1
                diagnosed_at = self._clock.now()
                await self._diagnose(progress_at)
            await asyncio.sleep(self._timing.check_seconds)

    def _last_progress_at(self) -> float:
        """When the crawl last made progress; now, if it has nothing to do."""
        if self._database.is_away() or (self._network is not None and self._network.state.is_down):
            return self._clock.now()
        if self._loop.in_flight:
            return self._loop.last_activity()
        return self._loop.last_claim_attempt() if self._loop.last_claim_attempt is not None else self._clock.now()

    async def _diagnose(self, last_progress_at: float) -> None:
        self.stalls += 1
        oldest = sorted(self._loop.in_flight, key=lambda visit: visit[1])[:MAX_SHOWN]
        log.error(
            "crawl stalled",
            extra={
                "silent_seconds": round(self._clock.now() - last_progress_at),
                "in_flight": len(self._loop.in_flight),
                "oldest": [url for url, _ in oldest],
            },
        )
        probe = await self._network.probe() if self._network is not None else None
        await self._check_database()
        log.info(
            "stall diagnosed",
            extra={"network": probe.reachable_probe or probe.errors if probe else "not asked", "database": "answers"},
        )

    async def _check_database(self) -> None:
        """Raises `DatabaseTimeout` if the database does not answer. It reconnects by itself, so it is asked more than
        once."""
        if self._database.ping is None:
            return
        for _ in range(MAX_DATABASE_CHECKS):
            try:
                async with asyncio.timeout(self._timing.database_timeout_seconds):
                    await self._database.ping()
                return
            except TimeoutError:
                if self._database.is_away():
                    return  # the database has just noticed this, and reconnects
                why = f"no answer within {self._timing.database_timeout_seconds:g} s"
            except DatabaseError as error:
                why = str(error)
                await asyncio.sleep(self._timing.check_seconds)
            log.warning("database does not answer", extra={"why": why})
        raise self._schedule_exit(
            DatabaseTimeout(
                f"the database does not answer: {why}; everything committed is safe: run the same command again"
            )
        )

    # -- the files ------------------------------------------------------------------------------------------

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(self._timing.check_seconds)
            await self.check_files()

    async def check_files(self) -> None:
        """Raises `DatabaseLost` if further commits would go to a file that is no longer in its place."""
        if lost := await asyncio.to_thread(self._database.lost_file):
            raise self._schedule_exit(
                DatabaseLost(
                    f"{lost} was deleted, moved or replaced while the crawl ran; nothing more is written: put it back "
                    "and run the same command again, or start over"
                )
            )

    # -- memory ---------------------------------------------------------------------------------------------

    async def _watch_memory(self) -> None:
        limit, stop = self._max_memory_bytes, self._loop.stop
        if not limit or stop is None:
            return
        while True:
            await asyncio.sleep(self._timing.check_seconds)
            used = await asyncio.to_thread(self._used_memory)
            if used > limit:
                release_memory()
                used = await asyncio.to_thread(self._used_memory)
            if used > limit:
                break
        log.error("memory limit exceeded, stopping", extra={"used_bytes": used, "limit_bytes": limit})
        error = MemoryExceeded(
            f"{used / 1e6:,.0f} MB of memory used, and {limit / 1e6:,.0f} MB are allowed "
            "(`resilience.max_memory_bytes`); everything committed is safe: run the same command again"
        )
        self.error = self._schedule_exit(error, DRAIN_GRACE_SECONDS)
        stop()

    # -- the end --------------------------------------------------------------------------------------------

    def _schedule_exit(self, error: TenaxError, seconds: float = EXIT_GRACE_SECONDS) -> TenaxError:
        """End the process if the run does not end by itself: what has stalled may also prevent the end."""
        if self.exit_process is not None:
            last_resort = threading.Timer(seconds, self.exit_process, [error.exit_code])
            last_resort.daemon = True
            last_resort.start()
        return error

    # -- the event loop -------------------------------------------------------------------------------------

    def _watch_loop(self) -> None:
        reported_beat = 0.0
        while not self._has_ended.wait(self._timing.check_seconds):
            beat = self._heartbeat_at
            blocked_seconds = self._clock.now() - beat
            if blocked_seconds > self._timing.blocked_seconds and beat != reported_beat:
                reported_beat = beat
                self.blocks += 1
                self._log_block("event loop blocked", blocked_seconds)
            if blocked_seconds > MAX_DIAGNOSES * self._stall_seconds and self.exit_process is not None:
                self._log_block("event loop still blocked, exiting", blocked_seconds)
                self.exit_process(CrawlStalled.exit_code)
                return

    def _log_block(self, message: str, seconds: float) -> None:
        log.error(message, extra={"seconds": round(seconds), "at": self._loop_stack()})

    def _loop_stack(self) -> list[str]:
        frame = sys._current_frames().get(self._loop_thread)
        return (
            [line.strip().replace("\n", ": ") for line in traceback.format_stack(frame)[-MAX_SHOWN:]] if frame else []
        )


def _memory_limit(max_memory_bytes: int) -> int:
    """The memory limit; 0: none."""
    if max_memory_bytes >= 0:
        return max_memory_bytes
    return int((container_limit_bytes() or 0) * CONTAINER_MEMORY_SHARE)
