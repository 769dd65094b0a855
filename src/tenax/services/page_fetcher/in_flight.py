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
from tenax.services.page_fetcher import Letter, Log, Queue
from tenax.services.page_fetcher.backoff import Rests
from tenax.services.page_fetcher.counters import PageFetcherNumbers
from tenax.services.page_fetcher.disposition import reason_of
from tenax.services.page_fetcher.intake import WINDOW, Intake
from tenax.services.page_fetcher.items import Bad, Item, read
from tenax.services.page_fetcher.publisher import Outlet
from tenax.services.page_fetcher.scheduler import Hand
from tenax.services.wait import pause

log = logger(__name__)


class Holdings:
    """Fills the hand from the queue, and keeps account of every item until the queue has it off our hands."""

    def __init__(
        self,
        queue: Queue,
        events: Log,
        hosts: Hosts,
        hand: Hand,
        rests: Rests,
        clock: Clock,
        config: PageFetcherConfig,
        share_of_a_host: int,
        numbers: PageFetcherNumbers,
    ) -> None:
        self.outlet = Outlet(queue, events, self.settled, self._acknowledged)
        self.news = asyncio.Event()
        """Set when there is something to look at in the hand."""
        self.has_room = asyncio.Event()
        """Set when there may be a reason to take more."""
        self.is_closed = False
        """Nothing is taken: every host of the queue is to be left alone."""
        self._queue = queue
        self._hosts = hosts
        self._hand = hand
        self._rests = rests
        self._clock = clock
        self._config = config
        self._share_of_a_host = share_of_a_host
        self._numbers = numbers
        self._intake = Intake()
        self._held: Counter[bytes] = Counter()
        self._full: set[str] = set()
        """Hosts of which enough was in hand, and more than half of it still is."""
        self._returning: list[Item] = []
        """On their way to the head of the queue."""
        self._is_taking = False
        self._led_to: set[str] = set()
        """Hosts that are left alone, and are waited for in hand by items that were led to them."""
        self._receiving = asyncio.Lock()
        """Held while something is ours by the account of Redis, and not by our own yet."""

    def __len__(self) -> int:
        return self._held.total()

    @property
    def is_moving(self) -> bool:
        """Whether the queue has just been asked, or something is on its way back to it."""
        return self._is_taking or self.outlet.is_busy

    # -- in -------------------------------------------------------------------------------------------------

    async def fill(self) -> None:
        """Take from the queue while there is room in hand and somebody to ask; runs until it is cancelled."""
        troubles = self._queue.troubles
        while True:
            if self._queue.troubles != troubles:
                troubles = self._queue.troubles
                await self.reconcile()
            if self._room <= 0:
                self.has_room.clear()
                await pause(self.has_room, self._config.poll_timeout_seconds)
                continue
            self._is_taking = True
            # What we put back ourselves is nothing new: who waits for an item would get it at once, for ever.
            await self.outlet.returned()
            length = await self._look()
            self._is_taking = False
            self._give_back()
            if not length:
                self.is_closed = False
                await self._queue.wait(self._config.poll_timeout_seconds)
            elif self._intake.is_through:
                # That of somebody who is only not to be asked so soon is no outage.
                self.is_closed = all(origin in self._rests for origin in self._intake.passed)
                await self._until_worth_a_look()
            else:
                self.is_closed = False

    async def reconcile(self) -> None:
        """After Redis was away: what it gave us without our hearing of it, and what it has forgotten that we hold."""
        async with self._receiving:
            ours = Counter(await self._queue.ours())
            held = Counter(self._held)
            await self._queue.hold(list((held - ours).elements()))
            await self._receive(list((ours - held).elements()))

    @property
    def _room(self) -> int:
        return self._config.in_hand - len(self)

    async def _look(self) -> int:
        """Look through the queue, and take what may be asked for; how many items it had at last."""
        length = 0
        self._full = {origin for origin in self._full if self._hand.count(origin) > self._share_of_a_host // 2}
        for span in self._intake.begin():
            first = span.first
            for _ in range(span.windows):
                items, length = await self._queue.peek(first, WINDOW)
                chosen = self._intake.choose(items, span, self._room_of, self._room)
                taken = await self._take(first, chosen.items) if chosen.items else []
                first += chosen.looked - len(taken)
                self._intake.looked(span, first, length, len(taken))
                length -= len(taken)
                if self._room <= 0:
                    return length or 1
                if first >= length:
                    break
        return length

    async def _take(self, first: int, items: Sequence[bytes]) -> list[bytes]:
        async with self._receiving:
            taken = await self._queue.take(first, WINDOW, items)
            await self._receive(taken)
        return taken

    async def _until_worth_a_look(self) -> None:
        """Nothing of the queue may be taken: until that may have changed, or it is time to look for new items."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._config.poll_timeout_seconds
        while (left := until - loop.time()) > 0:
            if any(self._room_of(origin) for origin in self._intake.passed):
                self._intake.wake()
                return
            self.has_room.clear()
            await pause(self.has_room, left)

    def _room_of(self, origin: str) -> int:
        """How many more of this host may be in hand. One that was full is filled up when half of it is gone: to look
        for the next item after each that was fetched would be to do nothing else."""
        if origin in self._rests:
            return 0
        count = self._hand.count(origin)
        if origin in self._full and count > self._share_of_a_host // 2:
            return 0
        if count >= self._share_of_a_host:
            self._full.add(origin)
        return max(self._share_of_a_host - count, 0)

    async def _receive(self, raws: Sequence[bytes]) -> None:
        for raw in raws:
            self._held[raw] += 1
        attempts = await self._queue.attempts(raws)
        now = self._clock.now()
        for raw, count in zip(raws, attempts, strict=True):
            item = read(raw, now, count)
            if isinstance(item, Bad):
                log.warning("not a URL, given up", why=item.why)
                self.give_up(raw, item.why, None, 0)
            else:
                self.wait(self._hand.placed(item), now)
        if raws:
            self.news.set()

    # -- out ------------------------------------------------------------------------------------------------

    def wait(self, item: Item, at: float) -> None:
        """It stays in hand and is asked for again; where its host is to be left alone, the queue keeps it."""
        origin = item.task.origin
        resting = self._rests.get(origin)
        if resting is None:
            self._hand.add(item, at, self._hosts.get(origin))
        elif not item.is_led_away:
            self._put_front([item])
        elif self._may_stay(origin):
            self._hand.add(item, max(at, resting.next_at), resting)
        else:
            self.put_back([item.raw])

    def _may_stay(self, origin: str) -> bool:
        """Whether one that was led to this host may wait for it in hand. In the queue it stands under the host that
        led it there, which would be asked for it again and again. Too many of them would keep others out."""
        self._led_to = {led_to for led_to in self._led_to if led_to in self._rests and self._hand.count(led_to)}
        if sum(map(self._hand.count, self._led_to)) >= self._share_of_a_host:
            return False
        self._led_to.add(origin)
        return True

    def landed(self, record: HostRecord, now: float) -> None:
        """A visit of this host has ended; when it must be left alone, all that waits for it goes back."""
        self._hand.landed(record.origin, record)
        if self._rests.note(record, now):
            items = self._hand.let_go(record.origin)
            self._put_front([item for item in items if not item.is_led_away])
            for item in items:
                if item.is_led_away:
                    self.wait(item, now)

    def put_back(self, raws: Sequence[bytes]) -> None:
        """To the end of the queue."""
        if raws:
            self._numbers.requeued += len(raws)
            self.outlet.back(raws)

    def _put_front(self, items: Sequence[Item]) -> None:
        """To the head of the queue, where they came from. Not while more is being taken from there: what was taken
        later would go before what was taken first."""
        self._returning += map(self._hand.placed, items)
        if not self._is_taking:
            self._give_back()

    def _give_back(self) -> None:
        items, self._returning = sorted(self._returning, key=lambda item: item.place), []
        if items:
            self._numbers.requeued += len(items)
            self.outlet.front([item.raw for item in items])

    def give_up(self, raw: bytes, why: str, status: int | None, attempts: int) -> None:
        self._numbers.dead_letters += 1
        self.outlet.dead(Letter(raw, reason_of(why, status, attempts, self._clock.now())))

    async def drop(self) -> int:
        """Others have what we held: forget what is not in flight; how many items that were. What was taken since we
        were given up is ours all the same, and nobody else would look for it."""
        async with self._receiving:
            items = [*self._hand.let_go_of_all(), *self._returning]
            self._returning = []
            self.settled([item.raw for item in items])
            since = list((Counter(await self._queue.ours()) - self._held).elements())
            await self._receive(since)
        return len(items) - len(since)

    def _acknowledged(self, count: int) -> None:
        self._numbers.fetched += count

    def settled(self, raws: Sequence[bytes]) -> None:
        for raw in raws:
            self._held[raw] -= 1
            if self._held[raw] <= 0:
                del self._held[raw]
        self.has_room.set()
