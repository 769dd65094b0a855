"""A page-fetcher with everything around it: real Redis, a broker, local sites, and access to every list."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import count
from typing import Any

from redis import Redis

from tenax.clock import Clock
from tenax.config import Config, SettingValue, load_config
from tenax.runtime.cancellation import Pause, pause
from tenax.services.page_fetcher.fetcher import PageFetcher
from tenax.services.page_fetcher.in_flight import PageFetcherMetrics
from tenax.services.wiring import open_page_fetcher
from tests.servers.kafka import KafkaBroker
from tests.site.server import Site

DEADLINE_SECONDS = 60.0
QUEUE, DLQ = "crawler_queue", "page_fetcher_dlq"
Settings = Mapping[str, Any]

_numbers = count(1)

_COUNT = """
local count = redis.call('LLEN', ARGV[1])
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':processing:*')) do
  if redis.call('TYPE', key).ok == 'list' then count = count + redis.call('LLEN', key) end
end
return count
"""


class Lab:
    """The servers of one test, and the content of their lists."""

    def __init__(self, redis_url: str, kafka: KafkaBroker) -> None:
        self.redis_url = redis_url
        self.kafka = kafka
        self.topic = f"webpage_log_{next(_numbers)}"
        self.redis = Redis.from_url(redis_url)
        kafka.create(self.topic)

    def settings(self, sites: Sequence[Site], settings: Settings | None = None) -> dict[str, Any]:
        own = {
            "redis_url": self.redis_url,
            "kafka_bootstrap_servers": self.kafka.servers,
            "webpage_log_topic": self.topic,
            "rate_limit_per_second": 0.0,
            "poll_timeout_seconds": 0.2,
            "grace_seconds": DEADLINE_SECONDS,
        }
        return {
            **{f"page_fetcher.{name}": value for name, value in own.items()},
            "guard.allow_networks": ("127.0.0.0/8",),
            "guard.ports": tuple(sorted({80, 443, *(site.port for site in sites)})),
            "politeness.per_ip_rate_factor": 0.0,
            "fetch.fallbacks": (),
            **(settings or {}),
        }

    def config(self, sites: Sequence[Site], settings: Settings | None = None) -> Config:
        flags = self.settings(sites, settings)
        return load_config(
            flags={key: SettingValue(value, "the test", is_typed=True) for key, value in flags.items()}
        ).config

    def enqueue(self, *items: str | bytes) -> None:
        self.redis.rpush(QUEUE, *items)

    @property
    def queue(self) -> list[bytes]:
        return self._list(QUEUE)

    @property
    def dead(self) -> list[bytes]:
        return self._list(DLQ)

    @property
    def claimed(self) -> list[bytes]:
        """The items in the lists of all fetchers."""
        return [item for key in self.redis.scan_iter(f"{QUEUE}:processing:*", _type="list") for item in self._list(key)]

    def reason(self, item: str | bytes) -> dict[str, Any]:
        found = self.redis.hget(f"{DLQ}:reasons", item)
        assert isinstance(found, bytes), f"no reason for {item!r}"
        reason: dict[str, Any] = json.loads(found)
        return reason

    def page(self, url: str) -> bytes | None:
        found = self.redis.get(f"webpage:{sha256(url.encode()).hexdigest()}")
        assert found is None or isinstance(found, bytes)
        return found

    def _list(self, key: str | bytes) -> list[bytes]:
        found = self.redis.lrange(key, 0, -1)
        assert isinstance(found, list)
        return [item for item in found if isinstance(item, bytes)]

    @property
    def is_settled(self) -> bool:
        """Nothing waits and nothing is claimed, at one moment: items move between the lists between two reads."""
        return bool(self.redis.eval(_COUNT, 0, QUEUE) == 0)

    @asynccontextmanager
    async def fetching(
        self,
        sites: Sequence[Site],
        settings: Settings | None = None,
        clock: Clock | None = None,
        pause: Pause = pause,
    ) -> AsyncIterator[PageFetcher]:
        """A fetcher that runs until the block ends, and is stopped gracefully then."""
        app = await open_page_fetcher(self.config(sites, settings), PageFetcherMetrics(), clock, pause)
        running = asyncio.ensure_future(app.fetcher.run())
        try:
            yield app.fetcher
            app.fetcher.stop()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await running
        finally:
            running.cancel()
            await asyncio.wait([running])
            await app.close()


def published_urls(found: Sequence[tuple[bytes, bytes]]) -> set[str]:
    """The URLs of these messages of the topic."""
    return {value.split(b'"')[7].decode() for _, value in found}


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until the condition is true; fails when it never is. Independent of the loop's time."""
    end = time.monotonic() + 2 * DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.01)
