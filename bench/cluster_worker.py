"""A worker process of the cluster benchmark: claims tasks, generates pages and commits them as fast as possible.

It talks to the benchmark in lines: it prints `ready` when registered, reads the measured period, and prints its
counts. Times are of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable

import msgspec
import uvloop

from bench.report import ROOT
from bench.world import World, host_number, unpaced_hosts, visit_of
from tenax.clock import SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.postgres import PostgresDatabase
from tenax.model import Visit
from tenax.runtime.resources import configure_memory

IN_FLIGHT = 64
TEXTS, TEXT_CHARS = 64, 5000
NEW_NUMBERS = 10_000_000
"""New URLs per worker: each worker has its own range of numbers."""


class Count(msgspec.Struct, frozen=True):
    """The counters of a worker at one time."""

    at: float
    pages: int
    new_urls: int
    cpu_seconds: float
    own_cpu_seconds: float
    """The part for generating pages and links."""


class Counted(msgspec.Struct, frozen=True):
    """Counts of the measured period, and of all pages the worker committed."""

    seconds: float
    pages: int
    new_urls: int
    cpu_seconds: float
    own_cpu_seconds: float
    pages_ever: int


class CountingPeriod(msgspec.Struct, frozen=True):
    """The measured period."""

    begin: float
    end: float


class Wheel:
    """Claim, visit, commit; `IN_FLIGHT` pages at a time."""

    def __init__(self, database: PostgresDatabase, world: World, clock: SteadyClock) -> None:
        self._database = database
        self._world = world
        self._clock = clock
        self._texts = _texts(world)
        self._gate = asyncio.Semaphore(IN_FLIGHT)
        self._pages = 0
        self._new_urls = 0
        self._own_cpu = 0.0

    def count(self) -> Count:
        return Count(time.monotonic(), self._pages, self._new_urls, time.process_time(), self._own_cpu)

    async def run_until(self, is_over: Callable[[], bool]) -> None:
        """Run until `is_over`, then finish what is in flight."""
        async with asyncio.TaskGroup() as group:
            while not is_over():
                await self._gate.acquire()
                claim = await self._database.claim()
                if claim is None:
                    self._gate.release()
                    await self._database.wait_for_work(0.5)
                    continue
                began = time.thread_time()
                links = self._world.links(host_number(claim.task.origin))
                visit = visit_of(claim, links, self._clock.now(), self._texts[self._pages % TEXTS])
                self._own_cpu += time.thread_time() - began
                group.create_task(self._commit(visit))

    async def _commit(self, visit: Visit) -> None:
        admission = await self._database.commit(visit)
        self._pages += 1
        self._new_urls += admission.admitted
        self._gate.release()


def _texts(world: World) -> list[str]:
    """Texts of common words, which compress like real text."""
    words = (ROOT / "bench" / "words.txt").read_text(encoding="utf-8").split()
    return [" ".join(world.random.choices(words, k=TEXT_CHARS))[:TEXT_CHARS] for _ in range(TEXTS)]


async def work(url: str, size: int, number: int) -> Counted:
    clock = SteadyClock()
    world = World(size, new_from=number * NEW_NUMBERS)
    database = await PostgresDatabase.open(url, DatabaseConfig(), clock, unpaced_hosts())
    wheel = Wheel(database, world, clock)
    print("ready", flush=True)
    period = msgspec.json.decode(await asyncio.to_thread(sys.stdin.readline), type=CountingPeriod)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(wheel.run_until(lambda: time.monotonic() >= period.end))
            await asyncio.sleep(period.begin - time.monotonic())
            before = wheel.count()
            await asyncio.sleep(period.end - time.monotonic())
            after = wheel.count()
            await running
    finally:
        await database.close()
    return Counted(
        after.at - before.at, after.pages - before.pages, after.new_urls - before.new_urls,
        after.cpu_seconds - before.cpu_seconds, after.own_cpu_seconds - before.own_cpu_seconds, wheel.count().pages,
    )  # fmt: skip


def run_worker(url: str, size: str, number: str) -> None:
    configure_memory()  # as a crawl does, and on the event loop of a crawl
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        counted = runner.run(work(url, int(size), int(number)))
    print(json.dumps(msgspec.to_builtins(counted)), flush=True)
