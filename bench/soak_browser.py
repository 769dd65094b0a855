"""A thousand pages in the browser, good ones and bad ones: processes and memory stay, and nothing is left in the end.

A site on loopback serves pages that scripts build. Among them are pages that loop for ever, open dialogs, eat memory or
reach for a private address. Between the pages the processes and the memory of all browsers are counted, and our own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import MEGABYTE
from bench.report import BenchError, Report, run, say, table
from tenax.clock import SteadyClock
from tenax.config import BrowserConfig, FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.browser import BrowserTransport, browser_install_hint
from tenax.fetch.guard import Guard
from tenax.model import Deferred

PAGES, QUICK_PAGES = 1000, 100
AT_ONCE = 2
SAMPLE_SECONDS = 2.0
WARM_SHARE = 0.2
"""The first part of the run, in which caches fill; memory is compared after it."""
DEADLINE_SECONDS = 20.0
BAD_DEADLINE_SECONDS = 4.0
DEFERRED_SECONDS = 1.0
BAD_EVERY = 25
GOOD = """<!doctype html><title>{n}</title><div id=d></div><script>
for (let i = 0; i < 300; i++) { const p = document.createElement("p"); p.textContent = "words of page {n} " + i;
  d.append(p) }
fetch("/more").then(a => a.text()).then(t => d.append(t))</script>"""
BAD = {
    "loop": ("<script>for (;;);</script>", "failed:timeout_total"),
    "dialogs": ("<script>for (;;) alert(1)</script>", "failed:bad_response"),
    "private": ("<script>location = 'http://127.0.0.9/'</script>", "refused:guard"),
    "memory": ("<script>const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))</script>", "failed:internal"),
    "reloads": ("<script>location.href = '/bad/reloads?' + Math.random()</script>", "failed:redirect"),
}


def main() -> None:
    run("browser", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pages", type=int, help=f"how many, otherwise {PAGES} ({QUICK_PAGES} when quick)")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    missing = browser_install_hint()
    if missing is not None:
        raise BenchError(missing)
    report.is_partial = chosen.pages is not None
    wanted = chosen.pages or (QUICK_PAGES if chosen.quick else PAGES)
    with tempfile.TemporaryDirectory() as directory:  # a place of its own: others may start browsers meanwhile
        os.environ["TMPDIR"], tempfile.tempdir = directory, directory
        soak = asyncio.run(_render(wanted))
        soak.folders_left = len(list(Path(directory).iterdir()))
    _write_report(report, soak, wanted)


@dataclass(frozen=True)
class Sample:
    pages: int
    processes: int
    browser_mb: float
    """Shared pages divided among their holders."""
    own_mb: float


@dataclass
class Soak:
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    deferred: int = 0
    """Times that a browser took too long to start to be waited for."""
    surprises: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    groups: set[int] = field(default_factory=set)
    left_over: int = 0
    folders_left: int = 0

    def memory(self, of: str) -> tuple[float, float]:
        """Medians of the first and the last third after the warm part."""
        settled = self.samples[int(len(self.samples) * WARM_SHARE) :]
        third = max(len(settled) // 3, 1)
        values = [getattr(sample, of) for sample in settled]
        return statistics.median(values[:third]), statistics.median(values[-third:])


async def _render(wanted: int) -> Soak:
    soak, clock = Soak(), SteadyClock()
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    guard = Guard(GuardConfig(), clock, [origin])
    transport = BrowserTransport(BrowserConfig(pages=AT_ONCE, settle_seconds=0.2), FetchConfig(), guard, clock)
    numbers = iter(range(wanted))
    began, watching = time.monotonic(), asyncio.ensure_future(_watch(soak))
    try:
        await asyncio.gather(*(_visit(transport, origin, numbers, soak) for _ in range(AT_ONCE)))
    finally:
        watching.cancel()
        await transport.close()
        await guard.close()
        server.close()
    soak.seconds = time.monotonic() - began
    await asyncio.sleep(2.0)  # what was killed is buried by then
    soak.left_over = len(_processes(soak.groups))
    return soak


async def _visit(transport: BrowserTransport, origin: str, numbers: Iterator[int], soak: Soak) -> None:
    names = list(BAD)
    for number in numbers:
        is_bad = number % BAD_EVERY == BAD_EVERY - 1
        name = names[number // BAD_EVERY % len(names)]
        path, expected = (f"/bad/{name}", BAD[name][1]) if is_bad else (f"/good/{number}", "fetched")
        seconds = BAD_DEADLINE_SECONDS if name == "loop" and is_bad else DEADLINE_SECONDS
        request = Request(origin + path, 4 * MEGABYTE, seconds)
        while isinstance(answer := await transport.get(request), Deferred):
            soak.deferred += 1
            await asyncio.sleep(DEFERRED_SECONDS)  # as a crawl would: it comes again
        outcome = "fetched" if isinstance(answer, Response) else answer.label
        if isinstance(answer, Response) and f"words of page {number} 299".encode() not in answer.body:
            outcome = "incomplete"
        soak.outcomes[outcome] += 1
        if outcome != expected:
            soak.surprises.append(f"{path}: {outcome} instead of {expected}")


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode("latin-1").partition("?")[0]
        name = path.rpartition("/")[2]
        body = BAD[name][0] if path.startswith("/bad/") else GOOD.replace("{n}", name) if "/good/" in path else "more"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
    writer.close()


# ---- counting ---------------------------------------------------------------------------------------------


async def _watch(soak: Soak) -> None:
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        pids = _processes(soak.groups)
        pages = soak.outcomes.total()
        soak.samples.append(Sample(pages, len(pids), sum(map(_pss_mb, pids)), _pss_mb(os.getpid())))
        if len(soak.samples) % 15 == 0:
            last = soak.samples[-1]
            say(f"{pages:>5} pages  {last.processes} processes  {last.browser_mb:.0f} MB  own {last.own_mb:.0f} MB")


def _processes(groups: set[int]) -> list[int]:
    """Every process below us, and those of a browser's group that has lost its parents. Learns new groups."""
    parents, group_of = {}, {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError, IndexError):
                fields = Path(f"/proc/{entry.name}/stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(entry.name)], group_of[int(entry.name)] = int(fields[1]), int(fields[2])
    ours = {os.getpid()}
    while below := {pid for pid, parent in parents.items() if parent in ours and pid not in ours}:
        ours |= below
    ours.discard(os.getpid())
    own = os.getpgid(0)
    groups |= {group_of[pid] for pid in ours if group_of[pid] != own}
    return [pid for pid in parents if pid in ours or group_of[pid] in groups]


def _pss_mb(pid: int) -> float:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")) / MEGABYTE
    return 0.0


def _write_report(report: Report, soak: Soak, wanted: int) -> None:
    table(["outcome", "pages"], [[name, f"{count:,}"] for name, count in sorted(soak.outcomes.items())])
    for surprise in soak.surprises[:10]:
        say(f"    {surprise}")
    if len(soak.samples) < 6:
        raise BenchError("too few pages to see whether anything grows")
    first, last = soak.memory("browser_mb")
    own_first, own_last = soak.memory("own_mb")
    report.figure("seconds", soak.seconds)
    report.figure("pages_per_second", wanted / soak.seconds)
    report.figure("browsers", len(soak.groups))
    report.figure("browser_mb", {"first": first, "last": last, "peak": max(one.browser_mb for one in soak.samples)})
    report.figure("own_mb", {"first": own_first, "last": own_last})
    report.figure("deferred", soak.deferred)
    report.figure("outcomes", dict(sorted(soak.outcomes.items())))
    report.at_least("pages", soak.outcomes.total(), wanted)
    report.at_most("surprises", len(soak.surprises), 0)
    report.at_most("processes", max(one.processes for one in soak.samples), 40)
    report.at_most("browser memory, last over first", last / first, 1.25)
    report.at_most("own memory grown, MB", own_last - own_first, 25)
    report.at_most("processes left", soak.left_over, 0)
    report.at_most("folders left", soak.folders_left, 0)


if __name__ == "__main__":
    main()
