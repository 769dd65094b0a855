"""Receives a body within the memory budget: its connection is not read while there is no memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.fetch import Request
from tenax.fetch.bodies import BodyDecoder, decode_body
from tenax.fetch.body_budget import BudgetExhausted, MemoryReservation
from tenax.model import Deferred, Failed, FailureKind

RETRY_SECONDS = 30.0
"""Delay before a body without memory is requested again."""
MAX_WAIT_SECONDS = 120.0
"""Maximum wait of a body that has fully arrived and only waits to be decoded: no server waits for it."""

# Failures that a server or our timeouts may cause while we do not read.
_FAILURES_WHILE_PAUSED = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip


class BodyReceiver:
    """Receives one body. `is_waiting` while it waits for memory; then `on_reserved` gets the time that took, or a
    failure.

    The caller reads nothing from the connection meanwhile, and calls `close` at the end.
    """

    def __init__(
        self,
        body: BodyDecoder,
        request: Request,
        now: Callable[[], float],
        on_reserved: Callable[[float, Failed | None], None],
        on_budget_exhausted: Callable[[Deferred], None],
    ) -> None:
        self._body = body
        self._request = request
        self._now = now
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

    def adjust_failure(self, failed: Failed) -> Failed | Deferred:
        """A failure that our pause may have caused does not count against the host."""
        if self.has_waited and failed.kind in _FAILURES_WHILE_PAUSED:
            return memory_deferral(self._now())
        return failed

    def close(self) -> None:
        if self._wait_task is not None:
            self._wait_task.cancel()
            self._wait_task = None

    async def _wait(self) -> None:
        reservation, loop = self._request.reservation, asyncio.get_running_loop()
        assert reservation is not None
        began = loop.time()
        failed: Failed | None = None
        try:
            # Not longer than a fetch may take: the server would close the connection, and other visits need it.
            seconds = MAX_WAIT_SECONDS if self._has_arrived else self._request.total_timeout_seconds
            async with asyncio.timeout(seconds) as self._wait_timeout:
                while failed is None and self._body.wanted_bytes:
                    await reservation.reserve(self._body.wanted_bytes)
                    failed = self._body.resume()
        except (TimeoutError, BudgetExhausted):
            self._wait_task = self._wait_timeout = None
            self._on_budget_exhausted(memory_deferral(self._now()))
        else:
            self._wait_task = self._wait_timeout = None
            self._on_reserved(loop.time() - began, failed)


def reserve_callback(request: Request) -> Callable[[int], bool]:
    """The function with which the body of this request reserves memory."""
    return request.reservation.try_reserve if request.reservation is not None else lambda more_bytes: True


def memory_deferral(now: float) -> Deferred:
    return Deferred(now + RETRY_SECONDS, "memory: `crawl.max_body_memory_bytes` are in use by other pages")


def decode_within_budget(
    data: bytes, coding: str, max_bytes: int, reservation: MemoryReservation | None
) -> bytes | Failed | None:
    """Decode a complete body; None if there is not enough memory for it."""
    if reservation is None or not coding:
        return decode_body(data, coding, max_bytes)
    free_bytes = reservation.free_bytes(max_bytes)
    body = decode_body(data, coding, free_bytes)
    if isinstance(body, bytes):
        reservation.try_reserve(len(body))
    elif body.kind is FailureKind.TOO_LARGE and free_bytes < max_bytes:
        return None
    return body
