"""What a crawl shares through Redis: host records, rate limits and presence."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
from collections.abc import Callable

from tenax.clock import Clock
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import keys
from tenax.hosts.redis.connection import BestEffortRedis
from tenax.hosts.redis.limiter import RedisRateLimiter
from tenax.hosts.redis.presence import Presence
from tenax.hosts.redis.records import RedisHosts
from tenax.model import Peers


class Sharing:
    """Create it with `open`."""

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
        """Send heartbeats until cancelled; `get_current_url` returns a URL that is being visited, or an empty text."""
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
