"""Periodic work: heartbeats, recovery of dead workers' items, and the lengths of the lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.logs import logger
from tenax.runtime.cancellation import Pause, pause
from tenax.services.page_fetcher import Queue, WorkerStatus
from tenax.services.page_fetcher.counters import PageFetcherMetrics
from tenax.services.page_fetcher.in_flight import InFlight

log = logger(__name__)

RECOVER_INTERVAL_SECONDS = 5.0
"""A dead fetcher is noticed within this time after its lease expires."""
SIZES_INTERVAL_SECONDS = 2.0


class Maintenance:
    def __init__(
        self,
        queue: Queue,
        in_flight_items: InFlight,
        config: PageFetcherConfig,
        metrics: PageFetcherMetrics,
        clock: Clock,
        pause: Pause = pause,
    ) -> None:
        self._queue = queue
        self._in_flight_items = in_flight_items
        self._heartbeat_seconds = config.heartbeat_seconds
        self._metrics = metrics
        self._clock = clock
        self._pause = pause

    async def run(self, current_url: Callable[[], str]) -> None:
        """Runs until cancelled; `current_url` returns a URL that is being fetched."""
        beat_at = recover_at = 0.0
        never = asyncio.Event()
        while True:
            now = self._clock.now()
            self._metrics.sizes = await self._queue.sizes()
            if now >= beat_at:
                beat_at = now + self._heartbeat_seconds
                await self._send_heartbeat(current_url())
            if now >= recover_at:
                recover_at = now + RECOVER_INTERVAL_SECONDS
                await self.recover()
            await self._pause(never, min(SIZES_INTERVAL_SECONDS, self._heartbeat_seconds))

    async def recover(self) -> None:
        count = await self._queue.recover_dead_workers()
        if count:
            log.warning("URLs of a dead page-fetcher requeued", count=count)

    async def _send_heartbeat(self, url: str) -> None:
        match await self._queue.send_heartbeat(url):
            case WorkerStatus.EXPIRED:
                count = await self._in_flight_items.drop_items()
                log.warning("worker lease expired, re-registering", dropped=count)
            case WorkerStatus.UNKNOWN:
                await self._in_flight_items.reconcile()
