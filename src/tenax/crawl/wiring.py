"""Builds a running crawl from a config. This is the only file that names a backend.

Backends that need a server are imported where they are used, so a crawl without them starts without them.
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

from tenax.clock import Clock, ShiftedClock, SteadyClock, follow_server_clock
from tenax.config import Config, Sites
from tenax.config.sites import SITE_SETTINGS, encode_site_settings
from tenax.crawl import DATABASE_FILE
from tenax.crawl.app import App, BackgroundTask, Closable
from tenax.crawl.connectivity import NetworkMonitor, NetworkState
from tenax.crawl.engine import Engine
from tenax.crawl.location import Location
from tenax.crawl.reader.pool import build_reader_pool
from tenax.crawl.rules import CrawlRules
from tenax.crawl.supervisor import Supervisor, WatchedDatabase, WatchedLoop
from tenax.database import Admission, Database, Outbox
from tenax.database.admission import WriteRules
from tenax.database.duplicates import PageSimilarity
from tenax.database.sqlite import SqliteDatabase, lock_database
from tenax.events.jsonl import JsonlSink
from tenax.events.relay import Relay
from tenax.fetch import Transport
from tenax.fetch.browser import BrowserTransport, browser_install_hint
from tenax.fetch.curl import CurlTransport, curl_install_hint
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tenax.fetch.pipeline import Pipeline, Visitor
from tenax.fetch.proxies import build_proxy_pools
from tenax.fetch.transports import Transports
from tenax.hosts import Hosts, RateLimiter
from tenax.hosts.limiter.machine import open_rate_limiter
from tenax.hosts.limiter.process import ProcessRateLimiter
from tenax.hosts.records import MemoryHosts, UnsharedHosts
from tenax.hosts.rules import HostPace
from tenax.metrics import Metrics
from tenax.model import Failed, TransportKind, Unchanged, Visit
from tenax.runtime.resources import FileLimit
from tenax.urls.admit import Rules
from tenax.urls.normalize import normalize_options

if TYPE_CHECKING:
    from tenax.hosts.redis import Sharing, VisitedUrls


async def open_clock(location: Location, config: Config) -> Clock:
    """The clock of this crawl.

    Processes that share a server have different clocks, so all use the time of the server. Raises `ConfigError` or
    `DatabaseError` if a server cannot be used as configured.
    """
    steady = SteadyClock()
    if location.server:
        from tenax.database.postgres import server_clock_offset

        return ShiftedClock(steady, await server_clock_offset(location.server, location.schema, steady))
    if config.redis.url:
        from tenax.hosts.redis import redis_clock_offset

        return ShiftedClock(steady, await redis_clock_offset(config.redis.url, steady))
    return steady


async def open_database(
    location: Location, *, read_only: bool, config: Config | None = None, clock: Clock | None = None
) -> Database:
    """The database of the crawl at this location."""
    config = config or Config()
    clock = clock or await open_clock(location, config)
    # A rate of zero means "my own sites, as fast as possible". Then nothing else may limit the frontier.
    is_unhurried = config.politeness.rate_per_second > 0
    links_per_second = config.crawl.links_per_second_per_source if is_unhurried else 0.0
    sites = Sites(config)
    host_pace, write_rules = HostPace(sites), WriteRules(links_per_second, PageSimilarity(sites))
    if location.server:
        from tenax.database.postgres import PostgresDatabase

        own = msgspec.structs.replace(config.database, schema=location.schema)
        has_filter = own.visited_filter and config.redis.url and not read_only
        return await PostgresDatabase.open(
            location.server,
            own,
            clock,
            host_pace,
            write_rules=write_rules,
            read_only=read_only,
            visited_set=await _open_visited_urls(config, clock) if has_filter else None,
        )
    return await SqliteDatabase.open(
        location.database_directory / DATABASE_FILE,
        config.database,
        clock,
        host_pace,
        write_rules=write_rules,
        read_only=read_only,
    )


async def _open_visited_urls(config: Config, clock: Clock) -> VisitedUrls:
    from tenax.hosts.redis import VisitedUrls

    return await VisitedUrls.open(config.redis.url, clock)


async def migrate_database(location: Location) -> tuple[int, int]:
    """Create the tables of a crawl on a server, or upgrade them. Returns the versions before and after; 0: none."""
    from tenax.database.postgres import migrate

    return await migrate(location.server, location.schema)


async def rebuild_visited_filter(
    location: Location, config: Config, on_progress: Callable[[int, int], None]
) -> tuple[int, int]:
    """Rebuild the filter of known URLs from the database on a server. Returns how many were removed and added.

    `on_progress` gets the number added so far and the estimated total.
    """
    from tenax.database.postgres import refill_visited_set

    visited = await _open_visited_urls(config, SteadyClock())
    try:
        return await refill_visited_set(location.server, location.schema, visited, on_progress)
    finally:
        await visited.close()


def move_crawl_aside(directory: Path, config: Config, now: float) -> Path | None:
    """Move an earlier crawl in this directory aside. Returns its new directory, or None when there was none."""
    names = [DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", config.events.jsonl]
    there = [directory / name for name in names if name and (directory / name).is_file()]
    if not there:
        return None
    with lock_database(directory / DATABASE_FILE):
        aside = directory / datetime.fromtimestamp(now, UTC).strftime("previous-%Y%m%d-%H%M%S")
        aside.mkdir(parents=True)
        for file in there:
            file.rename(aside / file.name)
    return aside


async def build_app(
    location: Location,
    database: Database,
    rules: Rules,
    config: Config,
    clock: Clock,
    *,
    allowed_origins: Iterable[str],
    metrics: Metrics,
) -> App:
    """Everything a crawl needs, started and ready to run."""
    local_hosts, sites = MemoryHosts(), Sites(config)
    await database.set_meta(SITE_SETTINGS, encode_site_settings(config))
    sharing = await _open_sharing(config, database, clock, local_hosts)
    transports = build_transports(
        config,
        sites,
        clock,
        allowed_origins,
        sharing.rate_limiter if sharing else None,
        max_visits=config.crawl.concurrency,
    )
    readers = build_reader_pool(config.pool)
    crawl_rules = CrawlRules(database, rules, is_shared=bool(location.server))
    network_state = NetworkState(config.resilience)
    engine = Engine(
        database,
        build_visitor(transports, config, sites, clock, sharing.hosts if sharing else UnsharedHosts(local_hosts)),
        readers,
        crawl_rules=crawl_rules,
        crawl=config.crawl,
        network=network_state,
        metrics=metrics,
    )
    if sharing:
        engine.listeners.append(_shared_visit_counter(sharing))
    relays = _build_relays(location, database, config)
    supervisor = Supervisor(
        clock,
        WatchedLoop(
            engine.in_flight.values(), lambda: engine.last_activity, lambda: engine.last_claim_attempt, engine.stop
        ),
        config.resilience,
        database=WatchedDatabase(
            lambda: database.get_meta("command"), lambda: database.is_unavailable, database.lost_file
        ),
        network=NetworkMonitor(network_state, config.resilience, clock, engine.set_pause),
    )
    background = [*_clock_tasks(clock, database, sharing)]
    if sharing:
        background.append(lambda: sharing.run(lambda: next((url for url, _ in engine.in_flight.values()), "")))
    parts: list[Closable] = [readers, transports, *([sharing] if sharing else [])]
    app = App(
        database,
        local_hosts,
        engine,
        relays=relays,
        supervisor=supervisor,
        background=background,
        parts=parts,
    )
    try:
        await asyncio.gather(readers.start(), *(relay.open() for relay in relays))
    except BaseException:
        await app.close()
        raise
    return app


async def _open_sharing(config: Config, database: Database, clock: Clock, local_hosts: MemoryHosts) -> Sharing | None:
    """What is shared through Redis. Workers learn through their database which of them cannot reach Redis."""
    if not config.redis.url:
        return None
    from tenax.hosts.redis import Sharing

    server = database.shared_server
    sharing = await Sharing.open(config.redis.url, clock, local_hosts, server.peers if server else None)
    if server is not None:
        server.set_cut_off_check(lambda: sharing.is_cut_off)
    return sharing


def _clock_tasks(clock: Clock, database: Database, sharing: Sharing | None) -> list[BackgroundTask]:
    """Compare a clock with its server's time regularly, if `open_clock` chose one."""
    if not isinstance(clock, ShiftedClock):
        return []
    server = database.shared_server or sharing
    if server is None:
        return []
    return [lambda: follow_server_clock(clock, server.clock_offset_seconds)]


