"""What a crawl shares through Redis: host records, rate limits, the number of live workers, and visited URLs."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from tenax.clock import Clock
from tenax.errors import ConfigError
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import keys
from tenax.hosts.redis.limiter import RedisRateLimiter
from tenax.hosts.redis.records import RedisHosts
from tenax.model import Peers
from tenax.runtime.redis import BestEffortRedis
from tenax.text.sanitize import mask_server_url

if TYPE_CHECKING:
    from redis.asyncio import Redis


COUNT_DELAY_SECONDS = keys.HEARTBEAT_SECONDS + 5.0
"""How long it takes after the first heartbeat until every other worker has counted again."""


class Presence:
    """The heartbeats of one worker, and the number of live workers."""

    def __init__(self, connection: BestEffortRedis, worker_id: str, clock: Clock) -> None:
        self._connection = connection
        self._worker_id = worker_id
        self._clock = clock
        self._counts = {keys.PAGES_CRAWLED: 0, keys.PAGES_FAILED: 0, keys.BYTES_DOWNLOADED: 0}
        self._worker_counts: list[tuple[float, int]] = []
        """Recent counts of live workers, with their times."""
        self._first_heartbeat_at: float | None = None

    @property
    def workers(self) -> int:
        """The number of live workers, this one included; 0 if unknown.

        Never less than the maximum of the last two minutes: a Redis that was flushed knows no workers until their next
        heartbeats. Unknown until all others have counted this worker; before that, all workers together would be too
        fast.
        """
        if self._first_heartbeat_at is None or self._clock.now() < self._first_heartbeat_at + COUNT_DELAY_SECONDS:
            return 0
        return max((count for _, count in self._worker_counts), default=1)

    def add_counts(self, *, pages: int = 0, failures: int = 0, downloaded_bytes: int = 0) -> None:
        """Add to the counters of all workers, with the next heartbeat."""
        self._counts[keys.PAGES_CRAWLED] += pages
        self._counts[keys.PAGES_FAILED] += failures
        self._counts[keys.BYTES_DOWNLOADED] += downloaded_bytes

    async def send_heartbeat(self, current_url: str = "", status: str = "active") -> None:
        name, now_ms = keys.worker(self._worker_id), int(self._clock.now() * 1000)
        counts = {key: count for key, count in self._counts.items() if count}

        async def ask(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=True) as pipeline:
                pipeline.hset(name, mapping={"lastHeartbeat": now_ms, "status": status, "currentUrl": current_url})
                pipeline.expire(name, keys.WORKER_SECONDS)
                pipeline.sadd(keys.ACTIVE_WORKERS, self._worker_id)
                for key, count in counts.items():
                    pipeline.incrby(key, count)
                pipeline.smembers(keys.ACTIVE_WORKERS)
                return await pipeline.execute()

        answer = await self._connection.call(ask)
        if answer is None:
            return
        for key, count in counts.items():
            self._counts[key] -= count
        await self._count_alive([member.decode("utf-8", "replace") for member in answer[-1]])

    async def unregister(self) -> None:
        async def ask(redis: Redis) -> object:
            async with redis.pipeline(transaction=True) as pipeline:
                pipeline.delete(keys.worker(self._worker_id))
                pipeline.srem(keys.ACTIVE_WORKERS, self._worker_id)
                return await pipeline.execute()

        await self._connection.call(ask)

    async def _count_alive(self, members: list[str]) -> None:
        async def ask(redis: Redis) -> list[int]:
            async with redis.pipeline(transaction=False) as pipeline:
                for member in members:
                    pipeline.exists(keys.worker(member))
                return cast(list[int], await pipeline.execute())

        alive = await self._connection.call(ask)
        if alive is None:
            return
        gone = [member for member, is_alive in zip(members, alive, strict=True) if not is_alive]
        now = self._clock.now()
        if self._first_heartbeat_at is None:
            self._first_heartbeat_at = now
        self._worker_counts = [(at, count) for at, count in self._worker_counts if at > now - keys.WORKER_SECONDS]
        self._worker_counts.append((now, max(len(members) - len(gone), 1)))
        if gone:
            await self._connection.call(lambda redis: cast(Any, redis.srem(keys.ACTIVE_WORKERS, *gone)))


class Sharing:
    """Created by `open`."""

    def __init__(
        self, connection: BestEffortRedis, clock: Clock, local_hosts: MemoryHosts, peers: Callable[[], Peers] | None
    ) -> None:
        worker_id = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._connection = connection
        self.presence = Presence(connection, worker_id, clock)
        self.hosts = RedisHosts(connection, local_hosts)
        self.rate_limiter = RedisRateLimiter(connection, worker_id, lambda: self.presence.workers, peers)

    @classmethod
    async def open(
        cls, url: str, clock: Clock, local_hosts: MemoryHosts, peers: Callable[[], Peers] | None = None
    ) -> Sharing:
        """`peers`: the workers known to the shared database. Raises `ConfigError` when Redis cannot be used as
        configured."""
        sharing = cls(await BestEffortRedis.open(url, clock), clock, local_hosts, peers)
        await sharing.presence.send_heartbeat(status="idle")
        return sharing

    @property
    def is_cut_off(self) -> bool:
        """Whether Redis did not answer the last call."""
        return self._connection.is_unavailable

    async def clock_offset_seconds(self) -> float | None:
        """How far the clock of Redis is ahead of ours; None without an answer."""
        return await self._connection.clock_offset_seconds()

    async def run(self, get_current_url: Callable[[], str]) -> None:
        """Send heartbeats until cancelled. `get_current_url` returns a URL that is being visited, or an empty text."""
        while True:
            url = get_current_url()
            await self.presence.send_heartbeat(url, "active" if url else "idle")
            await asyncio.sleep(keys.HEARTBEAT_SECONDS)

    async def close(self) -> None:
        await self.presence.send_heartbeat(status="idle")  # the counts since the last one
        await self.presence.unregister()
        await self._connection.close()


async def redis_clock_offset(url: str, clock: Clock) -> float:
    """How far the clock of this Redis is ahead of ours, in seconds. Raises `ConfigError`."""
    reach = await BestEffortRedis.open(url, clock)
    try:
        return await reach.clock_offset_seconds() or 0.0
    finally:
        await reach.close()


SCAN_COUNT = 1000
NO_EXPIRY = -1
"""The TTL that Redis returns for a key without one."""


class VisitedUrls:
    """The set `crawler:visited_urls`. It only saves look-ups, and expires a day after its first member was added."""

    def __init__(self, connection: BestEffortRedis) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str, clock: Clock) -> VisitedUrls:
        """Raises `ConfigError` when Redis cannot be used as configured."""
        return cls(await BestEffortRedis.open(url, clock, fallback_note="looking up URLs in the database only"))

    async def contains(self, members: Sequence[bytes]) -> list[bool]:
        answer: Any = await self._connection.call(
            lambda redis: cast(Any, redis.smismember(keys.VISITED, list(members)))
        )
        return [bool(one) for one in answer] if answer is not None else [False] * len(members)

    async def add(self, members: Sequence[bytes]) -> bool:
        async def ask(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=False) as pipeline:
                pipeline.sadd(keys.VISITED, *members)
                pipeline.ttl(keys.VISITED)
                return await pipeline.execute()

        answer = await self._connection.call(ask)
        if answer is not None and answer[1] == NO_EXPIRY:
            await self._connection.call(lambda redis: redis.expire(keys.VISITED, keys.VISITED_SECONDS))
        return answer is not None

    async def fill(self, members: Sequence[bytes]) -> None:
        """Add these members. Raises `ConfigError` if Redis is unavailable."""
        if not await self.add(members):
            raise self._unavailable_error()

    async def forget(self, tag: bytes) -> AsyncIterator[int]:
        """Remove all members with this prefix, in batches. Yields the size of each batch. Raises `ConfigError`."""
        cursor = 0
        while True:
            cursor, found = await self._scan(cursor)
            ours = [member for member in found if member.startswith(tag)]
            await self._remove(ours)
            yield len(ours)
            if not cursor:
                return

    async def close(self) -> None:
        await self._connection.close()

    async def _scan(self, cursor: int) -> tuple[int, list[bytes]]:
        answer: Any = await self._connection.call(
            lambda redis: cast(Any, redis.sscan(keys.VISITED, cursor, count=SCAN_COUNT))
        )
        if answer is None:
            raise self._unavailable_error()
        return int(answer[0]), answer[1]

    async def _remove(self, members: Sequence[bytes]) -> None:
        if not members:
            return
        if await self._connection.call(lambda redis: cast(Any, redis.srem(keys.VISITED, *members))) is None:
            raise self._unavailable_error()

    def _unavailable_error(self) -> ConfigError:
        return ConfigError(
            f"Redis at {mask_server_url(self._connection.url, hides_user=True)} became unavailable; run the same "
            "command again"
        )
