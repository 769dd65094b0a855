"""Memory for bodies: one budget in bytes for all visits of a process.

Each visit has a `MemoryReservation`. It grows while a body arrives, in every transport, and is closed when the visit is
committed. While a body arrives it reserves memory piece by piece, and waits when there is none, which pauses its
connection. A complete body is then processed: extracted and committed. The memory for that is counted too, but never
waits for arriving bodies, so processing always finishes and frees its memory.

Nobody waits for ever: the first to wait is served first until its body is complete, and may exceed the budget if it
must, one visit at a time. So a body larger than the whole budget can arrive too. Large bodies leave a part of the
budget to small ones.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Awaitable
from typing import NamedTuple

SMALL_BYTES: int = 256 * 1024
"""A body up to this size may use the whole budget; larger ones leave a quarter of it free."""
PROCESSING_FACTOR = 3
"""Memory of a body while it is processed: itself, the message to the reader, and the extracted texts."""

WAITING_SHARE = 4
"""At most one visit in this many may wait for memory; the others are for pages that need less."""


class BudgetExhausted(Exception):
    """Too many visits wait for memory already."""


class _Waiter(NamedTuple):
    reservation: MemoryReservation
    wanted_bytes: int
    grant: asyncio.Future[None]


class BodyBudget:
    """For one event loop. `used_bytes` is the sum of all reservations."""

    def __init__(self, limit_bytes: int, concurrency: int) -> None:
        """`concurrency`: maximum visits in flight."""
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        """Maximum of `used_bytes` so far."""
        self._large_limit_bytes = limit_bytes * 3 // 4
        self._small_bytes = min(SMALL_BYTES, limit_bytes // 8)
        self._max_waiting = max(concurrency // WAITING_SHARE, 1)
        self._waiting: list[_Waiter] = []
        """In order of their first wait, also when they wait again."""
        self._last_position = 0
        self._exempt: MemoryReservation | None = None
        """The one that may exceed the budget."""
        self._processing_bytes = 0
        """The part of `used_bytes` in bodies being processed."""
        self._processing_queue: list[_Waiter] = []

    @property
    def waiting(self) -> int:
        """Number of bodies that wait for memory."""
        return len(self._waiting)

    def open_reservation(self) -> MemoryReservation:
        return MemoryReservation(self)

    # -- for reservations -----------------------------------------------------------------------------------

    def has_capacity(self, reservation: MemoryReservation, wanted_bytes: int) -> bool:
        if reservation is self._exempt:
            return True
        if reservation.reserved_bytes + wanted_bytes <= self._small_bytes:
            return self.used_bytes + wanted_bytes <= self.limit_bytes
        return self._is_next(reservation) and self.used_bytes + wanted_bytes <= self._large_limit_bytes

    def free_bytes(self, reservation: MemoryReservation, max_bytes: int) -> int:
        """How much of `max_bytes` is available now."""
        if reservation is self._exempt or (
            not self._waiting and self.used_bytes + max_bytes <= self._large_limit_bytes
        ):
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
            if self.used_bytes > self.peak_bytes:
                self.peak_bytes = self.used_bytes
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
        """Whether no earlier reservation waits."""
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
        """Processing finishes by itself, so one more may always start when nothing else is processed."""
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
    """The memory reserved by one visit."""

    __slots__ = ("_budget", "is_processing", "queue_position", "reserved_bytes")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self.reserved_bytes = 0
        self.is_processing = False
        self.queue_position = 0
        """Its position among those that have waited; 0: it has not."""

    def try_reserve(self, more_bytes: int) -> bool:
        """Reserve more if it is available now."""
        if not self._budget.has_capacity(self, more_bytes):
            return False
        self._budget.set_reserved(self, self.reserved_bytes + more_bytes)
        return True

    def free_bytes(self, max_bytes: int) -> int:
        """How much of `max_bytes` could be reserved now."""
        return self._budget.free_bytes(self, max_bytes)

    async def reserve(self, more_bytes: int) -> None:
        """Wait for memory and reserve it. Raises `BudgetExhausted` at once if too many wait already."""
        await self._budget.wait_for_capacity(self, more_bytes)

    def resize(self, reserved_bytes: int) -> None:
        """Set the reservation to the actual size, even beyond the budget."""
        if reserved_bytes != self.reserved_bytes:
            self._budget.set_reserved(self, reserved_bytes)

    def start_processing(self) -> Awaitable[None]:
        """Wait until the complete body may be processed."""
        return self._budget.start_processing(self)

    def close(self) -> None:
        """Free everything."""
        self._budget.release(self)


def _resolve_grant(waiter: _Waiter) -> None:
    if not waiter.grant.done():
        waiter.grant.set_result(None)
