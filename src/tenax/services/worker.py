"""A worker: crawls what is in the database until it is stopped, together with any number of other workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.clock import Clock
from tenax.config import WorkerConfig
from tenax.crawl.app import App, Meter
from tenax.logs import logger
from tenax.runtime.cancellation import run_until_set

log = logger(__name__)

METRICS_INTERVAL_SECONDS = 1.0


class Worker:
    """Runs once, until `stop`."""

    def __init__(self, app: App, clock: Clock, config: WorkerConfig) -> None:
        self._app = app
        self._meter = Meter(clock, app.database, app.hosts, app.engine)
        self._grace_seconds = config.grace_seconds
        self._stop_requested = asyncio.Event()

    async def run(self) -> None:
        if count := await run_until_set(self._stop_requested, self._app.requeue_browser_tasks()):
            log.info("tasks waiting for a browser requeued", count=count)
        await run_until_set(self._stop_requested, self._app.requeue_for_settings())
        await self._app.run(self._update_gauges, lambda: self._app.abandon_after(self._grace_seconds))

    async def _update_gauges(self) -> None:
        """Update the gauges until cancelled."""
        while True:
            self._app.engine.metrics.update_progress(self._meter.progress())
            await asyncio.sleep(METRICS_INTERVAL_SECONDS)

    def stop(self) -> None:
        """Claim no more tasks. Visits in flight are finished, or left to other workers if they take too long."""
        self._app.stop()
        self._stop_requested.set()

    def set_exit_handler(self, exit_process: Callable[[int], None]) -> None:
        """`exit_process` is called with an exit code if the worker has given up and does not end by itself."""
        self._app.supervisor.exit_process = exit_process

    async def close(self) -> None:
        await self._app.close()
