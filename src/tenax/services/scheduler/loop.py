"""When to check each URL, and the loop that does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tenax.clock import Clock
from tenax.logs import logger
from tenax.runtime.cancellation import Pause, pause, run_until_set
from tenax.services.scheduler import Seed, SeedQueue, SendStatus

log = logger(__name__)

SEND_BATCH_SIZE = 200
MAX_WAIT_SECONDS = 60.0


class SeedScheduler:
    """Sends each seed once per interval. At the start all are checked: the marks show what was sent."""

    def __init__(self, seeds: Sequence[Seed], seed_queue: SeedQueue, clock: Clock, pause: Pause = pause) -> None:
        self._seeds = seeds
        self._seed_queue = seed_queue
        self._clock = clock
        self._pause = pause
        self._stop_requested = asyncio.Event()
        self._due = [(clock.now(), number) for number in range(len(seeds))]
        heapify(self._due)

    def stop(self) -> None:
        self._stop_requested.set()

    async def run(self) -> None:
        while not self._stop_requested.is_set():
            # Stopping does not wait for an unavailable Redis: what was sent is marked there.
            await run_until_set(self._stop_requested, self.send_due_seeds())
            if self._stop_requested.is_set():
                return
            wait = min(max(self._due[0][0] - self._clock.now(), 0.0), MAX_WAIT_SECONDS)
            if wait:
                await self._pause(self._stop_requested, wait)

    async def send_due_seeds(self) -> Counter[SendStatus]:
        """One round; returns its results."""
        now, counts = self._clock.now(), Counter[SendStatus]()
        due: list[int] = []
        while self._due and self._due[0][0] <= now:
            due.append(heappop(self._due)[1])
        for start in range(0, len(due), SEND_BATCH_SIZE):
            numbers = due[start : start + SEND_BATCH_SIZE]
            answers = await self._seed_queue.send([self._seeds[number] for number in numbers])
            for number, (how, again_seconds) in zip(numbers, answers, strict=True):
                counts[how] += 1
                heappush(self._due, (now + again_seconds, number))
        if counts:
            log.info(
                "seeds checked", sent=counts[SendStatus.SENT], not_yet=counts[SendStatus.ALREADY_SENT],
                still_queued=counts[SendStatus.STILL_QUEUED],
            )  # fmt: skip
        return counts
