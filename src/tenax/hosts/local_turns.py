"""Turns within one process: for a crawl that shares them with nobody."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from tenax.hosts import Turn

MAX_ENTRIES = 100_000
"""Times remembered at most. When that many lie ahead, new hosts wait for the first of them to pass."""


class LocalTurns:
    """`SharedTurns` in a dict. Of one event loop."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: dict[str, tuple[float, float]] = {}
        """Key by key: free from this time on, and when it was taken."""
        self._passing: list[tuple[float, str]] = []
        """When entries may be forgotten, as a heap; an entry that was changed since is in it once more."""

    def take(self, turns: Sequence[Turn], now: float) -> float:
        paced = [turn for turn in turns if turn.pace_seconds > 0]
        if not paced:
            return now
        self._forget(now)
        free_at = max(self._entries.get(turn.key, (now, now))[0] for turn in paced)
        if free_at > now:
            return free_at
        if len(self._passing) + len(paced) > self._max_entries:
            return self._passing[0][0]
        for turn in paced:
            self._set(turn.key, now + max(turn.pace_seconds, turn.busy_seconds), now)
        return now

    def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        for turn in turns:
            if turn.pace_seconds > 0 and turn.busy_seconds > 0:
                _, taken_at = self._entries.get(turn.key, (0.0, answered_at))
                # Should it have been taken again meanwhile, that start is owed its pace as well.
                self._set(turn.key, max(answered_at, taken_at) + turn.pace_seconds, taken_at)

    def close(self) -> None: ...

    def __len__(self) -> int:
        return len(self._entries)

    def _set(self, key: str, free_at: float, taken_at: float) -> None:
        self._entries[key] = (free_at, taken_at)
        heappush(self._passing, (free_at, key))

    def _forget(self, now: float) -> None:
        """What has passed says nothing more: a host without an entry is free."""
        while self._passing and self._passing[0][0] <= now:
            _, key = heappop(self._passing)
            entry = self._entries.get(key)
            if entry is not None and entry[0] <= now:
                del self._entries[key]
