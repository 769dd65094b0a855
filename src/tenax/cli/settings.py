"""Flags, variables and a file become one config that knows where each value came from."""

from __future__ import annotations

import argparse
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import extras
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import LoadedConfig, Setting, SettingValue

CONFIG_FILE = "tenax.toml"

# Which setting each flag turns. Values stay text: `tenax.config` reads and checks them, wherever they come from.
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
    """How the flag of a key of `FLAGS` is typed."""
    return _SPELLINGS.get(name) or f"--{name.replace('_', '-')}"


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags every verb that reads a config has."""
    group = parser.add_argument_group("configuration")
    group.add_argument("--config", metavar="FILE", help=f"TOML file; {CONFIG_FILE} in this directory when there is one")
    group.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="set any setting; `tenax config` lists them",
    )


def add_log_arguments(parser: argparse._ActionsContainer) -> None:
    """The flags of a verb whose log people read."""
    parser.add_argument("--log-format", metavar="auto|text|json", help="how log lines look (default: auto)")
    parser.add_argument("--log-level", metavar="debug|info|warning|error", help="least important message shown")


def add_monitoring_arguments(parser: argparse._ActionsContainer) -> None:
    """The flags of a verb that runs for long, and is watched by people and by Prometheus."""
    parser.add_argument("--metrics-port", metavar="P", help="serve Prometheus metrics on this port of 127.0.0.1")
    add_log_arguments(parser)


def load(
    args: argparse.Namespace,
    *,
    default_overrides: dict[str, SettingValue] | None = None,
    flags: dict[str, SettingValue] | None = None,
) -> LoadedConfig:
    """The config of this command: defaults, `default_overrides`, file, environment, single sites, flags; the later wins.

    `flags` are taken instead of those that were typed. Extras that they need are installed, in a clone.
    """
    from tenax import config

    file = Path(args.config) if args.config else Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None
    loaded = config.load_config(file, os.environ, flag_settings(args) if flags is None else flags, default_overrides)
    # Here, because every verb loads its settings before it does anything else.
    extras.install_extras(extras.required_extras(args, loaded), args.argv)
    return loaded


def flag_settings(args: argparse.Namespace) -> dict[str, SettingValue]:
    """What the flags of this command set, by setting; a named flag is stronger than `--set`."""
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
