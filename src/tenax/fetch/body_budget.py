"""Memory for bodies: one budget in bytes for all visits of a process, whatever their number.

Each visit has a `MemoryReservation`. It grows while a body arrives, by every transport, and is closed when the visit is committed.
A body has two parts of its life here. While it arrives it takes room bit by bit and waits when there is none, which
stops the reading from its connection. When it is whole it is handed on, to be read and committed: what that needs
besides is counted too, but never waits for what arrives, so it always comes to an end and frees its room.

Nobody waits for ever: who came first is served first until its body is whole, and may go beyond the budget if it must,
one visit at a time, until that is over. So a body that is larger than the whole budget can come as well. Large bodies
leave a part of the budget to small ones.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from typing import NamedTuple

SMALL_BYTES: int = 256 * 1024
"""A body up to this size may use all of the budget; larger ones leave a quarter of it free."""
PROCESSING_FACTOR = 3
"""What a body needs while it is read: itself, the message to the reader, and the texts that come back."""

WAITING_SHARE = 4
"""One visit of so many may wait for room: the others are for pages that need less of it."""


class BudgetExhausted(Exception):
    """Too many wait for room already."""


class _Waiter(NamedTuple):
    reservation: MemoryReservation
    wanted_bytes: int
    grant: asyncio.Future[None]


class BodyBudget:
    """For one event loop. `used_bytes` is what all rooms hold."""

    def __init__(self, limit_bytes: int, concurrency: int) -> None:
        """`concurrency`: how many visits may be in flight at the same time."""
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        """The most that it ever was."""
        self._large_limit_bytes = limit_bytes * 3 // 4
        self._small_bytes = min(SMALL_BYTES, limit_bytes // 8)
        self._max_waiting = max(concurrency // WAITING_SHARE, 1)
        self._waiting: list[_Waiter] = []
        """Who waited first comes first, also when it waits again."""
        self._last_position = 0
        self._exempt: MemoryReservation | None = None
        """The one that may go beyond the budget."""
        self._processing_bytes = 0
        """Of `used_bytes`: in bodies that were handed on."""
        self._processing_queue: list[_Waiter] = []

    @property
    def waiting(self) -> int:
        """How many bodies wait for room."""
        return len(self._waiting)

    def open_reservation(self) -> MemoryReservation:
        return MemoryReservation(self)

    # -- for rooms ------------------------------------------------------------------------------------------

    def has_capacity(self, reservation: MemoryReservation, wanted_bytes: int) -> bool:
        if reservation is self._exempt:
            return True
        if reservation.reserved_bytes + wanted_bytes <= self._small_bytes:
            return self.used_bytes + wanted_bytes <= self.limit_bytes
        return self._is_next(reservation) and self.used_bytes + wanted_bytes <= self._large_limit_bytes

    def free_bytes(self, reservation: MemoryReservation, max_bytes: int) -> int:
        """How much of `max_bytes` would fit now."""
        if reservation is self._exempt:
            return max_bytes
        small = min(self._small_bytes - reservation.reserved_bytes, self.limit_bytes - self.used_bytes)
        large = self._large_limit_bytes - self.used_bytes if self._is_next(reservation) else 0
        return max(min(max(small, large), max_bytes), 0)

    def set_reserved(self, reservation: MemoryReservation, reserved_bytes: int) -> None:
        more = reserved_bytes - reservation.reserved_bytes
        reservation.reserved_bytes = reserved_bytes
        self.used_bytes += more
        if reservation.is_processing:
            self._processing_bytes += more
        if more > 0:
            self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        elif self._waiting or self._processing_queue:
            self._grant_waiting()

    async def wait_for_capacity(self, reservation: MemoryReservation, wanted_bytes: int) -> None:
        if len(self._waiting) >= self._max_waiting:
            raise BudgetExhausted
        if not reservation.queue_position:
            self._last_position += 1
            reservation.queue_position = self._last_position
        one = _Waiter(reservation, wanted_bytes, asyncio.get_running_loop().create_future())
        insort(self._waiting, one, key=lambda other: other.reservation.queue_position)
        await self._wait_for_grant(self._waiting, one)

    async def start_processing(self, reservation: MemoryReservation) -> None:
        if reservation.is_processing:
            return
        wanted_bytes = reservation.reserved_bytes * PROCESSING_FACTOR
        if not self._may_process(wanted_bytes, is_next=not self._processing_queue):
            one = _Waiter(reservation, wanted_bytes, asyncio.get_running_loop().create_future())
            self._processing_queue.append(one)
            await self._wait_for_grant(self._processing_queue, one)
        else:
            self._mark_processing(reservation, wanted_bytes)

    def release(self, reservation: MemoryReservation) -> None:
        if reservation is self._exempt:
            self._exempt = None
        self.set_reserved(reservation, 0)

    # -- the two queues -------------------------------------------------------------------------------------

    async def _wait_for_grant(self, queue: list[_Waiter], waiter: _Waiter) -> None:
        self._grant_waiting()
        try:
            await waiter.grant
        except asyncio.CancelledError:
            if waiter in queue:
                queue.remove(waiter)
                self._grant_waiting()
            raise

    def _grant_waiting(self) -> None:
        while self._waiting and self._try_grant(self._waiting[0], is_next=True):
            del self._waiting[0]
        for one in [one for one in self._waiting if self._try_grant(one, is_next=False)]:
            self._waiting.remove(one)
        for one in list(self._processing_queue):
            if self._may_process(one.wanted_bytes, is_next=one is self._processing_queue[0]):
                self._processing_queue.remove(one)
                self._mark_processing(one.reservation, one.wanted_bytes)
                _resolve_grant(one)

    def _is_next(self, reservation: MemoryReservation) -> bool:
        """Whether nobody waits who came before."""
        return not self._waiting or 0 < reservation.queue_position < self._waiting[0].reservation.queue_position

    def _try_grant(self, waiter: _Waiter, *, is_next: bool) -> bool:
        after = self.used_bytes + waiter.wanted_bytes
        is_small = waiter.reservation.reserved_bytes + waiter.wanted_bytes <= self._small_bytes
        if after > (self.limit_bytes if is_small else self._large_limit_bytes):
            if not is_next or self._exempt not in (None, waiter.reservation):
                return False
            self._exempt = waiter.reservation
        elif not (is_small or is_next):
            return False
        self.set_reserved(waiter.reservation, waiter.reservation.reserved_bytes + waiter.wanted_bytes)
        _resolve_grant(waiter)
        return True

    def _may_process(self, wanted_bytes: int, *, is_next: bool) -> bool:
        """What is handed on comes to its end by itself, so one more may always go when there is nothing else."""
        if self._processing_bytes == 0:
            return True
        after = self._processing_bytes + wanted_bytes
        if wanted_bytes <= self._small_bytes * PROCESSING_FACTOR:
            return after <= self.limit_bytes
        return is_next and after <= self.limit_bytes // 2

    def _mark_processing(self, reservation: MemoryReservation, wanted_bytes: int) -> None:
        reservation.is_processing = True
        self._processing_bytes += reservation.reserved_bytes
        self.set_reserved(reservation, wanted_bytes)


class MemoryReservation:
    """What one visit holds of the budget."""

    __slots__ = ("_budget", "is_processing", "queue_position", "reserved_bytes")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.reserved_bytes = 0
        self.is_processing = False
        self.queue_position = 0
        """Its place among those that have waited; 0: it has not."""

    def try_reserve(self, more_bytes: int) -> bool:
        """So much more, if it is there now."""
        if not self._budget.has_capacity(self, more_bytes):
            return False
        self._budget.set_reserved(self, self.reserved_bytes + more_bytes)
        return True

    def free_bytes(self, max_bytes: int) -> int:
        """How much of `max_bytes` could be taken now."""
        return self._budget.free_bytes(self, max_bytes)

    async def reserve(self, more_bytes: int) -> None:
        """So much more, when it is there. Raises `BudgetExhausted` at once when too many wait already."""
        await self._budget.wait_for_capacity(self, more_bytes)

    def resize(self, reserved_bytes: int) -> None:
        """So much and no more from now on, whether it is there or not: somebody knows better what is held."""
        self._budget.set_reserved(self, reserved_bytes)

    async def start_processing(self) -> None:
        """The body is whole: wait until it may go on to a reader."""
        await self._budget.start_processing(self)

    def close(self) -> None:
        """Nothing is held any more."""
        self._budget.release(self)


def _resolve_grant(waiter: _Waiter) -> None:
    if not waiter.grant.done():
        waiter.grant.set_result(None)
