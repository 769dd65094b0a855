"""Discovery of pages without links, with traps: pages found and requests wasted, beside links only and Scrapy.

All crawl the same 20,000 pages on six loopback hosts; 40 % of them are only in a sitemap, a feed, an archive or on a
later page of a list. Tenax also crawls sites of 300 and 2,000 pages, since most sites are small. Requests are counted
by the site's own server. A page is found when it was requested and served. A request is wasted when it cannot return a
real page or an existing discovery document: 404s, pages after the end of a list, duplicates, anything in a trap, and
repeated requests (`Worth`). Wasted requests for URLs that the site names nowhere are guesses, and also counted
separately. Scrapy uses its SitemapSpider and follows links from every page to the same depth as Tenax.

Tenax has a rate limit that is never reached: without one it treats the site as the user's own and guesses nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from bench import feeds, needs
from bench.discover_answers import Worth
from bench.discover_behaviours import HOST_BEHAVIOURS, Trap
from bench.discover_log import Tally, tally
from bench.discover_server import serving
from bench.discover_site import Site, Source, build
from bench.measure import Cost, cost_of
from bench.report import ROOT, WORKPLACE, BenchError, Figure, Report, run, say, short, table

SIZES, QUICK_SIZES = (300, 2_000, 20_000), (300, 2_000)
SEED = 1
PER_HOST = 16
DEPTH = 10
"""The default of `crawl.max_depth`."""
RATE = 1000
"""Requests per second to one host."""
FACETS_PER_PATH, LEAST_FACETS = 500, 50
"""`urls.facets_per_path`: the default for 20,000 pages, scaled down for fewer, with a minimum."""
RUN_SECONDS = 900.0
ACCESS_LOG = "access.tsv"

FOUND_BARS = {300: 0.97, 2_000: 0.97, 20_000: 0.99}
HIDDEN_BAR = 0.97
"""Share of pages that are only in archives, and of those only on later list pages."""
WASTED_BARS = {300: 0.1, 2_000: 0.06, 20_000: 0.03}
"""Share of all requests, including those in traps."""
TRAP_BARS = {
    Trap.CALENDAR: 2 * DEPTH + 1,  # the depth of links, there and back
    Trap.SAME_NEXT: 2 * DEPTH,  # the depth of links, and as many guesses
    Trap.JUNK_NEXT: 2 * DEPTH,
}

NAMES = {
    "tenax": "Tenax",
    "tenax-links": "Tenax, links only",
    "scrapy": "Scrapy, sitemaps and links",
}


def main() -> None:
    run("discover", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help=f"a part of: {','.join(NAMES)}; bars need Tenax")
    parser.add_argument(
        "--sizes",
        type=_sizes,
        help=f"pages of the site, otherwise {_listed(SIZES)} ({_listed(QUICK_SIZES)} when quick); others than Tenax "
        "crawl only the largest site",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the site, otherwise {SEED}")
    parser.add_argument("--corpus", type=Path, help="a directory of feeds: also runs `scripts/bench feeds`")
    parser.add_argument("--keep", action="store_true", help="keep the output and the server's log")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    names = _selected(chosen.only)
    sizes = chosen.sizes or (QUICK_SIZES if chosen.quick else SIZES)
    report.is_partial = bool(chosen.only or chosen.sizes or chosen.seed != SEED)
    peers = needs.venv(".venv-peers", "peers") if "scrapy" in names else None
    report.figure("hosts", len(HOST_BEHAVIOURS))
    report.figure("seed", chosen.seed)
    for pages in sizes:
        taking_part = names if pages == max(sizes) else [name for name in names if name == "tenax"]
        ours = _one_size(report, taking_part, peers, pages, chosen)
        if ours is not None:
            judge(report, ours, pages)
    if chosen.corpus is not None:
        feeds.compare(report, chosen.corpus, is_quick=chosen.quick)


def _one_size(
    report: Report, names: Sequence[str], peers: Path | None, pages: int, chosen: argparse.Namespace
) -> Tally | None:
    """Run each contestant on a site of this size; returns the result of Tenax."""
    site = build(pages, chosen.seed, date.today())
    tallies: dict[str, Tally] = {}
    costs: dict[str, Cost] = {}
    say(f"{pages:,} pages")
    for name in names:
        tallies[name], costs[name], home = _one_run(name, peers, site, pages)
        say(f"{NAMES[name]:<28} {tallies[name].found_share:7.2%} found  {tallies[name].wasted_share:7.2%} wasted")
        if chosen.keep:
            say(f"  kept in {home}: {ACCESS_LOG} has a line for each request, with what it was worth")
        else:
            shutil.rmtree(home)
    if names:
        of_each: dict[str, Figure] = {
            name.replace("-", "_"): _figures(one, costs[name]) for name, one in tallies.items()
        }
        report.figure(f"pages_{pages}", of_each)
        _show(tallies, costs)
    return tallies.get("tenax")


def judge(report: Report, ours: Tally, pages: int) -> None:
    """The bars for a site of this size; a size without bars uses those of the next smaller size."""
    size = max((known for known in SIZES if known <= pages), default=SIZES[0])
    bars = {
        f"found_{source}": share
        for source, share in ours.shares().items()
        if source in (Source.ARCHIVES, Source.PAGINATION)
    }
    report.at_least(f"found_share_{pages}", ours.found_share, FOUND_BARS[size])
    for what, share in bars.items():
        report.at_least(f"{what}_{pages}", share, HIDDEN_BAR)
    report.at_most(f"wasted_share_{pages}", ours.wasted_share, WASTED_BARS[size])
    for trap, most in (TRAP_BARS | {Trap.FACETS: facets_of(pages) + 1}).items():  # the path without a query is free
        report.at_most(f"requests_in_{trap}_{pages}", ours.in_trap(trap), most)


def facets_of(pages: int) -> int:
    """`urls.facets_per_path` for a site of this size."""
    return max(LEAST_FACETS, FACETS_PER_PATH * pages // SIZES[-1])


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def _selected(only: str | None) -> list[str]:
    names = list(NAMES) if only is None else only.split(",")
    for name in names:
        if name not in NAMES:
            raise BenchError(f"there is no contestant {name!r}; there are {', '.join(NAMES)}")
    return names


def _one_run(name: str, peers: Path | None, site: Site, pages: int) -> tuple[Tally, Cost, Path]:
    """One contestant with its own server, and the directory of the output."""
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix=f"discover-{name}-", dir=WORKPLACE / "runs"))
    log, access = home / "log.txt", home / ACCESS_LOG
    with serving(pages, site.seed, site.today, access) as origins:
        command = _command(name, peers, [f"{origin}/" for origin in origins], home, facets_of(pages))
        cost = cost_of(command, log=log, cwd=home, env=_plain_environment(), timeout_seconds=RUN_SECONDS)
    if cost.exit_code != 0:
        raise BenchError(f"{NAMES[name]} ended with {cost.exit_code}: see {log}")
    return tally(site, access), cost, home


def _command(name: str, peers: Path | None, homes: Sequence[str], home: Path, facets: int) -> Sequence[str | Path]:
    if name == "scrapy":
        assert peers is not None
        return [peers, ROOT / "bench" / "peers" / "scrapy_discover.py", home / "pages.jsonl", str(DEPTH), *homes]
    limits = ["--rate", str(RATE), "--per-host", str(PER_HOST), "--set", f"urls.facets_per_path={facets}"]
    sources = ["--discover", "links"] if name == "tenax-links" else []
    return [ROOT / "scripts" / "tenax", "crawl", *homes, *limits, *sources, "--dir", home / "out"]


def _plain_environment() -> dict[str, str]:
    """Our environment without settings that affect a contestant."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("TENAX_", "PYTHON"))}


