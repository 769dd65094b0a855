"""`tenax database`: make the tables of a crawl, bring them up to date, and look whether they hold together."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Location

NAME = "db"
DESCRIPTION = "Look after the database: make its tables, bring them to this version, or check that they hold together."
EXAMPLES = """\
  tenax database init --database postgresql://tenax@db.example/tenax
  tenax database migrate                 after an upgrade, with all workers stopped
  tenax database check                   reads everything; says what is wrong
  tenax database rebuild-visited         after Redis was emptied, or an older database was put back
"""
PROGRESS_INTERVAL_SECONDS = 2.0
ACTIONS = ("init", "migrate", "check", "rebuild-visited")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="|".join(ACTIONS),
        help="make the tables; bring older ones to this version; look for contradictions; fill the filter of known "
        "URLs in Redis from the database",
    )
    location.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.tables import print_lines

    if args.action in ("init", "migrate") and not settings.load(args).config.database.url:
        raise UsageError(
            "the tables of a crawl in a directory make themselves; for a server give --database postgresql://…"
        )
    where, config = location.resolve_crawl(args)
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
        return [f"The tables in {location.name} are of version {after} already."], 0
    if not before:
        return [f"Made the tables in {location.name}, version {after}."], 0
    return [f"The tables in {location.name} went from version {before} to {after}."], 0


async def _check_database(location: Location, config: Config) -> tuple[list[str], int]:
    from tenax.crawl.wiring import open_database

    database = await open_database(location, read_only=True, config=config)
    try:
        wrong = await database.find_problems()
    finally:
        await database.close()
    if not wrong:
        return [f"Nothing is wrong in {location.name}."], 0
    return [f"Wrong in {location.name}:", *(f"  {line}" for line in wrong)], 5


async def _rebuild_visited_filter(location: Location, config: Config) -> tuple[list[str], int]:
    from tenax.cli.views.format_values import pluralize
    from tenax.crawl.wiring import rebuild_visited_filter

    if not location.server or not config.redis.url:
        raise UsageError(
            "the filter of known URLs stands in Redis, before a database on a server: give --database postgresql://… and "
            "--set redis.url=redis://…"
        )
    progress = _Progress()
    gone, there = await rebuild_visited_filter(location, config, progress.on_progress)
    lines = [f"Took {pluralize(gone, 'URL')} out of the filter and put {pluralize(there, 'URL')} in."]
    if not config.database.visited_filter:
        lines.append("No worker asks it: `database.visited_filter` is off.")
    return lines, 0


class _Progress:
    """How far a long job is, every few seconds."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + PROGRESS_INTERVAL_SECONDS

    def on_progress(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_INTERVAL_SECONDS
            print(f"{done:,} of {total:,} URLs", file=sys.stderr, flush=True)
