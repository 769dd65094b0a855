"""`tenax dead-letters`: what was given up and why, and giving it another chance."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import location
from tenax.cli.parser import add_json
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.config import Config
    from tenax.crawl.location import Place
    from tenax.database import LetterRecord

NAME = "dead-letters"
SENTENCE = "List or replay the URLs that were given up. Each is kept with its cause, and may be put back in the queue."
EXAMPLES = """\
  tenax dead-letters list
  tenax dead-letters replay https://example.org/page
  tenax dead-letters replay --all
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "replay"), help="show them, or make them wait for a visit again")
    parser.add_argument("urls", metavar="URL", nargs="*", help="for replay: which ones")
    parser.add_argument("--all", action="store_true", help="for replay: every one of them")
    location.add_arguments(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    if args.action == "list":
        if args.urls or args.all:
            raise UsageError("`tenax dead-letters list` takes no URL; to put one back: `tenax dead-letters replay URL`")
        return asyncio.run(_list(*location.of_args(args), is_json=args.json))
    if bool(args.urls) == args.all:
        raise UsageError("say which dead letters to replay: their URLs, or --all")
    url = args.urls[0] if args.urls else None
    return asyncio.run(_replay(*location.of_args(args, url), args.urls or None))


async def _list(where: Place, config: Config, *, is_json: bool) -> int:
    from tenax.cli.views.json_output import as_json
    from tenax.cli.views.tables import Ink, show
    from tenax.crawl.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    number = 0
    try:
        async for letter in ledger.dead_letters():
            number += 1
            show([as_json(letter, indent=0)] if is_json else lines(letter, Ink.on(sys.stdout)))
    finally:
        await ledger.close()
    if not is_json:
        show([closing(number)])
    return 0


async def _replay(where: Place, config: Config, urls: list[str] | None) -> int:
    from tenax.cli.commands.status import resume_command
    from tenax.cli.views.format_values import several
    from tenax.cli.views.tables import show
    from tenax.crawl.rules import kept_rules
    from tenax.urls.normalize import normalize, spelling_of

    ledger = await location.open_to_write(where, config)
    try:
        rules = await kept_rules(ledger)
        if urls is not None and rules is not None:
            spelled = [(normalize(url, None, spelling_of(rules.urls)), url) for url in urls]
            urls = [found.url if found else url for found, url in spelled]
        came_back = await ledger.replay(urls)
        command = await resume_command(ledger, where)
        is_running = (await ledger.status()).is_running
    finally:
        await ledger.close()
    if urls is not None and came_back < len(set(urls)):
        missing = len(set(urls)) - came_back
        print(f"tenax: {several(missing, 'URL')} of these is no dead letter here", file=sys.stderr)
    if not came_back:
        show(["Nothing to replay."])
        return 0
    how = "The workers go on with them." if is_running else f"Go on with:  {command}"
    show([f"{several(came_back, 'URL')} will be visited again. {how}"])
    return 0


def lines(letter: LetterRecord, ink: Ink) -> list[str]:
    from tenax.cli.views import format_values
    from tenax.cli.views.tables import plain

    found = f", found on {plain(letter.via)}" if letter.via else ""
    return [
        ink.bold(plain(letter.url)),
        f"    {ink.bad(plain(letter.cause))}",
        f"    {ink.dim(f'given up {format_values.moment(letter.at)}{found}')}",
    ]


def closing(number: int) -> str:
    from tenax.cli.views.format_values import several

    if not number:
        return "There are no dead letters."
    return f"\n{several(number, 'dead letter')}. `tenax dead-letters replay URL`, or --all, gives them another chance."
