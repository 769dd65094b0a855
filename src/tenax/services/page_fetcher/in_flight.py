"""What is ours: taken from the queue, in hand or on its way out, until it is settled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.hosts import Hosts
from tenax.logs import logger
from tenax.model import HostRecord
from tenax.services.page_fetcher import DeadLetterItem, EventLog, Queue
from tenax.services.page_fetcher.backoff import HostBackoffs
from tenax.services.page_fetcher.counters import PageFetcherMetrics
from tenax.services.page_fetcher.disposition import encode_reason
from tenax.services.page_fetcher.intake import WINDOW_SIZE, Intake
from tenax.services.page_fetcher.items import InvalidItem, Item, parse_item
from tenax.services.page_fetcher.publisher import Publisher
from tenax.services.page_fetcher.scheduler import HostQueue
from tenax.services.wait import pause

log = logger(__name__)


class InFlight:
    """Fills the hand from the queue, and keeps account of every item until the queue has it off our hands."""

    def __init__(
        self,
        queue: Queue,
        events: EventLog,
        hosts: Hosts,
        host_queue: HostQueue,
        backoffs: HostBackoffs,
        clock: Clock,
        config: PageFetcherConfig,
        max_items_per_host: int,
        metrics: PageFetcherMetrics,
    ) -> None:
        self.publisher = Publisher(queue, events, self.on_settled, self._on_acknowledged)
        self.wakeup = asyncio.Event()
        """Set when there is something to look at in the hand."""
        self.has_room = asyncio.Event()
        """Set when there may be a reason to take more."""
        self.is_blocked = False
        """Nothing is taken: every host of the queue is to be left alone."""
        self._queue = queue
        self._hosts = hosts
        self._host_queue = host_queue
        self._backoffs = backoffs
        self._clock = clock
        self._config = config
        self._max_items_per_host = max_items_per_host
        self._metrics = metrics
        self._intake = Intake()
        self._claimed: Counter[bytes] = Counter()
        self._full_hosts: set[str] = set()
        """Hosts of which enough was in hand, and more than half of it still is."""
        self._returning_items: list[Item] = []
        """On their way to the head of the queue."""
        self._is_taking = False
        self._redirected_hosts: set[str] = set()
        """Hosts that are left alone, and are waited for in hand by items that were led to them."""
        self._receive_lock = asyncio.Lock()
        """Held while something is ours by the account of Redis, and not by our own yet."""

    def __len__(self) -> int:
        return self._claimed.total()

    @property
    def is_moving(self) -> bool:
        """Whether the queue has just been asked, or something is on its way back to it."""
        return self._is_taking or self.publisher.is_busy

    # -- in -------------------------------------------------------------------------------------------------

    async def fill_from_queue(self) -> None:
        """Take from the queue while there is room in hand and somebody to ask; runs until it is cancelled."""
        troubles = self._queue.failure_count
        while True:
            if self._queue.failure_count != troubles:
                troubles = self._queue.failure_count
                await self.reconcile()
            if self._free_slots <= 0:
                self.has_room.clear()
                await pause(self.has_room, self._config.poll_timeout_seconds)
                continue
            self._is_taking = True
            # What we put back ourselves is nothing new: who waits for an item would get it at once, for ever.
            await self.publisher.wait_until_returned()
            length = await self._scan_queue()
            self._is_taking = False
            self._flush_returning()
            if not length:
                self.is_blocked = False
                await self._queue.wait_for_items(self._config.poll_timeout_seconds)
            elif self._intake.is_exhausted:
                # That of somebody who is only not to be asked so soon is no outage.
                self.is_blocked = all(origin in self._backoffs for origin in self._intake.skipped_hosts)
                await self._wait_for_free_host()
            else:
                self.is_blocked = False

    async def reconcile(self) -> None:
        """After Redis was away: what it gave us without our hearing of it, and what it has forgotten that we hold."""
        async with self._receive_lock:
            ours = Counter(await self._queue.claimed_items())
            held = Counter(self._claimed)
            await self._queue.restore_claims(list((held - ours).elements()))
            await self._receive(list((ours - held).elements()))

    @property
    def _free_slots(self) -> int:
        return self._config.max_in_flight - len(self)

    async def _scan_queue(self) -> int:
        """Look through the queue, and take what may be asked for; how many items it had at last."""
        length = 0
        self._full_hosts = {
            origin for origin in self._full_hosts if self._host_queue.count(origin) > self._max_items_per_host // 2
        }
        for span in self._intake.scan_spans():
            first = span.first
            for _ in range(span.windows):
                items, length = await self._queue.peek(first, WINDOW_SIZE)
                chosen = self._intake.select_items(items, span, self._host_free_slots, self._free_slots)
                taken = await self._take(first, chosen.items) if chosen.items else []
                first += chosen.examined - len(taken)
                self._intake.record_window(span, first, length, len(taken))
                length -= len(taken)
                if self._free_slots <= 0:
                    return length or 1
                if first >= length:
                    break
        return length

    async def _take(self, offset: int, items: Sequence[bytes]) -> list[bytes]:
        async with self._receive_lock:
            taken = await self._queue.take(offset, WINDOW_SIZE, items)
            await self._receive(taken)
        return taken

    async def _wait_for_free_host(self) -> None:
        """Nothing of the queue may be taken: until that may have changed, or it is time to look for new items."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._config.poll_timeout_seconds
        while (left := until - loop.time()) > 0:
            if any(self._host_free_slots(origin) for origin in self._intake.skipped_hosts):
                self._intake.resume_scan()
                return
            self.has_room.clear()
            await pause(self.has_room, left)

    def _host_free_slots(self, origin: str) -> int:
        """How many more of this host may be in hand. One that was full is filled up when half of it is gone: to look
        for the next item after each that was fetched would be to do nothing else."""
        if origin in self._backoffs:
            return 0
        count = self._host_queue.count(origin)
        if origin in self._full_hosts and count > self._max_items_per_host // 2:
            return 0
        if count >= self._max_items_per_host:
            self._full_hosts.add(origin)
        return max(self._max_items_per_host - count, 0)

    async def _receive(self, raws: Sequence[bytes]) -> None:
        for raw in raws:
            self._claimed[raw] += 1
        attempts = await self._queue.attempts(raws)
        now = self._clock.now()
        for raw, count in zip(raws, attempts, strict=True):
            item = parse_item(raw, now, count)
            if isinstance(item, InvalidItem):
                log.warning("not a URL, given up", why=item.why)
                self.add_dead_letter(raw, item.why, None, 0)
            else:
                self.schedule_item(self._host_queue.assign_position(item), now)
        if raws:
            self.wakeup.set()

    # -- out ------------------------------------------------------------------------------------------------

    def schedule_item(self, item: Item, at: float) -> None:
        """It stays in hand and is asked for again; where its host is to be left alone, the queue keeps it."""
        origin = item.task.origin
        resting = self._backoffs.get(origin)
        if resting is None:
            self._host_queue.add(item, at, self._hosts.get(origin))
        elif not item.is_redirected_away:
            self._requeue_front([item])
        elif self._may_stay(origin):
            self._host_queue.add(item, max(at, resting.next_at), resting)
        else:
            self.requeue([item.raw])

    def _may_stay(self, origin: str) -> bool:
        """Whether one that was led to this host may wait for it in hand. In the queue it stands under the host that
        led it there, which would be asked for it again and again. Too many of them would keep others out."""
        self._redirected_hosts = {
            led_to for led_to in self._redirected_hosts if led_to in self._backoffs and self._host_queue.count(led_to)
        }
        if sum(map(self._host_queue.count, self._redirected_hosts)) >= self._max_items_per_host:
            return False
        self._redirected_hosts.add(origin)
        return True

    def on_visit_end(self, record: HostRecord, now: float) -> None:
        """A visit of this host has ended; when it must be left alone, all that waits for it goes back."""
        self._host_queue.on_visit_end(record.origin, record)
        if self._backoffs.update_host(record, now):
            items = self._host_queue.remove_host(record.origin)
            self._requeue_front([item for item in items if not item.is_redirected_away])
            for item in items:
                if item.is_redirected_away:
                    self.schedule_item(item, now)

    def requeue(self, raws: Sequence[bytes]) -> None:
        """To the end of the queue."""
        if raws:
            self._metrics.requeued += len(raws)
            self.publisher.requeue_back(raws)

    def _requeue_front(self, items: Sequence[Item]) -> None:
        """To the head of the queue, where they came from. Not while more is being taken from there: what was taken
        later would go before what was taken first."""
        self._returning_items += map(self._host_queue.assign_position, items)
        if not self._is_taking:
            self._flush_returning()

    def _flush_returning(self) -> None:
        items, self._returning_items = sorted(self._returning_items, key=lambda item: item.position), []
        if items:
            self._metrics.requeued += len(items)
            self.publisher.requeue_front([item.raw for item in items])

    def add_dead_letter(self, raw: bytes, why: str, status: int | None, attempts: int) -> None:
        self._metrics.dead_letters += 1
        self.publisher.add_dead_letter(DeadLetterItem(raw, encode_reason(why, status, attempts, self._clock.now())))

    async def drop_items(self) -> int:
        """Others have what we held: forget what is not in flight; how many items that were. What was taken since we
        were given up is ours all the same, and nobody else would look for it."""
        async with self._receive_lock:
            items = [*self._host_queue.remove_all(), *self._returning_items]
            self._returning_items = []
            self.on_settled([item.raw for item in items])
            since = list((Counter(await self._queue.claimed_items()) - self._claimed).elements())
            await self._receive(since)
        return len(items) - len(since)

    def _on_acknowledged(self, count: int) -> None:
        self._metrics.fetched += count

    def on_settled(self, raws: Sequence[bytes]) -> None:
        for raw in raws:
            self._claimed[raw] -= 1
            if self._claimed[raw] <= 0:
                del self._claimed[raw]
        self.has_room.set()
