"""What a page costs the ledger when it knows nothing, a million and ten million URLs.

A page cycle is: claim a task, commit its page (5 KB of text) with 50 links of which 95 % are known. The URLs known
beforehand lie on hosts of very different sizes, as on the web. Four links in five stay on the page's host, and of those
that are known six in ten are the site's navigation (its 40 first pages), as menus and footers are; all others lead to
any known page of their host, each as likely as the next. Each size runs in a process of its own, on a real file with
fsync at every group of commits. What the bench itself spends on making up pages and links is measured, and taken off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import msgspec
import uvloop

from bench.report import WORKPLACE, BenchError, Report, median, run, say, short, table
from tenax.clock import SteadyClock
from tenax.config import Config, LedgerConfig, PolitenessConfig, Sites
from tenax.hosts.turns import HostTurns
from tenax.ledger.sqlite import SqliteLedger
from tenax.memory import settle_memory
from tenax.model import (
    Claim,
    Done,
    Fetched,
    FetchRecord,
    Offer,
    Page,
    Priority,
    RobotsCopy,
    RobotsVerdict,
    Visit,
)

SIZES, QUICK_SIZES = (0, 1_000_000, 10_000_000), (0, 20_000, 200_000)
CYCLES, QUICK_CYCLES = 6000, 1500
ROUNDS = 3
LINKS, NEW_SHARE, AT_HOME_SHARE = 50, 0.05, 0.8
NAVIGATION_SHARE, NAVIGATION = 0.6, 40
HOSTS_PER_URL = 1 / 1000
IN_FLIGHT = 64
ADMITTED_AT_ONCE = 20_000
WORDS = ("a", "word", "of", "the", "text", "that", "stands", "on", "this", "page", "and", "is", "kept", "with", "it")
TEXT = " ".join(random.Random(7).choices(WORDS, k=1000))

COST_RATIO_BAR = 3.0
CPU_BAR_MS = 0.6
MEMORY_BAR_MB = 500.0
DISK_BAR_BYTES = 150.0


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--child":
        settle_memory()  # as a crawl does, and on the event loop of a crawl
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            print(json.dumps(runner.run(_child(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))))
        return
    run("ledger", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    sizes = QUICK_SIZES if chosen.quick else SIZES
    cycles = QUICK_CYCLES if chosen.quick else CYCLES
    WORKPLACE.mkdir(exist_ok=True)
    found = {}
    for size in sizes:
        say(f"{size:,} URLs known…")
        with tempfile.TemporaryDirectory(dir=WORKPLACE, prefix="ledger-") as home:
            found[size] = _measured(Path(home), size, cycles)
    rows = [
        [f"{size:,}", short(one["cpu_ms"]), short(one["wall_ms"]), short(one["rss_mb"]), short(one["disk_bytes"])]
        for size, one in found.items()
    ]
    table(["URLs known", "CPU ms a page", "wall ms a page", "RSS MB", "bytes of disk a URL"], rows)
    for size, one in found.items():
        report.figure(f"known_{size}", dict(one))
    empty, full = found[sizes[0]], found[sizes[-1]]
    report.at_most("cpu_at_most_known_vs_empty", full["cpu_ms"] / empty["cpu_ms"], COST_RATIO_BAR)
    report.at_most("cpu_ms_a_page_at_most_known", full["cpu_ms"], CPU_BAR_MS)
    report.below("memory_mb", max(one["rss_mb"] for one in found.values()), MEMORY_BAR_MB)
    report.at_most("disk_bytes_per_known_url", full["disk_bytes"], DISK_BAR_BYTES)


def _measured(home: Path, size: int, cycles: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.ledger", "--child", str(home), str(size), str(cycles)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode != 0:
        raise BenchError(f"the run with {size:,} URLs ended with {child.returncode}")
    result: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return result


class World:
    """Hosts of very different sizes, and the URLs known on them: numbers 0 to n of each host."""

    def __init__(self, size: int) -> None:
        self.random = random.Random(42)
        count = max(int(size * HOSTS_PER_URL), 20)
        weights = [1 / (rank + 10) for rank in range(count)]
        scale = size / sum(weights)
        self.known = [int(weight * scale) for weight in weights]
        self.weights = list(accumulate(weights))
        self.hosts = range(count)

    def known_offers(self) -> Iterator[Offer]:
        for host, known in enumerate(self.known):
            for number in range(known):
                yield _offer(host, number)

    def links(self, home: int) -> tuple[Offer, ...]:
        roll = self.random.random
        links = []
        for _ in range(LINKS):
            host = home if roll() < AT_HOME_SHARE else self.random.choices(self.hosts, cum_weights=self.weights)[0]
            known = self.known[host]
            if roll() < NEW_SHARE or not known:
                number, self.known[host] = known, known + 1
            elif host == home and roll() < NAVIGATION_SHARE:
                number = int(roll() * min(known, NAVIGATION))
            else:
                number = int(roll() * known)
            links.append(_offer(host, number))
        return tuple(links)


def _offer(host: int, number: int) -> Offer:
    origin = f"https://www.host-{host}.example"
    path = f"/section-{number % 40}/2026/an-article-{number}.html"
    return Offer(origin + path, origin, number % 10, Priority(number % 3 + 1))


def _visit(claim: Claim, links: tuple[Offer, ...], now: float) -> Visit:
    page = Page(
        claim.task.url, 200, "text/html", "ab" * 32, 30_000, now, "A usual title", "And a description", text=TEXT
    )
    robots = claim.host.robots or RobotsCopy(RobotsVerdict.ALLOW_ALL, now, now + 1e6)
    host = msgspec.structs.replace(claim.host, robots=robots, next_at=now, page_count=claim.host.page_count + 1)
    return Visit(
        claim, Fetched(200), Done(), host, now, now, page, links, fetch=FetchRecord(200, "text/html", 9000, 30000)
    )


async def _child(home: Path, size: int, cycles: int) -> dict[str, float]:
    """Fill a ledger, then turn the wheel; the figures of this one process."""
    clock = SteadyClock()
    turns = HostTurns(Sites(Config(politeness=PolitenessConfig(rate_per_second=0, connections_per_host=8))))
    world = World(size)
    ledger = await SqliteLedger.open(home / "tenax.db", LedgerConfig(), clock, turns)
    await _fill(ledger, world, size)
    if not size:
        await ledger.admit([_offer(host, 0) for host in world.hosts])
        world.known = [1] * len(world.hosts)
    await ledger.close()
    disk = _bytes_in(home)
    ledger = await SqliteLedger.open(home / "tenax.db", LedgerConfig(), clock, turns)
    await _turn(ledger, world, clock, cycles // 4)
    rounds = [await _turn(ledger, world, clock, cycles) for _ in range(ROUNDS)]
    rss = _rss_mb()
    await ledger.close()
    shutil.rmtree(home, ignore_errors=True)
    return {
        "cpu_ms": median(cpu for cpu, _ in rounds),
        "wall_ms": median(wall for _, wall in rounds),
        "rss_mb": rss,
        "disk_bytes": disk / size if size else 0.0,
    }


async def _fill(ledger: SqliteLedger, world: World, size: int) -> None:
    batch: list[Offer] = []
    done = 0
    for offer in world.known_offers():
        batch.append(offer)
        if len(batch) == ADMITTED_AT_ONCE:
            done += (await ledger.admit(batch)).admitted
            batch = []
            if done % 1_000_000 == 0:
                print(f"  {done:,} of {size:,}", file=sys.stderr, flush=True)
    if batch:
        await ledger.admit(batch)


async def _turn(ledger: SqliteLedger, world: World, clock: SteadyClock, cycles: int) -> tuple[float, float]:
    """CPU and wall milliseconds a cycle; what making up the visits costs is taken off the CPU."""
    started, cpu, own = time.monotonic(), time.process_time(), 0.0
    left = cycles
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def cycle(visit: Visit) -> None:
        await ledger.commit(visit)
        gate.release()

    async with asyncio.TaskGroup() as group:
        while left:
            await gate.acquire()
            claim = await ledger.claim()
            if claim is None:
                gate.release()
                await ledger.wait_for_work(0.5)
                continue
            left -= 1
            made = time.thread_time()
            visit = _visit(claim, world.links(_host_number(claim.task.origin)), clock.now())
            own += time.thread_time() - made
            group.create_task(cycle(visit))
    wall, cpu = time.monotonic() - started, time.process_time() - cpu
    return (cpu - own) / cycles * 1000, wall / cycles * 1000


def _host_number(origin: str) -> int:
    return int(origin.removeprefix("https://www.host-").removesuffix(".example"))


def _bytes_in(home: Path) -> int:
    return sum(file.stat().st_size for file in home.iterdir())


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


if __name__ == "__main__":
    main()
