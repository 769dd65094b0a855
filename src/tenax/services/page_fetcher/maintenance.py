"""What must be done now and then: signs of life, what the dead left behind, the sizes of the lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.logs import logger
from tenax.services.page_fetcher import Queue, Standing
from tenax.services.page_fetcher.counters import PageFetcherNumbers
from tenax.services.page_fetcher.in_flight import Holdings
from tenax.services.wait import Pause, pause

log = logger(__name__)

RECOVER_SECONDS = 5.0
"""So long after a fetcher counts as dead, at most, somebody notices it."""
SIZES_SECONDS = 2.0


class Upkeep:
    def __init__(
        self,
        queue: Queue,
        holdings: Holdings,
        config: PageFetcherConfig,
        numbers: PageFetcherNumbers,
        clock: Clock,
        pause: Pause = pause,
    ) -> None:
        self._queue = queue
        self._holdings = holdings
        self._heartbeat_seconds = config.heartbeat_seconds
        self._numbers = numbers
        self._clock = clock
        self._pause = pause

    async def run(self, busy_with: Callable[[], str]) -> None:
        """Until it is cancelled; `busy_with` gives a URL that is being fetched."""
        beat_at = recover_at = 0.0
        never = asyncio.Event()
        while True:
            now = self._clock.now()
            self._numbers.sizes = await self._queue.sizes()
            if now >= beat_at:
                beat_at = now + self._heartbeat_seconds
                await self._beat(busy_with())
            if now >= recover_at:
                recover_at = now + RECOVER_SECONDS
                await self.recover()
            await self._pause(never, min(SIZES_SECONDS, self._heartbeat_seconds))

    async def recover(self) -> None:
        count = await self._queue.recover()
        if count:
            log.warning("URLs of a page-fetcher that died went back to the queue", count=count)

    async def _beat(self, url: str) -> None:
        match await self._queue.beat(url):
            case Standing.GIVEN_UP:
                count = await self._holdings.drop()
                log.warning("this page-fetcher counted as dead: others have what it held", dropped=count)
            case Standing.FORGOTTEN:
                await self._holdings.reconcile()
