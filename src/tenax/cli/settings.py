"""Loads the config of a command from flags, environment and file, and finds the crawl that the command is about."""

from __future__ import annotations

import argparse
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import extras
from tenax.crawl import DATABASE_FILE
from tenax.errors import DatabaseNotFound, UsageError

if TYPE_CHECKING:
    from tenax.config import Config, LoadedConfig, Setting, SettingValue
    from tenax.crawl.location import Location
    from tenax.database import Database


CONFIG_FILE = "tenax.toml"

# The setting of each flag. Values stay text: `tenax.config` parses and checks them.
FLAGS = {
    "scope": "crawl.scope",
    "max_pages": "crawl.max_pages",
    "max_depth": "crawl.max_depth",
    "include": "crawl.include",
    "exclude": "crawl.exclude",
    "discover": "discovery.sources",
    "continuous": "recrawl.continuous",
    "concurrency": "crawl.concurrency",
    "rate": "politeness.rate_per_second",
    "per_host": "politeness.connections_per_host",
    "proxy": "proxy.urls",
    "database": "database.url",
    "redis": "redis.url",
    "metrics_port": "metrics.port",
    "queue_redis": "page_fetcher.redis_url",
    "kafka": "page_fetcher.kafka_bootstrap_servers",
    "log_format": "log.format",
    "log_level": "log.level",
}

_SPELLINGS = {"queue_redis": "--redis"}


def flag_spelling(name: str) -> str:
    """The flag for a key of `FLAGS`, such as `--max-pages`."""
    return _SPELLINGS.get(name) or f"--{name.replace('_', '-')}"


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of every verb that loads a config."""
    group = parser.add_argument_group("configuration")
    group.add_argument(
        "--config", metavar="FILE", help=f"TOML file (default: {CONFIG_FILE} in this directory, if it exists)"
    )
    group.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="override any setting; `tenax config` lists them; may be repeated",
    )


def add_log_arguments(parser: argparse._ActionsContainer) -> None:
    """Flags for the log."""
    parser.add_argument("--log-format", metavar="auto|text|json", help="format of log lines (default: auto)")
    parser.add_argument("--log-level", metavar="debug|info|warning|error", help="lowest level shown (default: info)")


def add_monitoring_arguments(parser: argparse._ActionsContainer) -> None:
    """Flags of a long-running verb: metrics and log."""
    parser.add_argument("--metrics-port", metavar="P", help="serve Prometheus metrics on 127.0.0.1:P")
    add_log_arguments(parser)


def load(
    args: argparse.Namespace,
    *,
    default_overrides: dict[str, SettingValue] | None = None,
    flags: dict[str, SettingValue] | None = None,
) -> LoadedConfig:
    """The config of this command.

    Its sources are defaults, `default_overrides`, file, environment, site tables and flags; the last one wins. `flags`
    replace those that were typed. In a clone, missing extras are installed.
    """
    from tenax import config

    file = Path(args.config) if args.config else Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None
    loaded = config.load_config(file, os.environ, flag_settings(args) if flags is None else flags, default_overrides)
    # Extras are installed here, because every verb loads its settings first.
    extras.install_extras(extras.required_extras(args, loaded), args.argv)
    return loaded


def flag_settings(args: argparse.Namespace) -> dict[str, SettingValue]:
    """The settings that the flags of this command set. A named flag overrides `--set`."""
    from tenax.config import SettingValue, all_settings

    known = {setting.key: setting for setting in all_settings()}
    settings = dict(_parse_assignment(text, known) for text in args.set)
    for name, key in FLAGS.items():
        value = getattr(args, name, None)
        if value is not None:
            if isinstance(value, str) and known[key].is_list:
                value = [part.strip() for part in value.split(",") if part.strip()]
            settings[key] = SettingValue(tuple(value) if isinstance(value, list) else value, flag_spelling(name))
    return settings


def _parse_assignment(text: str, known: dict[str, Setting]) -> tuple[str, SettingValue]:
    from tenax.config import SettingValue

    key, sign, value = text.partition("=")
    key = key.strip()
    if not sign:
        raise UsageError(f"--set {text}: write it as SECTION.KEY=VALUE, such as crawl.max_depth=3")
    if key not in known:
        close = difflib.get_close_matches(key, known, n=1)
        advice = f"did you mean `{close[0]}`?" if close else "`tenax config` lists them all"
        raise UsageError(f"--set: unknown key `{key}`; {advice}")
    if known[key].is_list:
        return key, SettingValue(tuple(part.strip() for part in value.split(",") if part.strip()), f"--set {key}")
    return key, SettingValue(value.strip(), f"--set {key}")


_MAX_SHOWN = 8


def add_crawl_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of a verb that reads a crawl."""
    parser.add_argument("-C", "--dir", metavar="DIR", help="directory of the crawl (default: the only crawl here)")
    add_database_argument(parser)
    add_config_arguments(parser)


def add_database_argument(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--database", metavar="URL", help="database on a server: postgresql://user:password@host/database"
    )


def resolve_crawl(args: argparse.Namespace, url: str | None = None) -> tuple[Location, Config]:
    """The location of the crawl, and the config. `url`, if given, helps to find the directory."""
    from tenax.crawl.location import Location

    if args.dir is not None and args.database is not None:
        raise UsageError("a crawl is in a directory or on a server; give --dir or --database, not both")
    loaded = load(args)
    if loaded.config.database.url and args.dir is None:
        return server_location(loaded), loaded.config
    return Location(find_crawl_directory(args.dir, url)), loaded.config


def server_location(loaded: LoadedConfig, out: Path | None = None) -> Location:
    from tenax.crawl.location import crawl_location

    return crawl_location(loaded.config, out, is_named=loaded.sources["database.url"].startswith("--"))


async def open_existing_database(location: Location, config: Config) -> Database:
    """Open for writing, without creating. Raises `DatabaseNotFound` if there is no database."""
    from tenax.crawl.wiring import open_database

    await (await open_database(location, read_only=True, config=config)).close()
    return await open_database(location, read_only=False, config=config)


def find_crawl_directory(out: str | None, url: str | None = None, base_directory: Path | None = None) -> Path:
    """The directory of the crawl: `out` if given, else this directory, the directory for `url`, or the only crawl
    below."""
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
    """The default directory for this seed, such as `tenax-example.org`. Raises `UsageError` if it is not a URL."""
    from tenax.crawl.api import default_directory
    from tenax.urls.normalize import NormalizeOptions
    from tenax.urls.scope import parse_seed

    return default_directory(parse_seed(text, NormalizeOptions()).url)
