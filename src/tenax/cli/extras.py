"""The extras that a command needs, and their installation in a clone of the repository.

`scripts/tenax` sets PROVIDED_BY to its own path. If a library is missing, this process first executes that script
again. The script installs the extra from the lock files and runs the same command. With a wheel or the image, the error
of the missing library says what to install.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenax.config import LoadedConfig

LIBRARIES = {
    "browser": "playwright",
    "curl": "curl_cffi",
    "dns": "pycares",
    "graph": "igraph",
    "kafka": "confluent_kafka",
    "postgres": "asyncpg",
    "redis": "redis",
    "schedule": "yaml",
}
"""The library of each extra in pyproject.toml."""

_VERBS_WITHOUT_EXTRAS = frozenset({"config", "demo"})
"""Verbs that use no server and no extra, whatever the settings are."""
_SERVICE_EXTRAS = {"page-fetcher": ("redis", "kafka"), "schedule": ("redis", "schedule")}
_CRAWL_VERBS = frozenset({"crawl", "worker"})
_FETCH_VERBS = _CRAWL_VERBS | {"page-fetcher", "fetch", "read", "sitemap", "feed"}
_PIP_COMMAND = re.compile(r"""pip install (["'])tenax\[([a-z,]+)\]\1""")


def required_extras(args: argparse.Namespace, loaded: LoadedConfig) -> tuple[str, ...]:
    """The extras that this command needs, by its verb, flags and settings.

    The default fallback transports are optional. They are needed only if `fetch.fallbacks` was set.
    """
    verb = args.verb
    if verb in _VERBS_WITHOUT_EXTRAS:
        return ()
    config, found = loaded.config, list(_SERVICE_EXTRAS.get(verb, ()))
    if verb not in _SERVICE_EXTRAS:
        # --dir selects a local crawl, except for `crawl`, which may write files there with a server's database.
        if config.database.url and (verb == "crawl" or getattr(args, "dir", None) is None):
            found.append("postgres")
        if config.redis.url:
            found.append("redis")
    if verb in _CRAWL_VERBS:
        found += ["kafka"] * bool(config.events.kafka) + ["redis"] * bool(config.events.redis)
    if verb in _FETCH_VERBS:
        found += ["dns"] * bool(config.guard.nameservers)
        found += config.fetch.fallbacks if loaded.sources["fetch.fallbacks"] != "default" else ()
    found += [name for name in ("browser", "curl") if getattr(args, name, False)]
    if getattr(args, "by", None) == "pagerank":
        found.append("graph")
    return tuple(dict.fromkeys(found))


def install_extras(extras: Iterable[str], argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> None:
    """In a clone, install missing extras and restart the command; then this function does not return. Elsewhere do
    nothing."""
    script = environment.get("PROVIDED_BY")
    tried = environment.get("EXTRAS_TRIED", "").split()
    missing = [extra for extra in extras if script and extra not in tried and find_spec(LIBRARIES[extra]) is None]
    if script and missing:
        sys.stdout.flush()
        os.execve(script, [script, *argv], {**environment, "WITH_EXTRAS": " ".join(missing)})


def adapt_install_hint(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Replace a pip command in a message by what works in the image."""
    if environment.get("INSTALLED_AS") != "image":
        return text
    return _PIP_COMMAND.sub(r"build the image with the argument EXTRAS=\2, see deploy/Dockerfile", text)


def browser_advice(number: int, environment: Mapping[str, str] = os.environ) -> str:
    """What to do about URLs that need a browser, where Tenax runs now."""
    need = "1 URL needs a browser" if number == 1 else f"{number:,} URLs need a browser"
    if environment.get("PROVIDED_BY"):
        return (
            f"{need}: install Chromium, and give the next run `--set fetch.fallbacks=curl,browser`; it installs the "
            "rest and visits them"
        )
    if environment.get("INSTALLED_AS") == "image":
        return f"{need}: this image has none; run Tenax from a clone or with pip, where Chromium is installed"
    return (
        f"{need}: install one (`pip install 'tenax[browser]'`, and Chromium) and keep `browser` in `fetch.fallbacks`; "
        "the next run visits them"
    )
