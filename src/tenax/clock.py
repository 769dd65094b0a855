"""Clocks: a running one, one that follows a server, and a manual one for tests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from tenax import logs

log = logs.logger(__name__)

MAX_SLEW_RATE = 0.001
"""How much faster or slower a clock runs while it is corrected: more than clocks drift, too little to affect a rate."""
SYNC_SECONDS = 600.0
SYNC_RETRY_SECONDS = 30.0
"""Interval between attempts while the server is unavailable."""
MAX_UNREPORTED_SECONDS = 1.0
"""A smaller offset is not logged."""


class Clock(Protocol):
    """Seconds since the epoch that never jump while the process lives."""

    def now(self) -> float: ...


class SteadyClock:
    """Wall time read once, then advanced by the monotonic clock: a jump of the wall clock changes no delay."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset


class ShiftedClock:
    """Another clock plus an offset: the time of a server, shared by all its clients."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        """Offset at the time of the last correction."""
        self._pending_correction = 0.0
        self._corrected_at = clock.now()
        self._last = self._corrected_at + seconds

    def now(self) -> float:
        other = self._clock.now()
        # Rounding differs before and after a correction; time must not run backwards by that either.
        self._last = max(self._last, other + self._seconds + self._applied_correction(other))
        return self._last

    def correct(self, ahead_seconds: float) -> None:
        """Slew towards a server clock that is `ahead_seconds` ahead. Time neither jumps nor stops."""
        other = self._clock.now()
        self._seconds += self._applied_correction(other)
        self._pending_correction, self._corrected_at = ahead_seconds, other

    def _applied_correction(self, other: float) -> float:
        most = (other - self._corrected_at) * MAX_SLEW_RATE
        return min(max(self._pending_correction, -most), most)


async def follow_server_clock(clock: ShiftedClock, server_offset: Callable[[], Awaitable[float | None]]) -> None:
    """Follow the server's time until cancelled; `server_offset` returns None while the server is unavailable."""
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
    """A clock for tests and simulations; it only moves when a test moves it."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
