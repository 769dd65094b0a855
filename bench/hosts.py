"""The cost of a visit and the memory of a crawl with a million hosts in the database.

Each host has one or two tasks and is visited as in a crawl, without the network: claim, acquire the permit shared by
all crawls of the machine, apply robots.txt, update the host from the answer, commit. One host in twenty answers 429,
one is down, one has a failing page, one blocks us; one in ten has its own robots.txt with a Crawl-delay. Every page
links to a page of a larger host. Filling and crawling run in separate processes, on a real file with an fsync per group
of commits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from bench.report import WORKPLACE, BenchError, Report, run, say, short, table
from tenax.clock import Clock, SteadyClock
from tenax.config import Config, DatabaseConfig, SiteConfig, Sites
from tenax.database.sqlite import SqliteDatabase
from tenax.fetch.answer import FetchResult, VisitEnd
from tenax.fetch.retry import plan_task
from tenax.hosts import Permit, RateLimiter, host_key
from tenax.hosts.limiter.machine import MachineRateLimiter
from tenax.hosts.records import MemoryHosts
from tenax.hosts.robots import apply_robots, robots_rules
from tenax.hosts.rules import HostPace, SentRequests, host_after_visit
from tenax.hosts.throttle import pace_seconds, shared_limits
from tenax.model import (
    Candidate,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    Page,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    TransportKind,
    Visit,
)
from tenax.runtime.resources import configure_memory

SIZES, QUICK_SIZES = (10_000, 1_000_000), (5_000, 50_000)
POPULAR = 100_000
"""Hosts that are linked to."""
IN_FLIGHT = 64
ADMITTED_AT_ONCE = 20_000
SITE = SiteConfig()
PLAIN = frozenset({TransportKind.HTTP})
RULES = "User-agent: *\nCrawl-delay: 2\n" + "".join(f"Disallow: /private-{{0}}/{part}/\n" for part in range(30))
ANSWERS: dict[int, Outcome] = {
    0: Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429),
    1: Failed("connection refused", FailureKind.CONNECT, is_site_wide=True),
    2: Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500),
    4: Rejected("wall: access denied", is_hard=True),
}

COST_RATIO_BAR = 1.5
GROWTH_BAR_MB = 30.0
MEMORY_BAR_MB = 400.0
OPEN_BAR_SECONDS = 1.0


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] in ("--fill", "--crawl"):
        configure_memory()  # as a crawl does, and on the event loop of a crawl
        home, hosts = Path(sys.argv[2]), int(sys.argv[3])
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            figures = runner.run(fill(home, hosts) if sys.argv[1] == "--fill" else crawl(home, hosts))
        print(json.dumps(figures))
        return
    run("hosts", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    sizes = QUICK_SIZES if chosen.quick else SIZES
    WORKPLACE.mkdir(exist_ok=True)
    found = {}
    for size in sizes:
        say(f"{size:,} hosts…")
        with tempfile.TemporaryDirectory(dir=WORKPLACE, prefix="hosts-") as home:
            _child("--fill", home, size)
            found[size] = _child("--crawl", home, size)
    names = ("cpu_ms", "wall_ms", "open_seconds", "rss_open_mb", "rss_half_mb", "rss_mb")
    head = ["hosts", "CPU ms a visit", "wall ms a visit", "s to open", "RSS MB: opened", "half way", "in the end"]
    table(head, [[f"{size:,}", *(short(one[name]) for name in names)] for size, one in found.items()])
    for size, one in found.items():
        report.figure(f"hosts_{size}", dict(one))
    few, many = found[sizes[0]], found[sizes[-1]]
    report.at_most("cpu_most_hosts_vs_few", many["cpu_ms"] / few["cpu_ms"], COST_RATIO_BAR)
    if not chosen.quick:  # a small run ends before its caches reach their limits
        report.at_most("growth_mb_second_half", many["rss_mb"] - many["rss_half_mb"], GROWTH_BAR_MB)
    report.below("memory_mb", many["rss_mb"], MEMORY_BAR_MB)
    report.at_most("open_seconds", many["open_seconds"], OPEN_BAR_SECONDS)


def _child(what: str, home: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.hosts", what, home, str(size)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode != 0:
        raise BenchError(f"the run with {size:,} hosts ended with {child.returncode}")
    result: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return result


# ---- the hosts -------------------------------------------------------------------------------------------


def origin_of(number: int) -> str:
    return f"https://www.host-{number}.example"


def number_of(origin: str) -> int:
    return int(origin.removeprefix("https://www.host-").removesuffix(".example"))


def candidates(hosts: int) -> Iterator[Candidate]:
    for number in range(hosts):
        origin = origin_of(number)
        yield Candidate(f"{origin}/", origin)
        if number % 2:
            yield Candidate(f"{origin}/second", origin)


def robots_of(number: int, now: float) -> RobotsCopy:
    if number % 10 != 3:
        return RobotsCopy(RobotsVerdict.ALLOW_ALL, now, now + 3600, http_status=404)
    return RobotsCopy(RobotsVerdict.RULES, now, now + 3600, RULES.format(number), 200)


class Crowd:
    """Visits hosts by the rules; a host's number determines its answer."""

    def __init__(self, hosts: int, memory: MemoryHosts, limiter: RateLimiter, clock: Clock) -> None:
        self.memory = memory
        self._hosts = hosts
        self._limiter = limiter
        self._clock = clock

    async def visited(self, claim: Claim) -> Visit:
        now, number = self._clock.now(), number_of(claim.task.origin)
        host = self.memory.acquire(claim.host)
        if host.robots is None:
            host = apply_robots(host, robots_of(number, now), SITE.politeness)
        outcome, requests = await self._request(host, number, now)
        host = host_after_visit(host, outcome, SentRequests(requests, now), SITE, 0.5)
        self.memory.put(host)
        backoff = shared_limits(host, SITE.politeness)
        if backoff is not None:
            await self._limiter.back_off(host_key(host.origin), backoff[0], now, backoff[1])
        plan = plan_task(
            claim.task, VisitEnd(FetchResult(outcome, now, requests), outcome, SITE, now, 0.5, PLAIN), host.next_at
        )
        if not isinstance(outcome, Fetched):
            return Visit(claim, outcome, plan, host, now, now, outcome.label)
        page = Page(
            url=claim.task.url,
            status=200,
            content_type="text/html",
            content_hash="ab" * 32,
            content_length=9000,
            fetched_at=now,
            title="A usual title",
            text="A few words." * 20,
        )
        linked = origin_of(number * 7919 % min(self._hosts, POPULAR))
        return Visit(claim, outcome, plan, host, now, now, outcome.label, page, (Candidate(f"{linked}/", linked),))

    async def _request(self, host: HostRecord, number: int, now: float) -> tuple[Outcome, int]:
        pace = pace_seconds(host, SITE.politeness)
        permits = (Permit(host_key(host.origin), pace, 30.0), Permit(f"address {number}", pace / 10))
        free_at = await self._limiter.acquire(permits, now)
        if free_at > now:
            return Deferred(free_at, "rate limit: another request to this host or its address comes first"), 0
        assert host.robots is not None
        assert robots_rules(host.robots).can_fetch(f"{host.origin}/")
        await self._limiter.release(permits, now)
        return ANSWERS.get(number % 20, Fetched(200)), 1


