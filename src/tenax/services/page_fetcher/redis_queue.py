"""The lists of the page-fetcher in Redis: the queue, what each fetcher holds of it, the dead letters, and the pages."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenax.clock import Clock
from tenax.config import PageFetcherConfig
from tenax.services.page_fetcher import Letter, Sizes, Standing, Taken
from tenax.services.page_fetcher import redis_scripts as scripts
from tenax.services.redis_link import ANSWER_SECONDS, RedisLink, redis_at, said

if TYPE_CHECKING:
    from redis.asyncio import Redis

KNOB = "page_fetcher.redis_url"
TOMBSTONE_SECONDS = 86_400


def worker_name() -> str:
    """A name that no other process has or had."""
    return f"page-fetcher-{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"


class RedisQueue:
    """A `Queue`. Made by `open`."""

    def __init__(self, redis: Redis, waiting: Redis, config: PageFetcherConfig, clock: Clock, worker: str) -> None:
        self._link = RedisLink(config.redis_url, KNOB)
        self._redis = redis
        self._waiting = waiting
        """Has a connection of its own, because it is kept for seconds at a time."""
        self._clock = clock
        self._worker = worker
        self._ttl_seconds = config.cache_ttl_seconds
        self._dead_after_ms = int(config.dead_after_seconds * 1000)
        self._queue = config.input_queue
        self._letters = config.dlq_queue
        self._reasons = f"{config.dlq_queue}:reasons"
        self._holders = f"{config.input_queue}:processing"
        self._ours = self._held_by(worker)
        self._take = redis.register_script(scripts.TAKE)
        self._settle = redis.register_script(scripts.SETTLE)
        self._beat = redis.register_script(scripts.BEAT)
        self._recover = redis.register_script(scripts.RECOVER)
        self._leave = redis.register_script(scripts.LEAVE)

    @classmethod
    async def open(cls, config: PageFetcherConfig, clock: Clock, worker: str) -> RedisQueue:
        """Raises `ConfigError` when Redis cannot be used as it is named."""
        redis = redis_at(config.redis_url, KNOB)
        waiting = redis_at(config.redis_url, KNOB, config.poll_timeout_seconds + ANSWER_SECONDS)
        queue = cls(redis, waiting, config, clock, worker)
        try:
            await queue._link.first(lambda: queue._beat_once(""))
        except BaseException:
            await queue.close()
            raise
        return queue

    @property
    def troubles(self) -> int:
        return self._link.troubles

    async def take(self, most: int) -> Taken:
        left, *items = await self._link.patiently(lambda: self._take(keys=[self._queue, self._ours], args=[most]))
        return Taken(items, left)

    async def wait(self, seconds: float) -> bytes | None:
        async def work() -> bytes | None:
            timeout = cast(int, seconds)  # Redis takes any number, the library's type does not
            item: bytes | None = await said(self._waiting.blmove(self._queue, self._ours, timeout, "LEFT", "RIGHT"))
            return item

        return await self._link.patiently(work)

    async def settle(self, done: Sequence[bytes] = (), back: Sequence[bytes] = (), dead: Sequence[Letter] = ()) -> None:
        letters = [part for letter in dead for part in letter]
        args: list[bytes | int] = [len(done), len(back), *done, *back, *letters]
        keys = [self._queue, self._ours, self._letters, self._reasons]
        await self._link.patiently(lambda: self._settle(keys=keys, args=args))

    async def store(self, pages: Sequence[tuple[str, bytes]]) -> None:
        async def work() -> None:
            async with self._redis.pipeline(transaction=False) as pipe:
                for key, body in pages:
                    pipe.set(key, body, ex=self._ttl_seconds)
                await pipe.execute()

        await self._link.patiently(work)

    async def beat(self, url: str) -> Standing:
        return Standing(await self._link.patiently(lambda: self._beat_once(url)))

    async def hold(self, items: Sequence[bytes]) -> None:
        if items:
            await self._link.patiently(lambda: said(self._redis.rpush(self._ours, *items)))

    async def recover(self) -> int:
        members = await self._link.patiently(lambda: said(self._redis.smembers(self._holders)))
        count = 0
        for name in sorted(member.decode() for member in members):
            if name != self._worker:
                count += max(await self._recovered(name), 0)
        return count

    async def ours(self) -> list[bytes]:
        found: list[bytes] = await self._link.patiently(lambda: said(self._redis.lrange(self._ours, 0, -1)))
        return found

    async def newest(self, most: int) -> list[bytes]:
        found: list[bytes] = await self._link.patiently(lambda: said(self._redis.lrange(self._queue, -most, -1)))
        return found

    async def sizes(self) -> Sizes:
        async def work() -> Sizes:
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.llen(self._queue)
                pipe.llen(self._letters)
                return Sizes(*await pipe.execute())

        return await self._link.patiently(work)

    async def leave(self) -> int:
        keys = [self._queue, self._ours, _worker_key(self._worker), "crawler:active_workers", self._holders]
        count: int = await self._link.patiently(lambda: self._leave(keys=keys, args=[self._worker]))
        return count

    async def close(self) -> None:
        await self._redis.aclose()
        await self._waiting.aclose()

    # -- one call -------------------------------------------------------------------------------------------

    async def _beat_once(self, url: str) -> int:
        tombstone = _tombstone(self._holders, self._worker)
        now_ms = int(self._clock.now() * 1000)
        fields: list[str | int] = ["lastHeartbeat", now_ms, "status", "active" if url else "idle", "currentUrl", url]
        standing: int = await self._beat(
            keys=[_worker_key(self._worker), "crawler:active_workers", self._holders, tombstone],
            args=[self._worker, self._dead_after_ms, *fields],
        )
        return standing

    async def _recovered(self, name: str) -> int:
        keys = [
            self._queue, self._held_by(name), _worker_key(name), "crawler:active_workers", self._holders,
            _tombstone(self._holders, name),
        ]  # fmt: skip
        count: int = await self._link.patiently(lambda: self._recover(keys=keys, args=[name, TOMBSTONE_SECONDS]))
        return count

    def _held_by(self, worker: str) -> str:
        return f"{self._holders}:{worker}"


def _worker_key(worker: str) -> str:
    return f"crawler:worker:{worker}"


def _tombstone(holders: str, worker: str) -> str:
    return f"{holders}:{worker}:given_up"
