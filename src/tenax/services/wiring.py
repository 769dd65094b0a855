"""Builds running services from a config, and chooses their backends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from tenax.clock import Clock, ShiftedClock, SteadyClock, follow_server_clock
from tenax.config import Config, Sites
from tenax.crawl.app import Closable
from tenax.crawl.location import crawl_location
from tenax.crawl.rules import load_rules
from tenax.crawl.wiring import build_app, build_transports, open_clock, open_database
from tenax.events.kafka import KafkaProducer
from tenax.fetch.body_budget import BodyBudget
from tenax.fetch.pipeline import Pipeline, Visitor
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import BestEffortRedis, RedisHosts, RedisRateLimiter, redis_clock_offset
from tenax.metrics import Metrics
from tenax.runtime.cancellation import Pause, cancel_and_wait, pause
from tenax.services.page_fetcher import fetch_config, max_items_per_host
from tenax.services.page_fetcher.fetcher import CachedHosts, PageFetcher
from tenax.services.page_fetcher.in_flight import InFlight, PageFetcherMetrics
from tenax.services.page_fetcher.publisher import Topic
from tenax.services.page_fetcher.redis_queue import RedisQueue, read_queue_status, worker_name
from tenax.services.page_fetcher.status import QueueStatus
from tenax.services.scheduler import Seed, SeedScheduler
from tenax.services.scheduler.redis_store import RedisSeedQueue
from tenax.services.worker import Worker
from tenax.urls.admit import build_rules
from tenax.urls.normalize import NormalizeOptions


class PageFetcherApp:
    """The parts of one page-fetcher. They are closed in the order given."""

    def __init__(self, fetcher: PageFetcher, parts: Sequence[Closable]) -> None:
        self.fetcher = fetcher
        self._parts = parts

    async def close(self) -> None:
        for part in self._parts:
            await part.close()


class _BackgroundTask:
    """Runs beside a service until the service is closed."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)

    async def close(self) -> None:
        await cancel_and_wait(self._task)


async def open_page_fetcher(
    config: Config, metrics: PageFetcherMetrics, clock: Clock | None = None, pause: Pause = pause
) -> PageFetcherApp:
    """Everything that a page-fetcher needs, ready to run.

    Raises `ServerUnavailable` if Redis does not answer, and another `ConfigError` if a server cannot be used as
    configured.
    """
    steady, own, worker = clock or SteadyClock(), config.page_fetcher, worker_name()
    parts: list[Closable] = []
    try:
        queue = await RedisQueue.open(own, worker)
        parts.append(queue)
        # The rate limit is shared with other machines, whose clocks may differ. So all use the time of Redis.
        clock = clock or ShiftedClock(steady, await redis_clock_offset(own.redis_url, steady))
        # The queue logs that Redis is unavailable. Everything else only waits.
        redis = await BestEffortRedis.open(own.redis_url, clock, fallback_note="")
        parts.append(redis)
        if isinstance(clock, ShiftedClock):
            parts.append(_BackgroundTask(follow_server_clock(clock, redis.clock_offset_seconds)))
        # The readers of these events may have only the codecs of their language. The events are small.
        producer = KafkaProducer(own.kafka_bootstrap_servers, compression="none")
        topic = Topic(producer, own.webpage_log_topic)
        parts.append(topic)
        await producer.check_broker()
        sites = Sites(fetch_config(config))
        # Without Redis a page cannot be stored, and other workers are unknown, so no permits are given.
        rate_limiter = RedisRateLimiter(redis, worker, lambda: 0)
        transports = build_transports(fetch_config(config), sites, clock, (), rate_limiter, max_visits=own.concurrency)
        parts.append(transports)
    except BaseException:
        for part in reversed(parts):
            await part.close()
        raise
    local_hosts = MemoryHosts()
    hosts = CachedHosts(
        RedisHosts(redis, local_hosts),
        local_hosts,
        clock,
        lambda origin: sites.for_origin(origin).politeness.rate_per_second == 0,
    )
    pipeline = Pipeline(transports, clock, sites, NormalizeOptions())
    bodies = BodyBudget(config.crawl.max_body_memory_bytes, own.concurrency)
    visitor = Visitor(pipeline, hosts, sites, clock)
    in_flight_items = InFlight(
        queue, topic, visitor, config=own, metrics=metrics, max_items_per_host=max_items_per_host(config)
    )
    fetcher = PageFetcher(queue, visitor, in_flight_items, config=own, metrics=metrics, bodies=bodies, pause=pause)
    return PageFetcherApp(fetcher, parts[::-1])


async def page_fetcher_status(config: Config) -> QueueStatus:
    """The status of the page-fetchers' queue. Raises `ConfigError` if Redis does not answer."""
    return await read_queue_status(config.page_fetcher)


async def open_worker(config: Config, metrics: Metrics) -> Worker:
    """A worker on the database of `database.url`, ready to run. It counts in `metrics`.

    Raises `DatabaseUnavailable` or `ServerUnavailable` if a server does not answer, and other errors if it cannot be
    used as configured.
    """
    location = crawl_location(config, None)
    clock = await open_clock(location, config)
    database = await open_database(location, read_only=False, config=config, clock=clock)
    try:
        # Without seeds there are no rules yet, and no task waits for a visit.
        rules = await load_rules(database) or build_rules((), config, datetime.fromtimestamp(clock.now(), UTC).year)
        app = await build_app(location, database, rules, config, clock, allowed_origins=(), metrics=metrics)
        app.engine.is_endless = True
    except BaseException:
        await database.close()
        raise
    return Worker(app, clock, config.worker)


async def open_scheduler(seeds: Sequence[Seed], config: Config) -> tuple[SeedScheduler, Callable[[], Awaitable[None]]]:
    """A scheduler for these seeds, and what closes it. Raises `ConfigError` if Redis cannot be used as configured."""
    own = config.page_fetcher
    marks = await RedisSeedQueue.open(own.redis_url, own.input_queue)
    return SeedScheduler(seeds, marks, SteadyClock()), marks.close
