"""The frontier at a million hosts, simulated: what 1 to 1000 workers get of it, and what they ask of PostgreSQL.

Reported are pages a second, how evenly hosts get their turns, and leases and transactions a second. The schedule and
the manners are the real ones; the database, the network and the time are not. Hosts have very different numbers of
URLs, as on the web: half of them one or two. A worker leases hosts by their earliest turn, 20 a statement, holds each
for 10 s when others wait, and gives it back. Every answer takes its time, some fail, one host in a hundred never
answers; each page leads to one new one, in four of five cases on its own host. Measured when every host had a turn.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from math import inf

from bench.frontier import PACE_SECONDS, SITES, Count, Frontier
from bench.report import BenchError, Report, run, say, short, table
from tenax.config import Config
from tenax.database.schedule import Entry, Schedule
from tenax.hosts.rules import HostPace
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict

HOSTS, QUICK_HOSTS = 1_000_000, 20_000
WORKERS, QUICK_WORKERS = (1, 10, 100, 1000), (1, 10, 100)
PAGES_PER_SECOND = 312.0
"""Of one worker: half a core, at the 1.6 ms that a page of a broad crawl costs."""
CONCURRENCY = 400
ROUNDS_MEASURED = 0.3
"""Of the time that one visit to every host would take at best."""
LEAST_BEFORE_SECONDS, LEAST_MEASURED_SECONDS = 12.0, 6.0

SHARE_BAR = 0.95
OVERDUE_BAR = 2.0
MEMORY_BAR_MB = 50.0


def main() -> None:
    if len(sys.argv) > 3 and sys.argv[1] == "--child":
        gc.disable()  # millions of objects that all live on: looking through them finds nothing
        print(json.dumps(simulated(int(sys.argv[2]), int(sys.argv[3]))))
        return
    run("simulate", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    hosts, sizes = (QUICK_HOSTS, QUICK_WORKERS) if chosen.quick else (HOSTS, WORKERS)
    say(f"{hosts:,} hosts, {', '.join(str(size) for size in sizes)} workers; the largest takes some minutes…")
    # The largest first: the others are done beside it.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        runs = {size: threads.submit(_in_a_process, hosts, size) for size in sorted(sizes, reverse=True)}
        found = {size: runs[size].result() for size in sizes}
    table(
        ["workers", "pages/s", "ideal", "of ideal", "longest overdue s", "× fair", "hosts leased/s", "transactions/s"],
        [_row(size, one) for size, one in found.items()],
    )
    window_mb = window_bytes() / 1e6
    say(f"The window of a worker takes {short(window_mb)} MB.")
    report.figure("hosts", hosts)
    report.figure("pages_per_second_of_a_worker", PAGES_PER_SECOND)
    for size, one in found.items():
        report.figure(f"workers_{size}", dict(one))
    report.figure("window_mb", window_mb)
    report.at_least("least_share_of_ideal", min(one["share_of_ideal"] for one in found.values()), SHARE_BAR)
    report.at_most("longest_overdue_vs_fair", max(one["overdue_vs_fair"] for one in found.values()), OVERDUE_BAR)
    report.at_most("violations", sum(one["violations"] for one in found.values()), 0)
    report.at_most("window_mb", window_mb, MEMORY_BAR_MB)


def _row(size: int, one: dict[str, float]) -> list[str]:
    names = (
        *("pages_per_second", "ideal", "share_of_ideal", "overdue_seconds", "overdue_vs_fair"),
        *("hosts_leased_per_second", "transactions_per_second"),
    )
    return [f"{size:,}", *(short(one[name]) for name in names)]


def _in_a_process(hosts: int, workers: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.simulate", "--child", str(hosts), str(workers)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if child.returncode != 0:
        raise BenchError(f"the run with {workers:,} workers ended with {child.returncode}")
    result: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return result


def simulated(hosts: int, workers: int) -> dict[str, float]:
    """The figures of one number of workers."""
    capacity = workers * PAGES_PER_SECOND
    frontier = Frontier(hosts, workers, PAGES_PER_SECOND, CONCURRENCY)
    frontier.run(LEAST_BEFORE_SECONDS)
    while frontier.table.hosts_never_requested:
        frontier.run(hosts / capacity / 10)
    with_work = frontier.table.hosts_with_work
    seconds = max(ROUNDS_MEASURED * hosts / capacity, LEAST_MEASURED_SECONDS)
    count = frontier.run(seconds)
    with_work = (with_work + frontier.table.hosts_with_work) // 2
    ideal = ideal_pages_per_second(capacity, with_work, frontier.web.mean_latency())
    return {**_per_second(count, seconds), **_fairness(count, with_work, ideal, seconds)}


def ideal_pages_per_second(capacity: float, hosts: int, latency_seconds: float) -> float:
    """What the workers can do, or what the hosts' pace allows: it is counted from the answer."""
    return min(capacity, hosts / (PACE_SECONDS + latency_seconds))


def _per_second(count: Count, seconds: float) -> dict[str, float]:
    return {
        "pages_per_second": count.visits / seconds,
        "hosts_leased_per_second": count.hosts_leased / seconds,
        "transactions_per_second": count.transactions / seconds,
    }


def _fairness(count: Count, with_work: int, ideal: float, seconds: float) -> dict[str, float]:
    """Turns come late when workers cannot visit all hosts within a pace; a fair order makes all equally late."""
    return {
        "ideal": ideal,
        "share_of_ideal": count.visits / seconds / ideal,
        "hosts_with_work": with_work,
        "overdue_seconds": count.longest_overdue,
        "overdue_vs_fair": count.longest_overdue / (with_work / ideal),
        "violations": count.violations,
    }


def window_bytes() -> int:
    """Memory of a full window: every host with its record and its next tasks, as the database holds them."""
    database = Config().database
    tracemalloc.start()
    schedule = Schedule(HostPace(SITES), database.window_hosts, database.tasks_per_host)
    for host in range(database.window_hosts):
        origin = f"https://www.host-{host}.example"
        robots = RobotsCopy(RobotsVerdict.RULES, 0.0, inf, f"User-agent: *\nDisallow: /{host}/{'private/' * 100}\n")
        schedule.add_host(host, HostRecord(origin, f"host-{host}.example", robots))
        rows = [
            Entry(0, 0, host << 32 | n, f"/section-{n}/an-article-{host}.html", 3, 1, 1_700_000_000_000 + n, n << 40, 0,
                  None, None)
            for n in range(database.tasks_per_host)
        ]  # fmt: skip
        schedule.fill_host(host, rows, database.tasks_per_host, None)
    live_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return live_bytes


if __name__ == "__main__":
    main()
