"""What must be done now and then: signs of life, what the dead left behind, the sizes of the lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.config import PageFetcherConfig
from tenax.logs import logger
from tenax.services.page_fetcher import Queue, Standing
from tenax.services.page_fetcher.holdings import Holdings
from tenax.services.page_fetcher.numbers import PageFetcherNumbers

log = logger(__name__)

RECOVER_SECONDS = 60.0
SIZES_SECONDS = 2.0


class Upkeep:
    def __init__(
        self, queue: Queue, holdings: Holdings, config: PageFetcherConfig, numbers: PageFetcherNumbers
    ) -> None:
        self._queue = queue
        self._holdings = holdings
        self._heartbeat_seconds = config.heartbeat_seconds
        self._numbers = numbers

    async def run(self, busy_with: Callable[[], str]) -> None:
        """Until it is cancelled; `busy_with` gives a URL that is being fetched."""
        beat_at = recover_at = 0.0
        loop = asyncio.get_running_loop()
        while True:
            self._numbers.sizes = await self._queue.sizes()
            if loop.time() >= beat_at:
                beat_at = loop.time() + self._heartbeat_seconds
                await self._beat(busy_with())
            if loop.time() >= recover_at:
                recover_at = loop.time() + RECOVER_SECONDS
                await self.recover()
            await asyncio.sleep(min(SIZES_SECONDS, self._heartbeat_seconds))

    async def recover(self) -> None:
        count = await self._queue.recover()
        if count:
            log.warning("URLs of a page-fetcher that died went back to the queue", count=count)

    async def _beat(self, url: str) -> None:
        match await self._queue.beat(url):
            case Standing.GIVEN_UP:
                count = self._holdings.drop()
                log.warning("this page-fetcher counted as dead: others have what it held", dropped=count)
            case Standing.FORGOTTEN:
                await self._holdings.reconcile()
