"""Runs the parts of one crawl together and closes them afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from tenax.crawl.engine import Engine
from tenax.crawl.rules import CrawlRules
from tenax.crawl.supervisor import Supervisor
from tenax.database import Database
from tenax.errors import DatabaseLost, StorageFull, TenaxError
from tenax.events.relay import Relay
from tenax.hosts.records import MemoryHosts
from tenax.logs import logger
from tenax.model import Ending, TransportKind
from tenax.runtime.cancellation import cancel_and_wait

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
        crawl_rules: CrawlRules,
        relays: tuple[Relay, ...],
        supervisor: Supervisor,
        background: Sequence[BackgroundTask],
        parts: Sequence[Closable],
    ) -> None:
        """`background` runs until the crawl ends; `parts` are closed in order, then the database."""
        self.database = database
        self.hosts = hosts
        self.engine = engine
        self.crawl_rules = crawl_rules
        self.relays = relays
        self.supervisor = supervisor
        self._background = background
        self._parts = parts
        self._stop_requested = asyncio.Event()

    async def requeue_browser_tasks(self) -> int:
        """Requeue the tasks that wait for a browser, if there is one now. Returns the number of URLs."""
        is_used = any(TransportKind.BROWSER in site.fetch.fallbacks for site in self.engine.sites)
        if (
            TransportKind.BROWSER not in self.engine.pipeline.available_transports
            or not is_used
            or not self.database.counts().needs_browser
        ):
            return 0
        return await self.database.replay(None, needs_browser=True)

    def stop(self) -> None:
        """Claim nothing more; visits in flight are finished and committed, then `run` returns."""
        self.engine.stop()
        self._stop_requested.set()

    async def abandon_after(self, grace_seconds: float) -> None:
        """A background task: visits still in flight this long after `stop` are left to other workers."""
        await self._stop_requested.wait()
        await asyncio.sleep(grace_seconds)
        count = self.engine.abandon()
        log.warning("visits did not end in time, left to other workers", count=count)

    async def run(self, *extra_tasks: BackgroundTask) -> Ending:
        """Crawl to an end, with `extra_tasks` in the background."""
        try:
            return await self._run(extra_tasks)
        except BaseExceptionGroup as errors:
            raise _first_error(errors) or errors from None

    async def _run(self, extra_tasks: Sequence[BackgroundTask]) -> Ending:
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(work()) for work in (self.supervisor.run, *self._background, *extra_tasks)]
            relaying = [group.create_task(relay.run()) for relay in self.relays]
            try:
                ending = await self.engine.run()
            finally:
                await cancel_and_wait(*watching)
                for relay in self.relays:
                    relay.stop()
            await asyncio.gather(*relaying)
        await self.supervisor.check_files()  # stored pages must be in the files that we name
        if self.supervisor.error is not None:
            raise self.supervisor.error
        return ending

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
