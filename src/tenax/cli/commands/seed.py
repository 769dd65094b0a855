"""`tenax seed`: more URLs to begin with, for a crawl that workers are busy with."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config, Setting
    from tenax.crawl.location import Place
    from tenax.database import Status
    from tenax.services.seeds import Added

_MOST_SHOWN = 3

NAME = "seed"
SENTENCE = "Give a crawl more URLs to begin with. Workers that are busy with it go on with them at once."
EXAMPLES = """\
  tenax seed https://example.org --ledger postgresql://tenax@db.example/tenax
  tenax seed --file seeds.txt --scope domain --exclude '*/tag/*'
  tenax seed https://example.org/new --out tenax-example.org
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="*", help="where to begin, such as https://example.org")
    parser.add_argument("--file", metavar="FILE", help="a URL a line; - for standard input; # begins a comment")
    parser.add_argument("--scope", metavar="host|domain|prefix|any", help="what may be visited (default: host)")
    parser.add_argument("--max-depth", metavar="N", help="links followed from a seed at most (default: 10)")
    parser.add_argument("--include", metavar="PATTERN", action="append", help="only URLs that match; may be repeated")
    parser.add_argument("--exclude", metavar="PATTERN", action="append", help="never URLs that match; same forms")
    location.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.tables import show

    sources = settings.load(args).sources  # before standard input is read
    urls = (*args.urls, *(_lines(args.file) if args.file else ()))
    if not urls:
        raise UsageError("there is nothing to add; give at least one URL, or a --file of them")
    where, config = location.of_args(args, urls[0])
    decided = frozenset(key for key, source in sources.items() if source != "default")
    show(lines(*asyncio.run(_added(where, config, urls, decided, settings.flags_of(args)))))
    return 0


def _lines(file: str) -> list[str]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


async def _added(
    where: Place, config: Config, urls: tuple[str, ...], decided: frozenset[str], given: dict[str, Setting]
) -> tuple[Added, Status, str]:
    from datetime import UTC, datetime

    from tenax.cli.commands.status import resume_command
    from tenax.cli.stored_options import keep_more
    from tenax.crawl.wiring import clock_of, open_ledger
    from tenax.services.seeds import add_seeds

    clock = await clock_of(where, config)
    ledger = await open_ledger(where, read_only=False, config=config, clock=clock)
    try:
        year = datetime.fromtimestamp(clock.now(), UTC).year
        added = await add_seeds(ledger, urls, config, year, decided, is_shared=bool(where.server))
        await keep_more(ledger, given)
        return added, await ledger.status(), await resume_command(ledger, where)
    finally:
        await ledger.close()


def lines(added: Added, status: Status, resume: str) -> list[str]:
    from tenax.cli.views.format_values import count, several

    known = f", {count(added.admission.known)} known already" if added.admission.known else ""
    result = [f"{several(added.admission.admitted, 'URL')} added{known}."]
    if added.requeued:
        result.append(f"{several(added.requeued, 'known URL')} without a page will be visited again.")
    if added.closed:
        result.append(_closed(added.closed))
    if added.changed:
        result.append(f"Changed for this crawl: {', '.join(added.changed)}.")
    if not status.is_running:
        result.append(f"Nobody is crawling. Go on with:  {resume}")
    return result


def _closed(origins: tuple[str, ...]) -> str:
    from tenax.cli.views.tables import plain

    more = f" and {len(origins) - _MOST_SHOWN:,} more" if len(origins) > _MOST_SHOWN else ""
    return (
        f"Workers refuse {plain(', '.join(origins[:_MOST_SHOWN]))}{more}, unless their guard.allow_networks and "
        "guard.ports allow what is private or on another port."
    )
