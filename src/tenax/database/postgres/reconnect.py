"""How often a server that is away is tried: a few times in a row, then once in half a minute. Pure."""

from __future__ import annotations

FAILURES = 3
"""In a row, of all connections to the server; then it is left alone for a while."""
REST_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 0.1
SPREAD = 0.1
"""Of each pause, by chance: many workers lose the server at the same moment, and must not come back at the same one."""


class Breaker:
    """Of all connections of one ledger. What counts is one that could not be made, or that answered nothing."""

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self._rest_seconds = rest_seconds
        self._failures = 0
        self._next_try_at = 0.0

    @property
    def is_away(self) -> bool:
        """It did not answer when it was last tried."""
        return self._failures > 0

    def wait_seconds(self, now: float) -> float:
        """How long nobody is to try it."""
        return max(self._next_try_at - now, 0.0)

    def failed(self, now: float, chance: float) -> None:
        self._failures += 1
        pause = FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1) if self._failures < FAILURES else self._rest_seconds
        self._next_try_at = now + pause * (1 + SPREAD * chance)

    def answered(self) -> None:
        self._failures = 0
        self._next_try_at = 0.0
