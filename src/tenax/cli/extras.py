"""Which extras a command needs, and how they come: a clone installs them by itself, from its locks.

`scripts/tenax` names itself in PROVIDED_BY. When a library is missing there, this process becomes that script again,
which installs the extra and runs the same command; nothing has been done by then. Whoever installed a wheel, or runs
the image, is told what to do by the error of the part that misses the library.
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
"""What each extra of pyproject.toml is there for."""

_VERBS_WITHOUT_EXTRAS = frozenset({"config", "demo"})
"""Verbs that use no server and no extra, whatever is set."""
_SERVICE_EXTRAS = {"page-fetcher": ("redis", "kafka"), "schedule": ("redis", "schedule")}
_CRAWL_VERBS = frozenset({"crawl", "worker"})
_FETCH_VERBS = _CRAWL_VERBS | {"page-fetcher", "fetch", "read", "sitemap", "feed"}
_PIP_COMMAND = re.compile(r"""pip install (["'])tenax\[([a-z,]+)\]\1""")


def required_extras(args: argparse.Namespace, loaded: LoadedConfig) -> tuple[str, ...]:
    """The extras that this command is about to use, by its verb, its flags and its settings.

    A way to fetch that is only tried when it is installed counts when somebody set it.
    """
    verb = args.verb
    if verb in _VERBS_WITHOUT_EXTRAS:
        return ()
    config, found = loaded.config, list(_SERVICE_EXTRAS.get(verb, ()))
    if verb not in _SERVICE_EXTRAS:
        # Whoever names a directory asks nothing of a server, but for a crawl, which writes files there.
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
    """In a clone, install what is missing and begin anew; elsewhere nothing. Does not return when it begins anew."""
    script = environment.get("PROVIDED_BY")
    tried = environment.get("EXTRAS_TRIED", "").split()
    missing = [extra for extra in extras if script and extra not in tried and find_spec(LIBRARIES[extra]) is None]
    if script and missing:
        sys.stdout.flush()
        os.execve(script, [script, *argv], {**environment, "WITH_EXTRAS": " ".join(missing)})


def adapt_install_hint(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """A message that names a command of pip, with what works where this program runs."""
    if environment.get("INSTALLED_AS") != "image":
        return text
    return _PIP_COMMAND.sub(r"build the image with the argument EXTRAS=\2, see deploy/Dockerfile", text)
