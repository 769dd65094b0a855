"""What a crawl shares with others through one Redis: records, turns, and a sign of life."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import Callable

from tenax.clock import Clock
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import keys
from tenax.hosts.redis.limiter import RedisTurns
from tenax.hosts.redis.presence import Presence
from tenax.hosts.redis.reach import Reach
from tenax.hosts.redis.records import RedisHosts
from tenax.model import Company


class Sharing:
    """Made by `open`."""

    def __init__(self, reach: Reach, clock: Clock, near: MemoryHosts, company: Callable[[], Company] | None) -> None:
        worker_id = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._reach = reach
        self.presence = Presence(reach, worker_id, clock)
        self.hosts = RedisHosts(reach, near)
        self.turns = RedisTurns(reach, worker_id, lambda: self.presence.workers, company)

    @classmethod
    async def open(
        cls, url: str, clock: Clock, near: MemoryHosts, company: Callable[[], Company] | None = None
    ) -> Sharing:
        """`company`: what the ledger tells of those who share it. Raises `ConfigError` when Redis cannot be used as it
        is named."""
        sharing = cls(await Reach.open(url, clock), clock, near, company)
        await sharing.presence.beat(status="idle")
        return sharing

    @property
    def is_cut_off(self) -> bool:
        """Redis did not answer when it was last asked."""
        return self._reach.is_away

    async def ahead_seconds(self) -> float | None:
        """How far the clock of Redis is ahead of the one we live by; None when it does not say."""
        return await self._reach.ahead_seconds()

    async def run(self, busy_with: Callable[[], str]) -> None:
        """Give signs of life until it is cancelled; `busy_with` gives a URL that is being visited, or nothing."""
        while True:
            url = busy_with()
            await self.presence.beat(url, "active" if url else "idle")
            await asyncio.sleep(keys.HEARTBEAT_SECONDS)

    async def close(self) -> None:
        await self.presence.beat(status="idle")  # what was counted since the last one
        await self.presence.leave()
        await self._reach.close()


async def redis_offset(url: str, clock: Clock) -> float:
    """How far the clock of this Redis is ahead of ours, in seconds. Raises `ConfigError`."""
    reach = await Reach.open(url, clock)
    try:
        return await reach.ahead_seconds() or 0.0
    finally:
        await reach.close()
