"""A worker in this process: it takes what is there, waits for more, and ends when stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from redis.asyncio import Redis

from tenax.config import Config, ValidationConfig, WorkerConfig
from tenax.crawl.location import crawl_location
from tenax.crawl.seeds import add_seeds
from tenax.crawl.wiring import open_database
from tenax.database import Database
from tenax.hosts.redis import keys
from tenax.metrics import Metrics
from tenax.services.wiring import open_worker
from tenax.services.worker import Worker
from tests.hostile.crawling import config_for
from tests.site.hostile import WORDS, in_turn, page, serves
from tests.site.server import Exchange, Site

DEADLINE_SECONDS = 60.0
SHELL = f"""<!doctype html><title>App</title><body>
<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>
<script>document.getElementById('root').innerHTML = '<h1>A tale</h1><p>{WORDS}</p>'</script>""".encode()
NO_ROBOTS = serves(b"", status="404 Not Found")


def config_of(*sites: Site, database: str, redis: str, grace_seconds: float = 30.0) -> Config:
    config = config_for([site.url("/") for site in sites], {"database.url": database, "redis.url": redis})
    return msgspec.structs.replace(config, worker=WorkerConfig(grace_seconds=grace_seconds))


@asynccontextmanager
async def at_work(config: Config) -> AsyncIterator[tuple[Worker, Metrics, asyncio.Task[None]]]:
    counting = Metrics()
    worker = await open_worker(config, counting)
    running = asyncio.get_running_loop().create_task(worker.run())
    try:
        yield worker, counting, running
    finally:
        worker.stop()
        await running
        await worker.close()


@asynccontextmanager
async def asking(config: Config) -> AsyncIterator[Database]:
    database = await open_database(crawl_location(config, None), read_only=True, config=config)
    try:
        yield database
    finally:
        await database.close()


async def seed(config: Config, *urls: str) -> None:
    database = await open_database(crawl_location(config, None), read_only=False, config=config)
    try:
        await add_seeds(database, urls, config, 2026, (), is_shared=True)
    finally:
        await database.close()


def site_of_one() -> Site:
    return Site({"/": serves(page("Alone"))})


def pages_of(counting: Metrics) -> float:
    pages = counting.values()["crawler_pages_fetched_total"]
    assert isinstance(pages, int | float)
    return pages


async def until(condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def test_it_waits_for_work_and_goes_on_when_there_is_some(postgres: str, redis: str) -> None:
    """It runs before any seed is added, and after all is done."""
    async with (
        Site({"/": serves(page("One", links=["/two"])), "/two": serves(page("Two"))}) as site,
        site_of_one() as new,
    ):
        config = config_of(site, new, database=postgres, redis=redis)
        async with at_work(config) as (_, counting, running), asking(config) as database:
            await seed(config, site.url("/"))
            await until(lambda: pages_of(counting) == 2)
            await seed(config, new.url("/"))
            await until(lambda: pages_of(counting) == 3)
            status = await database.status()
            assert (status.pages, status.waiting, status.workers) == (3, 0, 1)
            assert not running.done()
        async with asking(config) as database:
            assert (await database.status()).workers == 0


async def test_what_waits_for_a_browser_is_taken_up_by_a_worker_that_has_one(postgres: str, redis: str) -> None:
    async with Site({"/": serves(SHELL), "/robots.txt": NO_ROBOTS}) as site:
        config = config_of(site, database=postgres, redis=redis)
        await seed(config, site.url("/"))
        async with at_work(config) as (_, counting, _), asking(config) as database:
            await until(lambda: "shell" in str(counting.values()["crawler_failures_total"]), 60.0)
            status = await database.status()
            assert (status.pages, status.dead, status.needs_browser) == (0, 1, 1)
        fetch = msgspec.structs.replace(config.fetch, fallbacks=("browser",), total_timeout_seconds=60.0)
        async with at_work(msgspec.structs.replace(config, fetch=fetch)) as (_, counting, _):
            await until(lambda: pages_of(counting) > 0, 60.0)
        async with asking(config) as database:
            status = await database.status()
            assert (status.pages, status.dead, status.needs_browser) == (1, 0, 0)


async def test_what_a_setting_ended_is_taken_up_by_a_worker_with_another(postgres: str, redis: str) -> None:
    short = b"<html><title>Prices</title><body><p>A short list of our prices.</p></body></html>"
    async with Site({"/": serves(short), "/robots.txt": NO_ROBOTS}) as site:
        config = config_of(site, database=postgres, redis=redis)
        await seed(config, site.url("/"))
        strict = msgspec.structs.replace(config, validation=ValidationConfig(min_body_bytes=500))
        async with at_work(strict) as (_, counting, _), asking(config) as database:
            await until(lambda: "small" in str(counting.values()["crawler_failures_total"]))
            assert (await database.status()).parked == {"small": 1}
        async with at_work(config) as (_, counting, _), asking(config) as database:
            await until(lambda: pages_of(counting) == 1)
            status = await database.status()
            assert (status.pages, status.parked) == (1, {})


async def test_what_is_in_flight_is_finished(postgres: str, redis: str) -> None:
    asked, answering = asyncio.Event(), asyncio.Event()

    async def slowly(exchange: Exchange) -> None:
        asked.set()
        await answering.wait()
        await serves(page("Late"))(exchange)

    async with Site({"/": slowly, "/robots.txt": NO_ROBOTS}) as site:
        config = config_of(site, database=postgres, redis=redis)
        await seed(config, site.url("/"))
        async with at_work(config) as (worker, _, running):
            await asyncio.wait_for(asked.wait(), DEADLINE_SECONDS)
            worker.stop()
            answering.set()
            await asyncio.wait_for(running, DEADLINE_SECONDS)
        async with asking(config) as database:
            status = await database.status()
            assert (status.pages, status.waiting) == (1, 0)


async def test_what_does_not_end_in_time_is_left_to_others_at_once(
    postgres: str, redis: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.Event()

    async def never(exchange: Exchange) -> None:
        asked.set()
        await asyncio.sleep(DEADLINE_SECONDS)

    async with Site({"/": in_turn(never, serves(page("At last"))), "/robots.txt": NO_ROBOTS}) as site:
        config = config_of(site, database=postgres, redis=redis, grace_seconds=0.05)
        await seed(config, site.url("/"))
        async with at_work(config) as (worker, counting, running):
            await asyncio.wait_for(asked.wait(), DEADLINE_SECONDS)
            worker.stop()
            await asyncio.wait_for(running, DEADLINE_SECONDS)
            assert pages_of(counting) == 0
        assert "visits did not end in time, left to other workers" in caplog.messages
        async with at_work(config) as (_, counting, _):
            await until(lambda: pages_of(counting) == 1)


async def test_it_shows_in_redis_while_it_is_there_and_leaves_its_counts(postgres: str, redis: str) -> None:
    client: Any = Redis.from_url(redis, decode_responses=True)  # its types say bytes or text
    async with site_of_one() as site, client:
        config = config_of(site, database=postgres, redis=redis)
        await seed(config, site.url("/"))
        async with at_work(config) as (_, counting, _):
            await until(lambda: pages_of(counting) == 1)
            [name] = await client.smembers(keys.ACTIVE_WORKERS)
            assert await client.hget(keys.worker(name), "status") in ("active", "idle")
            assert 0 < await client.ttl(keys.worker(name)) <= keys.WORKER_SECONDS
        assert await client.smembers(keys.ACTIVE_WORKERS) == set()
        assert await client.exists(keys.worker(name)) == 0
        assert await client.get(keys.PAGES_CRAWLED) == "1"
        assert int(await client.get(keys.BYTES_DOWNLOADED)) > 500
