"""A worker: crawls what the ledger holds until it is stopped, beside any number of others."""

from __future__ import annotations

import asyncio

from tenax.app import App
from tenax.clock import Clock
from tenax.config import WorkerConfig
from tenax.ledger import Admission
from tenax.logs import logger
from tenax.metrics import Metrics
from tenax.model import Visit
from tenax.progress import Meter

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
        await self._app.run(self._counting.measure, self._end_in_time)

    def stop(self) -> None:
        """Claim no more; what is in flight is finished, or waits for others when it takes too long."""
        self._app.engine.stop()
        self._is_asked.set()

    async def close(self) -> None:
        await self._app.close()

    async def _end_in_time(self) -> None:
        await self._is_asked.wait()
        await asyncio.sleep(self._grace_seconds)
        count = self._app.engine.abandon()
        log.warning("visits did not end in time, others will make them", count=count)
