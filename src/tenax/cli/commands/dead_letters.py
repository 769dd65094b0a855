"""`tenax dead-letters`: list failed URLs and their causes, and visit them again."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json_argument
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.config import Config
    from tenax.crawl.location import Location
    from tenax.database import DeadLetterRecord

NAME = "dead-letters"
DESCRIPTION = "List failed URLs or visit them again. A failed URL was given up after all attempts; its cause is stored."
EXAMPLES = """\
  tenax dead-letters list
  tenax dead-letters replay https://example.org/page
  tenax dead-letters replay --all
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("list", "replay"), help="show the failed URLs, or put them back in the queue"
    )
    parser.add_argument("urls", metavar="URL", nargs="*", help="for replay: the URLs to visit again")
    parser.add_argument("--all", action="store_true", help="for replay: all failed URLs")
    settings.add_crawl_arguments(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    if args.action == "list":
        if args.urls or args.all:
            raise UsageError(
                "`tenax dead-letters list` takes no URL; to visit one again: `tenax dead-letters replay URL`"
            )
        return asyncio.run(_list_dead_letters(*settings.resolve_crawl(args), is_json=args.json))
    if bool(args.urls) == args.all:
        raise UsageError("say which failed URLs to replay: their URLs, or --all")
    url = args.urls[0] if args.urls else None
    return asyncio.run(_replay_dead_letters(*settings.resolve_crawl(args, url), args.urls or None))


async def _list_dead_letters(where: Location, config: Config, *, is_json: bool) -> int:
    from tenax.cli.output import TextStyle, print_lines, to_json
    from tenax.crawl.wiring import open_database

    database = await open_database(where, read_only=True, config=config)
    number = 0
    try:
        async for dead_letter in database.dead_letters():
            number += 1
            print_lines(
                [to_json(dead_letter, indent=0)]
                if is_json
                else format_dead_letter(dead_letter, TextStyle.for_stream(sys.stdout))
            )
    finally:
        await database.close()
    if not is_json:
        print_lines([format_total(number)])
    return 0


async def _replay_dead_letters(where: Location, config: Config, urls: list[str] | None) -> int:
    from tenax.cli.commands.status import resume_command
    from tenax.cli.output import print_lines
    from tenax.cli.views.format_values import pluralize
    from tenax.crawl.rules import load_rules
    from tenax.urls.normalize import normalize, normalize_options

    database = await settings.open_existing_database(where, config)
    try:
        rules = await load_rules(database)
        if urls is not None and rules is not None:
            spelled = [(normalize(url, None, normalize_options(rules.urls)), url) for url in urls]
            urls = [found.url if found else url for found, url in spelled]
        replayed = await database.replay(urls)
        command = await resume_command(database, where)
        is_running = (await database.status()).is_running
    finally:
        await database.close()
    if urls is not None and replayed < len(set(urls)):
        missing = len(set(urls)) - replayed
        print(f"tenax: not among the failed URLs: {pluralize(missing, 'URL')}", file=sys.stderr)
    if not replayed:
        print_lines(["Nothing to replay."])
        return 0
    how = "The workers visit them." if is_running else f"Resume with:  {command}"
    print_lines([f"{pluralize(replayed, 'URL')} will be visited again. {how}"])
    return 0


def format_dead_letter(dead_letter: DeadLetterRecord, style: TextStyle) -> list[str]:
    from tenax.cli.output import sanitize_text
    from tenax.cli.views import format_values

    found = f", found on {sanitize_text(dead_letter.via)}" if dead_letter.via else ""
    return [
        style.bold(sanitize_text(dead_letter.url)),
        f"    {style.red(sanitize_text(dead_letter.cause))}",
        f"    {style.dim(f'given up {format_values.format_time(dead_letter.at)}{found}')}",
    ]


def format_total(number: int) -> str:
    from tenax.cli.views.format_values import pluralize

    if not number:
        return "There are no failed URLs."
    return f"\n{pluralize(number, 'failed URL')}. `tenax dead-letters replay URL` visits one again, `--all` visits all."
