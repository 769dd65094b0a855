"""When to retry an unavailable server: a few times in a row, then every half minute. Pure."""

from __future__ import annotations

MAX_FAILURES = 3
"""Consecutive failures of all connections to the server before the long pause."""
RETRY_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.1
JITTER = 0.1
"""Random share added to each pause: workers that lose the server together must not return together."""


class Breaker:
    """Shared by all connections of one database. Counts connections that failed or answered nothing."""

    def __init__(self, retry_seconds: float = RETRY_SECONDS) -> None:
        self._retry_seconds = retry_seconds
        self._failures = 0
        self._next_try_at = 0.0

    @property
    def is_unavailable(self) -> bool:
        """The last attempt failed."""
        return self._failures > 0

    def wait_seconds(self, now: float) -> float:
        """How long to wait before the next attempt."""
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
