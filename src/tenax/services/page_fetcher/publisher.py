"""The way out: pages are stored, then told, then settled; many at a time, because each step costs a journey."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from tenax.fetch.body_budget import Room
from tenax.services.page_fetcher import Letter, Log, Queue
from tenax.services.page_fetcher.events import Told

GATHER_SECONDS = 0.004
MOST_TOGETHER = 64
TOGETHER_BYTES = 8 * 1024 * 1024
"""Pages that are stored together are no longer than this; a longer one goes alone."""
BATCHES_IN_FLIGHT = 4
MOST_WAITING = 256
"""Pages that wait to be stored; whoever brings another waits too. So a broker that is away stops the fetching."""


class Outlet:
    """Runs while its `run` does; used by many visits at once."""

    def __init__(
        self,
        queue: Queue,
        log: Log,
        on_settled: Callable[[Sequence[bytes]], None],
        on_acknowledged: Callable[[int], None],
    ) -> None:
        """`on_acknowledged` hears how many pages the broker has taken."""
        self._queue = queue
        self._log = log
        self._on_settled = on_settled
        self._on_acknowledged = on_acknowledged
        self._pages: deque[tuple[Told, Room]] = deque()
        self._done: list[bytes] = []
        self._back: list[bytes] = []
        self._front: list[bytes] = []
        self._dead: list[Letter] = []
        self._has_pages = asyncio.Event()
        self._has_ends = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._returning = 0
        self._is_returned = asyncio.Event()
        self._is_returned.set()
        self._may_carry = asyncio.Semaphore(BATCHES_IN_FLIGHT)
        self._under_way = 0
        """Pages and other ends that were brought and are not settled yet."""

    @property
    def is_busy(self) -> bool:
        return self._under_way > 0

    async def put(self, page: Told, room: Room) -> None:
        """Waits while too many wait already. The room is closed when the page is stored and told."""
        self._begin()
        self._pages.append((page, room))
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
        self._begin_return(len(items))
        self._back.extend(items)
        self._has_ends.set()

    def front(self, items: Sequence[bytes]) -> None:
        """To the head of the queue, in this order; before those that were brought earlier."""
        self._begin_return(len(items))
        self._front[:0] = items
        self._has_ends.set()

    def dead(self, letter: Letter) -> None:
        self._begin()
        self._dead.append(letter)
        self._has_ends.set()

    async def returned(self) -> None:
        """Returns when all that goes back to the queue is there."""
        await self._is_returned.wait()

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

    def _next_pages(self) -> list[tuple[Told, Room]]:
        pages, length = [self._pages.popleft()], 0
        while self._pages and len(pages) < MOST_TOGETHER:
            length += len(pages[-1][0].body)
            if length + len(self._pages[0][0].body) > TOGETHER_BYTES:
                break
            pages.append(self._pages.popleft())
        if not self._pages:
            self._has_pages.clear()
        if len(self._pages) < MOST_WAITING:
            self._has_room.set()
        return pages

    async def _carry(self, brought: list[tuple[Told, Room]]) -> None:
        pages = [page for page, _ in brought]
        await self._queue.store([(page.cache_key, page.body) for page in pages])
        await self._log.tell([(page.key, page.event) for page in pages])
        for _, room in brought:
            room.close()
        self._on_acknowledged(len(pages))
        self._may_carry.release()
        self._done.extend(page.item for page in pages)
        self._has_ends.set()

    async def _settle(self) -> None:
        while True:
            await self._has_ends.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._has_ends.clear()
            done, back, dead, front = self._done, self._back, self._dead, self._front
            self._done, self._back, self._dead, self._front = [], [], [], []
            await self._queue.settle(done, back, dead, front)
            settled = [*done, *back, *front, *(letter.item for letter in dead)]
            self._under_way -= len(settled)
            if not self._under_way:
                self._is_empty.set()
            self._returning -= len(back) + len(front)
            if not self._returning:
                self._is_returned.set()
            self._on_settled(settled)

    def _begin(self, count: int = 1) -> None:
        self._under_way += count
        if self._under_way:
            self._is_empty.clear()

    def _begin_return(self, count: int) -> None:
        self._begin(count)
        self._returning += count
        if self._returning:
            self._is_returned.clear()