def _figures(counted: Tally, cost: Cost) -> dict[str, Figure]:
    return {
        "found_share": counted.found_share,
        "hidden_share": counted.hidden_share,
        "found_by_way": {source.value: share for source, share in counted.shares().items()},
        "requests": counted.requests,
        "wasted_share": counted.wasted_share,
        "guesses_wasted_share": counted.guesses_wasted_share,
        "wasted": {worth.value: counted.wasted[worth] for worth in Worth if worth.is_wasted},
        "cpu_seconds": cost.cpu_seconds,
        "wall_seconds": cost.wall_seconds,
    }


def _show(tallies: Mapping[str, Tally], costs: Mapping[str, Cost]) -> None:
    rows = []
    for name, one in tallies.items():
        shares = [f"{share:.1%}" for share in one.shares().values()]
        cost = [short(costs[name].cpu_seconds), short(costs[name].wall_seconds)]
        wasted = [f"{one.wasted_share:.2%}", f"{one.guesses_wasted_share:.2%}"]
        rows.append([NAMES[name], f"{one.found_share:.2%}", *shares, f"{one.requests:,}", *wasted, *cost])
    say("Real pages found, by their only source:")
    table(["", "all", *Source, "requests", "wasted", "by guesses", "CPU s", "wall s"], rows)
    worths = [worth for worth in Worth if worth.is_wasted]
    say("Requests wasted:")
    table(
        ["", *worths], [[NAMES[name], *(f"{one.wasted[worth]:,}" for worth in worths)] for name, one in tallies.items()]
    )


if __name__ == "__main__":
    main()
