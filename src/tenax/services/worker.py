"""A worker: crawls what is in the database until it is stopped, beside any number of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.clock import Clock
from tenax.config import WorkerConfig
from tenax.crawl.app import App, Meter
from tenax.database import Admission
from tenax.logs import logger
from tenax.metrics import Metrics
from tenax.model import Visit
from tenax.runtime.cancellation import run_until_set

log = logger(__name__)

METRICS_INTERVAL_SECONDS = 1.0


class WorkerMetrics:
    """The metrics of a worker."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._meter: Meter | None = None

    def start(self, app: App, clock: Clock) -> None:
        self._meter = Meter(clock, app.database, app.hosts, app.engine)

    def on_visit(self, visit: Visit, admission: Admission) -> None:
        self.metrics.count_visit(visit, admission.duplicate_of is not None)
        if self._meter is not None:
            self._meter.record_visit(visit)

    async def update_gauges(self) -> None:
        """Update the gauges until cancelled."""
        while self._meter is not None:
            self.metrics.update_progress(self._meter.progress())
            await asyncio.sleep(METRICS_INTERVAL_SECONDS)


class Worker:
    """Runs once, until `stop`."""

    def __init__(self, app: App, worker_metrics: WorkerMetrics, config: WorkerConfig) -> None:
        self._app = app
        self._worker_metrics = worker_metrics
        self._grace_seconds = config.grace_seconds
        self._stop_requested = asyncio.Event()

    async def run(self) -> None:
        if count := await run_until_set(self._stop_requested, self._app.requeue_browser_tasks()):
            log.info("tasks waiting for a browser requeued", count=count)
        await self._app.run(self._worker_metrics.update_gauges, lambda: self._app.abandon_after(self._grace_seconds))

    def stop(self) -> None:
        """Claim nothing more; visits in flight are finished, or left to others when they take too long."""
        self._app.stop()
        self._stop_requested.set()

    def set_exit_handler(self, exit_process: Callable[[int], None]) -> None:
        """`exit_process` is called with an exit code when the worker has given up and does not end by itself."""
        self._app.supervisor.exit_process = exit_process

    async def close(self) -> None:
        await self._app.close()
