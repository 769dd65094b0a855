"""`tenax status`: the state of a crawl."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json_argument, program_name

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Location
    from tenax.database import DueTasks, Reports, Status

NAME = "status"
DESCRIPTION = "Show the state of a crawl. Prints counts, hosts, what is due next, and the reason when nothing moves."
EXAMPLES = """\
  tenax status
  tenax status --database postgresql://tenax@db.example/tenax
  tenax status --schedule --dir tenax-example.org
  tenax status --json | jq .waiting
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings.add_crawl_arguments(parser)
    parser.add_argument(
        "--schedule",
        metavar="N",
        nargs="?",
        type=int,
        const=20,
        help="show the next N due URLs and why they are due (default: 20)",
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.output import TextStyle, print_lines, to_json
    from tenax.cli.views.summary import format_status

    where, config = settings.resolve_crawl(args)
    if args.schedule is not None:
        from tenax.cli.views.summary import format_schedule

        due_tasks = asyncio.run(_load_due_tasks(where, config, args.schedule))
        print_lines([to_json(due_tasks)] if args.json else format_schedule(due_tasks, TextStyle.for_stream(sys.stdout)))
        return 0
    status, resume = asyncio.run(_load_status(where, config))
    if args.json:
        print_lines([to_json(status)])
    else:
        style = TextStyle.for_stream(sys.stdout)
        print_lines(format_status(status, where.name, resume, style, jsonl=config.events.jsonl))
    return 0


async def _load_due_tasks(location: Location, config: Config, limit: int) -> DueTasks:
    from tenax.crawl.wiring import open_database

    database = await open_database(location, read_only=True, config=config)
    try:
        return await database.due_tasks(max(limit, 0))
    finally:
        await database.close()


async def _load_status(location: Location, config: Config) -> tuple[Status, str]:
    from tenax.crawl.wiring import open_database

    database = await open_database(location, read_only=True, config=config)
    try:
        return await database.status(), await resume_command(database, location)
    finally:
        await database.close()


async def resume_command(reports: Reports, location: Location) -> str:
    """The command that resumes this crawl from the current directory."""
    from tenax.cli import options
    from tenax.crawl.rules import load_rules
    from tenax.text.sanitize import quote_shell_word

    settings = await options.load_stored_options(reports)
    if settings is not None and not location.server:
        return options.build_resume_command(location, settings)

    command = await reports.get_meta("command")
    if command:
        return command.decode()
    if location.server:
        return f"{program_name()} worker {location.flags}".rstrip()
    rules = await load_rules(reports)
    seeds = " ".join(map(quote_shell_word, rules.seeds)) if rules else "URL"
    return f"{program_name()} crawl {seeds} {location.flags}".rstrip()
