"""`tenax links`: query the link graph of a crawl."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json_argument
from tenax.errors import DatabaseNotFound, UsageError

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.link_graph import Graph, Measure, RankedUrl
    from tenax.crawl.location import Location
    from tenax.database import PageLinks, Records, Reports

NAME = "links"
DESCRIPTION = (
    "Query the link graph. Shows the links of a page, the links to it, or the URLs with most links; exports all links; "
    "or prioritizes waiting URLs by their links."
)
EXAMPLES = """\
  tenax links --from https://example.org/
  tenax links --top 20 --by pagerank
  tenax links --export - | jq -r .target | sort | uniq -c
  tenax links --prioritize
"""

EXPORT_FORMATS = ("csv", "jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--from", metavar="URL", dest="source", help="the links on this page")
    asked.add_argument("--to", metavar="URL", dest="target", help="the pages that link to this URL; reads all links")
    asked.add_argument("--top", metavar="N", type=int, help="the N URLs with most links to them; reads all links")
    asked.add_argument(
        "--export", metavar="FILE", help="write every link to FILE.csv or FILE.jsonl, or - for JSON lines"
    )
    asked.add_argument(
        "--prioritize",
        action="store_true",
        help="set the priority of waiting URLs by the links to them: top tenth high, rest of the top half medium",
    )
    parser.add_argument(
        "--by",
        choices=("in-degree", "pagerank"),
        help="measure for --top and --prioritize: the number of linking pages (default), or PageRank, which needs the "
        "extra `graph`",
    )
    settings.add_crawl_arguments(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    _check_arguments(args)
    where, config = settings.resolve_crawl(args, args.source or args.target)
    return asyncio.run(_run_action(args, where, config))


def _check_arguments(args: argparse.Namespace) -> None:
    if args.by and args.top is None and not args.prioritize:
        raise UsageError("--by needs --top or --prioritize; see `tenax links --help`")
    if args.top is not None and args.top < 1:
        raise UsageError(f"--top {args.top}: give a number from 1")
    if args.export and args.export != "-" and Path(args.export).suffix.lstrip(".") not in EXPORT_FORMATS:
        raise UsageError(f"--export {args.export}: the name of the file must end in .csv or .jsonl, or be -")


async def _run_action(args: argparse.Namespace, where: Location, config: Config) -> int:
    from tenax.crawl.wiring import open_database

    if args.prioritize:
        database = await settings.open_existing_database(where, config)
    else:
        database = await open_database(where, read_only=True, config=config)
    try:
        if args.source:
            await _show_outgoing(database, args.source, is_json=args.json)
        elif args.target:
            await _show_incoming(database, args.target, is_json=args.json)
        elif args.export:
            await _export_links(database, args.export)
        elif args.prioritize:
            await _prioritize(database, database.counts().waiting, where, _parse_measure(args))
        else:
            await _show_top(database, args.top, _parse_measure(args), is_json=args.json)
    finally:
        await database.close()
    return 0


def _parse_measure(args: argparse.Namespace) -> Measure:
    from tenax.crawl.link_graph import Measure, check_measure

    measure = Measure(args.by or Measure.IN_DEGREE)
    check_measure(measure)
    return measure


# ---- one page -----------------------------------------------------------------------------------------------


async def _show_outgoing(records: Records, typed_url: str, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import OutgoingLink, outgoing_table, print_items
    from tenax.database.page_codec import unpack_links

    url = await _normalize_url(records, typed_url)
    page = await records.links.get(url)
    if page is None:
        raise DatabaseNotFound(await _no_links_message(records, url))
    links = unpack_links(page.origin, page.packed)
    states = await records.links.states([link.url for link in links])
    print_items([OutgoingLink.from_link(link, states.get(link.url)) for link in links], outgoing_table, is_json=is_json)


async def _show_incoming(records: Records, typed_url: str, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import IncomingLink, incoming_table, print_items
    from tenax.database.page_codec import find_links

    url = await _normalize_url(records, typed_url)
    found = [
        IncomingLink.from_link(page.url, link)
        async for page in _iterate_pages(records)
        for link in find_links(url, page.origin, page.packed)
    ]
    print_items(found, incoming_table, is_json=is_json)


async def _normalize_url(reports: Reports, typed_url: str) -> str:
    """The URL as this crawl normalizes it."""
    from tenax.crawl.rules import load_rules
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    rules = await load_rules(reports)
    if rules is None:
        raise DatabaseNotFound("this crawl has no seeds yet; see `tenax seed` and `tenax crawl`")
    return parse_seed(typed_url, normalize_options(rules.urls)).url


async def _no_links_message(records: Records, url: str) -> str:
    if not await records.links.states([url]):
        return f"{url} is not in this crawl; `tenax explain {url}` says why"
    return (
        f"no links of {url} are stored: no page was stored for it while `extract.link_graph` was on; "
        f"see `tenax explain {url}`"
    )


# ---- the whole graph ----------------------------------------------------------------------------------------


async def _iterate_pages(records: Records) -> AsyncIterator[PageLinks]:
    """Every page with its links. Shows progress on a terminal. Raises `DatabaseNotFound` if there are none."""
    from tenax.cli.views.link_tables import ProgressLine

    progress = ProgressLine((await records.status()).pages)
    async for page in records.links.read_all():
        progress.advance()
        yield page
    progress.close()
    if not progress.count:
        raise DatabaseNotFound(
            "this crawl has no stored links: no page was stored while `extract.link_graph` was on; crawl with "
            "--set extract.link_graph=true, and --recrawl for the stored pages"
        )


async def _build_graph(records: Records) -> Graph:
    from tenax.crawl.link_graph import Graph

    graph = Graph()
    async for page in _iterate_pages(records):
        graph.add(page)
    return graph


async def _show_top(records: Records, limit: int, measure: Measure, *, is_json: bool) -> None:
    from tenax.cli.views.link_tables import TopUrl, print_items, top_table

    graph = await _build_graph(records)
    ranked = graph.top(limit, graph.scores(measure))
    names = await _find_urls(records, graph, ranked)
    best = [TopUrl(rank, names[one.number], one.in_links, one.score) for rank, one in enumerate(ranked, 1)]
    print_items(best, top_table, is_json=is_json)


async def _find_urls(records: Records, graph: Graph, ranked: list[RankedUrl]) -> dict[int, str]:
    missing = {one.number for one in ranked}
    names: dict[int, str] = {}
    async for page in records.links.read_all():
        if not missing:
            break
        names |= graph.find_urls(page, missing)
    return names


async def _export_links(records: Records, output: str) -> None:
    from tenax.cli.output import open_output, translate_output_errors
    from tenax.cli.views.format_values import pluralize
    from tenax.cli.views.link_tables import EDGES_CSV_HEADER, edges_csv, edges_json
    from tenax.database.page_codec import unpack_links
    from tenax.logs import sanitize_text

    is_csv, count = output.endswith(".csv"), 0
    lines_of = edges_csv if is_csv else edges_json
    target = None if output == "-" else output
    another = "; choose another with --export"
    with open_output(target, another) as file, translate_output_errors(target, another):
        if is_csv:
            file.write(EDGES_CSV_HEADER)
        async for page in _iterate_pages(records):
            links = unpack_links(page.origin, page.packed)
            file.write(lines_of(page.url, links))
            count += len(links)
        file.flush()
    if target is not None:
        print(f"{pluralize(count, 'link')} written to {sanitize_text(target)}", file=sys.stderr)


async def _prioritize(records: Records, waiting: int, where: Location, measure: Measure) -> None:
    from tenax.cli.commands.status import resume_command
    from tenax.cli.output import print_lines
    from tenax.cli.views.format_values import pluralize

    if not waiting:
        print_lines(["No URL is waiting."])
        return
    graph = await _build_graph(records)
    changed = await records.links.prioritize(graph.make_prioritizer(graph.scores(measure)))
    status, command = await records.status(), await resume_command(records, where)
    how = "The workers use it at once." if status.is_running else f"Resume with:  {command}"
    print_lines([f"Changed the priority of {changed:,} of {pluralize(waiting, 'waiting URL')}. {how}"])
