"""The set of visited URLs in Redis: what the ledger knows, as hashes that several crawls may keep side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from tenax.clock import Clock
from tenax.errors import ConfigError
from tenax.hosts.redis import keys
from tenax.hosts.redis.reach import Reach
from tenax.text.masking import mask_server_url

if TYPE_CHECKING:
    from redis.asyncio import Redis

SCANNED = 1000
FOREVER = -1
"""What Redis says of a key that has no end."""


class VisitedUrls:
    """`crawler:visited_urls`. It begins anew a day after its first member came: it holds hints, not records."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    @classmethod
    async def open(cls, url: str, clock: Clock) -> VisitedUrls:
        """Raises `ConfigError` when Redis cannot be used as it is named."""
        return cls(await Reach.open(url, clock, without="the ledger alone says what is known"))

    async def known(self, members: Sequence[bytes]) -> list[bool]:
        told: Any = await self._reach.call(lambda redis: cast(Any, redis.smismember(keys.VISITED, list(members))))
        return [bool(one) for one in told] if told is not None else [False] * len(members)

    async def add(self, members: Sequence[bytes]) -> bool:
        async def ask(redis: Redis) -> list[Any]:
            async with redis.pipeline(transaction=False) as told:
                told.sadd(keys.VISITED, *members)
                told.ttl(keys.VISITED)
                return await told.execute()

        told = await self._reach.call(ask)
        if told is not None and told[1] == FOREVER:
            await self._reach.call(lambda redis: redis.expire(keys.VISITED, keys.VISITED_SECONDS))
        return told is not None

    async def fill(self, members: Sequence[bytes]) -> None:
        """Add them for certain. Raises `ConfigError`."""
        if not await self.add(members):
            raise self._gone()

    async def forget(self, tag: bytes) -> AsyncIterator[int]:
        """Take out all members that begin with this, some at a time: how many each time. Raises `ConfigError`."""
        cursor = 0
        while True:
            cursor, found = await self._scanned(cursor)
            ours = [member for member in found if member.startswith(tag)]
            await self._remove(ours)
            yield len(ours)
            if not cursor:
                return

    async def close(self) -> None:
        await self._reach.close()

    async def _scanned(self, cursor: int) -> tuple[int, list[bytes]]:
        told: Any = await self._reach.call(lambda redis: cast(Any, redis.sscan(keys.VISITED, cursor, count=SCANNED)))
        if told is None:
            raise self._gone()
        return int(told[0]), told[1]

    async def _remove(self, members: Sequence[bytes]) -> None:
        if not members:
            return
        if await self._reach.call(lambda redis: cast(Any, redis.srem(keys.VISITED, *members))) is None:
            raise self._gone()

    def _gone(self) -> ConfigError:
        return ConfigError(
            f"Redis at {mask_server_url(self._reach.url, hides_user=True)} went away; run the same command again"
        )
