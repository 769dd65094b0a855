"""From a config to a running crawl: the only file that names a backend.

Backends that need a server are loaded where they are asked for: a crawl that uses none of them starts without them.
"""

from __future__ import annotations

import asyncio
import platform
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tenax.clock import Clock, ShiftedClock, SteadyClock, follow
from tenax.config import Config, Sites
from tenax.config.site_settings import SITE_SETTINGS, encode_site_settings
from tenax.crawl.app import App, Background, Closing
from tenax.crawl.connectivity import Network, NetworkWatch
from tenax.crawl.duplicates import PageLikeness
from tenax.crawl.engine import Engine
from tenax.crawl.files import LEDGER_FILE
from tenax.crawl.location import Place
from tenax.crawl.reader.pool import readers_of
from tenax.crawl.rules import Rulebook
from tenax.crawl.supervisor import Supervisor
from tenax.database import Admission, Ledger
from tenax.database.sqlite import SqliteLedger, owned
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
from tenax.hosts import AskedTurns
from tenax.hosts.limiter.immediate import AtOnce
from tenax.hosts.limiter.machine import open_turns
from tenax.hosts.limiter.pace import HostTurns
from tenax.hosts.limiter.request_interval import RequestInterval
from tenax.hosts.records import MemoryHosts, OwnHosts
from tenax.model import Failed, Unchanged, Visit, Way
from tenax.runtime.open_files import FileLimit
from tenax.urls.admit import Rules
from tenax.urls.normalize import spelling_of

if TYPE_CHECKING:
    from tenax.hosts.redis import Sharing, VisitedUrls


async def clock_of(place: Place, config: Config) -> Clock:
    """The time of this crawl. Those who share a server have clocks that differ: all of them live in the server's time.

    Raises `ConfigError` and `LedgerError` when a server cannot be used as it is named.
    """
    steady = SteadyClock()
    if place.server:
        from tenax.database.postgres import server_offset

        return ShiftedClock(steady, await server_offset(place.server, place.schema, steady))
    if config.hosts.url:
        from tenax.hosts.redis import redis_offset

        return ShiftedClock(steady, await redis_offset(config.hosts.url, steady))
    return steady


async def open_ledger(
    place: Place, *, read_only: bool, config: Config | None = None, clock: Clock | None = None
) -> Ledger:
    """The ledger of the crawl that is kept there."""
    config = config or Config()
    clock = clock or await clock_of(place, config)
    # A pace of zero says "sites of my own, as fast as they go": then nothing else may hold the frontier back.
    is_unhurried = config.politeness.rate_per_second > 0
    links_per_second = config.crawl.links_per_second_per_source if is_unhurried else 0.0
    sites = Sites(config)
    turns, likeness = HostTurns(sites), PageLikeness(sites)
    if place.server:
        from tenax.database.postgres import PostgresLedger

        own = msgspec.structs.replace(config.ledger, schema=place.schema)
        has_filter = own.visited_filter and config.hosts.url and not read_only
        return await PostgresLedger.open(
            place.server,
            own,
            clock,
            turns,
            links_per_second=links_per_second,
            read_only=read_only,
            visited=await _visited(config, clock) if has_filter else None,
            likeness=likeness,
        )
    return await SqliteLedger.open(
        place.directory / LEDGER_FILE,
        config.ledger,
        clock,
        turns,
        links_per_second=links_per_second,
        read_only=read_only,
        likeness=likeness,
    )


async def _visited(config: Config, clock: Clock) -> VisitedUrls:
    from tenax.hosts.redis import VisitedUrls

    return await VisitedUrls.open(config.hosts.url, clock)


async def migrate_ledger(place: Place) -> tuple[int, int]:
    """Make the tables of a crawl on a server, or bring them to this version; from which to which, 0 for none."""
    from tenax.database.postgres import migrate

    return await migrate(place.server, place.schema)


async def rebuild_visited(place: Place, config: Config, told: Callable[[int, int], None]) -> tuple[int, int]:
    """Fill the filter of known URLs anew from the ledger on a server; how many went out of it and how many came in.

    `told` hears how many are in so far, and about how many there will be.
    """
    from tenax.database.postgres import refill

    visited = await _visited(config, SteadyClock())
    try:
        return await refill(place.server, place.schema, visited, told)
    finally:
        await visited.close()


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
    place: Place,
    ledger: Ledger,
    rules: Rules,
    config: Config,
    clock: Clock,
    allowed_origins: Iterable[str],
    on_visit: Callable[[Visit, Admission], None],
    *,
    is_endless: bool = False,
) -> App:
    """Everything a crawl needs, started and ready to run; one that `is_endless` waits for work when it has none."""
    near, sites = MemoryHosts(), Sites(config)
    await ledger.remember(SITE_SETTINGS, encode_site_settings(config))
    sharing = await _sharing(config, ledger, clock, near)
    transports = transports_of(
        config, sites, clock, allowed_origins, sharing.turns if sharing else None, visits=config.crawl.concurrency
    )
    pipeline = Pipeline(transports, clock, sites, spelling_of(config.urls))
    readers = readers_of(config.pool)
    rulebook = Rulebook(ledger, rules, is_shared=bool(place.server))
    watch = NetworkWatch(config.resilience)
    engine = Engine(
        ledger, sharing.hosts if sharing else OwnHosts(near), pipeline, readers, rulebook, clock, config.crawl, sites,
        watch, _counted(on_visit, sharing), is_endless=is_endless,
    )  # fmt: skip
    relays = _relays(place, ledger, config)
    supervisor = Supervisor(
        clock,
        engine.in_flight.values(),
        lambda: engine.last_activity,
        config.resilience,
        last_turn=lambda: engine.last_turn,
        network=Network(watch, config.resilience, clock, engine.hold),
        ask_ledger=lambda: ledger.recall("command"),
        is_ledger_away=lambda: ledger.is_away,
        lost_file=ledger.lost_file,
        stop=engine.stop,
    )
    background = [*_following(clock, ledger, sharing)]
    if sharing:
        background.append(lambda: sharing.run(lambda: next((url for url, _ in engine.in_flight.values()), "")))
    parts: list[Closing] = [readers, transports, *([sharing] if sharing else [])]
    app = App(ledger, near, engine, rulebook, relays, supervisor, background, parts)
    try:
        await asyncio.gather(readers.start(), *(relay.open() for relay in relays))
    except BaseException:
        await app.close()
        raise
    return app


