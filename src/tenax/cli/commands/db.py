"""`tenax db`: create, migrate and check the tables of a crawl."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Location

NAME = "db"
DESCRIPTION = "Create, migrate or check the database of a crawl."
EXAMPLES = """\
  tenax db init --database postgresql://tenax@db.example/tenax
  tenax db migrate                 after an upgrade, with all workers stopped
  tenax db check                   reads everything and lists problems
  tenax db rebuild-visited         after Redis was emptied or the database was restored
"""
PROGRESS_INTERVAL_SECONDS = 2.0
ACTIONS = ("init", "migrate", "check", "rebuild-visited")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="|".join(ACTIONS),
        help="create the tables; migrate them to this version; check them for inconsistencies; rebuild the filter of "
        "known URLs in Redis",
    )
    settings.add_crawl_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.output import print_lines

    if args.action in ("init", "migrate") and not settings.load(args).config.database.url:
        raise UsageError(
            "the tables of a crawl in a directory are created automatically; for a server give --database postgresql://…"
        )
    where, config = settings.resolve_crawl(args)
    work = {
        "init": _migrate_tables,
        "migrate": _migrate_tables,
        "check": _check_database,
        "rebuild-visited": _rebuild_visited_filter,
    }[args.action]
    lines, code = asyncio.run(work(where, config))
    print_lines(lines)
    return code


async def _migrate_tables(location: Location, config: Config) -> tuple[list[str], int]:
    from tenax.crawl.wiring import migrate_database

    before, after = await migrate_database(location)
    if before == after:
        return [f"The tables in {location.name} already have version {after}."], 0
    if not before:
        return [f"Created the tables in {location.name}, version {after}."], 0
    return [f"Migrated the tables in {location.name} from version {before} to {after}."], 0


async def _check_database(location: Location, config: Config) -> tuple[list[str], int]:
    from tenax.crawl.wiring import open_database

    database = await open_database(location, read_only=True, config=config)
    try:
        problems = await database.find_problems()
    finally:
        await database.close()
    if not problems:
        return [f"No problems found in {location.name}."], 0
    return [f"Problems in {location.name}:", *(f"  {line}" for line in problems)], 5


async def _rebuild_visited_filter(location: Location, config: Config) -> tuple[list[str], int]:
    from tenax.cli.views.format_values import pluralize
    from tenax.crawl.wiring import rebuild_visited_filter

    if not location.server or not config.redis.url:
        raise UsageError(
            "the filter of known URLs is in Redis and belongs to a database on a server: give "
            "--database postgresql://… and --set redis.url=redis://…"
        )
    progress = _Progress()
    removed, added = await rebuild_visited_filter(location, config, progress.on_progress)
    lines = [f"Removed {pluralize(removed, 'URL')} from the filter, added {pluralize(added, 'URL')}."]
    if not config.database.visited_filter:
        lines.append("Workers do not use it: `database.visited_filter` is off.")
    return lines, 0


class _Progress:
    """Prints the progress of a long job every few seconds."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + PROGRESS_INTERVAL_SECONDS

    def on_progress(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_INTERVAL_SECONDS
            print(f"{done:,} of {total:,} URLs", file=sys.stderr, flush=True)
