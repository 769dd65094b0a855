"""From a config to a running crawl: the only file that names a backend."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from tenax.clock import Clock, SteadyClock
from tenax.config import Config, Sites
from tenax.engine import Engine
from tenax.events.jsonl import JsonlSink
from tenax.events.relay import Relay
from tenax.fetch import Transport
from tenax.fetch.browser import BrowserTransport, browser_missing
from tenax.fetch.curl import CurlTransport, curl_missing
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.proxies import pools_of
from tenax.fetch.transports import Transports
from tenax.files import LEDGER_FILE
from tenax.hosts import AskedTurns
from tenax.hosts.at_once import AtOnce
from tenax.hosts.machine import open_turns
from tenax.hosts.memory import MemoryHosts, OwnHosts
from tenax.hosts.turns import HostTurns
from tenax.ledger import Admission, Ledger
from tenax.ledger.sqlite import SqliteLedger, owned
from tenax.model import Visit, Way
from tenax.network import Network, NetworkWatch
from tenax.readers import Readers, readers_of
from tenax.rulebook import Rulebook
from tenax.supervisor import Supervisor
from tenax.urls.admit import Rules
from tenax.urls.normalize import spelling_of


class App:
    """The parts of one crawl, put together."""

    def __init__(
        self,
        ledger: Ledger,
        hosts: MemoryHosts,
        engine: Engine,
        readers: Readers,
        transports: Transports,
        relays: tuple[Relay, ...],
        supervisor: Supervisor,
    ) -> None:
        self.ledger = ledger
        self.hosts = hosts
        self.engine = engine
        self.readers = readers
        self.transports = transports
        self.relays = relays
        self.supervisor = supervisor

    async def close(self) -> None:
        await self.readers.close()
        await self.transports.close()
        for relay in self.relays:
            await relay.close()
        await self.ledger.close()


async def open_ledger(
    out: Path, *, read_only: bool, config: Config | None = None, clock: Clock | None = None
) -> Ledger:
    """The ledger of the crawl in this directory."""
    config = config or Config()
    # A pace of zero says "sites of my own, as fast as they go": then nothing else may hold the frontier back.
    is_unhurried = config.politeness.rate_per_second > 0
    return await SqliteLedger.open(
        out / LEDGER_FILE,
        config.ledger,
        clock or SteadyClock(),
        HostTurns(Sites(config)),
        links_per_second=config.crawl.links_per_second_per_source if is_unhurried else 0.0,
        read_only=read_only,
    )


def set_aside(out: Path, config: Config, now: float) -> Path | None:
    """Move an earlier crawl in this directory out of the way; where it went, or None when there was none."""
    names = [LEDGER_FILE, f"{LEDGER_FILE}-wal", f"{LEDGER_FILE}-shm", config.events.jsonl]
    there = [out / name for name in names if name and (out / name).is_file()]
    if not there:
        return None
    with owned(out / LEDGER_FILE):
        aside = out / datetime.fromtimestamp(now, UTC).strftime("previous-%Y%m%d-%H%M%S")
        aside.mkdir(parents=True)
        for file in there:
            file.rename(aside / file.name)
    return aside


async def build(
    out: Path,
    ledger: Ledger,
    rules: Rules,
    config: Config,
    clock: Clock,
    allowed_origins: Iterable[str],
    on_visit: Callable[[Visit, Admission], None],
) -> App:
    """Everything a crawl needs, started and ready to run."""
    hosts, sites = MemoryHosts(), Sites(config)
    transports = transports_of(config, sites, clock, allowed_origins)
    pipeline = Pipeline(transports, clock, sites, spelling_of(config.urls))
    readers = readers_of(config.pool)
    rulebook = Rulebook(ledger, rules)
    watch = NetworkWatch(config.resilience)
    engine = Engine(ledger, OwnHosts(hosts), pipeline, readers, rulebook, clock, config.crawl, sites, watch, on_visit)
    relays = _relays(out, ledger, config)
    supervisor = Supervisor(
        clock,
        engine.in_flight,
        lambda: engine.last_activity,
        config.resilience,
        last_turn=lambda: engine.last_turn,
        network=Network(watch, config.resilience, clock, engine.hold),
        ask_ledger=lambda: ledger.recall("command"),
    )
    app = App(ledger, hosts, engine, readers, transports, relays, supervisor)
    try:
        await asyncio.gather(rulebook.keep(), readers.start(), *(relay.open() for relay in relays))
    except BaseException:
        await app.close()
        raise
    return app


def transports_of(
    config: Config, sites: Sites, clock: Clock, allowed_origins: Iterable[str], turns: AskedTurns | None = None
) -> Transports:
    """Every way of fetching that is wanted and installed; `turns` instead of those shared on this machine.

    Must be called while the event loop runs.
    """
    guard = Guard(config.guard, clock, allowed_origins)
    pools = pools_of(sites, random.random)
    ways: dict[Way, Transport] = {Way.HTTP: HttpTransport(config.fetch, guard, clock, pools)}
    if why_missing(Way.CURL, config) is None:
        ways[Way.CURL] = CurlTransport(config.fetch, guard, clock, pools)
    if why_missing(Way.BROWSER, config) is None:
        ways[Way.BROWSER] = BrowserTransport(config.browser, config.fetch, guard, clock, pools)
    sharing = next((site.politeness for site in sites if site.politeness.share_turns), config.politeness)
    return Transports(ways, guard, turns or AtOnce(open_turns(sharing, clock)), clock)


def why_missing(way: Way, config: Config) -> str | None:
    """What to install before this way can be gone; None when it can."""
    match way:
        case Way.HTTP:
            return None
        case Way.CURL:
            return curl_missing()
        case Way.BROWSER:
            return browser_missing(config.browser.executable)


def _relays(out: Path, ledger: Ledger, config: Config) -> tuple[Relay, ...]:
    if not config.events.jsonl:
        return ()
    return (Relay(ledger, JsonlSink(out / config.events.jsonl, config.events.text)),)
