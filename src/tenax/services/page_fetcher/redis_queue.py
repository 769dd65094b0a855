"""The lists of the page-fetcher in Redis: the queue, what each fetcher holds of it, the dead letters, and the pages."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tenax.config import PageFetcherConfig
from tenax.errors import ConfigError
from tenax.services.page_fetcher import Letter, Peeked, Sizes, Standing
from tenax.services.page_fetcher import redis_scripts as scripts
from tenax.services.redis_connection import ANSWER_SECONDS, RedisLink, closed, redis_at, said

if TYPE_CHECKING:
    from redis.asyncio import Redis

KNOB = "page_fetcher.redis_url"
TOMBSTONE_SECONDS = 86_400
SETTLED_SECONDS = 86_400
ATTEMPTS_SECONDS = 7 * 86_400
"""How long attempts are remembered after the last one that any URL spent."""
_MARK = b"\0tenax: taken"
"""Stands for an item while it is removed from the middle of the queue, within one step."""


def worker_name() -> str:
    """A name that no other process has or had."""
    return f"page-fetcher-{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"


class RedisQueue:
    """A `Queue`. Made by `open`."""

    def __init__(self, redis: Redis, waiting: Redis, config: PageFetcherConfig, worker: str) -> None:
        self._link = RedisLink(config.redis_url, KNOB)
        self._redis = redis
        self._waiting = waiting
        """Has a connection of its own, because it is kept for seconds at a time."""
        self._worker = worker
        self._ttl_seconds = config.cache_ttl_seconds
        self._dead_after_ms = int(config.dead_after_seconds * 1000)
        self._queue = config.input_queue
        self._letters = config.dlq_queue
        self._reasons = f"{config.dlq_queue}:reasons"
        self._holders = f"{config.input_queue}:processing"
        self._attempts = f"{config.input_queue}:attempts"
        self._activity = f"{config.input_queue}:last_activity"
        self._ours = self._held_by(worker)
        self._settled = f"{self._ours}:settled"
        self._settles = 0
        """Calls of `settle` so far: each has its number, by which Redis knows one that it was sent before."""
        self._peek = redis.register_script(scripts.PEEK)
        self._take = redis.register_script(scripts.TAKE)
        self._settle = redis.register_script(scripts.SETTLE)
        self._spend = redis.register_script(scripts.SPEND)
        self._beat = redis.register_script(scripts.BEAT)
        self._dead = redis.register_script(scripts.DEAD)
        self._recover = redis.register_script(scripts.RECOVER)
        self._leave = redis.register_script(scripts.LEAVE)

    @classmethod
    async def open(cls, config: PageFetcherConfig, worker: str) -> RedisQueue:
        """Raises `ConfigError` when Redis cannot be used as it is named."""
        redis = redis_at(config.redis_url, KNOB)
        waiting = redis_at(config.redis_url, KNOB, config.poll_timeout_seconds + ANSWER_SECONDS)
        queue = cls(redis, waiting, config, worker)
        try:
            await queue._link.first(queue._check_types)
            await queue._link.first(lambda: queue._beat_once(""))
        except BaseException:
            await queue.close()
            raise
        return queue

    @property
    def troubles(self) -> int:
        return self._link.troubles

    async def peek(self, first: int, most: int) -> Peeked:
        length, *items = await self._link.patiently(lambda: self._peek(keys=[self._queue], args=[first, most]))
        return Peeked(items, length)

    async def take(self, first: int, most: int, items: Sequence[bytes]) -> list[bytes]:
        taken: list[bytes] = await self._link.patiently(
            lambda: self._take(
                keys=[self._queue, self._ours, self._holders], args=[self._worker, first, most, _MARK, *items]
            )
        )
        return taken

    async def wait(self, seconds: float) -> bool:
        async def work() -> bool:
            timeout = cast(int, seconds)  # Redis takes any number, the library's type does not
            # From the head to the head: it stays where it is. Moved to us, it would be in nobody's hands when that
            # happens after we have left, and nobody can call back what was asked of a Redis that is slow.
            item = await said(self._waiting.blmove(self._queue, self._queue, timeout, "LEFT", "LEFT"))
            return item is not None

        return await self._link.patiently(work)

    async def settle(
        self,
        done: Sequence[bytes] = (),
        back: Sequence[bytes] = (),
        dead: Sequence[Letter] = (),
        front: Sequence[bytes] = (),
    ) -> None:
        letters = [part for letter in dead for part in letter]
        self._settles += 1
        counts = len(done), len(back), len(front)
        args: list[bytes | int] = [self._settles, SETTLED_SECONDS, *counts, *done, *back, *front, *letters]
        keys = [self._queue, self._ours, self._letters, self._reasons, self._attempts, self._activity, self._settled]
        await self._link.patiently(lambda: self._settle(keys=keys, args=args))

    async def spend(self, item: bytes, attempts: int) -> None:
        await self._link.patiently(lambda: self._spend(keys=[self._attempts], args=[item, attempts, ATTEMPTS_SECONDS]))

    async def attempts(self, items: Sequence[bytes]) -> list[int]:
        if not items:
            return []
        found = await self._link.patiently(lambda: said(self._redis.hmget(self._attempts, list(items))))
        return [int(count) if count is not None and count.isdigit() else 0 for count in found]

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
        names = await self._link.patiently(lambda: self._dead(keys=[self._holders], args=[worker_key("")]))
        count = 0
        for name in sorted(found.decode() for found in names):
            if name != self._worker:
                count += max(await self._recovered(name), 0)
        return count

    async def ours(self) -> list[bytes]:
        found: list[bytes] = await self._link.patiently(lambda: said(self._redis.lrange(self._ours, 0, -1)))
        return found

    async def sizes(self) -> Sizes:
        async def work() -> Sizes:
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.llen(self._queue)
                pipe.llen(self._letters)
                return Sizes(*await pipe.execute())

        return await self._link.patiently(work)

    async def leave(self) -> int:
        keys = [
            self._queue, self._ours, worker_key(self._worker), "crawler:active_workers", self._holders, self._settled,
        ]  # fmt: skip
        count: int = await self._link.patiently(lambda: self._leave(keys=keys, args=[self._worker]))
        return count

    async def close(self) -> None:
        await closed(self._redis, self._waiting)

    # -- one call -------------------------------------------------------------------------------------------

    async def _check_types(self) -> None:
        """Raises `ConfigError` for a key that holds something else: what we write to it would go nowhere."""
        kinds = {
            self._queue: "list", self._letters: "list", self._reasons: "hash", self._holders: "set",
            self._attempts: "hash", self._activity: "string",
        }  # fmt: skip
        async with self._redis.pipeline(transaction=False) as pipe:
            for key in kinds:
                pipe.type(key)
            found = [kind.decode() for kind in await pipe.execute()]
        for (key, kind), is_kind in zip(kinds.items(), found, strict=True):
            if is_kind not in (kind, "none"):
                raise ConfigError(
                    f"{key!r} in Redis at {self._link.where} is no {kind} but a {is_kind}; rename it, or name another"
                )

    async def _beat_once(self, url: str) -> int:
        tombstone = _tombstone(self._holders, self._worker)
        fields = ["status", "active" if url else "idle", "currentUrl", url]
        standing: int = await self._beat(
            keys=[worker_key(self._worker), "crawler:active_workers", self._holders, tombstone],
            args=[self._worker, self._dead_after_ms, *fields],
        )
        return standing

    async def _recovered(self, name: str) -> int:
        keys = [
            self._queue, self._held_by(name), worker_key(name), "crawler:active_workers", self._holders,
            _tombstone(self._holders, name),
        ]  # fmt: skip
        count: int = await self._link.patiently(lambda: self._recover(keys=keys, args=[name, TOMBSTONE_SECONDS]))
        return count

    def _held_by(self, worker: str) -> str:
        return f"{self._holders}:{worker}"


def worker_key(worker: str) -> str:
    return f"crawler:worker:{worker}"


def _tombstone(holders: str, worker: str) -> str:
    return f"{holders}:{worker}:given_up"
