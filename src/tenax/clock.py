"""Time, as a part that can be handed in: one that runs, and one turned by hand."""

from __future__ import annotations

import time
from typing import Protocol


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

    def now(self) -> float:
        return self._clock.now() + self._seconds


class ManualClock:
    """A clock for tests and simulations; it moves when told to."""

    def __init__(self, now: float = 1_750_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
