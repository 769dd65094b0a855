"""The items of this worker from claim to settlement: counters, heartbeats, and recovery of dead workers' items.

The event loop writes the counters, the exporter's thread reads them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.fetch.pipeline import Visitor
from tenax.hosts.rules import HostPace
from tenax.logs import logger
from tenax.metrics import Histogram
from tenax.model import HostRecord
from tenax.runtime.cancellation import Pause, pause
from tenax.services.page_fetcher import DeadLetterItem, EventLog, Queue, QueueSizes, WorkerStatus
from tenax.services.page_fetcher.disposition import encode_reason
from tenax.services.page_fetcher.host_queue import HostBackoffs, HostQueue
from tenax.services.page_fetcher.intake import WINDOW_SIZE, Intake, InvalidItem, Item, parse_item
from tenax.services.page_fetcher.publisher import Publisher

DURATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_BYTE_BUCKETS = tuple(1024.0 * 4**power for power in range(8))


class Gauges(NamedTuple):
    """The current state of the fetcher."""

    in_flight: int = 0
    breaker_state: int = 0
    failures_in_a_row: int = 0
    backoff_seconds: float = 0.0


class PageFetcherMetrics:
    def __init__(self) -> None:
        self.fetched = 0
        self.failed = 0
        self.skipped = 0
        self.requeued = 0
        self.retries = 0
        self.dead_letters = 0
        self.breakers_opened = 0
        self.breakers_closed = 0
        self.probes: Counter[str] = Counter(success=0, failure=0)
        self.durations = Histogram(DURATION_BUCKETS)
        self.content_bytes = Histogram(CONTENT_BYTE_BUCKETS)
        self.sizes = QueueSizes(0, 0)
        self.read_gauges: Callable[[], Gauges] = Gauges

    def values(self) -> dict[str, float | dict[str, int] | Histogram]:
        now = self.read_gauges()
        return {
            "page_fetcher_pages_fetched_total": self.fetched,
            "page_fetcher_pages_failed_total": self.failed,
            "page_fetcher_pages_skipped_robots_total": self.skipped,
            "page_fetcher_pages_requeued_total": self.requeued,
            "page_fetcher_retries_total": self.retries,
            "page_fetcher_dlq_enqueued_total": self.dead_letters,
            "page_fetcher_circuit_breaker_opened_total": self.breakers_opened,
            "page_fetcher_circuit_breaker_closed_total": self.breakers_closed,
            "page_fetcher_circuit_breaker_probes_total": dict(self.probes),
            "page_fetcher_input_queue_size": self.sizes.queue,
            "page_fetcher_dlq_size": self.sizes.dead_letters,
            "page_fetcher_circuit_breaker_state": now.breaker_state,
            "page_fetcher_circuit_breaker_consecutive_failures": now.failures_in_a_row,
            "page_fetcher_circuit_breaker_current_backoff_seconds": now.backoff_seconds,
            "page_fetcher_in_flight": now.in_flight,
            "page_fetcher_fetch_duration_seconds": self.durations,
            "page_fetcher_content_size_bytes": self.content_bytes,
        }


log = logger(__name__)


class InFlight:
    """Fills the host queue from the shared queue, and tracks every item until it is settled."""

    def __init__(
        self,
        queue: Queue,
        events: EventLog,
        visitor: Visitor,
        config: PageFetcherConfig,
        metrics: PageFetcherMetrics,
        max_items_per_host: int,
    ) -> None:
        self.host_queue = HostQueue(HostPace(visitor.sites))
        self.backoffs = HostBackoffs()
        self.publisher = Publisher(queue, events, self.on_settled, self._on_acknowledged)
        self.wakeup = asyncio.Event()
        """Set if there is something to check in the host queue."""
        self.has_room = asyncio.Event()
        """Set if there may be a reason to take more items."""
        self.is_blocked = False
        """Nothing is taken, because every host in the queue backs off."""
        self._queue = queue
        self._hosts = visitor.hosts
        self._clock = visitor.clock
        self._config = config
        self._max_items_per_host = max_items_per_host
        self._metrics = metrics
        self._intake = Intake()
        self._claimed: Counter[bytes] = Counter()
        self._full_hosts: set[str] = set()
        """Hosts that had enough items in memory, and still have more than half of them."""
        self._returning_items: list[Item] = []
        """Items on their way to the head of the queue."""
        self._is_taking = False
        self._redirected_hosts: set[str] = set()
        """Hosts that back off while items that were redirected to them wait in memory."""
        self._receive_lock = asyncio.Lock()
        """Held while items are claimed in Redis but not recorded here yet."""

    def __len__(self) -> int:
        return self._claimed.total()

    @property
    def is_moving(self) -> bool:
        """Whether the queue has just been read, or items are on their way back to it."""
        return self._is_taking or self.publisher.is_busy

    # -- in -------------------------------------------------------------------------------------------------

    async def fill_from_queue(self) -> None:
        """Take items from the queue while there is room in memory and a host to visit. Runs until cancelled."""
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
            # Items that this worker put back are not new. Waiting for an item would then return at once, again and
            # again.
            await self.publisher.wait_until_returned()
            length = await self._scan_queue()
            self._is_taking = False
            self._flush_returning()
            if not length:
                self.is_blocked = False
                await self._queue.wait_for_items(self._config.poll_timeout_seconds)
            elif self._intake.is_exhausted:
                # A host that only waits for its rate limit is not an outage.
                self.is_blocked = all(origin in self.backoffs for origin in self._intake.skipped_hosts)
                await self._wait_for_free_host()
            else:
                self.is_blocked = False

    async def reconcile(self) -> None:
        """After an outage of Redis, record claims whose reply was lost, and restore claims that Redis has lost.

        This does not run while items are settled: until the reply comes they are claims here, and no longer in Redis.
        """
        async with self._receive_lock, self.publisher.settle_lock:
            ours = Counter(await self._queue.claimed_items())
            known = Counter(self._claimed)
            await self._queue.restore_claims(list((known - ours).elements()))
            await self._receive(list((ours - known).elements()))

    @property
    def _free_slots(self) -> int:
        return self._config.max_in_flight - len(self)

    async def _scan_queue(self) -> int:
        """Scan the queue and take what may be requested. Returns the length of the queue as last read."""
        length = 0
        self._full_hosts = {
            origin for origin in self._full_hosts if self.host_queue.count(origin) > self._max_items_per_host // 2
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
        """Nothing in the queue may be taken. Wait until this may have changed, or until there are new items to
        check."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._config.poll_timeout_seconds
        while (left := until - loop.time()) > 0:
            if any(self._host_free_slots(origin) for origin in self._intake.skipped_hosts):
                self._intake.resume_scan()
                return
            self.has_room.clear()
            await pause(self.has_room, left)

    def _host_free_slots(self, origin: str) -> int:
        """How many more items of this host fit in memory.

        A full host is refilled when half of its items are gone. Otherwise every fetched item would start a scan for the
        next one.
        """
        if origin in self.backoffs:
            return 0
        count = self.host_queue.count(origin)
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
                self.schedule_item(self.host_queue.assign_position(item), now)
        if raws:
            self.wakeup.set()

    # -- out ------------------------------------------------------------------------------------------------

    def schedule_item(self, item: Item, at: float) -> None:
        """Keep the item in memory until it is requested again. If its host backs off, the item goes back to the
        queue."""
        origin = item.task.origin
        host = self.backoffs.get(origin)
        if host is None:
            self.host_queue.add(item, at, self._hosts.get(origin))
        elif not item.is_redirected_away:
            self._requeue_front([item])
        elif self._may_stay(origin):
            self.host_queue.add(item, max(at, host.next_at), host)
        else:
            self.requeue([item.raw])

    def _may_stay(self, origin: str) -> bool:
        """Whether an item that was redirected to this host may wait in memory.

        In the queue the item belongs to the redirecting host, which would be requested again and again. Too many items
        in memory would keep out others.
        """
        self._redirected_hosts = {
            led_to for led_to in self._redirected_hosts if led_to in self.backoffs and self.host_queue.count(led_to)
        }
        if sum(map(self.host_queue.count, self._redirected_hosts)) >= self._max_items_per_host:
            return False
        self._redirected_hosts.add(origin)
        return True

    def on_visit_end(self, record: HostRecord, now: float) -> None:
        """A visit to this host has ended. If the host backs off, all its waiting items go back to the queue."""
        self.host_queue.on_visit_end(record.origin, record)
        if self.backoffs.update_host(record, now):
            items = self.host_queue.remove_host(record.origin)
            self._requeue_front([item for item in items if not item.is_redirected_away])
            for item in items:
                if item.is_redirected_away:
                    self.schedule_item(item, now)

    def requeue(self, raws: Sequence[bytes]) -> None:
        """Put these items at the end of the queue."""
        if raws:
            self._metrics.requeued += len(raws)
            self.publisher.requeue_back(raws)

    def _requeue_front(self, items: Sequence[Item]) -> None:
        """Put these items back at the head of the queue.

        This does not run while more items are taken from the head, because items taken later would go before those
        taken first.
        """
        self._returning_items += map(self.host_queue.assign_position, items)
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
        """Forget the items that are not in flight, because our lease expired and other workers have them. Returns their
        number.

        Items that were claimed since then are still ours, and no other worker would look for them.
        """
        async with self._receive_lock:
            items = [*self.host_queue.remove_all(), *self._returning_items]
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
        """Run until cancelled. `current_url` returns a URL that is being fetched."""
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
