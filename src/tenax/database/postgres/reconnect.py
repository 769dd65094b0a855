"""How often a server that is away is tried: a few times in a row, then once in half a minute. Pure."""

from __future__ import annotations

MAX_FAILURES = 3
"""In a row, of all connections to the server; then it is left alone for a while."""
RETRY_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.1
JITTER = 0.1
"""Of each pause, by chance: many workers lose the server at the same moment, and must not come back at the same one."""


class Breaker:
    """Of all connections of one database. What counts is one that could not be made, or that answered nothing."""

    def __init__(self, retry_seconds: float = RETRY_SECONDS) -> None:
        self._retry_seconds = retry_seconds
        self._failures = 0
        self._next_try_at = 0.0

    @property
    def is_unavailable(self) -> bool:
        """It did not answer when it was last tried."""
        return self._failures > 0

    def wait_seconds(self, now: float) -> float:
        """How long nobody is to try it."""
        return max(self._next_try_at - now, 0.0)

    def record_failure(self, now: float, jitter: float) -> None:
        self._failures += 1
        pause = (
            FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1) if self._failures < MAX_FAILURES else self._retry_seconds
        )
        self._next_try_at = now + pause * (1 + JITTER * jitter)

    def record_success(self) -> None:
        self._failures = 0
        self._next_try_at = 0.0
