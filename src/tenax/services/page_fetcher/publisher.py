"""Stores pages, publishes their events to the Kafka topic, then settles their items, in batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from tenax.fetch.body_budget import MemoryReservation
from tenax.logs import logger
from tenax.services.page_fetcher import DeadLetterItem, EventLog, Queue
from tenax.services.page_fetcher.disposition import OutgoingPage

log = logger(__name__)

RETRY_DELAYS_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Refusal(Protocol):
    def str(self) -> str: ...


class Producer(Protocol):
    """Sends messages, and waits while the broker is unavailable."""

    async def send(self, topic: str, messages: Sequence[tuple[bytes, bytes]]) -> Sequence[Refusal | None]:
        """For each message, None when every replica has it, or why it was refused."""

    async def close(self) -> None: ...


class Topic:
    """Implements `EventLog`."""

    def __init__(self, producer: Producer, name: str) -> None:
        self._producer = producer
        self._name = name

    async def publish(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        tries = 0
        while events:
            refusals = await self._producer.send(self._name, events)
            refused = [(event, why) for event, why in zip(events, refusals, strict=True) if why is not None]
            events = [event for event, _ in refused]
            if refused:
                log.error("events refused by Kafka, will be retried", topic=self._name, why=refused[0][1].str())
                await asyncio.sleep(RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)])
                tries += 1

    async def close(self) -> None:
        await self._producer.close()


LINGER_SECONDS = 0.004
MAX_BATCH_PAGES = 64
MAX_BATCH_BYTES = 8 * 1024 * 1024
"""Maximum size of pages that are stored together. A longer page is stored alone."""
BATCHES_IN_FLIGHT = 4
MAX_WAITING_PAGES = 256
"""Maximum number of pages that wait to be stored. Further pages block their visits, so fetching stops while the broker
is unavailable."""


class Publisher:
    """Works while `run` runs. Used by many visits at the same time."""

    def __init__(
        self,
        queue: Queue,
        event_log: EventLog,
        on_settled: Callable[[Sequence[bytes]], None],
        on_acknowledged: Callable[[int], None],
    ) -> None:
        """`on_acknowledged` gets the number of pages that the broker has accepted."""
        self._queue = queue
        self._event_log = event_log
        self._on_settled = on_settled
        self._on_acknowledged = on_acknowledged
        self._pages: deque[tuple[OutgoingPage, MemoryReservation]] = deque()
        self._done_items: list[bytes] = []
        self._back_items: list[bytes] = []
        self._front_items: list[bytes] = []
        self._dead_letters: list[DeadLetterItem] = []
        self._has_pages = asyncio.Event()
        self._has_settlements = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._returning_count = 0
        self._is_returned = asyncio.Event()
        self._is_returned.set()
        self._batch_slots = asyncio.Semaphore(BATCHES_IN_FLIGHT)
        self.settle_lock = asyncio.Lock()
        """Held while results are written but not recorded here yet."""
        self._pending_count = 0
        """Pages and other results that are not settled yet."""

    @property
    def is_busy(self) -> bool:
        return self._pending_count > 0

    async def publish_page(self, page: OutgoingPage, room: MemoryReservation) -> None:
        """Publish a page. Blocks while too many pages wait. The reservation is closed when the page is stored and
        published."""
        self._add_pending()
        self._pages.append((page, room))
        self._has_pages.set()
        if len(self._pages) >= MAX_WAITING_PAGES:
            self._has_room.clear()
            await self._has_room.wait()

    def mark_done(self, item: bytes) -> None:
        self._add_pending()
        self._done_items.append(item)
        self._has_settlements.set()

    def requeue_back(self, items: Sequence[bytes]) -> None:
        """Put these items at the end of the queue."""
        self._add_returning(len(items))
        self._back_items.extend(items)
        self._has_settlements.set()

    def requeue_front(self, items: Sequence[bytes]) -> None:
        """Put these items at the head of the queue, in this order, before earlier ones."""
        self._add_returning(len(items))
        self._front_items[:0] = items
        self._has_settlements.set()

    def add_dead_letter(self, dead_letter: DeadLetterItem) -> None:
        self._add_pending()
        self._dead_letters.append(dead_letter)
        self._has_settlements.set()

    async def wait_until_returned(self) -> None:
        """Returns when all requeued items are in the queue."""
        await self._is_returned.wait()

    async def wait_until_empty(self) -> None:
        """Returns when everything is settled."""
        await self._is_empty.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as carriers:
            carriers.create_task(self._settle())
            while True:
                await self._has_pages.wait()
                await asyncio.sleep(LINGER_SECONDS)
                await self._batch_slots.acquire()
                carriers.create_task(self._publish_batch(self._next_pages()))

    def _next_pages(self) -> list[tuple[OutgoingPage, MemoryReservation]]:
        pages, length = [self._pages.popleft()], 0
        while self._pages and len(pages) < MAX_BATCH_PAGES:
            length += len(pages[-1][0].body)
            if length + len(self._pages[0][0].body) > MAX_BATCH_BYTES:
                break
            pages.append(self._pages.popleft())
        if not self._pages:
            self._has_pages.clear()
        if len(self._pages) < MAX_WAITING_PAGES:
            self._has_room.set()
        return pages

    async def _publish_batch(self, batch: list[tuple[OutgoingPage, MemoryReservation]]) -> None:
        pages = [page for page, _ in batch]
        await self._queue.store_pages([(page.cache_key, page.body) for page in pages])
        await self._event_log.publish([(page.key, page.event) for page in pages])
        for _, room in batch:
            room.close()
        self._on_acknowledged(len(pages))
        self._batch_slots.release()
        self._done_items.extend(page.item for page in pages)
        self._has_settlements.set()

    async def _settle(self) -> None:
        while True:
            await self._has_settlements.wait()
            await asyncio.sleep(LINGER_SECONDS)
            self._has_settlements.clear()
            done, back, dead, front = self._done_items, self._back_items, self._dead_letters, self._front_items
            self._done_items, self._back_items, self._dead_letters, self._front_items = [], [], [], []
            async with self.settle_lock:
                await self._queue.settle(done, back, dead, front)
                settled = [*done, *back, *front, *(dead_letter.item for dead_letter in dead)]
                self._pending_count -= len(settled)
                if not self._pending_count:
                    self._is_empty.set()
                self._returning_count -= len(back) + len(front)
                if not self._returning_count:
                    self._is_returned.set()
                self._on_settled(settled)

    def _add_pending(self, count: int = 1) -> None:
        self._pending_count += count
        if self._pending_count:
            self._is_empty.clear()

    def _add_returning(self, count: int) -> None:
        self._add_pending(count)
        self._returning_count += count
        if self._returning_count:
            self._is_returned.clear()
