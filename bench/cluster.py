"""Page cycles a second on one PostgreSQL: 1, 4 and 8 workers, a million and five million URLs; and the page-fetcher.

A page cycle claims a task and commits its page durably: 5 KB of text, 50 links, 95 % of them known. Workers are
processes and share the cores with the server, which has the settings of deploy/. One server has databases of both
sizes, and runs are interleaved. A commit counts when it is acknowledged in the measured period, which is the same for
all workers. Generating pages uses CPU too: it is subtracted from CPU figures only. At the end every commit must be
stored exactly once and the tables must be consistent. The page-fetcher part is `scripts/bench page_fetcher`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

import msgspec

from bench import page_fetcher
from bench.cluster_server import SETTINGS, STORED, Server, fsync_ms, serving
from bench.cluster_worker import IN_FLIGHT, Counted, CountingPeriod, run_worker
from bench.measure import end_with_parent, interleaved
from bench.report import ROOT, BenchError, Report, median, run, short, table
from bench.world import LINKS, NEW_SHARE, World, unpaced_hosts

SIZES, QUICK_SIZES = (1_000_000, 5_000_000), (100_000, 300_000)
WORKERS, QUICK_WORKERS = (1, 4, 8), (1, 4)
ROUNDS = 3
WARM_SECONDS, QUICK_WARM_SECONDS = 4.0, 2.0
"""Until hosts are assigned and the server's cache is warm."""
COUNTED_SECONDS, QUICK_COUNTED_SECONDS = 10.0, 5.0
END_SECONDS = 60.0

JUDGED_WORKERS = 4
CYCLES_BAR, CYCLES_GOAL = 1500, 2500
COST_RATIO_BAR = 1.6

Figures = dict[str, float]


class Setting(NamedTuple):
    """One row of the table."""

    workers: int
    rows: int

    @property
    def name(self) -> str:
        return f"workers_{self.workers}_rows_{self.rows}"


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        run_worker(*sys.argv[2:])
        return
    run("cluster", measure, _options)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database-only", action="store_true", help="leave out the page-fetcher; nothing is kept")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    report.is_partial = chosen.database_only
    with serving() as server:
        cluster = Cluster(server, chosen.quick)
        cluster.fill()
        cluster.measure()
        cluster.check()
        report.figure("postgresql", {"version": server.version, **server.durable, **SETTINGS})
        report.figure("fsync_ms", fsync_ms())
    cluster.add_figures(report)
    if not chosen.database_only:
        _say("the page-fetcher, beside the plain recipe")
        found = page_fetcher.measured(rounds=1 if chosen.quick else ROUNDS, share=0.3 if chosen.quick else 1.0)
        report.figure("page_fetcher", {name: {**figures} for name, figures in found.items()})
        page_fetcher.judge(report, found)


class Cluster:
    """One database per size in one server, and the throughput of workers on it."""

    def __init__(self, server: Server, is_quick: bool) -> None:
        self._server = server
        self._sizes = QUICK_SIZES if is_quick else SIZES
        self._rounds = 1 if is_quick else ROUNDS
        self._warm_seconds = QUICK_WARM_SECONDS if is_quick else WARM_SECONDS
        self._counted_seconds = QUICK_COUNTED_SECONDS if is_quick else COUNTED_SECONDS
        # Runs that are compared follow each other.
        workers = QUICK_WORKERS if is_quick else WORKERS
        self._settings = {one.name: one for count in workers for size in self._sizes for one in [Setting(count, size)]}
        self._runs: dict[str, list[Figures]] = {name: [] for name in self._settings}
        self._urls: dict[int, str] = {}
        self._committed = dict.fromkeys(self._sizes, 0)
        self._workers_ever = 0
        self._bytes_a_url = 0.0
        self._bytes_seen_a_url = 0.0
        self._bytes_a_page = 0.0
        self._problems: list[str] = []

    def fill(self) -> None:
        from bench.cluster_fill import fill
        from tenax.clock import SteadyClock

        for size in self._sizes:
            began, name = time.monotonic(), _database(size)
            self._urls[size] = self._server.create(name)
            count = asyncio.run(fill(self._urls[size], World(size), SteadyClock()))
            self._server.tidy(name)
            self._bytes_a_url = self._server.bytes_of_urls(name) / count
            self._bytes_seen_a_url = self._server.bytes_of(name, "seen") / count
            _say(f"{count:,} URLs are known, after {time.monotonic() - began:.0f} s")

    # -- measuring --------------------------------------------------------------------------------------------

    def measure(self) -> None:
        contestants = {name: partial(self._run, setting) for name, setting in self._settings.items()}
        for name, found in interleaved(contestants, self._rounds):
            self._runs[name].append(found)
            setting = self._settings[name]
            _say(
                f"workers: {setting.workers}, URLs: {setting.rows:,}: {found['cycles_per_second']:,.0f} cycles/s; "
                f"CPU ms a page: workers {found['worker_cpu_ms']:.3f}, server {found['server_cpu_ms']:.3f}, "
                f"made up in {found['own_cpu_ms']:.3f}"
            )

    def _run(self, setting: Setting, _round: int) -> Figures:
        first = self._workers_ever + 1
        self._workers_ever += setting.workers
        numbers = range(first, first + setting.workers)
        with _working(self._urls[setting.rows], setting.rows, numbers) as workers:
            begin = time.monotonic() + self._warm_seconds
            period = CountingPeriod(begin, begin + self._counted_seconds)
            for worker in workers:
                _tell(worker, period)
            _wait_until(period.begin)
            cpu, wal = self._server.cpu_seconds(), self._server.wal_bytes()
            _wait_until(period.end)
            cpu, wal = self._server.cpu_seconds() - cpu, self._server.wal_bytes() - wal
            counted = [_answer(worker) for worker in workers]
        self._committed[setting.rows] += sum(one.pages_ever for one in counted)
        return figures_of(counted, cpu, wal)

    # -- judging ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """The figures count only if the database is consistent."""
        for size in self._sizes:
            _say(f"checking the consistency of {size:,} URLs")
            self._problems += asyncio.run(_problems(self._urls[size]))
            stored = self._server.pages(_database(size))
            if stored != self._committed[size]:
                raise BenchError(f"{self._committed[size]:,} pages were committed, and {stored:,} are stored")
        most = max(self._sizes, key=lambda size: self._committed[size])
        self._bytes_a_page = self._server.bytes_of(_database(most), *STORED) / self._committed[most]

    def add_figures(self, report: Report) -> None:
        medians = {
            name: {key: median(one[key] for one in runs) for key in runs[0]} for name, runs in self._runs.items()
        }
        columns = ("cycles_per_second", "cpu_ms", "worker_cpu_ms", "server_cpu_ms", "own_cpu_ms", "wal_bytes_a_page")
        table(
            ["workers, URLs", "cycles/s", "CPU ms a page", "workers", "server", "making it up", "WAL bytes a page"],
            [
                [f"{setting.workers}, {setting.rows:,}", *(short(medians[name][column]) for column in columns)]
                for name, setting in self._settings.items()
            ],
        )
        for name, found in medians.items():
            report.figure(name, {**found})
        report.figure("in_flight_a_worker", IN_FLIGHT)
        report.figure("seconds", self._counted_seconds)
        report.figure("rounds", self._rounds)
        report.figure("goal_cycles_per_second", CYCLES_GOAL)
        report.figure("disk_bytes_a_url", self._bytes_a_url)
        report.figure("disk_bytes_seen_a_url", self._bytes_seen_a_url)
        report.figure("disk_bytes_a_page", self._bytes_a_page)
        self._judge(report, medians)

    def _judge(self, report: Report, medians: dict[str, Figures]) -> None:
        few, many = (Setting(JUDGED_WORKERS, size).name for size in self._sizes)
        report.at_least(f"cycles_per_second_{JUDGED_WORKERS}_workers", medians[few]["cycles_per_second"], CYCLES_BAR)
        for cost in ("cpu", "wall"):
            pairs = zip(self._runs[many], self._runs[few], strict=True)
            ratio = median(more[f"{cost}_ms"] / less[f"{cost}_ms"] for more, less in pairs)
            report.at_most(f"{cost}_most_rows_vs_fewest", ratio, COST_RATIO_BAR)
        for problem in self._problems:
            _say(f"problem: {problem}")
        report.at_most("problems", len(self._problems), 0)


