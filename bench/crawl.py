"""A whole crawl of 5,000 pages beside Scrapy and Crawlee: pages a second, CPU and memory.

All crawl the same pages from the same nginx on the same machine, obey robots.txt, have at most 64 requests in flight,
follow links and write the same fields as JSONL. Tenax commits durably during the crawl and extracts every page in full:
article, Markdown, metadata, fingerprint, near-duplicates. Scrapy takes title and visible text, once with and once
without its persistence (JOBDIR), and a third time with trafilatura as extractor. `bench/peers/` has the settings of the
others with their reasons. A run counts only if its file has exactly the pages of the site, with the right content. Each
run of the others is compared with the runs of Tenax just before and after it; the bar is on the median of these ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import needs, nginx, site
from bench.measure import Cost, cost_of
from bench.report import ROOT, WORKPLACE, BenchError, Figure, Report, median, run, say, short, table

PAGES, ROUNDS = 5000, 3
QUICK_PAGES, QUICK_ROUNDS = 1000, 1
"""With few pages the start of the process weighs more: ratios of a quick run are lower."""
IN_FLIGHT = 64

CPU_RATIO_BAR = 8.0
"""Title and text only, for both."""
READING_CPU_RATIO_BAR = 5.0
"""Tenax with full extraction against Scrapy with title and text."""
BOTH_READING_CPU_RATIO_BAR = 10.0
"""Both with full extraction."""
SPEED_RATIO_BAR = 6.0
MEMORY_BAR_MB = 250.0

FIELDS = frozenset(("url", "status", "content_hash", "title", "description", "language", "text", "links_count"))
READ_FIELDS = ("article", "markdown")
"""Fields that only Tenax writes and that must be right: a crawl without extraction does not count."""
CHECK_EVERY = 50
"""Every this many pages, title, description and text are compared with the site."""

NAMES = {
    "tenax": "Tenax, durable, reading",
    "tenax-skim": "Tenax, durable, title and text",
    "scrapy": "Scrapy, title and text, JOBDIR off",
    "scrapy-jobdir": "Scrapy, title and text, JOBDIR on",
    "scrapy-trafilatura": "Scrapy, trafilatura in its pipeline",
    "crawlee": "Crawlee, title and text, in memory",
}
OURS = ("tenax", "tenax-skim")
PLAIN_SCRAPY = ("scrapy", "scrapy-jobdir")


def main() -> None:
    run("crawl", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help=f"a part of: {','.join(NAMES)}; bars need Tenax and Scrapy")
    parser.add_argument(
        "--pages", type=int, help=f"pages of the site, otherwise {PAGES:,} ({QUICK_PAGES:,} when quick)"
    )
    parser.add_argument("--rounds", type=int, help=f"runs of everyone, otherwise {ROUNDS} ({QUICK_ROUNDS} when quick)")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    names = _selected(chosen.only)
    report.is_partial = bool(chosen.only or chosen.pages or chosen.rounds)
    pages = chosen.pages or (QUICK_PAGES if chosen.quick else PAGES)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    peers = needs.venv(".venv-peers", "peers") if set(names).difference(OURS) else None
    directory = site.build(pages)
    runs: list[tuple[str, Cost]] = []
    with nginx.serving(directory) as origin:
        for number, name in enumerate(_schedule(names, rounds)):
            cost = _one_run(name, peers, origin, pages, number)
            runs.append((name, cost))
            say(f"{NAMES[name]:<36} {pages / cost.wall_seconds:8,.0f} pages/s  {cost.cpu_seconds:7.1f} CPU-s")
    report.figure("pages", pages)
    report.figure("rounds", rounds)
    report.figure("page_bytes", site.mean_page_bytes(directory))
    _compare(report, {name: [cost for whose, cost in runs if whose == name] for name in names}, pages)
    _judge(report, list(ratios_of(runs)))


def _schedule(names: Sequence[str], rounds: int) -> Iterator[str]:
    """The order of runs: each round starts with another contestant, and Tenax runs before and after each of the others.

    A run of Tenax takes a tenth of the others' time, and the speed of the machine changes within a minute: Tenax runs
    often enough to get the same conditions.
    """
    ours = [name for name in names if name in OURS]
    others = [name for name in names if name not in OURS]
    for number in range(rounds):
        start = number % max(len(others), 1)
        for name in others[start:] + others[:start]:
            yield from ours
            yield name
        if not others or number == rounds - 1:
            yield from ours


class Ratio(NamedTuple):
    """Wall time and CPU of a contestant, as multiples of ours."""

    ours: str
    other: str
    speed: float
    cpu: float


def ratios_of(runs: Sequence[tuple[str, Cost]]) -> Iterator[Ratio]:
    """Each run of a contestant with our runs just before and after it: ours are short and vary by a fifth."""
    for position, (name, cost) in enumerate(runs):
        for form in OURS if name not in OURS else ():
            before = [ran for whose, ran in runs[:position] if whose == form][-1:]
            after = [ran for whose, ran in runs[position:] if whose == form][:1]
            if near := before + after:
                wall = sum(ran.wall_seconds for ran in near) / len(near)
                cpu = sum(ran.cpu_seconds for ran in near) / len(near)
                yield Ratio(form, name, cost.wall_seconds / wall, cost.cpu_seconds / cpu)


def _selected(only: str | None) -> list[str]:
    names = list(NAMES) if only is None else only.split(",")
    for name in names:
        if name not in NAMES:
            raise BenchError(f"there is no contestant {name!r}; there are {', '.join(NAMES)}")
    return names


def _one_run(name: str, peers: Path | None, origin: str, pages: int, number: int) -> Cost:
    """Run one contestant once in its own directory; the output is checked, and kept only if wrong."""
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f"{name}-{number}-", dir=WORKPLACE / "runs"))
    out, log = home / "pages.jsonl", home / "log.txt"
    cost = cost_of(_command(name, peers, f"{origin}/", home, out), log=log, cwd=home, env=_plain_environment())
    if cost.exit_code != 0:
        raise BenchError(f"{NAMES[name]} ended with {cost.exit_code}: see {log}")
    _check(name, out, origin, pages)
    shutil.rmtree(home)
    return cost


def _command(name: str, peers: Path | None, url: str, home: Path, out: Path) -> Sequence[str | Path]:
    here = ROOT / "bench" / "peers"
    if name in OURS:
        flight = str(IN_FLIGHT)
        limits = ["--rate", "0", "--per-host", flight, "--concurrency", flight]
        skimming = ["--set", "extract.articles=false"] if name == "tenax-skim" else []
        return [ROOT / "scripts" / "tenax", "crawl", url, *limits, *skimming, "--dir", home]
    assert peers is not None
    if name == "crawlee":
        return [peers, here / "crawlee_peer.py", url, out]
    forms: dict[str, list[str | Path]] = {
        "scrapy-jobdir": ["--jobdir", home / "jobdir"],
        "scrapy-trafilatura": ["--trafilatura"],
    }
    return [peers, here / "scrapy_peer.py", url, out, *forms.get(name, [])]


def _plain_environment() -> dict[str, str]:
    """Our environment without settings of Tenax and of Python, such as the import path.

    Some machines disable Python's bytecode cache: every run would compile the whole program again, unlike a user's.
    """
    return {k: v for k, v in os.environ.items() if not k.startswith(("TENAX_", "PYTHON"))}


def _check(name: str, out: Path, origin: str, pages: int) -> None:
    """Check that the file has every page of the site with the right content."""
    found: dict[str, dict[str, object]] = {}
    with out.open(encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            found[page["url"]] = page
    wanted = {origin + site.path_of(number) for number in range(pages)}
    if found.keys() != wanted:
        missing, foreign = len(wanted - found.keys()), len(found.keys() - wanted)
        raise BenchError(f"{NAMES[name]}: {len(found):,} distinct pages, {missing} missing, {foreign} not of this site")
    for number in range(0, pages, CHECK_EVERY):
        truth, page = site.article(number, pages), found[origin + site.path_of(number)]
        _check_page(NAMES[name], truth, page, ("text", *(READ_FIELDS if name == "tenax" else ())))


def _check_page(who: str, truth: site.Article, page: dict[str, object], texts: Sequence[str]) -> None:
    if lacking := FIELDS.union(texts) - page.keys():
        raise BenchError(f"{who}: {truth.path} lacks {', '.join(sorted(lacking))}")
    spaced = [" ".join(str(page[name]).split()) for name in texts]
    is_true = (
        page["status"] == 200
        and page["title"] == truth.title
        and page["description"] == truth.description
        and page["language"] == "en"
        and page["links_count"] == len(truth.links)
        and all(paragraph in text for text in spaced for paragraph in truth.paragraphs)
        and not any(site.HIDDEN in text for text in spaced)
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
    if ours := [rss[name] for name in costs if name in OURS]:
        report.below("memory_mb", max(ours), MEMORY_BAR_MB)


def _judge(report: Report, found: Sequence[Ratio]) -> None:
    """Tenax against each of the others.

    The bars are set by the better of the two Scrapy runs with title and text, for each figure.
    """
    speed: dict[tuple[str, str], float] = {}
    cpu: dict[tuple[str, str], float] = {}
    for pair in dict.fromkeys((one.ours, one.other) for one in found):
        own = [one for one in found if (one.ours, one.other) == pair]
        speed[pair] = median(one.speed for one in own)
        cpu[pair] = median(one.cpu for one in own)
        ratios: dict[str, Figure] = {"pages_per_second": speed[pair], "pages_per_cpu_second": cpu[pair]}
        report.figure("_vs_".join(pair).replace("-", "_"), ratios)
    plain = [pair for pair in cpu if pair[1] in PLAIN_SCRAPY]
    if skimmed := [pair for pair in plain if pair[0] == "tenax-skim"]:
        report.at_least("pages_per_cpu_second_vs_scrapy", min(cpu[pair] for pair in skimmed), CPU_RATIO_BAR)
        report.at_least("pages_per_second_vs_scrapy", min(speed[pair] for pair in skimmed), SPEED_RATIO_BAR)
    if reading := [pair for pair in plain if pair[0] == "tenax"]:
        least = min(cpu[pair] for pair in reading)
        report.at_least("reading_pages_per_cpu_second_vs_scrapy", least, READING_CPU_RATIO_BAR)
    if (both := ("tenax", "scrapy-trafilatura")) in cpu:
        report.at_least("reading_pages_per_cpu_second_vs_scrapy_reading", cpu[both], BOTH_READING_CPU_RATIO_BAR)


if __name__ == "__main__":
    main()
