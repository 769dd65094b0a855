"""The documented numbers: items of a dead fetcher are recovered in time, and one rate limiter serves all."""

from __future__ import annotations

import asyncio

import pytest

from tenax.clock import ManualClock
from tenax.services.page_fetcher.in_flight import Maintenance, PageFetcherMetrics
from tenax.services.page_fetcher.redis_queue import RedisQueue
from tenax.services.wiring import open_page_fetcher
from tests.services.lab import QUEUE, Lab, until
from tests.site.politeness import gaps
from tests.site.robots import page, rules
from tests.site.server import Site

NOTICED_SECONDS = 10.0
"""From the documentation."""


class Enough(Exception):
    """Ends the test after enough time."""


async def test_items_of_a_dead_fetcher_are_recovered_in_the_documented_time(lab: Lab) -> None:
    """A fetcher is killed right after a heartbeat, whose lease lasts two minutes; another one runs meanwhile."""
    config, clock = lab.config([]), ManualClock()
    own = config.page_fetcher
    killed_at = clock.now()
    killed = await RedisQueue.open(own, "killed")
    lab.enqueue("http://a.example/1", "http://a.example/2")
    items = [b"http://a.example/1", b"http://a.example/2"]
    assert await killed.take(0, 2, items) == items
    await killed.close()
    left_ms = lab.redis.pttl("crawler:worker:killed")
    assert isinstance(left_ms, int) and 100_000 < left_ms <= own.dead_after_seconds * 1000
    back_at: list[float] = []

    async def by_hand(news: asyncio.Event, seconds: float) -> None:
        if lab.queue == items and not back_at:
            back_at.append(clock.now() - killed_at)
        if clock.now() - killed_at > 300:
            raise Enough
        clock.advance(seconds)
        if clock.now() - killed_at >= own.dead_after_seconds:
            lab.redis.delete("crawler:worker:killed")  # as its time to live says

    app = await open_page_fetcher(config, PageFetcherMetrics(), clock)
    queue = await RedisQueue.open(own, "other")
    try:
        maintenance = Maintenance(queue, app.fetcher.in_flight_items, own, PageFetcherMetrics(), clock, by_hand)
        with pytest.raises(Enough):
            await maintenance.run(lambda: "")
    finally:
        await queue.close()
        await app.close()
    [seconds] = back_at
    assert own.dead_after_seconds <= seconds <= own.dead_after_seconds + NOTICED_SECONDS
    assert lab.claimed == []


async def test_the_limiter_in_redis_serves_whatever_is_shared_on_this_machine(lab: Lab) -> None:
    """`politeness.share_rate_limit` is about other crawls of this machine. Page-fetchers share their rate limit in
    Redis."""
    paths = [f"/{number}" for number in range(12)]
    settings = {
        "politeness.share_rate_limit": False, "page_fetcher.rate_limit_per_second": 10.0,
        "page_fetcher.max_in_flight": 4,
    }  # fmt: skip
    async with Site({"/robots.txt": rules(""), **{path: page("/") for path in paths}}, "127.0.0.65") as site:
        lab.enqueue(*(site.url(path) for path in paths))
        async with lab.fetching([site], settings), lab.fetching([site], settings):
            await until(lambda: lab.is_settled)
            assert lab.redis.exists(f"rate_limit:127.0.0.65:{site.port}") == 1
    assert min(gaps(site.hits)) >= 0.099
    assert lab.redis.exists(f"{QUEUE}:attempts") == 0
