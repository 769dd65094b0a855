"""`tenax status`: ask a crawl how it stands."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import place
from tenax.cli.parser import add_json, add_out, program

if TYPE_CHECKING:
    from tenax.ledger import Ledger, Status

NAME = "status"
SENTENCE = "Show a crawl at a glance. Counts, hosts, what is due when, and if nothing is moving: why."
EXAMPLES = """\
  tenax status
  tenax status --out tenax-example.org
  tenax status --json | jq .waiting
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_out(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.documents import as_json
    from tenax.cli.glance import lines
    from tenax.cli.layout import Ink, show

    out = place.of_crawl(args.out)
    status, resume = asyncio.run(_asked(out))
    if args.json:
        show([as_json(status)])
    else:
        show(lines(status, out, resume, Ink.on(sys.stdout)))
    return 0


async def _asked(out: Path) -> tuple[Status, str]:
    from tenax.wiring import open_ledger

    ledger = await open_ledger(out, read_only=True)
    try:
        return await ledger.status(), await resume_command(ledger, out)
    finally:
        await ledger.close()


async def resume_command(ledger: Ledger, out: Path) -> str:
    """The command that goes on with this crawl: the one it was last started with, or one made from its seeds."""
    from tenax.rulebook import kept_rules

    command = await ledger.recall("command")
    if command:
        return command.decode()
    rules = await kept_rules(ledger)
    return shlex.join([*program().split(), "crawl", *(rules.seeds if rules else ("URL",)), "--out", os.fspath(out)])
