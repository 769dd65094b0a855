"""A crawl of 50 well-behaved hosts beside 50 hostile ones for ten minutes, with readers killed at random.

The hostile hosts send documents that are costly to parse, bombs, broken HTTP, huge robots.txt and URLs with passwords.
A crawl of the good hosts alone is the reference: beside the hostile ones they must get nearly as many requests, memory
must stay bounded, nothing may be lost or duplicated, and no password may appear anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.hostile_cases import SECRETS
from bench.hostile_server import GOOD, HOSTILE, children
from bench.measure import Cost, cost_of, end_with_parent, processes_of
from bench.report import ROOT, WORKPLACE, BenchError, Report, run, say, table
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database

HOSTS, QUICK_HOSTS = 50, 10
SECONDS, QUICK_SECONDS = 600.0, 40.0
RATE = 2
"""Requests per second to each host: what the good hosts get is limited by the pace, not by the machine."""
KILL_EVERY_SECONDS = 7.0
ENDING_SECONDS = 120.0
JUDGING_SECONDS = 900.0
"""Of one command that reads the whole output afterwards."""
GOOD_SHARE_BAR = 0.9
MEMORY_BAR_MB = 1000
"""Of all processes with Chromium; shared memory counts once."""
INTERRUPTED = 130


def main() -> None:
    run("hostile", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=float, help=f"of each crawl, otherwise {SECONDS:g} ({QUICK_SECONDS:g} when quick)"
    )
    parser.add_argument("--keep", action="store_true", help="keep the output")


@dataclass
class Crawled:
    """The result of one crawl."""

    cost: Cost
    pages: int
    hostile_pages: int
    kills: int
    lost: int
    doubled: int
    troubles: list[str]
    leaked: list[str]
    failed: dict[str, int]


def measure(report: Report, chosen: argparse.Namespace) -> None:
    hosts = QUICK_HOSTS if chosen.quick else HOSTS
    seconds = chosen.seconds or (QUICK_SECONDS if chosen.quick else SECONDS)
    report.is_partial = chosen.seconds is not None
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="hostile-", dir=WORKPLACE / "runs"))
    alone = crawl(home / "alone", hosts, 0, seconds, kills=False)
    _say("good hosts alone", alone)
    beside = crawl(home / "beside", hosts, hosts, seconds, kills=True)
    _say("beside hostile ones", beside)
    _write_report(report, alone, beside, hosts, seconds)
    if report.ok and not chosen.keep:
        shutil.rmtree(home)
    else:
        say(f"what is left of it: {home}")


def crawl(home: Path, good: int, hostile: int, seconds: float, *, kills: bool) -> Crawled:
    home.mkdir()
    out, log, words = home / "out", home / "served.txt", home / "words.txt"
    killed = Counter[str]()
    with serving(good, hostile, log) as port:
        names = [f"{GOOD}{n + 1}" for n in range(good)] + [f"{HOSTILE}{n + 1}" for n in range(hostile)]
        seeds = [f"http://{name}:{port}/" for name in names]
        command = [
            sys.executable, "-m", "tenax", "crawl", *seeds, "--rate", str(RATE), "--max-depth", "1000",
            "--dir", str(out),
        ]  # fmt: skip

        def disturb(session: int, ended: threading.Event) -> None:
            _disturb(session, ended, seconds, killed, kills=kills)

        cost = cost_of(command, log=words, env=_environment(), timeout_seconds=seconds + ENDING_SECONDS, beside=disturb)
    return asyncio.run(_judged(out, log, words, cost, killed["readers"], home))


def _disturb(session: int, ended: threading.Event, seconds: float, killed: Counter[str], *, kills: bool) -> None:
    """Kill readers at random, and send SIGINT at the end."""
    dice, until = Random(seconds), time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not ended.wait(min(left, KILL_EVERY_SECONDS)):
        readers = [pid for pid in processes_of(session) if pid != session and _is_reader(pid)]
        if kills and readers:
            with suppress(ProcessLookupError):
                os.kill(dice.choice(readers), signal.SIGKILL)
                killed["readers"] += 1
    with suppress(ProcessLookupError):
        os.kill(session, signal.SIGINT)


def _is_reader(pid: int) -> bool:
    with suppress(OSError):
        return b"reader" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@contextmanager
def serving(good: int, hostile: int, log: Path) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    given = json.dumps([port, str(log), good, hostile])
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.hostile_server", given], stdout=subprocess.PIPE, env=_environment(), cwd=ROOT,
        preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != b"ready":
            raise BenchError("the server of the hosts did not start")
        yield port
    finally:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    return {**ours, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


# ---- checks ---------------------------------------------------------------------------------------------------


async def _judged(out: Path, log: Path, words: Path, cost: Cost, kills: int, home: Path) -> Crawled:
    lines = (out / "pages.jsonl").read_bytes().split(b"\n")[:-1]
    urls = [json.loads(line)["url"] for line in lines]
    good = {url for url in urls if url.startswith(f"http://{GOOD}")}
    troubles = [] if cost.exit_code == INTERRUPTED else [f"it ended with {cost.exit_code}"]
    database = await open_database(Location(out), read_only=True)
    try:
        troubles += await database.find_problems()
        named = {
            f"{url.rpartition('/')[0]}/{child}" for url in good for child in children(int(url.rpartition("/")[2] or 0))
        }
        known = await database.links.states([*named])
        status = await database.status()
        dead = [one.url async for one in database.dead_letters()]
    finally:
        await database.close()
    lost = len(named - known.keys()) + sum(url.startswith(f"http://{GOOD}") for url in dead)
    troubles += [f"stored, and never served: {url}" for url in sorted(good - _served(log))[:5]]
    return Crawled(
        cost,
        pages=len(good),
        hostile_pages=len(urls) - len(good),
        kills=kills,
        lost=lost,
        doubled=len(urls) - len({*urls}),
        troubles=troubles,
        leaked=_leaked(home, (out, words)),
        failed=dict(status.outcomes),
    )


def _served(log: Path) -> set[str]:
    """Pages served by the good hosts."""
    return {*log.read_text(encoding="utf-8").splitlines()}


def _leaked(home: Path, paths: tuple[Path, Path]) -> list[str]:
    """Files, and output of `export`, with a password."""
    exported = subprocess.run(
        [sys.executable, "-m", "tenax", "export", "--format", "csv", "--dir", str(paths[0])],
        capture_output=True, env=_environment(), timeout=JUDGING_SECONDS,
    ).stdout  # fmt: skip
    (home / "exported.csv").write_bytes(exported)
    files = [*(one for one in paths[0].rglob("*") if one.is_file()), paths[1], home / "exported.csv"]
    secrets = [secret.encode() for secret in SECRETS]
    return [f"{file.name}: {s.decode()}" for file in files for s in secrets if s in file.read_bytes()]


def _say(name: str, one: Crawled) -> None:
    say(
        f"{name:<20} {one.pages:>7,} good pages, {one.hostile_pages:,} hostile, {one.kills} readers killed, "
        f"{one.cost.peak_pss_mb:,.0f} MB, {one.cost.cpu_seconds:,.0f} CPU-s"
    )
    for trouble in [*one.troubles, *one.leaked][:10]:
        say(f"    {trouble}")


def _write_report(report: Report, alone: Crawled, beside: Crawled, hosts: int, seconds: float) -> None:
    rows = [
        [name, f"{one.pages:,}", f"{one.hostile_pages:,}", str(one.kills), str(one.lost), str(one.doubled),
         f"{one.cost.peak_pss_mb:,.0f}"]
        for name, one in (("alone", alone), ("beside", beside))
    ]  # fmt: skip
    table(["crawl", "good pages", "hostile pages", "readers killed", "lost", "doubled", "MB"], rows)
    report.figure("hosts", hosts)
    report.figure("seconds", seconds)
    report.figure("good_pages_alone", alone.pages)
    report.figure("good_pages_beside", beside.pages)
    report.figure("hostile_pages", beside.hostile_pages)
    report.figure("readers_killed", beside.kills)
    report.figure("outcomes", dict(sorted(beside.failed.items())))
    report.figure("cpu_seconds", [alone.cost.cpu_seconds, beside.cost.cpu_seconds])
    report.figure("peak_rss_mb", beside.cost.peak_rss_mb)
    report.at_least("good_share", beside.pages / max(alone.pages, 1), GOOD_SHARE_BAR)
    report.at_most("memory_mb", beside.cost.peak_pss_mb, MEMORY_BAR_MB)
    report.at_most("lost", alone.lost + beside.lost, 0)
    report.at_most("doubled", alone.doubled + beside.doubled, 0)
    report.at_most("troubles", len(alone.troubles) + len(beside.troubles), 0)
    report.at_most("passwords_found", len(beside.leaked), 0)


if __name__ == "__main__":
    main()
