"""The cost of a page in the SQLite database with no, a million and ten million known URLs.

A page cycle claims a task and commits its page: 5 KB of text, 50 links, 95 % of them known. The known URLs are on hosts
of very different sizes, as on the web; `bench.world` defines the links. Each size runs in its own process, on a real
file with an fsync per group of commits. The cost of generating pages and links is measured and subtracted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench.report import WORKPLACE, BenchError, Report, median, run, say, short, table
from bench.world import World, candidate_of, host_number, unpaced_hosts, visit_of
from tenax.clock import SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.sqlite import SqliteDatabase
from tenax.model import Candidate, Visit
from tenax.runtime.resources import configure_memory

SIZES, QUICK_SIZES = (0, 1_000_000, 10_000_000), (0, 20_000, 200_000)
CYCLES, QUICK_CYCLES = 6000, 1500
ROUNDS = 3
IN_FLIGHT = 64
ADMITTED_AT_ONCE = 20_000

COST_RATIO_BAR = 3.0
CPU_BAR_MS = 0.6
MEMORY_BAR_MB = 500.0
DISK_BAR_BYTES = 150.0


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--child":
        configure_memory()  # as a crawl does, and on the event loop of a crawl
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            print(json.dumps(runner.run(_child(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))))
        return
    run("database", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    sizes = QUICK_SIZES if chosen.quick else SIZES
    cycles = QUICK_CYCLES if chosen.quick else CYCLES
    WORKPLACE.mkdir(exist_ok=True)
    found = {}
    for size in sizes:
        say(f"{size:,} URLs known…")
        with tempfile.TemporaryDirectory(dir=WORKPLACE, prefix="database-") as home:
            found[size] = _measured(Path(home), size, cycles)
    rows = [
        [f"{size:,}", short(one["cpu_ms"]), short(one["wall_ms"]), short(one["rss_mb"]), short(one["disk_bytes"])]
        for size, one in found.items()
    ]
    table(["URLs known", "CPU ms a page", "wall ms a page", "RSS MB", "disk bytes per URL"], rows)
    for size, one in found.items():
        report.figure(f"known_{size}", dict(one))
    empty, full = found[sizes[0]], found[sizes[-1]]
    report.at_most("cpu_at_most_known_vs_empty", full["cpu_ms"] / empty["cpu_ms"], COST_RATIO_BAR)
    report.at_most("cpu_ms_a_page_at_most_known", full["cpu_ms"], CPU_BAR_MS)
    report.below("memory_mb", max(one["rss_mb"] for one in found.values()), MEMORY_BAR_MB)
    report.at_most("disk_bytes_per_known_url", full["disk_bytes"], DISK_BAR_BYTES)


def _measured(home: Path, size: int, cycles: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.database", "--child", str(home), str(size), str(cycles)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode != 0:
        raise BenchError(f"the run with {size:,} URLs ended with {child.returncode}")
    result: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return result


async def _child(home: Path, size: int, cycles: int) -> dict[str, float]:
    """Fill a database, run page cycles, and return the figures of this process."""
    clock = SteadyClock()
    host_pace = unpaced_hosts()
    world = World(size)
    database = await SqliteDatabase.open(home / "tenax.db", DatabaseConfig(), clock, host_pace)
    await _fill(database, world, size)
    if not size:
        await database.admit([candidate_of(host, 0) for host in world.hosts])
        world.known = [1] * len(world.hosts)
    await database.close()
    disk = _bytes_in(home)
    database = await SqliteDatabase.open(home / "tenax.db", DatabaseConfig(), clock, host_pace)
    await _run_cycles(database, world, clock, cycles // 4)
    rounds = [await _run_cycles(database, world, clock, cycles) for _ in range(ROUNDS)]
    rss = _rss_mb()
    await database.close()
    shutil.rmtree(home, ignore_errors=True)
    return {
        "cpu_ms": median(cpu for cpu, _ in rounds),
        "wall_ms": median(wall for _, wall in rounds),
        "rss_mb": rss,
        "disk_bytes": disk / size if size else 0.0,
    }


async def _fill(database: SqliteDatabase, world: World, size: int) -> None:
    batch: list[Candidate] = []
    done = 0
    for candidate in world.known_candidates():
        batch.append(candidate)
        if len(batch) == ADMITTED_AT_ONCE:
            done += (await database.admit(batch)).admitted
            batch = []
            if done % 1_000_000 == 0:
                print(f"  {done:,} of {size:,}", file=sys.stderr, flush=True)
    if batch:
        await database.admit(batch)


async def _run_cycles(database: SqliteDatabase, world: World, clock: SteadyClock, cycles: int) -> tuple[float, float]:
    """CPU and wall milliseconds per cycle; the CPU for generating visits is subtracted."""
    started, cpu, own = time.monotonic(), time.process_time(), 0.0
    left = cycles
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def cycle(visit: Visit) -> None:
        await database.commit(visit)
        gate.release()

    async with asyncio.TaskGroup() as group:
        while left:
            await gate.acquire()
            claim = await database.claim()
            if claim is None:
                gate.release()
                await database.wait_for_work(0.5)
                continue
            left -= 1
            made = time.thread_time()
            visit = visit_of(claim, world.links(host_number(claim.task.origin)), clock.now())
            own += time.thread_time() - made
            group.create_task(cycle(visit))
    wall, cpu = time.monotonic() - started, time.process_time() - cpu
    return (cpu - own) / cycles * 1000, wall / cycles * 1000


def _bytes_in(home: Path) -> int:
    return sum(file.stat().st_size for file in home.iterdir())


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


if __name__ == "__main__":
    main()