async def _sharing(config: Config, ledger: Ledger, clock: Clock, near: MemoryHosts) -> Sharing | None:
    """What is shared through Redis. Workers of one ledger hear through that who of them does not reach it."""
    if not config.hosts.url:
        return None
    from tenax.database.postgres import PostgresLedger
    from tenax.hosts.redis import Sharing

    if not isinstance(ledger, PostgresLedger):
        return await Sharing.open(config.hosts.url, clock, near)
    sharing = await Sharing.open(config.hosts.url, clock, near, ledger.company)
    ledger.tell_when(lambda: sharing.is_cut_off)
    return sharing


def _following(clock: Clock, ledger: Ledger, sharing: Sharing | None) -> list[Background]:
    """A clock at a server's time is compared with it now and then, whichever `clock_of` has asked."""
    if not isinstance(clock, ShiftedClock):
        return []
    from tenax.database.postgres import PostgresLedger

    server = ledger if isinstance(ledger, PostgresLedger) else sharing
    if server is None:
        return []
    return [lambda: follow(clock, server.ahead_seconds)]


def _counted(
    on_visit: Callable[[Visit, Admission], None], sharing: Sharing | None
) -> Callable[[Visit, Admission], None]:
    """Visits are also counted where all workers are."""
    if sharing is None:
        return on_visit
    presence = sharing.presence

    def visited(visit: Visit, admission: Admission) -> None:
        is_page = visit.page is not None or isinstance(visit.outcome, Unchanged)
        presence.note(
            pages=int(is_page),
            failures=int(isinstance(visit.outcome, Failed)),
            downloaded_bytes=visit.fetch.wire_bytes,
        )
        on_visit(visit, admission)

    return visited


def transports_of(
    config: Config,
    sites: Sites,
    clock: Clock,
    allowed_origins: Iterable[str],
    turns: AskedTurns | None = None,
    *,
    visits: int = 1,
) -> Transports:
    """Every way of fetching that is wanted and installed; `turns` instead of those shared on this machine.

    `visits`: how many may be in flight at the same time, if the system allows that many open files.

    Must be called while the event loop runs.
    """
    files = FileLimit(visits)
    guard = Guard(config.guard, clock, allowed_origins)
    pools = pools_of(sites, random.random)
    ways: dict[Way, Transport] = {Way.HTTP: HttpTransport(config.fetch, guard, clock, pools)}
    if why_missing(Way.CURL, config) is None:
        ways[Way.CURL] = CurlTransport(config.fetch, guard, clock, pools)
    if why_missing(Way.BROWSER, config) is None:
        ways[Way.BROWSER] = BrowserTransport(config.browser, config.fetch, guard, clock, pools)
    sharing = next((site.politeness for site in sites if site.politeness.share_turns), config.politeness)
    interval = RequestInterval(config.crawl.request_interval_seconds)
    if turns is not None:
        return Transports(ways, guard, turns, clock, interval, is_always_shared=True, files=files)
    return Transports(ways, guard, AtOnce(open_turns(sharing, clock)), clock, interval, files=files)


def why_missing(way: Way, config: Config) -> str | None:
    """What to install before this way can be gone; None when it can."""
    match way:
        case Way.HTTP:
            return None
        case Way.CURL:
            return curl_missing()
        case Way.BROWSER:
            return browser_missing(config.browser.executable)


def _relays(place: Place, ledger: Ledger, config: Config) -> tuple[Relay, ...]:
    """Every sink that is wanted; those on servers are the same for all workers that share the ledger."""
    events, relays, is_shared = config.events, [], bool(place.server)
    if events.jsonl and place.out is not None:
        file = place.out / events.jsonl
        # Of the files that machines write from one ledger, each has a cursor of its own.
        name = f"jsonl {platform.node()}:{file.absolute()}" if place.server else "jsonl"
        relays.append(Relay(ledger, JsonlSink(file, events.text, name)))
    if events.kafka:
        from tenax.events.kafka import KafkaSink

        kafka = KafkaSink(events.kafka, events.kafka_topic, events.text, compression=events.kafka_compression)
        relays.append(Relay(ledger, kafka, is_shared=is_shared))
    if events.redis:
        from tenax.events.redis import RedisSink

        redis = RedisSink(events.redis, events.redis_stream, events.text, events.redis_stream_length)
        relays.append(Relay(ledger, redis, is_shared=is_shared))
    return tuple(relays)
