"""The way out: pages are stored, then told, then settled; many at a time, because each step costs a journey."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tenax.services.page_fetcher import Letter, Log, Queue
from tenax.services.page_fetcher.events import Told

GATHER_SECONDS = 0.004
MOST_TOGETHER = 64
BATCHES_IN_FLIGHT = 4
MOST_WAITING = 256
"""Pages that wait to be stored; whoever brings another waits too. So a broker that is away stops the fetching."""


class Outlet:
    """Runs while its `run` does; used by many visits at once."""

    def __init__(self, queue: Queue, log: Log, on_settled: Callable[[Sequence[bytes]], None]) -> None:
        self._queue = queue
        self._log = log
        self._on_settled = on_settled
        self._pages: list[Told] = []
        self._done: list[bytes] = []
        self._back: list[bytes] = []
        self._dead: list[Letter] = []
        self._has_pages = asyncio.Event()
        self._has_ends = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._may_carry = asyncio.Semaphore(BATCHES_IN_FLIGHT)
        self._under_way = 0
        """Pages and other ends that were brought and are not settled yet."""

    @property
    def is_busy(self) -> bool:
        return self._under_way > 0

    async def put(self, page: Told) -> None:
        """Waits while too many wait already."""
        self._begin()
        self._pages.append(page)
        self._has_pages.set()
        if len(self._pages) >= MOST_WAITING:
            self._has_room.clear()
            await self._has_room.wait()

    def done(self, item: bytes) -> None:
        self._begin()
        self._done.append(item)
        self._has_ends.set()

    def back(self, items: Sequence[bytes]) -> None:
        """To the end of the queue."""
        self._begin(len(items))
        self._back.extend(items)
        self._has_ends.set()

    def dead(self, letter: Letter) -> None:
        self._begin()
        self._dead.append(letter)
        self._has_ends.set()

    async def empty(self) -> None:
        """Returns when all that was brought is settled."""
        await self._is_empty.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as carriers:
            carriers.create_task(self._settle())
            while True:
                await self._has_pages.wait()
                await asyncio.sleep(GATHER_SECONDS)
                await self._may_carry.acquire()
                carriers.create_task(self._carry(self._next_pages()))

    def _next_pages(self) -> list[Told]:
        pages, self._pages = self._pages[:MOST_TOGETHER], self._pages[MOST_TOGETHER:]
        if not self._pages:
            self._has_pages.clear()
        if len(self._pages) < MOST_WAITING:
            self._has_room.set()
        return pages

    async def _carry(self, pages: list[Told]) -> None:
        await self._queue.store([(page.cache_key, page.body) for page in pages])
        await self._log.tell([(page.key, page.event) for page in pages])
        self._may_carry.release()
        self._done.extend(page.item for page in pages)
        self._has_ends.set()

    async def _settle(self) -> None:
        while True:
            await self._has_ends.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._has_ends.clear()
            done, back, dead = self._done, self._back, self._dead
            self._done, self._back, self._dead = [], [], []
            await self._queue.settle(done, back, dead)
            settled = [*done, *back, *(letter.item for letter in dead)]
            self._under_way -= len(settled)
            if not self._under_way:
                self._is_empty.set()
            self._on_settled(settled)

    def _begin(self, count: int = 1) -> None:
        self._under_way += count
        if self._under_way:
            self._is_empty.clear()
