"""Which crawl is meant: the one to read when none is named, and the one to write when none is given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.crawl.files import LEDGER_FILE
from tenax.errors import LedgerMissing, UsageError

if TYPE_CHECKING:
    from tenax.config import Config, Loaded
    from tenax.crawl.location import Place
    from tenax.database import Ledger

_MOST_SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a verb that reads a crawl."""
    parser.add_argument("--out", metavar="DIR", help="directory of the crawl; found when there is one")
    add_ledger(parser)
    settings.add_source_arguments(parser)


def add_ledger(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--ledger", metavar="URL", help="a crawl on a server: postgresql://user:password@host/database")


def of_args(args: argparse.Namespace, url: str | None = None) -> tuple[Place, Config]:
    """The crawl a person means, and the config of the command; `url` is what they ask about, if anything."""
    from tenax.crawl.location import Place

    if args.out is not None and args.ledger is not None:
        raise UsageError("a crawl is in a directory or on a server; give --out or --ledger, not both")
    loaded = settings.load(args)
    if loaded.config.ledger.url and args.out is None:
        return on_server(loaded), loaded.config
    return Place(of_crawl(args.out, url)), loaded.config


def on_server(loaded: Loaded, out: Path | None = None) -> Place:
    from tenax.crawl.location import place_of

    return place_of(loaded.config, out, is_named=loaded.sources["ledger.url"].startswith("--"))


async def open_to_write(where: Place, config: Config) -> Ledger:
    """The ledger of a crawl that is there; opened to write at once, it would be made. Raises `LedgerMissing`."""
    from tenax.crawl.wiring import open_ledger

    await (await open_ledger(where, read_only=True, config=config)).close()
    return await open_ledger(where, read_only=False, config=config)


def of_crawl(out: str | None, url: str | None = None, here: Path | None = None) -> Path:
    """The directory of the crawl a person means; `url` is what they ask about, if anything."""
    if out is not None:
        return Path(out)
    here = here or Path()
    if has_crawl(here):
        return here
    if url is not None and has_crawl(here / of_seed(url)):
        return here / of_seed(url)
    found = sorted(path.parent for path in here.glob(f"*/{LEDGER_FILE}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise LedgerMissing(
            f"there is no crawl in {here.resolve()}; name its directory with --out, or start one with `tenax crawl URL`"
        )
    names = ", ".join(path.name for path in found[:_MOST_SHOWN]) + (", …" if len(found) > _MOST_SHOWN else "")
    raise UsageError(f"there are {len(found)} crawls here; choose one with --out: {names}")


def has_crawl(directory: Path) -> bool:
    return (directory / LEDGER_FILE).exists()


def of_seed(text: str) -> Path:
    """Where a crawl of this seed is kept when nothing is said: `tenax-example.org`. Raises `UsageError` if no URL."""
    from tenax.crawl.library import default_directory
    from tenax.urls.normalize import Spelling
    from tenax.urls.seeds import seed_url

    return default_directory(seed_url(text, Spelling()).url)
