"""A worker: crawls what the ledger holds until it is stopped, beside any number of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.clock import Clock
from tenax.config import WorkerConfig
from tenax.crawl.app import App
from tenax.crawl.progress import Meter
from tenax.database import Admission
from tenax.logs import logger
from tenax.metrics import Metrics
from tenax.model import Visit
from tenax.runtime.cancellation import unless_set

log = logger(__name__)

MEASURE_SECONDS = 1.0


class Counting:
    """What happens in a worker, in numbers."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self._meter: Meter | None = None

    def begin(self, app: App, clock: Clock) -> None:
        self._meter = Meter(clock, app.ledger, app.hosts, app.engine)

    def visited(self, visit: Visit, admission: Admission) -> None:
        self.metrics.visit(visit, admission.duplicate_of is not None)
        if self._meter is not None:
            self._meter.visited(visit)

    async def measure(self) -> None:
        """Bring the gauges up to date until it is cancelled."""
        while self._meter is not None:
            self.metrics.scrape(self._meter.progress())
            await asyncio.sleep(MEASURE_SECONDS)


class Worker:
    """Runs once, until `stop`."""

    def __init__(self, app: App, counting: Counting, config: WorkerConfig) -> None:
        self._app = app
        self._counting = counting
        self._grace_seconds = config.grace_seconds
        self._is_asked = asyncio.Event()

    async def run(self) -> None:
        if count := await unless_set(self._is_asked, self._app.take_up()):
            log.info("URLs that waited for a browser are visited again", count=count)
        await self._app.run(self._counting.measure, lambda: self._app.abandon_after(self._grace_seconds))

    def stop(self) -> None:
        """Claim no more; what is in flight is finished, or waits for others when it takes too long."""
        self._app.stop()
        self._is_asked.set()

    def own_process(self, end: Callable[[int], None]) -> None:
        """`end` is called with an exit code when it has given up, and does not come to its end by itself."""
        self._app.supervisor.end_process = end

    async def close(self) -> None:
        await self._app.close()