def figures_of(counted: list[Counted], server_cpu_seconds: float, wal_bytes: int) -> Figures:
    """Figures of all workers together. Raises when the load was not the intended one."""
    pages = sum(one.pages for one in counted)
    if not pages:
        raise BenchError("no page was committed")
    new_share = sum(one.new_urls for one in counted) / (pages * LINKS)
    if abs(new_share - NEW_SHARE) > NEW_SHARE / 5:
        raise BenchError(f"{new_share:.1%} of the links were new, and {NEW_SHARE:.0%} should have been")
    rate = sum(one.pages / one.seconds for one in counted)
    own = sum(one.own_cpu_seconds for one in counted)
    workers = sum(one.cpu_seconds for one in counted) - own
    return {
        "cycles_per_second": rate,
        "wall_ms": 1000 / rate,
        "cpu_ms": (workers + server_cpu_seconds) / pages * 1000,
        "worker_cpu_ms": workers / pages * 1000,
        "server_cpu_ms": server_cpu_seconds / pages * 1000,
        "own_cpu_ms": own / pages * 1000,
        "wal_bytes_a_page": wal_bytes / pages,
        "new_links_a_page": new_share * LINKS,
    }


async def _problems(url: str) -> list[str]:
    from tenax.clock import SteadyClock
    from tenax.config import DatabaseConfig
    from tenax.database.postgres import PostgresDatabase

    database = await PostgresDatabase.open(url, DatabaseConfig(), SteadyClock(), unpaced_hosts(), read_only=True)
    try:
        return await database.find_problems()
    finally:
        await database.close()


# -- worker processes -----------------------------------------------------------------------------------------

Process = subprocess.Popen[str]


@contextmanager
def _working(url: str, size: int, numbers: range) -> Iterator[list[Process]]:
    """Workers that have registered."""
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(url, size, number)) for number in numbers]
        for worker in workers:
            assert worker.stdout is not None
            if worker.stdout.readline() != "ready\n":
                raise BenchError("a worker could not register")
        yield workers


@contextmanager
def _worker(url: str, size: int, number: int) -> Iterator[Process]:
    command = [sys.executable, "-m", "bench.cluster", "--worker", url, str(size), str(number)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=end_with_parent
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _tell(worker: Process, period: CountingPeriod) -> None:
    assert worker.stdin is not None
    worker.stdin.write(msgspec.json.encode(period).decode() + "\n")
    worker.stdin.flush()


def _answer(worker: Process) -> Counted:
    try:
        out, _ = worker.communicate(timeout=END_SECONDS)
        return msgspec.json.decode(out, type=Counted)
    except (msgspec.DecodeError, subprocess.TimeoutExpired):
        raise BenchError("a worker did not end") from None


def _database(size: int) -> str:
    return f"rows_{size}"


def _wait_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0.0))


def _say(line: str) -> None:
    """Prints progress; results go to the other stream."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
