"""A whole crawl of local sites: in this process, or as the program that its users run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tenax
from tenax.clock import Clock
from tenax.config import Config, SettingValue, load_config
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import Database, PageFilter, Status, UrlHistory
from tenax.errors import NoSeedReachable
from tenax.model import Ending, HostRecord, Page, Value
from tests.e2e.fork_server import Running
from tests.e2e.program import start

Settings = Mapping[str, Any]
"""Settings by `section.name`; the same for both kinds of crawl."""

LOCAL: Settings = {
    "guard.allow_networks": ("127.0.0.0/8",),
    "politeness.rate_per_second": 0.0,
    "politeness.per_ip_rate_factor": 0.0,
    "politeness.share_rate_limit": False,
    "crawl.max_idle_seconds": 2.0,
    "discovery.sources": ("links",),
    "fetch.fallbacks": (),
    "resilience.network_probes": (),
    "pool.processes": 0,
    "database.group_seconds": 0.0,
}
"""As fast as it goes, with no regard for other crawls of this machine, and asking for nothing that is not linked: what
a site is asked can be counted. A test says what it wants otherwise."""


class Crawled(Value, frozen=True):
    """A crawl that came to its end, and what it left behind."""

    out: Path
    ending: Ending | None
    """None when no seed answered at all."""
    pages: dict[str, Page]
    """By URL."""
    dead_letters: dict[str, str]
    """Dead letters: the cause by URL."""
    status: Status

    async def history(self, url: str) -> UrlHistory:
        async with database_in(self.out) as database:
            found = await database.url_history(url)
        assert found is not None, f"{url} is not known to the crawl"
        return found

    async def host(self, origin: str) -> HostRecord:
        async with database_in(self.out) as database:
            found = await database.host(origin)
        assert found is not None, f"{origin} is not known to the crawl"
        return found


@asynccontextmanager
async def database_in(out: Path, clock: Clock | None = None) -> AsyncIterator[Database]:
    """The database of a crawl, to look at."""
    database = await open_database(Location(out), read_only=True, clock=clock)
    try:
        yield database
    finally:
        await database.close()


def settings_for(seeds: Sequence[str], settings: Settings, ports: Sequence[int] = ()) -> Settings:
    """These settings on top of `LOCAL`; the ports of the seeds and those given besides are open to everyone."""
    open_ports = tuple(sorted({80, 443, *ports, *(port for seed in seeds if (port := urlsplit(seed).port))}))
    return {**LOCAL, "guard.ports": open_ports, **settings}


def config_for(seeds: Sequence[str], settings: Settings | None = None, ports: Sequence[int] = ()) -> Config:
    wanted = settings_for(seeds, settings or {}, ports)
    return load_config(
        flags={key: SettingValue(value, "the test", is_typed=True) for key, value in wanted.items()}
    ).config


async def crawl(
    seeds: Sequence[str],
    out: Path,
    settings: Settings | None = None,
    *,
    ports: Sequence[int] = (),
    clock: Clock | None = None,
) -> Crawled:
    """Crawl to an end in this process. A crawl that is in `directory` already goes on."""
    config = config_for(seeds, settings, ports)
    async with tenax.Crawl(seeds, config, directory=out, clock=clock) as running:
        try:
            ending = await running.run()
        except NoSeedReachable:
            ending = None
    return await crawled(out, ending, clock)


async def crawled(out: Path, ending: Ending | None = None, clock: Clock | None = None) -> Crawled:
    """What is in the directory of a crawl that does not run."""
    async with database_in(out, clock) as database:
        return Crawled(
            out,
            ending,
            {page.url: page async for page in database.pages(PageFilter())},
            {dead_letter.url: dead_letter.cause async for dead_letter in database.dead_letters()},
            await database.status(),
        )


def start_crawl(
    seeds: Sequence[str], out: Path, settings: Settings | None = None, *, ports: Sequence[int] = ()
) -> Running:
    """The same as a process of its own; see `tests.e2e.program` for how to wait for its end, or end it."""
    flags = [f"{key}={_typed(value)}" for key, value in settings_for(seeds, settings or {}, ports).items()]
    return start("crawl", *seeds, *(word for flag in flags for word in ("--set", flag)), "--dir", out)


def _typed(value: object) -> str:
    """As a person types it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