def _shared_visit_counter(sharing: Sharing) -> Callable[[Visit, Admission], None]:
    """Counts visits for all workers."""
    presence = sharing.presence

    def count_visit(visit: Visit, _admission: Admission) -> None:
        is_page = visit.page is not None or isinstance(visit.outcome, Unchanged)
        presence.add_counts(
            pages=int(is_page),
            failures=int(isinstance(visit.outcome, Failed)),
            downloaded_bytes=visit.fetch.wire_bytes,
        )

    return count_visit


def build_visitor(
    transports: Transports, config: Config, sites: Sites, clock: Clock, hosts: Hosts | None = None
) -> Visitor:
    """A visitor with these host records; by default they are kept in memory and not shared."""
    pipeline = Pipeline(transports, clock, sites, normalize_options(config.urls))
    return Visitor(pipeline, hosts or UnsharedHosts(MemoryHosts()), sites, clock)


def build_transports(
    config: Config,
    sites: Sites,
    clock: Clock,
    allowed_origins: Iterable[str],
    rate_limiter: RateLimiter | None = None,
    *,
    max_visits: int = 1,
) -> Transports:
    """Every transport that is wanted and installed. `rate_limiter` replaces the one shared on this machine, and serves
    every site, whatever its `politeness.share_rate_limit`.

    `max_visits`: visits in flight at the same time, if the system allows that many open files.

    Must be called while the event loop runs.
    """
    files = FileLimit(max_visits)
    guard = Guard(config.guard, clock, allowed_origins)
    pools = build_proxy_pools(sites, random.random)
    transports: dict[TransportKind, Transport] = {TransportKind.HTTP: HttpTransport(config.fetch, guard, clock, pools)}
    if missing_requirement(TransportKind.CURL, config) is None:
        transports[TransportKind.CURL] = CurlTransport(config.fetch, guard, clock, pools)
    if missing_requirement(TransportKind.BROWSER, config) is None:
        transports[TransportKind.BROWSER] = BrowserTransport(config.browser, config.fetch, guard, clock, pools)
    unshared = None
    if rate_limiter is None:
        sharing = next((site.politeness for site in sites if site.politeness.share_rate_limit), config.politeness)
        rate_limiter, unshared = open_rate_limiter(sharing, clock), ProcessRateLimiter()
    return Transports(
        transports,
        guard,
        rate_limiter,
        clock,
        unshared_rate_limiter=unshared,
        request_interval_seconds=config.crawl.request_interval_seconds,
        files=files,
    )


