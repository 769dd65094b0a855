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
from tenax.services.page_fetcher.hand import Hand
from tenax.services.page_fetcher.intake import Intake
from tenax.services.page_fetcher.items import Bad, Item, read
from tenax.services.page_fetcher.numbers import PageFetcherNumbers
from tenax.services.page_fetcher.outlet import Outlet
from tenax.services.page_fetcher.rests import Rests
from tenax.services.page_fetcher.settling import reason_of
from tenax.services.pausing import pause

log = logger(__name__)

MOST_AT_ONCE = 64
"""Taken from the queue in one step."""


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
        self.outlet = Outlet(queue, events, self.settled)
        self.news = asyncio.Event()
        """Set when there is something to look at in the hand."""
        self.has_room = asyncio.Event()
        """Set when there may be a reason to take more."""
        self.is_closed = False
        """Nothing is taken, because nobody of those met lately is wanted."""
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
        self._is_taking = False

    def __len__(self) -> int:
        return self._held.total()

    @property
    def is_moving(self) -> bool:
        """Whether the queue has just been asked, or something is on its way back to it."""
        return self._is_taking or self.outlet.is_busy

    # -- in -------------------------------------------------------------------------------------------------

    async def fill(self) -> None:
        """Take from the queue while there is room in hand and somebody to ask; runs until it is cancelled."""
        left, troubles = 0, self._queue.troubles
        while True:
            if self._queue.troubles != troubles:
                troubles = self._queue.troubles
                await self.reconcile()
            room = self._config.in_hand - len(self)
            self.is_closed = room > 0 and not self._intake.is_open(left, self._is_wanted)
            if room <= 0 or self.is_closed:
                self.has_room.clear()
                await pause(self.has_room, self._config.poll_timeout_seconds)
                if self.is_closed:
                    self._look_around(await self._queue.newest(MOST_AT_ONCE))
                continue
            self._is_taking = True
            items, left = await self._queue.take(min(room, MOST_AT_ONCE, self._most()))
            self._is_taking = False
            if not items:
                item = await self._queue.wait(self._config.poll_timeout_seconds)
                items = [item] if item is not None else []
            self._receive(items)

    async def reconcile(self) -> None:
        """After Redis was away: what it gave us without our hearing of it, and what it has forgotten that we hold."""
        ours = Counter(await self._queue.ours())
        held = Counter(self._held)
        await self._queue.hold(list((held - ours).elements()))
        self._receive(list((ours - held).elements()))

    def _most(self) -> int:
        """Where only one host is met, no more than it has room for: then its URLs keep their order."""
        hosts = self._intake.hosts
        return self._share_of_a_host - self._hand.count(hosts[0]) if len(hosts) == 1 else MOST_AT_ONCE

    def _is_wanted(self, origin: str) -> bool:
        return origin not in self._rests and self._hand.count(origin) < self._share_of_a_host

    def _receive(self, raws: Sequence[bytes]) -> None:
        now = self._clock.now()
        for raw in raws:
            self._held[raw] += 1
            item = read(raw, now)
            if isinstance(item, Bad):
                log.warning("not a URL, given up", why=item.why)
                self.give_up(raw, item.why, None, 0)
                continue
            origin = item.task.origin
            is_wanted = self._is_wanted(origin)
            self._intake.met(origin, is_wanted)
            if is_wanted:
                self._hand.add(item, now, self._hosts.get(origin))
            else:
                self.put_back([raw])
        if raws:
            self.news.set()

    def _look_around(self, raws: Sequence[bytes]) -> None:
        """While nothing is taken: has something come to the end of the queue whose host may be asked?"""
        now = self._clock.now()
        for item in (read(raw, now) for raw in raws):
            if isinstance(item, Bad) or self._is_wanted(item.task.origin):
                self._intake.met(item.task.origin if isinstance(item, Item) else "", is_wanted=True)
                return

    # -- out ------------------------------------------------------------------------------------------------

    def wait(self, item: Item, at: float) -> None:
        """It stays in hand and is asked for again; where its host is to be left alone, the queue keeps it."""
        origin = item.task.origin
        if origin in self._rests:
            self.put_back([item.raw])
        else:
            self._hand.add(item, at, self._hosts.get(origin))

    def landed(self, record: HostRecord, now: float) -> None:
        """A visit of this host has ended; when it must be left alone, all that waits for it goes back."""
        self._hand.landed(record.origin, record)
        if self._rests.note(record, now):
            self.put_back([item.raw for item in self._hand.let_go(record.origin)])

    def put_back(self, raws: Sequence[bytes]) -> None:
        """To the end of the queue."""
        if raws:
            self._numbers.requeued += len(raws)
            self.outlet.back(raws)

    def give_up(self, raw: bytes, why: str, status: int | None, attempts: int) -> None:
        self._numbers.dead_letters += 1
        self.outlet.dead(Letter(raw, reason_of(why, status, attempts, self._clock.now())))

    def drop(self) -> int:
        """Others have what we held: forget what is not in flight; how many items that were."""
        items = self._hand.let_go_of_all()
        self.settled([item.raw for item in items])
        return len(items)

    def settled(self, raws: Sequence[bytes]) -> None:
        for raw in raws:
            self._held[raw] -= 1
            if self._held[raw] <= 0:
                del self._held[raw]
        self.has_room.set()
