"""`tenax recover`: what dead workers held is free at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import location

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Place

NAME = "recover"
SENTENCE = (
    "Free what dead workers held. Workers do the same every minute; a worker is dead when it gave no sign of life for "
    "ledger.dead_after_seconds."
)
EXAMPLES = """\
  tenax recover --ledger postgresql://tenax@db.example/tenax
  tenax recover --set ledger.schema=news
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    location.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.tables import show

    show([asyncio.run(_recovered(*location.of_args(args)))])
    return 0


async def _recovered(where: Place, config: Config) -> str:
    from tenax.cli.views.format_values import several

    ledger = await location.open_to_write(where, config)
    try:
        count = await ledger.recover()
    finally:
        await ledger.close()
    if not count:
        return "Nobody is dead: all workers gave a sign of life in time."
    return f"{several(count, 'dead worker')} found; what they held is free."
