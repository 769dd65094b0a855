"""A polite broad crawl: 2,000 hosts at one request per second each, measured by the server's access log.

Every address of 127.0.0.0/8 is a host, served by one nginx with the pages of the crawl benchmark. Tenax runs with its
default pace of one request per second and is interrupted at the end. The server's log counts: the number of requests,
and whether two requests to one host were closer than a second.

The maximum is hosts × seconds, or what the machine can do. The latter is measured by a crawl of one host without a
pace, before and after each broad crawl. A page of the broad crawl may cost 1.15 times as much CPU, so the machine's
limit is that crawl's pages per second divided by 1.15, and the lower of the two is the ideal. With 500 hosts the
machine should not be the limit, with 2,000 it may be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import access_log, nginx, site
from bench.access_log import AccessLog
from bench.measure import Cost, cost_of, cpu_of_tree
from bench.report import ROOT, WORKPLACE, BenchError, Number, Report, median, run, say, short, table

HOSTS = (500, 2000)
SECONDS, WARM_UP_SECONDS, ROUNDS = 60.0, 10.0, 3
QUICK_HOSTS = (200,)
QUICK_SECONDS, QUICK_WARM_UP_SECONDS, QUICK_ROUNDS = 15.0, 5.0, 1
PACE_SECONDS = 1.0
ONE_HOST_PAGES = 5000
IN_FLIGHT, IN_FLIGHT_BROAD = 64, 256
SPARE_SHARE, SPARE_PAGES = 1.2, 5
"""A host has this factor more pages than expected requests, so that none runs out. A larger factor would be unfair: the
crawl of one host has a new link per page, and a new link costs more than a known one."""

SHARE_BAR = 0.95
CPU_RATIO_BAR = 1.15

NETWORK = "127.0.0.0/8"
INTERRUPTED = 130
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Crawled:
    """One crawl, measured at the server and the process."""

    log: AccessLog
    cost: Cost
    start_up_cpu_seconds: float
    """CPU before the first request; independent of the length of the crawl, so it is excluded."""

    @property
    def cpu_ms_a_page(self) -> float:
        return (self.cost.cpu_seconds - self.start_up_cpu_seconds) / self.log.pages * 1000

    @property
    def pages_per_second(self) -> float:
        return self.log.pages / (self.log.ended_at - self.log.began_at)


@dataclass(frozen=True)
class Broad:
    """A crawl of many hosts, with the crawls of one host before and after it."""

    hosts: int
    crawled: Crawled
    one_host: tuple[Crawled, Crawled]
    warm_up_seconds: float
    seconds: float

    @property
    def requests(self) -> int:
        """Within the measured period."""
        begin = self.crawled.log.began_at + self.warm_up_seconds
        return self.crawled.log.requests(begin, begin + self.seconds)

    @property
    def ceiling(self) -> float:
        """Pages per second that the machine can do."""
        return sum(one.pages_per_second for one in self.one_host) / len(self.one_host) / CPU_RATIO_BAR

    @property
    def ideal(self) -> float:
        return self.seconds * min(self.hosts / PACE_SECONDS, self.ceiling)

    @property
    def is_limited_by_machine(self) -> bool:
        return self.ceiling < self.hosts / PACE_SECONDS

    @property
    def share(self) -> float:
        return self.requests / self.ideal

    @property
    def cpu_ratio(self) -> float:
        return self.crawled.cpu_ms_a_page / (sum(one.cpu_ms_a_page for one in self.one_host) / len(self.one_host))


def main() -> None:
    run("polite", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hosts", type=int, help=f"otherwise {' and then '.join(map(str, HOSTS))}")
    parser.add_argument("--seconds", type=float, help=f"that count, otherwise {SECONDS:g}")
    parser.add_argument("--rounds", type=int, help=f"otherwise {ROUNDS} ({QUICK_ROUNDS} when quick)")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    quick = chosen.quick
    report.is_partial = bool(chosen.hosts or chosen.seconds or chosen.rounds)
    sizes = (chosen.hosts,) if chosen.hosts else QUICK_HOSTS if quick else HOSTS
    seconds = chosen.seconds or (QUICK_SECONDS if quick else SECONDS)
    warm_up = QUICK_WARM_UP_SECONDS if quick else WARM_UP_SECONDS
    rounds = chosen.rounds or (QUICK_ROUNDS if quick else ROUNDS)
    runs: list[Broad] = []
    singles = [_one_host()]
    for hosts in [hosts for _ in range(rounds) for hosts in sizes]:
        crawled = _many_hosts(hosts, warm_up + seconds, singles[-1].pages_per_second)
        singles.append(_one_host())
        runs.append(Broad(hosts, crawled, (singles[-2], singles[-1]), warm_up, seconds))
        say(f"{hosts:,} hosts: {runs[-1].share:.1%} of the ideal, {runs[-1].cpu_ratio:.3f}× the CPU of one host")
    report.figure("seconds", seconds)
    report.figure("rounds", rounds)
    report.figure("one_host", {**_figures_of_one(singles)})
    for hosts in sizes:
        report.figure(f"hosts_{hosts}", {**_figures_of_many([one for one in runs if one.hosts == hosts])})
    _show(singles, runs, sizes)
    _judge(report, runs, sizes)


# ---- crawls -------------------------------------------------------------------------------------------------


def _one_host() -> Crawled:
    """The crawl of one host without a pace, as the reference."""
    flags = ["--rate", "0", "--per-host", str(IN_FLIGHT), "--concurrency", str(IN_FLIGHT)]
    crawled = _crawl(site.build(ONE_HOST_PAGES), ["127.0.0.1"], flags, None)
    say(f"one host: {crawled.pages_per_second:,.0f} pages/s, {crawled.cpu_ms_a_page:.3f} ms CPU a page")
    return crawled


def _many_hosts(hosts: int, seconds: float, most_per_second: float) -> Crawled:
    """Crawl every host at its pace for the measured period and a little longer."""
    visits = seconds * min(1 / PACE_SECONDS, most_per_second / hosts)
    pages = max(int(visits * SPARE_SHARE) + SPARE_PAGES, site.LINKS_A_PAGE + 1)
    flags = ["--rate", str(1 / PACE_SECONDS), "--scope", "host", "--concurrency", str(IN_FLIGHT_BROAD)]
    return _crawl(site.build(pages), [address_of(number) for number in range(hosts)], flags, seconds)


def address_of(number: int) -> str:
    """The address of a host, from 127.1.0.1 on."""
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def _crawl(directory: Path, addresses: Sequence[str], flags: Sequence[str], seconds: float | None) -> Crawled:
    """Crawl these addresses to the end, or for this many seconds after the first request."""
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f"polite-{len(addresses)}-", dir=WORKPLACE / "runs"))
    seen, says, watch = home / "access.log", home / "log.txt", _Watch()
    with nginx.serving(directory, log=seen, is_everywhere=True) as origin:
        port = origin.rpartition(":")[2]
        # Links only: all pages are linked, and only page responses count.
        command: list[str | Path] = [ROOT / "scripts" / "tenax", "crawl", "--discover", "links", "--dir", home, *flags]
        command += ["--set", f"guard.allow_networks={NETWORK}", *(f"http://{one}:{port}/" for one in addresses)]
        cost = cost_of(
            command,
            log=says,
            cwd=home,
            env={name: value for name, value in os.environ.items() if not name.startswith("TENAX_")},
            beside=partial(watch.run, seen, seconds),
        )
    if cost.exit_code != (0 if seconds is None else INTERRUPTED):
        raise BenchError(f"the crawl ended with {cost.exit_code}: see {says}")
    log = access_log.read(seen)
    with (home / "pages.jsonl").open("rb") as lines:
        written = sum(1 for _ in lines)
    if written != log.pages:
        raise BenchError(f"{log.pages:,} pages were asked for and {written:,} written: see {home}")
    shutil.rmtree(home)
    return Crawled(log, cost, watch.cpu_seconds_at(log.began_at))


class _Watch:
    """Runs beside a crawl: records its CPU at the first request, and interrupts it at the end."""

    def __init__(self) -> None:
        self._spent: list[tuple[float, float]] = []

    def run(self, seen: Path, seconds: float | None, session: int, ended: threading.Event) -> None:
        while not ended.wait(LOOK_SECONDS) and seen.stat().st_size == 0:
            self._spent.append((time.time(), cpu_of_tree(session)))
        if seconds is not None and not ended.wait(seconds):
            os.kill(session, signal.SIGINT)

    def cpu_seconds_at(self, moment: float) -> float:
        return max((spent for at, spent in self._spent if at <= moment), default=0.0)


# ---- results ------------------------------------------------------------------------------------------------


def _figures_of_one(singles: Sequence[Crawled]) -> dict[str, Number]:
    return {
        "pages_per_second": median(one.pages_per_second for one in singles),
        "cpu_ms_a_page": median(one.cpu_ms_a_page for one in singles),
        "peak_rss_mb": max(one.cost.peak_rss_mb for one in singles),
    }


def _figures_of_many(runs: Sequence[Broad]) -> dict[str, Number]:
    return {
        "requests": median(one.requests for one in runs),
        "hosts_times_seconds": runs[0].hosts * runs[0].seconds / PACE_SECONDS,
        "ceiling": median(one.ceiling * one.seconds for one in runs),
        "ideal": median(one.ideal for one in runs),
        "is_limited_by_machine": any(one.is_limited_by_machine for one in runs),
        "share_of_ideal": median(one.share for one in runs),
        "cpu_ms_a_page": median(one.crawled.cpu_ms_a_page for one in runs),
        "cpu_vs_one_host": median(one.cpu_ratio for one in runs),
        "violations": sum(one.crawled.log.violations(PACE_SECONDS) for one in runs),
        "closest_seconds": min(min(one.crawled.log.gaps()) for one in runs),
        "peak_rss_mb": max(one.crawled.cost.peak_rss_mb for one in runs),
    }


def _show(singles: Sequence[Crawled], runs: Sequence[Broad], sizes: Sequence[int]) -> None:
    one = _figures_of_one(singles)
    rows = [["one, no pace", "", "", "", "", short(one["cpu_ms_a_page"]), "", short(one["peak_rss_mb"])]]
    for hosts in sizes:
        many = _figures_of_many([one for one in runs if one.hosts == hosts])
        keys = ("requests", "hosts_times_seconds", "ceiling", "share_of_ideal", "cpu_ms_a_page", "closest_seconds")
        rows.append([f"{hosts:,}", *(short(many[key]) for key in keys), short(many["peak_rss_mb"])])
    table(["hosts", "requests", "hosts × s", "ceiling", "of the ideal", "CPU ms a page", "closest s", "RSS MB"], rows)


def _judge(report: Report, runs: Sequence[Broad], sizes: Sequence[int]) -> None:
    for hosts in sizes:
        own = [one for one in runs if one.hosts == hosts]
        report.at_least(f"share_of_ideal_{hosts}_hosts", median(one.share for one in own), SHARE_BAR)
        report.at_most(f"cpu_vs_one_host_{hosts}_hosts", median(one.cpu_ratio for one in own), CPU_RATIO_BAR)
    report.at_most("violations", sum(one.crawled.log.violations(PACE_SECONDS) for one in runs), 0)


if __name__ == "__main__":
    main()
