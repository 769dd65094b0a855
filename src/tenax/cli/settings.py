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
    from tenax.config import Knob, Loaded, Setting

FILE = "tenax.toml"

# Which knob each flag turns. Values stay text: `tenax.config` reads and checks them, wherever they come from.
FLAGS = {
    "scope": "crawl.scope",
    "max_pages": "crawl.max_pages",
    "max_depth": "crawl.max_depth",
    "include": "crawl.include",
    "exclude": "crawl.exclude",
    "discover": "discovery.sources",
    "keep_fresh": "freshness.keep",
    "concurrency": "crawl.concurrency",
    "rate": "politeness.rate_per_second",
    "per_host": "politeness.connections_per_host",
    "proxy": "proxy.urls",
    "ledger": "ledger.url",
    "hosts": "hosts.url",
    "metrics_port": "metrics.port",
    "redis": "page_fetcher.redis_url",
    "kafka": "page_fetcher.kafka_bootstrap_servers",
    "log_format": "log.format",
    "log_level": "log.level",
}


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags every verb that reads a config has."""
    group = parser.add_argument_group("configuration")
    group.add_argument("--config", metavar="FILE", help=f"TOML file; {FILE} in this directory when there is one")
    group.add_argument(
        "--set",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="set any knob; `tenax config` lists them",
    )


def add_log_arguments(parser: argparse._ActionsContainer) -> None:
    """The flags of a verb whose log people read."""
    parser.add_argument("--log-format", metavar="auto|text|json", help="how log lines look (default: auto)")
    parser.add_argument("--log-level", metavar="debug|info|warning|error", help="least important message shown")


def add_watching_arguments(parser: argparse._ActionsContainer) -> None:
    """The flags of a verb that runs for long, and is watched by people and by Prometheus."""
    parser.add_argument("--metrics-port", metavar="P", help="serve Prometheus metrics on this port of 127.0.0.1")
    add_log_arguments(parser)


def load(
    args: argparse.Namespace, *, beneath: dict[str, Setting] | None = None, flags: dict[str, Setting] | None = None
) -> Loaded:
    """The config of this command: defaults, `beneath`, file, environment, single sites, flags; the later wins.

    `flags` are taken instead of those that were typed. Extras that they need are installed, in a clone.
    """
    from tenax import config

    file = Path(args.config) if args.config else Path(FILE) if Path(FILE).is_file() else None
    loaded = config.load(file, os.environ, flags_of(args) if flags is None else flags, beneath)
    # Here, because every verb loads its settings before it does anything else.
    extras.provide(extras.needed(args, loaded), args.argv)
    return loaded


def flags_of(args: argparse.Namespace) -> dict[str, Setting]:
    """What the flags of this command set, by knob; a named flag is stronger than `--set`."""
    from tenax.config import Setting, knobs

    known = {knob.key: knob for knob in knobs()}
    settings = dict(_assigned(text, known) for text in args.set)
    for name, key in FLAGS.items():
        value = getattr(args, name, None)
        if value is not None:
            if isinstance(value, str) and known[key].takes_a_list:
                value = [part.strip() for part in value.split(",") if part.strip()]
            settings[key] = Setting(tuple(value) if isinstance(value, list) else value, f"--{name.replace('_', '-')}")
    return settings


def _assigned(text: str, known: dict[str, Knob]) -> tuple[str, Setting]:
    from tenax.config import Setting

    key, sign, value = text.partition("=")
    key = key.strip()
    if not sign:
        raise UsageError(f"--set {text}: write it as SECTION.KEY=VALUE, such as crawl.max_depth=3")
    if key not in known:
        close = difflib.get_close_matches(key, known, n=1)
        advice = f"did you mean `{close[0]}`?" if close else "`tenax config` lists them all"
        raise UsageError(f"--set: unknown key `{key}`; {advice}")
    if known[key].takes_a_list:
        return key, Setting(tuple(part.strip() for part in value.split(",") if part.strip()), f"--set {key}")
    return key, Setting(value.strip(), f"--set {key}")
