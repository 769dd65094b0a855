"""Which crawl is meant: the one to read when none is named, and the one to write when none is given."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.crawl.files import DATABASE_FILE
from tenax.errors import DatabaseNotFound, UsageError

if TYPE_CHECKING:
    from tenax.config import Config, LoadedConfig
    from tenax.crawl.location import Location
    from tenax.database import Database

_MAX_SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of a verb that reads a crawl."""
    parser.add_argument("-C", "--dir", metavar="DIR", help="directory of the crawl; found when there is one")
    add_database_argument(parser)
    settings.add_config_arguments(parser)


def add_database_argument(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--database", metavar="URL", help="a crawl on a server: postgresql://user:password@host/database"
    )


def resolve_crawl(args: argparse.Namespace, url: str | None = None) -> tuple[Location, Config]:
    """The crawl a person means, and the config of the command; `url` is what they ask about, if anything."""
    from tenax.crawl.location import Location

    if args.dir is not None and args.database is not None:
        raise UsageError("a crawl is in a directory or on a server; give --dir or --database, not both")
    loaded = settings.load(args)
    if loaded.config.database.url and args.dir is None:
        return server_location(loaded), loaded.config
    return Location(find_crawl_directory(args.dir, url)), loaded.config


def server_location(loaded: LoadedConfig, out: Path | None = None) -> Location:
    from tenax.crawl.location import crawl_location

    return crawl_location(loaded.config, out, is_named=loaded.sources["database.url"].startswith("--"))


async def open_existing_database(location: Location, config: Config) -> Database:
    """The database of a crawl that is there; opened to write at once, it would be made. Raises `DatabaseNotFound`."""
    from tenax.crawl.wiring import open_database

    await (await open_database(location, read_only=True, config=config)).close()
    return await open_database(location, read_only=False, config=config)


def find_crawl_directory(out: str | None, url: str | None = None, base_directory: Path | None = None) -> Path:
    """The directory of the crawl a person means; `url` is what they ask about, if anything."""
    if out is not None:
        return Path(out)
    base_directory = base_directory or Path()
    if has_crawl(base_directory):
        return base_directory
    if url is not None and has_crawl(base_directory / seed_directory(url)):
        return base_directory / seed_directory(url)
    found = sorted(path.parent for path in base_directory.glob(f"*/{DATABASE_FILE}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise DatabaseNotFound(
            f"there is no crawl in {base_directory.resolve()}; name its directory with --dir, or start one with `tenax crawl URL`"
        )
    names = ", ".join(path.name for path in found[:_MAX_SHOWN]) + (", …" if len(found) > _MAX_SHOWN else "")
    raise UsageError(f"there are {len(found)} crawls here; choose one with --dir: {names}")


def has_crawl(directory: Path) -> bool:
    return (directory / DATABASE_FILE).exists()


def seed_directory(text: str) -> Path:
    """Where a crawl of this seed is kept when nothing is said: `tenax-example.org`. Raises `UsageError` if no URL."""
    from tenax.crawl.library import default_directory
    from tenax.urls.normalize import NormalizeOptions
    from tenax.urls.seeds import parse_seed

    return default_directory(parse_seed(text, NormalizeOptions()).url)
