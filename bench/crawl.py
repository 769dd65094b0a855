"""A whole crawl of 5,000 pages beside Scrapy and Crawlee: pages a second, CPU and memory.

Everyone crawls the same pages from the same nginx on the same machine, obeys robots.txt, keeps at most 64 requests in
flight, finds the links by itself and writes the same fields as JSONL. Tenax commits durably while it crawls; Scrapy
runs twice, with its own way to survive a stop (JOBDIR) and without. The settings of the others, and why, stand in
`bench/peers/`. A run counts only if its file holds the pages of the site, all of them and no others, with the right
content. Ratios are taken within a round, and their median over the rounds is judged.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import needs, nginx, site
from bench.measure import Cost, cost_of
from bench.report import ROOT, WORKPLACE, BenchError, Figure, Report, median, run, say, short, table

PAGES, ROUNDS = 5000, 3
QUICK_ROUNDS = 1
IN_FLIGHT = 64

CPU_RATIO_BAR = 8.0
SPEED_RATIO_BAR = 6.0
MEMORY_BAR_MB = 250.0

FIELDS = frozenset(("url", "status", "content_hash", "title", "description", "language", "text", "links_count"))
CHECK_EVERY = 50
"""Every so many pages, title, description and text are compared with what the site says there."""

NAMES = {
    "tenax": "Tenax, durable",
    "scrapy": "Scrapy, JOBDIR off",
    "scrapy-jobdir": "Scrapy, JOBDIR on",
    "crawlee": "Crawlee, in memory",
}


def main() -> None:
    run("crawl", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help=f"a part of: {','.join(NAMES)}; bars need Tenax and Scrapy")
    parser.add_argument("--pages", type=int, help=f"pages of the site, otherwise {PAGES:,}")
    parser.add_argument("--rounds", type=int, help=f"runs of everyone, otherwise {ROUNDS} ({QUICK_ROUNDS} when quick)")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    names = _selected(chosen.only)
    report.is_partial = bool(chosen.only or chosen.pages or chosen.rounds)
    pages = chosen.pages or PAGES
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    peers = needs.venv(".venv-peers", "peers") if set(names) - {"tenax"} else None
    directory = site.build(pages)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    pairs: list[tuple[str, Cost, Cost]] = []
    """Each run of another with the run of Tenax just before it."""
    with nginx.serving(directory) as origin:
        for number, name in enumerate(_schedule(names, rounds)):
            cost = _one_run(name, peers, origin, pages, number)
            if name != "tenax" and costs.get("tenax"):
                pairs.append((name, cost, costs["tenax"][-1]))
            costs[name].append(cost)
            say(f"{NAMES[name]:<20} {pages / cost.wall_seconds:8,.0f} pages/s  {cost.cpu_seconds:7.1f} CPU-s")
    report.figure("pages", pages)
    report.figure("rounds", rounds)
    report.figure("page_bytes", site.mean_page_bytes(directory))
    _compare(report, costs, pages)
    _judge(report, pairs)


def _schedule(names: Sequence[str], rounds: int) -> Iterator[str]:
    """Everyone in turn, each round starting with another one, and Tenax before each of the others.

    A run of Tenax takes a tenth of the others' time, and the machine's mood changes within a minute: it is asked as
    often as it takes to meet the same moods.
    """
    others = [name for name in names if name != "tenax"]
    for number in range(rounds):
        start = number % max(len(others), 1)
        for name in others[start:] + others[:start]:
            if "tenax" in names:
                yield "tenax"
            yield name
        if not others:
            yield "tenax"


def _selected(only: str | None) -> list[str]:
    names = list(NAMES) if only is None else only.split(",")
    for name in names:
        if name not in NAMES:
            raise BenchError(f"there is no contestant {name!r}; there are {', '.join(NAMES)}")
    return names


def _one_run(name: str, peers: Path | None, origin: str, pages: int, number: int) -> Cost:
    """One contestant once, in a directory of its own; the output is checked, then thrown away unless it is wrong."""
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f"{name}-{number}-", dir=WORKPLACE / "runs"))
    out, log = home / "pages.jsonl", home / "log.txt"
    cost = cost_of(_command(name, peers, f"{origin}/", home, out), log=log, cwd=home, env=_plain_environment())
    if cost.exit_code != 0:
        raise BenchError(f"{NAMES[name]} ended with {cost.exit_code}: see {log}")
    _check(NAMES[name], out, origin, pages)
    shutil.rmtree(home)
    return cost


def _command(name: str, peers: Path | None, url: str, home: Path, out: Path) -> Sequence[str | Path]:
    here = ROOT / "bench" / "peers"
    if name == "tenax":
        flight = str(IN_FLIGHT)
        limits = ["--rate", "0", "--per-host", flight, "--concurrency", flight]
        return [ROOT / "scripts" / "tenax", "crawl", url, *limits, "--out", home]
    assert peers is not None
    if name == "crawlee":
        return [peers, here / "crawlee_peer.py", url, out]
    return [peers, here / "scrapy_peer.py", url, out, *([home / "jobdir"] if name == "scrapy-jobdir" else [])]


def _plain_environment() -> dict[str, str]:
    """Ours, without what would reach into a contestant: settings of Tenax, and our own import path."""
    return {k: v for k, v in os.environ.items() if not k.startswith("TENAX_") and k != "PYTHONPATH"}


def _check(who: str, out: Path, origin: str, pages: int) -> None:
    """Every page of the site is there, and what is said of it is true."""
    found: dict[str, dict[str, object]] = {}
    with out.open(encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            found[page["url"]] = page
    wanted = {origin + site.path_of(number) for number in range(pages)}
    if found.keys() != wanted:
        missing, foreign = len(wanted - found.keys()), len(found.keys() - wanted)
        raise BenchError(f"{who}: {len(found):,} distinct pages, {missing} missing, {foreign} not of this site")
    for number in range(0, pages, CHECK_EVERY):
        truth, page = site.article(number, pages), found[origin + site.path_of(number)]
        _check_page(who, truth, page)


def _check_page(who: str, truth: site.Article, page: dict[str, object]) -> None:
    if FIELDS - page.keys():
        raise BenchError(f"{who}: {truth.path} lacks {', '.join(sorted(FIELDS - page.keys()))}")
    text = " ".join(str(page["text"]).split())
    is_true = (
        page["status"] == 200
        and page["title"] == truth.title
        and page["description"] == truth.description
        and page["language"] == "en"
        and page["links_count"] == len(truth.links)
        and all(paragraph in text for paragraph in truth.paragraphs)
        and site.HIDDEN not in text
    )
    if not is_true:
        raise BenchError(f"{who}: what it wrote about {truth.path} is not what stands there")


def _compare(report: Report, costs: dict[str, list[Cost]], pages: int) -> None:
    speed = {name: median(pages / cost.wall_seconds for cost in runs) for name, runs in costs.items()}
    cpu = {name: median(cost.cpu_seconds / pages * 1000 for cost in runs) for name, runs in costs.items()}
    rss = {name: max(cost.peak_rss_mb for cost in runs) for name, runs in costs.items()}
    pss = {name: max(cost.peak_pss_mb for cost in runs) for name, runs in costs.items()}
    rows = [[NAMES[n], short(speed[n]), short(cpu[n]), short(rss[n]), short(pss[n])] for n in costs]
    table(["", "pages/s", "CPU-s per 1,000", "RSS MB", "PSS MB"], rows)
    for name in costs:
        report.figure(
            name.replace("-", "_"),
            {
                "pages_per_second": speed[name],
                "cpu_seconds_per_1000_pages": cpu[name],
                "peak_rss_mb": rss[name],
                "peak_pss_mb": pss[name],
            },
        )
    if "tenax" in costs:
        report.below("memory_mb", rss["tenax"], MEMORY_BAR_MB)


def _judge(report: Report, pairs: Sequence[tuple[str, Cost, Cost]]) -> None:
    """Tenax against each of the others; the bars are set by the better of Scrapy's two forms, in each respect."""
    names = list(dict.fromkeys(name for name, _, _ in pairs))
    speed, cpu = {}, {}
    for name in names:
        own = [(other, ours) for who, other, ours in pairs if who == name]
        speed[name] = median(other.wall_seconds / ours.wall_seconds for other, ours in own)
        cpu[name] = median(other.cpu_seconds / ours.cpu_seconds for other, ours in own)
    for name in names:
        ratios: dict[str, Figure] = {"pages_per_second": speed[name], "pages_per_cpu_second": cpu[name]}
        report.figure(f"tenax_vs_{name.replace('-', '_')}", ratios)
    forms = [name for name in speed if name.startswith("scrapy")]
    if forms:
        report.at_least("pages_per_cpu_second_vs_scrapy", min(cpu[name] for name in forms), CPU_RATIO_BAR)
        report.at_least("pages_per_second_vs_scrapy", min(speed[name] for name in forms), SPEED_RATIO_BAR)


if __name__ == "__main__":
    main()
