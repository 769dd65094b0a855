"""Minimum time between any two requests of this process, to any hosts. Off unless configured."""

from __future__ import annotations

MAX_WAIT_SECONDS = 5.0
"""A caller that would wait longer gets a time to come back, and holds nothing meanwhile."""


class RequestInterval:
    """Takes the time as an argument; for one event loop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._free_at = 0.0
        """One interval after all admitted requests have started."""
        self._started_at = 0.0

    def reserve(self, now: float) -> float:
        """`now` when a request is admitted; else when to try again."""
        if self.seconds == 0:
            return now
        if self._free_at - now > MAX_WAIT_SECONDS:
            return self._free_at - MAX_WAIT_SECONDS
        self._free_at = max(self._free_at, now) + self.seconds
        return now

    def cancel(self) -> None:
        """An admitted request is not sent after all."""
        self._free_at -= self.seconds

    def wait_seconds(self, now: float) -> float:
        """How long the next request must still wait, an admitted one or one that follows from it."""
        return max(self._started_at + self.seconds - now, 0.0) if self.seconds else 0.0

    def mark_started(self, now: float) -> None:
        self._started_at = now
        self._free_at = max(self._free_at, now + self.seconds)
