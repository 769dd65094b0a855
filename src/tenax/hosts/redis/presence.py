"""Which workers are alive: each says so every half minute, and is believed for two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tenax.clock import Clock
from tenax.hosts.redis import keys
from tenax.hosts.redis.reach import BestEffortRedis

if TYPE_CHECKING:
    from redis.asyncio import Redis


COUNT_DELAY_SECONDS = keys.HEARTBEAT_SECONDS + 5.0
"""After its first sign of life, everyone else has asked who is alive once more."""


class Presence:
    """One worker's sign of life, and how many others give theirs."""

    def __init__(self, connection: BestEffortRedis, worker_id: str, clock: Clock) -> None:
        self._connection = connection
        self._worker_id = worker_id
        self._clock = clock
        self._counts = {keys.PAGES_CRAWLED: 0, keys.PAGES_FAILED: 0, keys.BYTES_DOWNLOADED: 0}
        self._worker_counts: list[tuple[float, int]] = []
        """When we asked lately, and how many were alive."""
        self._first_heartbeat_at: float | None = None

    @property
    def workers(self) -> int:
        """How many are alive, as far as known, this one included; never less than were seen in the last two minutes,
        as a Redis that was flushed knows of none until they beat again. 0 when that is not known yet: before everyone
        has had time to count us too, all of them together would be too fast.
        """
        if self._first_heartbeat_at is None or self._clock.now() < self._first_heartbeat_at + COUNT_DELAY_SECONDS:
            return 0
        return max((count for _, count in self._worker_counts), default=1)

    def add_counts(self, *, pages: int = 0, failures: int = 0, downloaded_bytes: int = 0) -> None:
        """To be added to the counters of all workers with the next sign of life."""
        self._counts[keys.PAGES_CRAWLED] += pages
        self._counts[keys.PAGES_FAILED] += failures
        self._counts[keys.BYTES_DOWNLOADED] += downloaded_bytes

    async def send_heartbeat(self, current_url: str = "", status: str = "active") -> None:
        name, now_ms = keys.worker(self._worker_id), int(self._clock.now() * 1000)
        counts = {key: count for key, count in self._counts.items() if count}

        async def ask(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=True) as told:
                told.hset(name, mapping={"lastHeartbeat": now_ms, "status": status, "currentUrl": current_url})
                told.expire(name, keys.WORKER_SECONDS)
                told.sadd(keys.ACTIVE_WORKERS, self._worker_id)
                for key, count in counts.items():
                    told.incrby(key, count)
                told.smembers(keys.ACTIVE_WORKERS)
                return await told.execute()

        told = await self._connection.call(ask)
        if told is None:
            return
        for key, count in counts.items():
            self._counts[key] -= count
        await self._count_alive([member.decode("utf-8", "replace") for member in told[-1]])

    async def unregister(self) -> None:
        async def ask(redis: Redis) -> object:
            async with redis.pipeline(transaction=True) as told:
                told.delete(keys.worker(self._worker_id))
                told.srem(keys.ACTIVE_WORKERS, self._worker_id)
                return await told.execute()

        await self._connection.call(ask)

    async def _count_alive(self, members: list[str]) -> None:
        async def ask(redis: Redis) -> list[int]:
            async with redis.pipeline(transaction=False) as asked:
                for member in members:
                    asked.exists(keys.worker(member))
                return cast(list[int], await asked.execute())

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
