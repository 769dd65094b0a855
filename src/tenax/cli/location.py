"""Resolves the flags and the current directory to the location of a crawl."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.crawl import DATABASE_FILE
from tenax.errors import DatabaseNotFound, UsageError

if TYPE_CHECKING:
    from tenax.config import Config, LoadedConfig
    from tenax.crawl.location import Location
    from tenax.database import Database

_MAX_SHOWN = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of a verb that reads a crawl."""
    parser.add_argument("-C", "--dir", metavar="DIR", help="directory of the crawl (default: the only crawl here)")
    add_database_argument(parser)
    settings.add_config_arguments(parser)


def add_database_argument(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--database", metavar="URL", help="database on a server: postgresql://user:password@host/database"
    )


def resolve_crawl(args: argparse.Namespace, url: str | None = None) -> tuple[Location, Config]:
    """The location of the crawl and the config; `url`, if any, helps to find its directory."""
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
    """Open for writing without creating: raises `DatabaseNotFound` if there is none."""
    from tenax.crawl.wiring import open_database

    await (await open_database(location, read_only=True, config=config)).close()
    return await open_database(location, read_only=False, config=config)


def find_crawl_directory(out: str | None, url: str | None = None, base_directory: Path | None = None) -> Path:
    """`out` if given, else this directory, the directory for `url`, or the only crawl below."""
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
            f"there is no crawl in {base_directory.resolve()}; name its directory with --dir, or start one with "
            "`tenax crawl URL`"
        )
    names = ", ".join(path.name for path in found[:_MAX_SHOWN]) + (", …" if len(found) > _MAX_SHOWN else "")
    raise UsageError(f"there are {len(found)} crawls here; choose one with --dir: {names}")


def has_crawl(directory: Path) -> bool:
    return (directory / DATABASE_FILE).exists()


def seed_directory(text: str) -> Path:
    """The default directory for this seed: `tenax-example.org`. Raises `UsageError` if it is not a URL."""
    from tenax.crawl.api import default_directory
    from tenax.urls.normalize import NormalizeOptions
    from tenax.urls.scope import parse_seed

    return default_directory(parse_seed(text, NormalizeOptions()).url)