def missing_requirement(transport: TransportKind, config: Config) -> str | None:
    """What to install before this transport can be used; None when it can."""
    match transport:
        case TransportKind.HTTP:
            return None
        case TransportKind.CURL:
            return curl_install_hint()
        case TransportKind.BROWSER:
            return browser_install_hint(config.browser.executable)


def _build_relays(location: Location, outbox: Outbox, config: Config) -> tuple[Relay, ...]:
    """Every sink that is wanted; those on servers are shared by all workers of the database."""
    events, relays, is_shared = config.events, [], bool(location.server)
    if events.jsonl and location.directory is not None:
        file = location.directory / events.jsonl
        # Several machines may write files from one database: each file has its own cursor.
        name = f"jsonl {platform.node()}:{file.absolute()}" if location.server else "jsonl"
        relays.append(Relay(outbox, JsonlSink(file, events.text, name)))
    if events.kafka:
        from tenax.events.kafka import KafkaSink

        kafka = KafkaSink(events.kafka, events.kafka_topic, events.text, compression=events.kafka_compression)
        relays.append(Relay(outbox, kafka, is_shared=is_shared))
    if events.redis:
        from tenax.events.redis import RedisSink

        redis = RedisSink(events.redis, events.redis_stream, events.text, events.redis_stream_length)
        relays.append(Relay(outbox, redis, is_shared=is_shared))
    return tuple(relays)
