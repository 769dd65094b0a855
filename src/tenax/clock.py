"""Time, as a part that can be handed in: one that runs, and one turned by hand."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from tenax import logs

log = logs.logger(__name__)

MAX_SLEW_RATE = 0.001
"""So much faster or slower a clock goes until it is right: quicker than clocks drift, and no pace is felt to change."""
SYNC_SECONDS = 600.0
SYNC_RETRY_SECONDS = 30.0
"""While the server is away: soon after its return."""
MAX_UNREPORTED_SECONDS = 1.0
"""What nobody needs to hear of."""


class Clock(Protocol):
    """Seconds since the epoch that never jump while the process lives."""

    def now(self) -> float: ...


class SteadyClock:
    """Wall time read once, then carried by the monotonic clock: a jump of the wall clock moves no delay."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset


class ShiftedClock:
    """Another clock, so many seconds ahead: the time of a server, which all who share it agree on."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        """Ahead of the other at the time of the last correction."""
        self._pending_correction = 0.0
        self._corrected_at = clock.now()
        self._last = self._corrected_at + seconds

    def now(self) -> float:
        other = self._clock.now()
        # Sums are rounded differently before and after a correction: not even by that does time run back.
        self._last = max(self._last, other + self._seconds + self._applied_correction(other))
        return self._last

    def correct(self, ahead_seconds: float) -> None:
        """The server's clock is so far ahead of this one: catch up, or let it catch up. Neither jumps nor stops."""
        other = self._clock.now()
        self._seconds += self._applied_correction(other)
        self._pending_correction, self._corrected_at = ahead_seconds, other

    def _applied_correction(self, other: float) -> float:
        most = (other - self._corrected_at) * MAX_SLEW_RATE
        return min(max(self._pending_correction, -most), most)


async def follow_server_clock(clock: ShiftedClock, server_offset: Callable[[], Awaitable[float | None]]) -> None:
    """Keep it at the server's time until this is cancelled; `server_offset` asks the server, None when that is away."""
    import asyncio  # here, so that who only asks for the time does not load it

    pause_seconds = SYNC_SECONDS
    while True:
        await asyncio.sleep(pause_seconds)
        seconds = await server_offset()
        pause_seconds = SYNC_SECONDS if seconds is not None else SYNC_RETRY_SECONDS
        if seconds is not None:
            clock.correct(seconds)
            if abs(seconds) > MAX_UNREPORTED_SECONDS:
                log.warning("our time is not the server's; they are brought together slowly", ahead_seconds=seconds)


class ManualClock:
    """A clock for tests and simulations; it moves when told to."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
