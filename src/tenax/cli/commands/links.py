"""`tenax links`: who links to whom, with which words, and which pages matter by it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import location
from tenax.cli.parser import add_json
from tenax.errors import LedgerMissing, UsageError

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.link_graph import Graph, Measure, Ranked
    from tenax.crawl.location import Place
    from tenax.database import Ledger, PageLinks

NAME = "links"
SENTENCE = (
    "Ask the link graph. Where a page leads, who leads to it, which pages are linked to most, or all links as a file. "
    "It can also decide what is visited next."
)
EXAMPLES = """\
  tenax links --from https://example.org/
  tenax links --top 20 --by pagerank
  tenax links --export - | jq -r .target | sort | uniq -c
  tenax links --prioritize
"""

Outputs = ("csv", "jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--from", metavar="URL", dest="source", help="where this page leads")
    asked.add_argument("--to", metavar="URL", dest="target", help="which pages lead there; reads all links")
    asked.add_argument("--top", metavar="N", type=int, help="the URLs that are linked to most; reads all links")
    asked.add_argument(
        "--export", metavar="FILE", help="write every link to FILE.csv or FILE.jsonl, or - for JSON lines"
    )
    asked.add_argument(
        "--prioritize",
        action="store_true",
        help="waiting URLs get their level by what links to them: the best tenth high, up to the half medium",
    )
    parser.add_argument(
        "--by",
        choices=("in-degree", "pagerank"),
        help="what --top and --prioritize go by: how many pages link there (the default), or what these are worth in "
        "turn, which needs `pip install 'tenax[graph]'`",
    )
    location.add_arguments(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    _check(args)
    where, config = location.of_args(args, args.source or args.target)
    return asyncio.run(_run(args, where, config))


def _check(args: argparse.Namespace) -> None:
    if args.by and args.top is None and not args.prioritize:
        raise UsageError("--by goes with --top and --prioritize; see `tenax links --help`")
    if args.top is not None and args.top < 1:
        raise UsageError(f"--top {args.top}: how many are to be shown? At least one")
    if args.export and args.export != "-" and Path(args.export).suffix.lstrip(".") not in Outputs:
        raise UsageError(f"--export {args.export}: the name of the file must end in .csv or .jsonl, or be -")


async def _run(args: argparse.Namespace, where: Place, config: Config) -> int:
    from tenax.crawl.wiring import open_ledger

    if args.prioritize:
        ledger = await location.open_to_write(where, config)
    else:
        ledger = await open_ledger(where, read_only=True, config=config)
    try:
        if args.source:
            await _from(ledger, args.source, is_json=args.json)
        elif args.target:
            await _to(ledger, args.target, is_json=args.json)
        elif args.export:
            await _export(ledger, args.export)
        elif args.prioritize:
            await _prioritize(ledger, where, _measure(args))
        else:
            await _top(ledger, args.top, _measure(args), is_json=args.json)
    finally:
        await ledger.close()
    return 0


def _measure(args: argparse.Namespace) -> Measure:
    from tenax.crawl.link_graph import Measure, check_measure

    measure = Measure(args.by or Measure.IN_DEGREE)
    check_measure(measure)
    return measure


# ---- one page -----------------------------------------------------------------------------------------------


async def _from(ledger: Ledger, asked: str, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import Outgoing, outgoing_table, show_each
    from tenax.database.links import unpack_links

    url = await _spelled(ledger, asked)
    page = await ledger.links.of(url)
    if page is None:
        raise LedgerMissing(await _why_none(ledger, url))
    links = unpack_links(page.origin, page.packed)
    states = await ledger.links.states([link.url for link in links])
    show_each([Outgoing.of(link, states.get(link.url)) for link in links], outgoing_table, is_json=is_json)


async def _to(ledger: Ledger, asked: str, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import Incoming, incoming_table, show_each
    from tenax.database.links import links_to

    url = await _spelled(ledger, asked)
    found = [
        Incoming.of(page.url, link) async for page in _pages(ledger) for link in links_to(url, page.origin, page.packed)
    ]
    show_each(found, incoming_table, is_json=is_json)


async def _spelled(ledger: Ledger, asked: str) -> str:
    """As this crawl spells it."""
    from tenax.crawl.rules import kept_rules
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url

    rules = await kept_rules(ledger)
    if rules is None:
        raise LedgerMissing("this crawl has not begun: nobody gave it a URL yet; see `tenax seed` and `tenax crawl`")
    return seed_url(asked, spelling_of(rules.urls)).url


async def _why_none(ledger: Ledger, url: str) -> str:
    if not await ledger.links.states([url]):
        return f"{url} is not in this crawl; `tenax explain {url}` says why"
    return (
        f"no links of {url} are kept: it brought no page while `reading.link_graph` was on; "
        f"`tenax explain {url}` says what it brought"
    )


# ---- all of them --------------------------------------------------------------------------------------------


async def _pages(ledger: Ledger) -> AsyncIterator[PageLinks]:
    """Every page with its links, and on a terminal how far we are. Raises `LedgerMissing` when there are none."""
    from tenax.cli.views.link_tables import Ticker

    ticker = Ticker((await ledger.status()).pages)
    async for page in ledger.links.all():
        ticker.tick()
        yield page
    ticker.end()
    if not ticker.count:
        raise LedgerMissing(
            "this crawl keeps no links: it stored no page while `reading.link_graph` was on; crawl with "
            "--set reading.link_graph=true, and --revisit for the pages that are there"
        )


async def _graph(ledger: Ledger) -> Graph:
    from tenax.crawl.link_graph import Graph

    graph = Graph()
    async for page in _pages(ledger):
        graph.add(page)
    return graph


async def _top(ledger: Ledger, most: int, measure: Measure, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import Best, best_table, show_each

    graph = await _graph(ledger)
    ranked = graph.top(most, graph.scores(measure))
    names = await _names(ledger, graph, ranked)
    best = [Best(rank, names[one.number], one.in_links, one.score) for rank, one in enumerate(ranked, 1)]
    show_each(best, best_table, is_json=is_json)


async def _names(ledger: Ledger, graph: Graph, ranked: list[Ranked]) -> dict[int, str]:
    missing = {one.number for one in ranked}
    names: dict[int, str] = {}
    async for page in ledger.links.all():
        if not missing:
            break
        names |= graph.recognise(page, missing)
    return names


async def _export(ledger: Ledger, output: str) -> None:
    from tenax.cli.output import opened, plainly
    from tenax.cli.views.format_values import several
    from tenax.cli.views.link_tables import EDGES_HEAD, edges_csv, edges_json
    from tenax.database.links import unpack_links
    from tenax.logs import plain

    is_csv, count = output.endswith(".csv"), 0
    lines_of = edges_csv if is_csv else edges_json
    target = None if output == "-" else output
    another = "; choose another with --export"
    with opened(target, another) as file, plainly(target, another):
        if is_csv:
            file.write(EDGES_HEAD)
        async for page in _pages(ledger):
            links = unpack_links(page.origin, page.packed)
            file.write(lines_of(page.url, links))
            count += len(links)
        file.flush()
    if target is not None:
        print(f"{several(count, 'link')} written to {plain(target)}", file=sys.stderr)


async def _prioritize(ledger: Ledger, where: Place, measure: Measure) -> None:
    from tenax.cli.commands.status import resume_command
    from tenax.cli.views.format_values import several
    from tenax.cli.views.tables import show

    waiting = ledger.counts().waiting
    if not waiting:
        show(["Nothing waits for a visit."])
        return
    graph = await _graph(ledger)
    changed = await ledger.links.prioritize(graph.level_of(graph.scores(measure)))
    status, command = await ledger.status(), await resume_command(ledger, where)
    how = "The workers go on with them." if status.is_running else f"Go on with:  {command}"
    show([f"{changed:,} of {several(waiting, 'waiting URL')} have another priority now. {how}"])
