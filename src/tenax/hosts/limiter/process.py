"""Rate limits within one process: per host, and, if configured, a minimum time between any two requests. Pure.

The methods are asynchronous only because the protocol is. They never suspend, so each one runs as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from tenax.hosts import Permit

MAX_ENTRIES = 100_000
"""Maximum number of entries. When it is reached, new hosts wait for the first entry to expire."""
MIN_RETRY_SECONDS = 0.1
"""Minimum time until the next try while another request is in flight; the time is one pace if that is longer."""


class _Entry(NamedTuple):
    """The state of a key."""

    free_at: float = 0.0
    """When the pace is over that follows the start or the response of the last request."""
    acquired_at: float = 0.0
    busy_until: float = 0.0
    """The latest end of the request in flight; 0 when there is none."""
    backoff_until: float = 0.0
    """Demanded by the host. The end of a request does not shorten it."""

    @property
    def available_at(self) -> float:
        return max(self.free_at, self.busy_until, self.backoff_until)


_EMPTY_ENTRY = _Entry()


class ProcessRateLimiter:
    """A `RateLimiter` in a dict. For one event loop."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: dict[str, _Entry] = {}
        self._expiry_heap: list[tuple[float, str]] = []
        """When entries expire, as a heap. An entry that changed is in the heap again."""

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        paced = [permit for permit in permits if permit.pace_seconds > 0]
        if not paced:
            return now
        self._expire(now)
        entries = [self._entries.get(permit.key, _EMPTY_ENTRY) for permit in paced]
        if max(entry.available_at for entry in entries) > now:
            return max(
                next_try_at(permit, now, entry.free_at, entry.busy_until, entry.backoff_until)
                for permit, entry in zip(paced, entries, strict=True)
            )
        if len(self._expiry_heap) + len(paced) > self._max_entries:
            return self._expiry_heap[0][0]
        for permit in paced:
            busy_until = now + permit.busy_seconds if permit.busy_seconds else 0.0
            self._set(permit.key, _Entry(now + permit.pace_seconds, now, busy_until))
        return now

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        for permit in permits:
            if permit.pace_seconds > 0 and permit.busy_seconds > 0:
                entry = self._entries.get(permit.key, _EMPTY_ENTRY)
                # If the permit was taken again meanwhile, that start needs its pace as well.
                free_at = max(answered_at, entry.acquired_at) + permit.pace_seconds
                self._set(permit.key, entry._replace(free_at=free_at, busy_until=0.0))

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        """The pace is ignored, because no other crawl could apply it."""
        entry = self._entries.get(key, _EMPTY_ENTRY)
        if until > max(entry.backoff_until, now):
            self._set(key, entry._replace(backoff_until=until))

    async def close(self) -> None: ...

    def __len__(self) -> int:
        return len(self._entries)

    def _set(self, key: str, entry: _Entry) -> None:
        self._entries[key] = entry
        heappush(self._expiry_heap, (entry.available_at, key))

    def _expire(self, now: float) -> None:
        """Remove expired entries: a host without an entry is free."""
        while self._expiry_heap and self._expiry_heap[0][0] <= now:
            _, key = heappop(self._expiry_heap)
            if self._entries.get(key, _EMPTY_ENTRY).available_at <= now:
                self._entries.pop(key, None)


def next_try_at(permit: Permit, now: float, free_at: float, busy_until: float, backoff_until: float) -> float:
    """When to try again. A request in flight may be answered at any moment, and a pace must follow its response."""
    answered = min(busy_until, now + max(permit.pace_seconds, MIN_RETRY_SECONDS))
    return max(free_at, backoff_until, answered)


MAX_WAIT_SECONDS = 5.0
"""A caller that would wait longer is refused, and is told when to try again."""


class RequestInterval:
    """The minimum time between any two requests. Takes the time as an argument; for one event loop."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._free_at = 0.0
        """One interval after the start of all admitted requests."""
        self._started_at = 0.0

    def reserve(self, now: float) -> float:
        """Returns `now` if a request is admitted, else the time to try again."""
        if self.seconds == 0:
            return now
        if self._free_at - now > MAX_WAIT_SECONDS:
            return self._free_at - MAX_WAIT_SECONDS
        self._free_at = max(self._free_at, now) + self.seconds
        return now

    def cancel(self) -> None:
        """An admitted request was not sent."""
        self._free_at -= self.seconds

    def wait_seconds(self, now: float) -> float:
        """How long the next request must still wait, whether it was admitted or follows an admitted request."""
        return max(self._started_at + self.seconds - now, 0.0) if self.seconds else 0.0

    def mark_started(self, now: float) -> None:
        self._started_at = now
        self._free_at = max(self._free_at, now + self.seconds)
