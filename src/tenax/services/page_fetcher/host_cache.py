"""Host records of hosts without a rate limit, which change with every page: only relevant changes are shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from tenax.clock import Clock
from tenax.hosts import Hosts
from tenax.model import HostRecord

CACHE_SECONDS = 1.0
"""How long a local record of a host without a rate limit is used before the shared one is read again."""
MAX_HOSTS = 10_000


class LocalHosts(Protocol):
    """The host records of this process."""

    def acquire(self, record: HostRecord) -> HostRecord: ...

    def get(self, origin: str) -> HostRecord | None: ...

    def put(self, record: HostRecord) -> None: ...


class CachedHosts:
    """`Hosts` that read the shared records at every visit of a host with a rate limit, and rarely without one.

    Without a rate limit, the next request does not depend on a page that came. It depends on a failure, a backoff or a
    new robots.txt, so these are shared at once.
    """

    def __init__(self, shared: Hosts, local_hosts: LocalHosts, clock: Clock, is_unpaced: Callable[[str], bool]) -> None:
        """`local_hosts` is the cache in front of `shared`."""
        self._shared = shared
        self._local_hosts = local_hosts
        self._clock = clock
        self._is_unpaced = is_unpaced
        self._fetched_at: dict[str, float] = {}

    async def acquire(self, record: HostRecord) -> HostRecord:
        origin, now = record.origin, self._clock.now()
        if not self._is_unpaced(origin):
            return await self._shared.acquire(record)
        if now < self._fetched_at.get(origin, 0.0) + CACHE_SECONDS:
            return self._local_hosts.acquire(record)
        if len(self._fetched_at) >= MAX_HOSTS:
            self._fetched_at.clear()
        self._fetched_at[origin] = now
        return await self._shared.acquire(record)

    def get(self, origin: str) -> HostRecord | None:
        return self._shared.get(origin)

    async def update(self, origin: str, fallback: HostRecord, rule: Callable[[HostRecord], HostRecord]) -> HostRecord:
        if self._is_unpaced(origin):
            before = self._local_hosts.get(origin) or fallback
            after = rule(before)
            if has_only_counter_changes(before, after, self._clock.now()):
                self._local_hosts.put(after)
                return after
        return await self._shared.update(origin, fallback, rule)

    def release(self, origin: str) -> None:
        self._shared.release(origin)


def has_only_counter_changes(before: HostRecord, after: HostRecord, now: float) -> bool:
    """Whether only the counts of pages and successes have changed, and the host may be requested at once."""
    if after.next_at > now:
        return False
    same = msgspec.structs.replace(
        after,
        next_at=before.next_at,
        page_count=before.page_count,
        successes_in_a_row=before.successes_in_a_row,
        backoff_reason=before.backoff_reason,
    )
    return same == before
