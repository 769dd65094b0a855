"""The claims of one worker: what it holds in memory, kept filled from the server and shared with the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tenax import logs
from tenax.clock import Clock
from tenax.config import LedgerConfig
from tenax.database import rows
from tenax.database.postgres.connection import Collided, Connection, Link, Lost
from tenax.database.postgres.slots import Slots
from tenax.database.postgres.window import Window
from tenax.database.postgres.worker import Ended, Worker
from tenax.database.schedule import Entry, Slot
from tenax.errors import LeaseLost, LedgerUnusable
from tenax.model import Claim, Lease
from tenax.runtime.cancellation import ended

log = logs.logger(__name__)

TEND_SECONDS = 1.0
"""How long a claim waits for the server to be asked."""
LEAST_WAIT_SECONDS = 0.001
NOTIFY_PAUSE_SECONDS = 0.1
"""Others are told of new work at most this often; they look by themselves every second."""


class Taken(NamedTuple):
    """A claim as we keep it."""

    claim: Claim
    slot: Slot
    entry: Entry


class Frontier:
    """Gives claims from memory, and sees to it that there is something in memory to give."""

    def __init__(
        self,
        worker: Worker,
        window: Window,
        slots: Slots,
        hands: Link,
        ears: Link,
        config: LedgerConfig,
        clock: Clock,
        failed: Callable[[BaseException], None],
    ) -> None:
        """`hands` is the connection for everything that must follow one after the other."""
        self._worker = worker
        self._window = window
        self._slots = slots
        self._hands = hands
        self._ears = ears
        self._config = config
        self._clock = clock
        self._failed = failed
        self._channel = f"tenax_{config.schema}"
        self._held: dict[int, Taken] = {}
        self._lease_number = 0
        self._has_claimed = False
        self._tending: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._told_at = 0.0
        self._joining = asyncio.Lock()
        self._changed = asyncio.Event()

    # -- claims ---------------------------------------------------------------------------------------------

    async def claim(self) -> Claim | None:
        self._has_claimed = True
        self._take_back_expired(self._clock.now())
        for _ in range(3):
            if self._hands.is_away:
                return None
            now = self._clock.now()
            # Past the time that others grant us, what we hold may be theirs: a sign of life comes first.
            is_alive = self._worker.alive_until > now
            taken = self._slots.take(now) if is_alive else None
            is_due = not is_alive or self._window.is_due(now)
            if taken is not None:
                if is_due:
                    self.tend_soon()
                return self._claimed(*taken, now)
            if not is_due:
                return None
            await asyncio.wait({self.tend_soon()}, timeout=TEND_SECONDS)
        return None

    def _claimed(self, slot: Slot, entry: Entry, now: float) -> Claim:
        self._lease_number += 1
        lease = Lease(
            epoch=self._worker.id,
            number=self._lease_number,
            expires_at=now + self._config.lease_seconds,
            host_until=self._worker.alive_until,
        )
        task = rows.task_of(entry, slot.record.origin)
        claim = Claim(task=task, host=slot.record, lease=lease, held=entry.held, waiting=slot.waiting)
        self._held[lease.number] = Taken(claim, slot, entry)
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        inside = self._slots.next_turn()
        turn = self._window.look_at if inside is None else min(inside, self._window.look_at)
        if not self._hands.is_away:
            timeout_seconds = min(timeout_seconds, max(turn - self._clock.now(), LEAST_WAIT_SECONDS))
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._changed.wait()

    def give_in(self, claim: Claim) -> Taken:
        """The claim ends here, by a commit. Raises `LeaseLost`."""
        held = self._held.get(claim.lease.number)
        if held is None or claim.lease.epoch != self._worker.id:
            raise LeaseLost(f"the claim on {claim.task.url} is void; its visit was not written")
        return self._held.pop(claim.lease.number)

    def release(self, claim: Claim) -> None:
        with suppress(LeaseLost):
            held = self.give_in(claim)
            self._slots.put_back(held.slot, held.entry, self._clock.now())
            self._changed.set()

    def next_turn(self) -> float | None:
        return self._window.next_turn()

    def arrived(self, arrivals: list[tuple[int, Entry]]) -> None:
        """Tasks wait now, by host."""
        now = self._clock.now()
        for host_id, entry in arrivals:
            self._window.arrived(host_id, entry, now)
        self._changed.set()

    def look_again(self) -> None:
        """Tasks wait now at many hosts."""
        self._slots.look_again()
        self._window.look(self._clock.now())
        self._changed.set()

    def wake(self) -> None:
        """Whoever waits for work is to look again."""
        self._changed.set()

    def _take_back_expired(self, now: float) -> None:
        # Every lease is as long as the others, so the first that was given is the first to end.
        while self._held and (first := next(iter(self._held.values()))).claim.lease.expires_at <= now:
            del self._held[first.claim.lease.number]
            self._slots.put_back(first.slot, first.entry, first.claim.lease.expires_at)

    # -- tending --------------------------------------------------------------------------------------------

    def tend_soon(self) -> asyncio.Task[None]:
        if self._tending is None or self._tending.done():
            self._tending = asyncio.get_running_loop().create_task(self._tend())
        return self._tending

    def tend_if_due(self) -> None:
        """Also a worker that claims nothing just now must let go of hosts for others."""
        if self._has_claimed and self._window.is_due(self._clock.now()):
            self.tend_soon()

    async def _tend(self) -> None:
        try:
            try:
                if self._worker.alive_until <= self._clock.now():
                    await self._hands.ask(self._worker.beat)
                async with self._hands.use() as db:
                    await self._window.tend(db)
            except Ended as error:
                await self.start_over(error.worker_id)
        except (Lost, Collided):
            pass  # the next turn brings another try
        except Exception as error:
            self._failed(error)
        self._changed.set()

    async def start_over(self, ended: int) -> None:
        """Others found the worker of this number dead, and what it held is theirs: join anew, holding nothing."""
        async with self._joining:
            if self._worker.id != ended:
                return
            log.warning("this worker was taken for dead, joining anew", worker=ended)
            self._worker.alive_until = 0.0
            self._held.clear()
            self._window.begin_anew()
            await self._hands.ask(self._worker.begin)
        self._changed.set()

    # -- other workers --------------------------------------------------------------------------------------

    async def listen(self, db: Connection) -> None:
        await db.add_listener(self._channel, self._heard)

    def _heard(self, connection: object, pid: int, channel: str, payload: str) -> None:
        if payload != str(self._worker.id) and self._has_claimed:
            self._window.look(self._clock.now())
            self._changed.set()

    def tell_others(self) -> None:
        """There is work at hosts that nobody holds."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._told_at >= NOTIFY_PAUSE_SECONDS:
            self._told_at = loop.time()
            self._telling = loop.create_task(self._tell())

    async def _tell(self) -> None:
        # In no transaction: a NOTIFY in one makes every other wait until it is committed.
        with suppress(Lost, Collided, LedgerUnusable):  # they look by themselves before long
            async with self._ears.use() as db:
                await db.fetchval("SELECT pg_notify($1, $2)", self._channel, str(self._worker.id))

    async def close(self) -> None:
        for task in (self._tending, self._telling):
            if task is not None:
                await asyncio.wait({task}, timeout=TEND_SECONDS)
                await ended(task)
