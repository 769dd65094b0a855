"""`tenax ledger`: make the tables of a crawl, bring them up to date, and look whether they hold together."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Place

NAME = "ledger"
SENTENCE = "Look after the ledger: make its tables, bring them to this version, or check that they hold together."
EXAMPLES = """\
  tenax ledger init --ledger postgresql://tenax@db.example/tenax
  tenax ledger migrate                 after an upgrade, with all workers stopped
  tenax ledger check                   reads everything; says what is wrong
  tenax ledger rebuild-visited         after Redis was emptied, or an older ledger was put back
"""
PROGRESS_SECONDS = 2.0
ACTIONS = ("init", "migrate", "check", "rebuild-visited")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        metavar="|".join(ACTIONS),
        help="make the tables; bring older ones to this version; look for contradictions; fill the filter of known "
        "URLs in Redis from the ledger",
    )
    location.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.tables import show

    if args.action in ("init", "migrate") and not settings.load(args).config.ledger.url:
        raise UsageError(
            "the tables of a crawl in a directory make themselves; for a server give --ledger postgresql://…"
        )
    where, config = location.of_args(args)
    work = {"init": _migrated, "migrate": _migrated, "check": _checked, "rebuild-visited": _rebuilt}[args.action]
    lines, code = asyncio.run(work(where, config))
    show(lines)
    return code


async def _migrated(where: Place, config: Config) -> tuple[list[str], int]:
    from tenax.crawl.wiring import migrate_ledger

    before, after = await migrate_ledger(where)
    if before == after:
        return [f"The tables in {where.name} are of version {after} already."], 0
    if not before:
        return [f"Made the tables in {where.name}, version {after}."], 0
    return [f"The tables in {where.name} went from version {before} to {after}."], 0


async def _checked(where: Place, config: Config) -> tuple[list[str], int]:
    from tenax.crawl.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        wrong = await ledger.problems()
    finally:
        await ledger.close()
    if not wrong:
        return [f"Nothing is wrong in {where.name}."], 0
    return [f"Wrong in {where.name}:", *(f"  {line}" for line in wrong)], 5


async def _rebuilt(where: Place, config: Config) -> tuple[list[str], int]:
    from tenax.cli.views.format_values import several
    from tenax.crawl.wiring import rebuild_visited

    if not where.server or not config.hosts.url:
        raise UsageError(
            "the filter of known URLs stands in Redis, before a ledger on a server: give --ledger postgresql://… and "
            "--set hosts.url=redis://…"
        )
    progress = _Progress()
    gone, there = await rebuild_visited(where, config, progress.told)
    lines = [f"Took {several(gone, 'URL')} out of the filter and put {several(there, 'URL')} in."]
    if not config.ledger.visited_filter:
        lines.append("No worker asks it: `ledger.visited_filter` is off.")
    return lines, 0


class _Progress:
    """How far a long job is, every few seconds."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + PROGRESS_SECONDS

    def told(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_SECONDS
            print(f"{done:,} of {total:,} URLs", file=sys.stderr, flush=True)
