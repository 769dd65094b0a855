"""A body that arrives within the memory there is for it: when there is no room, its connection is not read from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenax.fetch import Request
from tenax.fetch.bodies import Body, decoded
from tenax.fetch.body_budget import NoRoom, Room
from tenax.model import Deferred, Failed, FailureKind

PUT_OFF_SECONDS = 30.0
"""When a body that found no room is asked for again."""
MOST_WAIT_SECONDS = 120.0
"""For a body that has all arrived, and only waits to be decoded: nobody but us holds out for it."""

# What a server may do to a client that does not read, and what our own clocks say meanwhile.
_WHILE_WE_WAITED = frozenset({
    FailureKind.RESET, FailureKind.TRUNCATED, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
})  # fmt: skip


class BodyIntake:
    """Feeds one body. While it waits for room, `is_waiting`; then `on_room` hears how long that took, or what failed.

    Whoever uses it reads nothing from the connection meanwhile, and calls `close` in the end.
    """

    def __init__(
        self, body: Body, request: Request, now: Callable[[], float], on_room: Callable[[float, Failed | None], None],
        on_no_room: Callable[[Deferred], None],
    ) -> None:  # fmt: skip
        self._body = body
        self._request = request
        self._now = now
        self._on_room = on_room
        self._on_no_room = on_no_room
        self._waiting: asyncio.Task[None] | None = None
        self._limit: asyncio.Timeout | None = None
        self._has_arrived = False
        self.has_waited = False

    @property
    def is_waiting(self) -> bool:
        return self._waiting is not None

    def feed(self, data: bytes) -> Failed | None:
        failed = self._body.feed(data)
        if self._waiting is None and self._body.wanted_bytes:
            self.has_waited = True
            self._waiting = asyncio.get_running_loop().create_task(self._wait())
        return failed

    @property
    def is_full(self) -> bool:
        """As much as is wanted of it is here."""
        return self._body.is_full

    def arrived(self) -> None:
        """Nothing more will come, so the server does not wait with us."""
        self._has_arrived = True
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + MOST_WAIT_SECONDS)

    def finish(self) -> bytes | Failed:
        return self._body.finish()

    def judged(self, failed: Failed) -> Failed | Deferred:
        """A failure that we may have caused ourselves by not reading is none of the host's."""
        if self.has_waited and failed.kind in _WHILE_WE_WAITED:
            return no_room(self._now())
        return failed

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _wait(self) -> None:
        room, loop = self._request.room, asyncio.get_running_loop()
        assert room is not None
        began = loop.time()
        failed: Failed | None = None
        try:
            # Not longer than a fetch may take: the server would hang up on us, and others want the connection.
            seconds = MOST_WAIT_SECONDS if self._has_arrived else self._request.total_timeout_seconds
            async with asyncio.timeout(seconds) as self._limit:
                while failed is None and self._body.wanted_bytes:
                    await room.wait(self._body.wanted_bytes)
                    failed = self._body.go_on()
        except (TimeoutError, NoRoom):
            self._waiting = self._limit = None
            self._on_no_room(no_room(self._now()))
        else:
            self._waiting = self._limit = None
            self._on_room(loop.time() - began, failed)


def room_of(request: Request) -> Callable[[int], bool]:
    """What the body of this request asks for room."""
    return request.room.take if request.room is not None else lambda more_bytes: True


def no_room(now: float) -> Deferred:
    return Deferred(now + PUT_OFF_SECONDS, "memory: `crawl.max_body_memory_bytes` are in use by other pages")


def decoded_at_once(data: bytes, coding: str, max_bytes: int, room: Room | None) -> bytes | Failed | None:
    """A body that is here already; None when there is no room for all of it."""
    if room is None or not coding:
        return decoded(data, coding, max_bytes)
    free_bytes = room.free_bytes(max_bytes)
    body = decoded(data, coding, free_bytes)
    if isinstance(body, bytes):
        room.take(len(body))
    elif body.kind is FailureKind.TOO_LARGE and free_bytes < max_bytes:
        return None
    return body
