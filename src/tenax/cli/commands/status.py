"""`tenax status`: ask a crawl how it stands."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import location
from tenax.cli.parser import add_json, program

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Place
    from tenax.database import Agenda, Ledger, Status

NAME = "status"
SENTENCE = "Show a crawl at a glance. Counts, hosts, what is due when, and if nothing is moving: why."
EXAMPLES = """\
  tenax status
  tenax status --ledger postgresql://tenax@db.example/tenax
  tenax status --schedule --out tenax-example.org
  tenax status --json | jq .waiting
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    location.add_arguments(parser)
    parser.add_argument(
        "--schedule", metavar="N", nargs="?", type=int, const=20, help="what is due when and why, the first N of it"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.json_output import as_json
    from tenax.cli.views.status_view import lines
    from tenax.cli.views.tables import Ink, show

    where, config = location.of_args(args)
    if args.schedule is not None:
        from tenax.cli.views.schedule_view import timetable

        agenda = asyncio.run(_agenda(where, config, args.schedule))
        show([as_json(agenda)] if args.json else timetable(agenda, Ink.on(sys.stdout)))
        return 0
    status, resume = asyncio.run(_asked(where, config))
    if args.json:
        show([as_json(status)])
    else:
        show(lines(status, where.name, resume, Ink.on(sys.stdout)))
    return 0


async def _agenda(where: Place, config: Config, limit: int) -> Agenda:
    from tenax.crawl.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        return await ledger.agenda(max(limit, 0))
    finally:
        await ledger.close()


async def _asked(where: Place, config: Config) -> tuple[Status, str]:
    from tenax.crawl.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        return await ledger.status(), await resume_command(ledger, where)
    finally:
        await ledger.close()


async def resume_command(ledger: Ledger, where: Place) -> str:
    """The command that goes on with this crawl from here, or what would do."""
    from tenax.cli import stored_options
    from tenax.crawl.rules import kept_rules
    from tenax.text.escaping import shell_word

    settings = await stored_options.recalled(ledger)
    if settings is not None and not where.server:
        return stored_options.command_to_resume(where, settings)

    command = await ledger.recall("command")
    if command:
        return command.decode()
    if where.server:
        return f"{program()} worker {where.flags}".rstrip()
    rules = await kept_rules(ledger)
    seeds = " ".join(map(shell_word, rules.seeds)) if rules else "URL"
    return f"{program()} crawl {seeds} {where.flags}".rstrip()
