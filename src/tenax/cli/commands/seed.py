"""`tenax seed`: add seeds to a crawl, also while workers run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config, SettingValue
    from tenax.crawl.location import Location
    from tenax.crawl.seeds import AddedSeeds
    from tenax.database import Status

_MAX_ORIGINS_SHOWN = 3

NAME = "seed"
DESCRIPTION = "Add seeds to a crawl. Running workers visit them at once."
EXAMPLES = """\
  tenax seed https://example.org --database postgresql://tenax@db.example/tenax
  tenax seed --file seeds.txt --scope domain --exclude '*/tag/*'
  tenax seed https://example.org/new --dir tenax-example.org
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="*", help="start URLs (seeds), such as https://example.org")
    parser.add_argument("--file", metavar="FILE", help="one URL per line; - for standard input; # starts a comment")
    parser.add_argument("--scope", metavar="host|domain|prefix|any", help="which URLs may be visited (default: host)")
    parser.add_argument("--max-depth", metavar="N", help="maximum number of links from a seed (default: 10)")
    parser.add_argument(
        "--include", metavar="PATTERN", action="append", help="visit only URLs that match; may be repeated"
    )
    parser.add_argument(
        "--exclude", metavar="PATTERN", action="append", help="never visit URLs that match; may be repeated"
    )
    settings.add_crawl_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.options import load_existing_crawl, merge_settings
    from tenax.cli.output import print_lines

    sources = settings.load(args).sources  # checked before standard input is read
    urls = (*args.urls, *(_read_url_file(args.file) if args.file else ()))
    if not urls:
        raise UsageError("there is nothing to add; give at least one URL, or a --file of them")
    where, config = settings.resolve_crawl(args, urls[0])
    given = settings.flag_settings(args)
    explicit_keys = frozenset(key for key, source in sources.items() if source != "default")
    existing = asyncio.run(load_existing_crawl(where, config, is_required=False))
    if existing is not None:
        # As the next run will have them: what is admitted now must be what that run admits.
        config = settings.load(args, flags=merge_settings(existing, given, is_new_round=True)).config
    print_lines(format_result(*asyncio.run(_add_seeds(where, config, urls, explicit_keys, given))))
    return 0


def _read_url_file(file: str) -> list[str]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


async def _add_seeds(
    location: Location,
    config: Config,
    urls: tuple[str, ...],
    explicit_keys: frozenset[str],
    given: dict[str, SettingValue],
) -> tuple[AddedSeeds, Status, str]:
    from datetime import UTC, datetime

    from tenax.cli.commands.status import resume_command
    from tenax.cli.options import store_more_settings
    from tenax.crawl.seeds import add_seeds
    from tenax.crawl.wiring import open_clock, open_database

    clock = await open_clock(location, config)
    database = await open_database(location, read_only=False, config=config, clock=clock)
    try:
        year = datetime.fromtimestamp(clock.now(), UTC).year
        added = await add_seeds(database, urls, config, year, explicit_keys, is_shared=bool(location.server))
        await store_more_settings(database, given)
        return added, await database.status(), await resume_command(database, location)
    finally:
        await database.close()


def format_result(added: AddedSeeds, status: Status, resume: str) -> list[str]:
    from tenax.cli.views.format_values import format_count, pluralize

    known = f", {format_count(added.admission.known)} already known" if added.admission.known else ""
    result = [f"{pluralize(added.admission.admitted, 'URL')} added{known}."]
    if added.requeued:
        result.append(f"{pluralize(added.requeued, 'known URL')} without a page will be visited again.")
    if added.refused_origins:
        result.append(_format_closed_origins(added.refused_origins))
    if added.changed_rules:
        result.append(f"Changed for this crawl: {', '.join(added.changed_rules)}.")
    if not status.is_running:
        result.append(f"No process is crawling. Resume with:  {resume}")
    return result


def _format_closed_origins(origins: tuple[str, ...]) -> str:
    from tenax.cli.output import sanitize_text

    more = f" and {len(origins) - _MAX_ORIGINS_SHOWN:,} more" if len(origins) > _MAX_ORIGINS_SHOWN else ""
    return (
        f"Workers refuse {sanitize_text(', '.join(origins[:_MAX_ORIGINS_SHOWN]))}{more}, unless their "
        "guard.allow_networks and guard.ports allow private addresses and other ports."
    )
