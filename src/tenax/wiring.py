"""From a config to a running crawl: the only file that names a backend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from tenax.clock import Clock, SteadyClock
from tenax.config import Config
from tenax.engine import Engine
from tenax.events.jsonl import JsonlSink
from tenax.events.relay import Relay
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tenax.fetch.pipeline import Pipeline
from tenax.files import LEDGER_FILE
from tenax.hosts.memory import MemoryHosts
from tenax.hosts.turns import HostTurns
from tenax.ledger import Admission, Ledger
from tenax.ledger.sqlite import SqliteLedger, owned
from tenax.model import Visit
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
        transport: HttpTransport,
        relays: tuple[Relay, ...],
        supervisor: Supervisor,
    ) -> None:
        self.ledger = ledger
        self.hosts = hosts
        self.engine = engine
        self.readers = readers
        self.transport = transport
        self.relays = relays
        self.supervisor = supervisor

    async def close(self) -> None:
        await self.readers.close()
        await self.transport.close()
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
        HostTurns(config.politeness),
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
    hosts = MemoryHosts()
    transport = HttpTransport(config.fetch, Guard(config.guard, clock, allowed_origins), clock)
    pipeline = Pipeline(transport, clock, config.fetch, config.politeness, spelling_of(config.urls))
    readers = readers_of(config.pool)
    rulebook = Rulebook(ledger, rules)
    engine = Engine(
        ledger, hosts, pipeline, readers, rulebook, clock, config.crawl, config.fetch, config.politeness, on_visit
    )  # fmt: skip
    relays = _relays(out, ledger, config)
    supervisor = Supervisor(clock, engine.in_flight, lambda: engine.last_activity)
    app = App(ledger, hosts, engine, readers, transport, relays, supervisor)
    try:
        await asyncio.gather(rulebook.keep(), readers.start(), *(relay.open() for relay in relays))
    except BaseException:
        await app.close()
        raise
    return app


def _relays(out: Path, ledger: Ledger, config: Config) -> tuple[Relay, ...]:
    if not config.events.jsonl:
        return ()
    return (Relay(ledger, JsonlSink(out / config.events.jsonl, config.events.text)),)