async def visit_all(database: SqliteDatabase, crowd: Crowd, visits: int) -> None:
    """Make this many visits, several in flight at a time."""
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def commit(visit: Visit) -> None:
        await database.commit(visit)
        crowd.memory.release(visit.host.origin)
        gate.release()

    async with asyncio.TaskGroup() as group:
        while visits:
            await gate.acquire()
            claim = await database.claim()
            if claim is None:
                gate.release()
                await database.wait_for_work(0.5)
                continue
            visits -= 1
            group.create_task(commit(await crowd.visited(claim)))


# ---- the two processes ------------------------------------------------------------------------------------


async def fill(home: Path, hosts: int) -> dict[str, float]:
    database = await opened(home, SteadyClock())
    batch: list[Candidate] = []
    for candidate in candidates(hosts):
        batch.append(candidate)
        if len(batch) == ADMITTED_AT_ONCE:
            await database.admit(batch)
            batch = []
    await database.admit(batch)
    await database.close()
    return {}


async def crawl(home: Path, hosts: int) -> dict[str, float]:
    """Make one visit per host; returns the figures of this process."""
    clock = SteadyClock()
    began = time.monotonic()
    database = await opened(home, clock)
    open_seconds, rss_open = time.monotonic() - began, rss_mb()
    rate_limiter = MachineRateLimiter(home / "permits", clock)
    crowd = Crowd(hosts, MemoryHosts(), rate_limiter, clock)
    began, cpu = time.monotonic(), time.process_time()
    await visit_all(database, crowd, hosts // 2)
    rss_half = rss_mb()
    await visit_all(database, crowd, hosts // 2)
    wall, cpu = time.monotonic() - began, time.process_time() - cpu
    figures = {
        "cpu_ms": cpu / hosts * 1000,
        "wall_ms": wall / hosts * 1000,
        "open_seconds": open_seconds,
        "rss_open_mb": rss_open,
        "rss_half_mb": rss_half,
        "rss_mb": rss_mb(),
    }
    await rate_limiter.close()
    await database.close()
    return figures


async def opened(home: Path, clock: Clock, config: DatabaseConfig | None = None) -> SqliteDatabase:
    return await SqliteDatabase.open(home / "tenax.db", config or DatabaseConfig(), clock, HostPace(Sites(Config())))


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


if __name__ == "__main__":
    main()
