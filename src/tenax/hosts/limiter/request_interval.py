"""The least time between any two requests of this process, whatever their hosts. Off unless it is configured."""

from __future__ import annotations

MAX_WAIT_SECONDS = 5.0
"""Whoever would wait for longer comes back later, and holds nothing meanwhile."""


class RequestInterval:
    """Time is passed in; for one event loop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._free_at = 0.0
        """When those that were let in have all started, and one interval later."""
        self._started_at = 0.0

    def reserve(self, now: float) -> float:
        """`now` when a request is let in; else when to try again."""
        if self.seconds == 0:
            return now
        if self._free_at - now > MAX_WAIT_SECONDS:
            return self._free_at - MAX_WAIT_SECONDS
        self._free_at = max(self._free_at, now) + self.seconds
        return now

    def cancel(self) -> None:
        """One that was let in sends nothing after all."""
        self._free_at -= self.seconds

    def wait_seconds(self, now: float) -> float:
        """How long the next request, one that was let in or follows from one, must still wait."""
        return max(self._started_at + self.seconds - now, 0.0) if self.seconds else 0.0

    def mark_started(self, now: float) -> None:
        self._started_at = now
        self._free_at = max(self._free_at, now + self.seconds)
