"""`tenax export`: the pages of a crawl as JSON lines, CSV or Markdown files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Location
    from tenax.database import PageFilter
    from tenax.model import Page

NAME = "export"
DESCRIPTION = "Export the stored pages. Formats are JSON lines, CSV, and one Markdown file per page."
EXAMPLES = """\
  tenax export > pages.jsonl
  tenax export --format csv -o pages.csv --where kind=article --where language=en
  tenax export --format markdown --where 'url=*/blog/*' -o blog
  tenax export --where since=2026-01-31 | head
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("jsonl", "csv", "markdown"), default="jsonl", help="default: jsonl")
    parser.add_argument(
        "--where",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="only pages that match all conditions; FIELD: host, status, kind, language, url (a glob), since",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="output file (default: standard output); for markdown a directory (default: DIR/markdown)",
    )
    settings.add_crawl_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.pages import parse_page_filter

    where = parse_page_filter(args.where)
    crawl, config = settings.resolve_crawl(args)
    return asyncio.run(_export_pages(crawl, config, args.format, where, args.output))


async def _export_pages(
    crawl: Location, config: Config, format: str, page_filter: PageFilter, output: str | None
) -> int:
    from tenax.crawl.wiring import open_database

    database = await open_database(crawl, read_only=True, config=config)
    try:
        pages = database.pages(page_filter)
        if format == "markdown":
            target = Path(output) if output else (crawl.directory or Path()) / "markdown"
            number = await _write_files(pages, target)
        else:
            number = await _write_lines(pages, format, output)
    finally:
        await database.close()
    if output or format == "markdown":
        from tenax.cli.views.format_values import pluralize
        from tenax.logs import sanitize_text

        print(f"{pluralize(number, 'page')} written to {sanitize_text(output or os.fspath(target))}", file=sys.stderr)
    return 0


async def _write_lines(pages: AsyncIterator[Page], format: str, output: str | None) -> int:
    from tenax.cli.output import open_output, translate_output_errors
    from tenax.cli.views.pages import CSV_HEADER, csv_line, json_line

    number = 0
    line_of = csv_line if format == "csv" else json_line
    with open_output(output) as file, translate_output_errors(output):
        if format == "csv":
            file.write(CSV_HEADER)
        async for page in pages:
            file.write(line_of(page))
            number += 1
        file.flush()
    return number


async def _write_files(pages: AsyncIterator[Page], target: Path) -> int:
    from tenax.cli.output import translate_output_errors
    from tenax.cli.views.pages import markdown_path

    number = 0
    with translate_output_errors(os.fspath(target)):
        async for page in pages:
            _write_file(page, target / markdown_path(page.url))
            number += 1
    return number


def _write_file(page: Page, file: Path) -> None:
    from tenax.cli.views.pages import to_markdown

    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(to_markdown(page), encoding="utf-8")
