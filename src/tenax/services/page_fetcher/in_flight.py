"""The items of this worker: claimed from the queue, waiting or being published, until they are settled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.hosts import Hosts
from tenax.logs import logger
from tenax.model import HostRecord
from tenax.runtime.cancellation import pause
from tenax.services.page_fetcher import DeadLetterItem, EventLog, Queue
from tenax.services.page_fetcher.backoff import HostBackoffs
from tenax.services.page_fetcher.counters import PageFetcherMetrics
from tenax.services.page_fetcher.disposition import encode_reason
from tenax.services.page_fetcher.intake import WINDOW_SIZE, Intake
from tenax.services.page_fetcher.items import InvalidItem, Item, parse_item
from tenax.services.page_fetcher.publisher import Publisher
from tenax.services.page_fetcher.scheduler import HostQueue

log = logger(__name__)


class InFlight:
    """Fills the host queue from the shared queue, and tracks every item until it is settled."""

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
        """Set when there is something to check in the host queue."""
        self.has_room = asyncio.Event()
        """Set when there may be a reason to take more."""
        self.is_blocked = False
        """Nothing is taken: every host in the queue backs off."""
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
        """Hosts that had enough items in memory, and still have more than half of them."""
        self._returning_items: list[Item] = []
        """On their way to the head of the queue."""
        self._is_taking = False
        self._redirected_hosts: set[str] = set()
        """Hosts that back off while items redirected to them wait in memory."""
        self._receive_lock = asyncio.Lock()
        """Held while items are claimed in Redis and not recorded here yet."""

    def __len__(self) -> int:
        return self._claimed.total()

    @property
    def is_moving(self) -> bool:
        """Whether the queue was just read, or items are on their way back to it."""
        return self._is_taking or self.publisher.is_busy

    # -- in -------------------------------------------------------------------------------------------------

    async def fill_from_queue(self) -> None:
        """Take from the queue while there is room in memory and a host to visit; runs until cancelled."""
        failure_count = self._queue.failure_count
        while True:
            if self._queue.failure_count != failure_count:
                failure_count = self._queue.failure_count
                await self.reconcile()
            if self._free_slots <= 0:
                self.has_room.clear()
                await pause(self.has_room, self._config.poll_timeout_seconds)
                continue
            self._is_taking = True
            # Our own requeued items are not new: waiting for an item would return at once, for ever.
            await self.publisher.wait_until_returned()
            length = await self._scan_queue()
            self._is_taking = False
            self._flush_returning()
            if not length:
                self.is_blocked = False
                await self._queue.wait_for_items(self._config.poll_timeout_seconds)
            elif self._intake.is_exhausted:
                # A host that is only paced is not an outage.
                self.is_blocked = all(origin in self._backoffs for origin in self._intake.skipped_hosts)
                await self._wait_for_free_host()
            else:
                self.is_blocked = False

    async def reconcile(self) -> None:
        """After an outage of Redis: record claims whose reply was lost, and restore claims that Redis has forgotten."""
        async with self._receive_lock:
            ours = Counter(await self._queue.claimed_items())
            known = Counter(self._claimed)
            await self._queue.restore_claims(list((known - ours).elements()))
            await self._receive(list((ours - known).elements()))

    @property
    def _free_slots(self) -> int:
        return self._config.max_in_flight - len(self)

    async def _scan_queue(self) -> int:
        """Scan the queue and take what may be requested. Returns the last length of the queue."""
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
        """Nothing in the queue may be taken: wait until that may have changed, or new items are to be checked."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._config.poll_timeout_seconds
        while (left := until - loop.time()) > 0:
            if any(self._host_free_slots(origin) for origin in self._intake.skipped_hosts):
                self._intake.resume_scan()
                return
            self.has_room.clear()
            await pause(self.has_room, left)

    def _host_free_slots(self, origin: str) -> int:
        """How many more items of this host fit in memory. A full host is refilled when half of its items are gone:
        otherwise every fetched item would start a scan for the next one."""
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
                log.warning("item is not a URL, given up", why=item.why)
                self.add_dead_letter(raw, item.why, None, 0)
            else:
                self.schedule_item(self._host_queue.assign_position(item), now)
        if raws:
            self.wakeup.set()

    # -- out ------------------------------------------------------------------------------------------------

    def schedule_item(self, item: Item, at: float) -> None:
        """Keep it in memory until it is requested again; if its host backs off, it goes back to the queue."""
        origin = item.task.origin
        host = self._backoffs.get(origin)
        if host is None:
            self._host_queue.add(item, at, self._hosts.get(origin))
        elif not item.is_redirected_away:
            self._requeue_front([item])
        elif self._may_stay(origin):
            self._host_queue.add(item, max(at, host.next_at), host)
        else:
            self.requeue([item.raw])

    def _may_stay(self, origin: str) -> bool:
        """Whether an item redirected to this host may wait in memory. In the queue it belongs to the redirecting host,
        which would be requested again and again. Too many of them would keep out others."""
        self._redirected_hosts = {
            led_to for led_to in self._redirected_hosts if led_to in self._backoffs and self._host_queue.count(led_to)
        }
        if sum(map(self._host_queue.count, self._redirected_hosts)) >= self._max_items_per_host:
            return False
        self._redirected_hosts.add(origin)
        return True

    def on_visit_end(self, record: HostRecord, now: float) -> None:
        """A visit of this host has ended; if the host backs off, all its waiting items go back to the queue."""
        self._host_queue.on_visit_end(record.origin, record)
        if self._backoffs.update_host(record, now):
            items = self._host_queue.remove_host(record.origin)
            self._requeue_front([item for item in items if not item.is_redirected_away])
            for item in items:
                if item.is_redirected_away:
                    self.schedule_item(item, now)

    def requeue(self, raws: Sequence[bytes]) -> None:
        """At the end of the queue."""
        if raws:
            self._metrics.requeued += len(raws)
            self.publisher.requeue_back(raws)

    def _requeue_front(self, items: Sequence[Item]) -> None:
        """At the head of the queue, where they came from. Not while more is being taken from there: items taken later
        would go before those taken first."""
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
        """Our lease expired and others have our items: forget those not in flight. Returns their number. Items claimed
        since then are still ours, and nobody else would look for them."""
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
