"""`tenax recover`: release the tasks of dead workers at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Location

NAME = "recover"
DESCRIPTION = (
    "Release the tasks of dead workers. Running workers do this every minute; a worker is dead when it sent no "
    "heartbeat for database.dead_after_seconds."
)
EXAMPLES = """\
  tenax recover --database postgresql://tenax@db.example/tenax
  tenax recover --set database.schema=news
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings.add_crawl_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.output import print_lines

    print_lines([asyncio.run(_recover_workers(*settings.resolve_crawl(args)))])
    return 0


async def _recover_workers(where: Location, config: Config) -> str:
    from tenax.cli.views.format_values import pluralize

    database = await settings.open_existing_database(where, config)
    try:
        count = await database.recover()
    finally:
        await database.close()
    if not count:
        return "No dead workers found."
    return f"{pluralize(count, 'dead worker')} found; their tasks were released."
