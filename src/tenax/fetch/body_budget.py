"""Memory for bodies: one budget in bytes for all visits of a process, and how a body arrives within it.

Each visit has a `MemoryReservation`. It grows while a body arrives, in every transport, and is closed when the visit is
committed.

A body that arrives reserves memory piece by piece. If there is none, it waits, and its connection is paused. A complete
body is then processed, which means extracted and committed. The memory for processing is counted too, but never waits
for arriving bodies, so processing always finishes and frees its memory.

No body waits for ever. The first one to wait is served first until it is complete, and may exceed the budget if
necessary, one visit at a time. So even a body larger than the whole budget can arrive. Large bodies leave a part of the
budget to small ones.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tenax.fetch.bodies import BodyDecoder, decode_body
from tenax.model import Deferred, Failed, FailureKind

SMALL_BYTES: int = 256 * 1024
"""A body up to this size may use the whole budget. Larger bodies leave a quarter of it free."""
PROCESSING_FACTOR = 3
"""Memory that a body needs while it is processed, as a multiple: the body, the message to the reader, and the extracted
texts."""

WAITING_SHARE = 4
"""At most one visit in this many may wait for memory. The others are for pages that need less."""


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
        """In order of their first wait, also if they wait again."""
        self._last_position = 0
        self._exempt: MemoryReservation | None = None
        """The reservation that may exceed the budget."""
        self._processing_bytes = 0
        """The part of `used_bytes` that belongs to bodies being processed."""
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
        """Processing finishes by itself, so one more body may always start if no other is processed."""
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


# ---- receiving a body -----------------------------------------------------------------------------------------

RETRY_SECONDS = 30.0
"""Delay before a body without memory is requested again."""
MAX_WAIT_SECONDS = 120.0
"""Maximum wait of a body that has fully arrived and only waits to be decoded. No server waits for it."""

# Failures that may be caused by a server, or by our timeouts, while we do not read.
_FAILURES_WHILE_PAUSED = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip


class BodyReceiver:
    """Receives one body.

    While the body waits for memory, `is_waiting` is true. Then `on_reserved` gets the duration of the wait, or a
    failure. The caller reads nothing from the connection meanwhile, and calls `close` at the end.
    """

    def __init__(
        self,
        body: BodyDecoder,
        reservation: MemoryReservation | None,
        max_seconds: float,
        on_reserved: Callable[[float, Failed | None], None],
        on_budget_exhausted: Callable[[], None],
    ) -> None:
        """`max_seconds` is the maximum wait while the body arrives."""
        self._body = body
        self._reservation = reservation
        self._max_seconds = max_seconds
        self._on_reserved = on_reserved
        self._on_budget_exhausted = on_budget_exhausted
        self._wait_task: asyncio.Task[None] | None = None
        self._wait_timeout: asyncio.Timeout | None = None
        self._has_arrived = False
        self.has_waited = False

    @property
    def is_waiting(self) -> bool:
        return self._wait_task is not None

    def feed(self, data: bytes) -> Failed | None:
        failed = self._body.feed(data)
        if self._wait_task is None and self._body.wanted_bytes:
            self.has_waited = True
            self._wait_task = asyncio.get_running_loop().create_task(self._wait())
        return failed

    @property
    def is_full(self) -> bool:
        """Whether enough of the body has arrived."""
        return self._body.is_full

    def mark_arrived(self) -> None:
        """The body has arrived completely, so the server does not wait with us."""
        self._has_arrived = True
        if self._wait_timeout is not None and not self._wait_timeout.expired():
            self._wait_timeout.reschedule(asyncio.get_running_loop().time() + MAX_WAIT_SECONDS)

    def finish(self) -> bytes | Failed:
        return self._body.finish()

    def adjust_failure(self, failed: Failed, now: float) -> Failed | Deferred:
        """A failure that our pause may have caused does not count against the host."""
        return memory_deferral(now) if self.has_waited and failed.kind in _FAILURES_WHILE_PAUSED else failed

    def close(self) -> None:
        if self._wait_task is not None:
            self._wait_task.cancel()
            self._wait_task = None

    async def _wait(self) -> None:
        reservation, loop = self._reservation, asyncio.get_running_loop()
        assert reservation is not None
        began = loop.time()
        failed: Failed | None = None
        try:
            # Not longer than a fetch may take, because the server would close the connection, and other visits need it.
            seconds = MAX_WAIT_SECONDS if self._has_arrived else self._max_seconds
            async with asyncio.timeout(seconds) as self._wait_timeout:
                while failed is None and self._body.wanted_bytes:
                    await reservation.reserve(self._body.wanted_bytes)
                    failed = self._body.resume()
        except (TimeoutError, BudgetExhausted):
            self._wait_task = self._wait_timeout = None
            self._on_budget_exhausted()
        else:
            self._wait_task = self._wait_timeout = None
            self._on_reserved(loop.time() - began, failed)


def reserve_callback(reservation: MemoryReservation | None) -> Callable[[int], bool]:
    """The function with which a body reserves memory."""
    return reservation.try_reserve if reservation is not None else lambda more_bytes: True


def memory_deferral(now: float) -> Deferred:
    return Deferred(now + RETRY_SECONDS, "memory: `crawl.max_body_memory_bytes` are in use by other pages")


def decode_within_budget(
    data: bytes, coding: str, max_bytes: int, reservation: MemoryReservation | None
) -> bytes | Failed | None:
    """Decode a complete body; None if there is not enough memory for it."""
    if not coding and len(data) <= max_bytes:
        return data
    if reservation is None or not coding:
        return decode_body(data, coding, max_bytes)
    free_bytes = reservation.free_bytes(max_bytes)
    body = decode_body(data, coding, free_bytes)
    if isinstance(body, bytes):
        reservation.try_reserve(len(body))
    elif body.kind is FailureKind.TOO_LARGE and free_bytes < max_bytes:
        return None
    return body
