"""Counts live workers: each sends a heartbeat every half minute, valid for two minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tenax.clock import Clock
from tenax.hosts.redis import keys
from tenax.hosts.redis.connection import BestEffortRedis

if TYPE_CHECKING:
    from redis.asyncio import Redis


COUNT_DELAY_SECONDS = keys.HEARTBEAT_SECONDS + 5.0
"""After the first heartbeat, the time until every other worker has counted again."""


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
        """The number of live workers, this one included; never less than the maximum of the last two minutes, because
        a flushed Redis knows none until their next heartbeats. 0 when unknown: before all others have counted us, all
        together would be too fast.
        """
        if self._first_heartbeat_at is None or self._clock.now() < self._first_heartbeat_at + COUNT_DELAY_SECONDS:
            return 0
        return max((count for _, count in self._worker_counts), default=1)

    def add_counts(self, *, pages: int = 0, failures: int = 0, downloaded_bytes: int = 0) -> None:
        """Add to the counters of all workers with the next heartbeat."""
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
