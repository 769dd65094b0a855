"""Turns within one process: for a crawl that shares them with nobody."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from tenax.hosts import Turn

MAX_ENTRIES = 100_000
"""Times remembered at most. When that many lie ahead, new hosts wait for the first of them to pass."""
AGAIN_SECONDS = 0.1
"""Who finds a request of another in flight tries again a pace later, for it may be answered by then; not sooner."""


class _Entry(NamedTuple):
    """What is known of a key."""

    free_at: float = 0.0
    """A pace after the last request began, or was answered."""
    taken_at: float = 0.0
    busy_until: float = 0.0
    """How long the request in flight may take at most; 0 when there is none."""
    rest_until: float = 0.0
    """Its host asked for this; no end of a request makes it shorter."""

    @property
    def opens_at(self) -> float:
        return max(self.free_at, self.busy_until, self.rest_until)


_NOTHING = _Entry()


class LocalTurns:
    """`SharedTurns` in a dict. Of one event loop."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: dict[str, _Entry] = {}
        self._passing: list[tuple[float, str]] = []
        """When entries may be forgotten, as a heap; an entry that was changed since is in it once more."""

    def take(self, turns: Sequence[Turn], now: float) -> float:
        paced = [turn for turn in turns if turn.pace_seconds > 0]
        if not paced:
            return now
        self._forget(now)
        entries = [self._entries.get(turn.key, _NOTHING) for turn in paced]
        if max(entry.opens_at for entry in entries) > now:
            return max(again_at(turn, entry, now) for turn, entry in zip(paced, entries, strict=True))
        if len(self._passing) + len(paced) > self._max_entries:
            return self._passing[0][0]
        for turn in paced:
            busy_until = now + turn.busy_seconds if turn.busy_seconds else 0.0
            self._set(turn.key, _Entry(now + turn.pace_seconds, now, busy_until))
        return now

    def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        for turn in turns:
            if turn.pace_seconds > 0 and turn.busy_seconds > 0:
                entry = self._entries.get(turn.key, _NOTHING)
                # Should it have been taken again meanwhile, that start is owed its pace as well.
                free_at = max(answered_at, entry.taken_at) + turn.pace_seconds
                self._set(turn.key, entry._replace(free_at=free_at, busy_until=0.0))

    def end_all(self, ended: Sequence[tuple[Turn, float]]) -> None:
        for turn, answered_at in ended:
            self.end((turn,), answered_at)

    def hold(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        """There is no other crawl that the pace could be told to."""
        entry = self._entries.get(key, _NOTHING)
        if until > max(entry.rest_until, now):
            self._set(key, entry._replace(rest_until=until))

    def close(self) -> None: ...

    def __len__(self) -> int:
        return len(self._entries)

    def _set(self, key: str, entry: _Entry) -> None:
        self._entries[key] = entry
        heappush(self._passing, (entry.opens_at, key))

    def _forget(self, now: float) -> None:
        """What has passed says nothing more: a host without an entry is free."""
        while self._passing and self._passing[0][0] <= now:
            _, key = heappop(self._passing)
            if self._entries.get(key, _NOTHING).opens_at <= now:
                self._entries.pop(key, None)


class Times(Protocol):
    """What decides when a turn may be tried again."""

    @property
    def free_at(self) -> float: ...
    @property
    def busy_until(self) -> float: ...
    @property
    def rest_until(self) -> float: ...


def again_at(turn: Turn, times: Times, now: float) -> float:
    """When it is worth trying again. A request in flight may be answered at any moment, and then is owed a pace."""
    answered = min(times.busy_until, now + max(turn.pace_seconds, AGAIN_SECONDS))
    return max(times.free_at, times.rest_until, answered)
