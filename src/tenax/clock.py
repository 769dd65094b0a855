"""Clocks: a running one, one that follows a server, and a manual one for tests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from tenax import logs

log = logs.logger(__name__)

MAX_SLEW_RATE = 0.001
"""How much faster or slower a clock runs while it is corrected. This is more than clocks drift, and too little to
affect a rate."""
SYNC_SECONDS = 600.0
SYNC_RETRY_SECONDS = 30.0
"""Interval between attempts while the server is unavailable."""
MAX_UNREPORTED_SECONDS = 1.0
"""A smaller offset is not logged."""


class Clock(Protocol):
    """Seconds since the epoch that never jump while the process lives."""

    def now(self) -> float: ...


class SteadyClock:
    """Wall time that is read once, and then advanced by the monotonic clock. A jump of the wall clock changes no
    delay."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset


class ShiftedClock:
    """Another clock plus an offset. It shows the time of a server, and all clients of the server share it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        """The offset at the time of the last correction."""
        self._pending_correction = 0.0
        self._corrected_at = clock.now()
        self._last = self._corrected_at + seconds

    def now(self) -> float:
        other = self._clock.now()
        # Rounding differs before and after a correction. Time must not run backwards because of that.
        self._last = max(self._last, other + self._seconds + self._applied_correction(other))
        return self._last

    def correct(self, ahead_seconds: float) -> None:
        """Slowly adjust to a server clock that is `ahead_seconds` ahead. Time neither jumps nor stops."""
        other = self._clock.now()
        self._seconds += self._applied_correction(other)
        self._pending_correction, self._corrected_at = ahead_seconds, other

    def _applied_correction(self, other: float) -> float:
        most = (other - self._corrected_at) * MAX_SLEW_RATE
        return min(max(self._pending_correction, -most), most)


async def follow_server_clock(clock: ShiftedClock, server_offset: Callable[[], Awaitable[float | None]]) -> None:
    """Follow the server's time until cancelled. `server_offset` returns None while the server is unavailable."""
    import asyncio  # imported here: most users of a clock do not need it

    pause_seconds = SYNC_SECONDS
    while True:
        await asyncio.sleep(pause_seconds)
        seconds = await server_offset()
        pause_seconds = SYNC_SECONDS if seconds is not None else SYNC_RETRY_SECONDS
        if seconds is not None:
            clock.correct(seconds)
            if abs(seconds) > MAX_UNREPORTED_SECONDS:
                log.warning("clock offset from server, slewing", ahead_seconds=seconds)


class ManualClock:
    """A clock for tests and simulations. It moves only when a test moves it."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
