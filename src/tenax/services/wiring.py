"""From a config to a running service: which backends it stands on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from tenax.clock import Clock, ShiftedClock, SteadyClock, follow
from tenax.config import Config, Sites
from tenax.crawl.location import place_of
from tenax.crawl.rules import kept_rules
from tenax.crawl.wiring import build, clock_of, open_ledger, transports_of
from tenax.events.kafka import KafkaProducer
from tenax.fetch.body_budget import BodyBudget
from tenax.fetch.pipeline import Pipeline
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import Reach, RedisHosts, RedisTurns, redis_offset
from tenax.runtime.cancellation import ended
from tenax.services.page_fetcher.counters import PageFetcherNumbers
from tenax.services.page_fetcher.fetcher import PageFetcher
from tenax.services.page_fetcher.host_cache import SparingHosts
from tenax.services.page_fetcher.redis_queue import RedisQueue, worker_name
from tenax.services.page_fetcher.redis_status import queue_status
from tenax.services.page_fetcher.settings import config_of, share_of_a_host
from tenax.services.page_fetcher.status import QueueStatus
from tenax.services.page_fetcher.topic import Topic
from tenax.services.scheduler import Seed
from tenax.services.scheduler.loop import Agenda
from tenax.services.scheduler.redis_store import RedisMarks
from tenax.services.wait import Pause, pause
from tenax.services.worker import Counting, Worker
from tenax.urls.admit import rules_of
from tenax.urls.normalize import Spelling


class Closing(Protocol):
    async def close(self) -> None: ...


class PageFetcherApp:
    """The parts of one page-fetcher, put together; closed in the order they are given."""

    def __init__(self, fetcher: PageFetcher, parts: Sequence[Closing]) -> None:
        self.fetcher = fetcher
        self._parts = parts

    async def close(self) -> None:
        for part in self._parts:
            await part.close()


class _Beside:
    """Work that goes on beside a service until that is closed."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)

    async def close(self) -> None:
        await ended(self._task)


async def open_page_fetcher(
    config: Config, numbers: PageFetcherNumbers, clock: Clock | None = None, pause: Pause = pause
) -> PageFetcherApp:
    """Everything a page-fetcher needs, ready to run.

    Raises `ServerAway` when Redis does not answer, another `ConfigError` when a server cannot be used as named.
    """
    steady, own, worker = clock or SteadyClock(), config.page_fetcher, worker_name()
    parts: list[Closing] = []
    try:
        queue = await RedisQueue.open(own, worker)
        parts.append(queue)
        # Turns are shared with other machines, whose clocks may differ: all of them live in the time of Redis.
        clock = clock or ShiftedClock(steady, await redis_offset(own.redis_url, steady))
        # That Redis is away is said by the queue, which then waits as everything does.
        reach = await Reach.open(own.redis_url, clock, without="")
        parts.append(reach)
        if isinstance(clock, ShiftedClock):
            parts.append(_Beside(follow(clock, reach.ahead_seconds)))
        # Readers of these events may have no codec but those of their language; the events are small.
        producer = KafkaProducer(own.kafka_bootstrap_servers, compression="none")
        topic = Topic(producer, own.webpage_log_topic)
        parts.append(topic)
        await producer.look()
        sites = Sites(config_of(config))
        # Without Redis there is nowhere to put a page, and no other way to hear of the others: nobody takes a turn.
        turns = RedisTurns(reach, worker, lambda: 0)
        transports = transports_of(config_of(config), sites, clock, (), turns, visits=own.concurrency)
        parts.append(transports)
    except BaseException:
        for part in reversed(parts):
            await part.close()
        raise
    near = MemoryHosts()
    hosts = SparingHosts(
        RedisHosts(reach, near), near, clock, lambda origin: sites.of_origin(origin).politeness.rate_per_second == 0
    )
    pipeline = Pipeline(transports, clock, sites, Spelling())
    bodies = BodyBudget(config.crawl.max_body_memory_bytes, own.concurrency)
    fetcher = PageFetcher(
        queue, topic, hosts, pipeline, sites, clock, own, share_of_a_host(config), numbers, bodies, pause
    )
    return PageFetcherApp(fetcher, parts[::-1])


async def page_fetcher_status(config: Config) -> QueueStatus:
    """How the queue of the page-fetchers stands. Raises `ConfigError` when Redis does not answer."""
    return await queue_status(config.page_fetcher)


async def open_worker(config: Config, counting: Counting) -> Worker:
    """A worker on the ledger that `ledger.url` names, ready to run.

    Raises `LedgerAway` or `ServerAway` when a server does not answer, others when it cannot be used as named.
    """
    place = place_of(config, None)
    clock = await clock_of(place, config)
    ledger = await open_ledger(place, read_only=False, config=config, clock=clock)
    try:
        # Before anyone has given seeds there are no rules; nothing waits for a visit then either.
        rules = await kept_rules(ledger) or rules_of((), config, datetime.fromtimestamp(clock.now(), UTC).year)
        app = await build(place, ledger, rules, config, clock, (), counting.visited, is_endless=True)
    except BaseException:
        await ledger.close()
        raise
    counting.begin(app, clock)
    return Worker(app, counting, config.worker)


async def open_agenda(seeds: Sequence[Seed], config: Config) -> tuple[Agenda, Callable[[], Awaitable[None]]]:
    """A scheduler for these seeds, and what closes it. Raises `ConfigError` when Redis cannot be used as named."""
    own = config.page_fetcher
    marks = await RedisMarks.open(own.redis_url, own.input_queue)
    return Agenda(seeds, marks, SteadyClock()), marks.close
