"""The set of visited URLs in Redis: hashes of known URLs, of several crawls side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from tenax.clock import Clock
from tenax.errors import ConfigError
from tenax.hosts.redis import keys
from tenax.hosts.redis.connection import BestEffortRedis
from tenax.text.masking import mask_server_url

if TYPE_CHECKING:
    from redis.asyncio import Redis

SCAN_COUNT = 1000
NO_EXPIRY = -1
"""The TTL that Redis returns for a key without one."""


class VisitedUrls:
    """`crawler:visited_urls`. It expires a day after its first member was added: it only saves lookups."""

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
        """Add them. Raises `ConfigError` when Redis is unavailable."""
        if not await self.add(members):
            raise self._unavailable_error()

    async def forget(self, tag: bytes) -> AsyncIterator[int]:
        """Remove all members with this prefix in batches; yields the size of each. Raises `ConfigError`."""
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
            f"Redis at {mask_server_url(self._connection.url, hides_user=True)} went away; run the same command again"
        )
