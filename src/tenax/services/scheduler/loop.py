"""When each URL is to be looked at, and the loop that does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from tenax.clock import Clock
from tenax.logs import logger
from tenax.runtime.cancellation import unless_set
from tenax.services.scheduler import Marks, Seed, Sending
from tenax.services.wait import Pause, pause

log = logger(__name__)

MOST_AT_ONCE = 200
LONGEST_WAIT_SECONDS = 60.0


class Agenda:
    """Sends each seed once an interval. At the start all of them are looked at: the marks know what was sent."""

    def __init__(self, seeds: Sequence[Seed], marks: Marks, clock: Clock, pause: Pause = pause) -> None:
        self._seeds = seeds
        self._marks = marks
        self._clock = clock
        self._pause = pause
        self._stopping = asyncio.Event()
        self._due = [(clock.now(), number) for number in range(len(seeds))]
        heapify(self._due)

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        while not self._stopping.is_set():
            # Redis may be away, and whoever stops us does not wait for it: what was sent is marked there.
            await unless_set(self._stopping, self.send_what_is_due())
            if self._stopping.is_set():
                return
            wait = min(max(self._due[0][0] - self._clock.now(), 0.0), LONGEST_WAIT_SECONDS)
            if wait:
                await self._pause(self._stopping, wait)

    async def send_what_is_due(self) -> Counter[Sending]:
        """One round; what came of it."""
        now, counts = self._clock.now(), Counter[Sending]()
        due: list[int] = []
        while self._due and self._due[0][0] <= now:
            due.append(heappop(self._due)[1])
        for start in range(0, len(due), MOST_AT_ONCE):
            numbers = due[start : start + MOST_AT_ONCE]
            answers = await self._marks.send([self._seeds[number] for number in numbers])
            for number, (how, again_seconds) in zip(numbers, answers, strict=True):
                counts[how] += 1
                heappush(self._due, (now + again_seconds, number))
        if counts:
            log.info(
                "seeds looked at", sent=counts[Sending.SENT], not_yet=counts[Sending.MARKED],
                still_queued=counts[Sending.WAITING],
            )  # fmt: skip
        return counts
