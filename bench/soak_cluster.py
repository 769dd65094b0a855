"""Four workers on PostgreSQL, Redis and Kafka, all killed, paused or restarted: no page lost, no pace violated.

The workers run the normal command. They crawl 300 hosts of 127.0.0.0/8 while they are killed with -9 and replaced, one
is paused until its lease expires, the servers stop and start, and Redis loses its data. At the end the database must be
consistent and have every page exactly once, Kafka must have every event, and the access log may show no two requests to
a host within its pace, nor more requests to a shared address than its pace allows.

`--seed` determines the disturbances; their effect also depends on the machine. `--plant` injects a defect: the soak
must detect it and exit with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import cluster_soak_log, nginx
from bench.cluster_soak_events import Reader
from bench.cluster_soak_plan import WORKERS, Disturbance, Shape, plan
from bench.cluster_soak_plants import PLANTS, Plant
from bench.cluster_soak_site import PACE_SECONDS, PER_IP_RATE_FACTOR, SLOW_LOCATION, Hosts
from bench.cluster_soak_workers import SoakWorkers
from bench.report import WORKPLACE, BenchError, Report, run, say, table
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import PageFilter, Status
from tenax.errors import DatabaseError
from tests.servers.kafka import KafkaBroker
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.site.dns import NameServer, says

HOSTS = 300
TOPIC = "soak_pages"
NETWORK = "127.0.0.0/8"
SAY_SECONDS = 5.0
CATCH_UP_SECONDS = 30.0
NAME_SECONDS = 3600
"""How long a name's address may be kept."""
MOST_LISTED = 12
"""Violations listed per kind."""


@dataclass(frozen=True)
class Size:
    """Size and duration of a soak."""

    pages: int
    """Of each host, guests not counted."""
    heartbeat_seconds: float
    lease_seconds: float
    fetch_seconds: float
    most_seconds: float
    """A crawl that is not at its end by then does not get there."""
    shape: Shape


WHOLE = Size(70, 5.0, 25.0, 10.0, 400.0, Shape(10.0, 170.0, kills=12, naps=2, dead_after_seconds=20.0))
QUICK = Size(13, 2.0, 10.0, 6.0, 150.0, Shape(6.0, 34.0, kills=4, naps=1, dead_after_seconds=8.0))


@dataclass
class Found:
    """Violations as text, by kind."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    unpublished: list[str] = field(default_factory=list)
    too_close: list[str] = field(default_factory=list)
    crowds: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def main() -> None:
    run("soak_cluster", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="of what is done: the same seed, the same plan")
    parser.add_argument("--calm", action="store_true", help="disturb nothing, to see what it is like")
    defects = "; ".join(f"{name}: {plant.meaning}" for name, plant in PLANTS.items())
    parser.add_argument("--plant", choices=list(PLANTS), help=f"injects a defect that the soak must detect. {defects}")
    parser.add_argument("--keep", action="store_true", help="keep the logs of the workers and of the hosts")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    size = QUICK if chosen.quick else WHOLE
    plant = PLANTS.get(chosen.plant)
    report.is_partial = bool(chosen.calm or plant)
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="cluster-", dir=WORKPLACE / "runs"))
    disturbances = () if chosen.calm else plan(chosen.seed, size.shape)
    found = asyncio.run(ClusterSoak(report, size, home, disturbances, plant).run())
    report.figure("seed", chosen.seed)
    report.figure("violations", {what: list(lines[:MOST_LISTED]) for what, lines in vars(found).items() if lines})
    for what, lines in vars(found).items():
        report.at_most(what, len(lines), 0)
        for line in lines[:MOST_LISTED]:
            say(f"  {what}: {line}")
    if plant is not None:
        is_found = bool(getattr(found, plant.finding))
        say(f"planted: {plant.meaning}; {'found' if is_found else 'NOT FOUND'} as {plant.finding}")
    if report.ok and not chosen.keep:
        shutil.rmtree(home)
    else:
        say(f"what is left of it: {home}")


class ClusterSoak:
    """One crawl, from the first seed to the last event."""

    def __init__(
        self, report: Report, size: Size, home: Path, disturbances: tuple[Disturbance, ...], plant: Plant | None
    ) -> None:
        self._report = report
        self._size = size
        self._home = home
        self._disturbances = disturbances
        self._plant = plant or Plant("nothing", "")
        self._done = Counter[str]()
        self._found = Found()
        self._buried = ""
        """The worker that was paused until its lease expired."""

    async def run(self) -> Found:
        say(f"{len(self._disturbances)} disturbances:")
        for disturbance in self._disturbances:
            say(f"  {disturbance}")
        site = self._home / "site"
        site.mkdir()
        log = self._home / "access.log"
        async with AsyncExitStack() as stack:
            self._postgres = stack.enter_context(PostgresServer())
            self._redis = stack.enter_context(RedisServer())
            self._broker = stack.enter_context(KafkaBroker())
            self._broker.create(TOPIC)
            origin = stack.enter_context(
                nginx.serving(
                    site,
                    log=log,
                    is_everywhere=True,
                    log_format=cluster_soak_log.FORMAT,
                    locations=SLOW_LOCATION,
                )
            )
            hosts = Hosts(HOSTS, self._size.pages, int(origin.rpartition(":")[2]))
            hosts.write(site)
            names = await stack.enter_async_context(NameServer())
            for name, address in hosts.names().items():
                names.knows(name, says(address, ttl=NAME_SECONDS))
            self._nameserver = names.address
            self._location = Location(server=self._postgres.create("soak"))
            reader = Reader(self._broker.servers, TOPIC)
            stack.callback(reader.close)
            options = [*self._options(hosts), *self._plant.of_all]
            workers = SoakWorkers(self._home, self._environment(), options, WORKERS, self._plant.of_one)
            stack.callback(workers.kill_all)
            await self._crawl(workers, hosts)
            if self._plant.sql:
                self._postgres.psql(self._plant.sql, "soak")
            await self._judge(workers, hosts, reader)
        self._judge_log(log)
        return self._found

    # ---- the crawl ------------------------------------------------------------------------------------------

    def _environment(self) -> dict[str, str]:
        return {"TENAX_DATABASE_URL": self._location.server, "TENAX_REDIS_URL": self._redis.url}

    def _options(self, hosts: Hosts) -> list[str]:
        size = self._size
        settings = {
            "politeness.rate_per_second": 1 / PACE_SECONDS,
            "politeness.per_ip_rate_factor": PER_IP_RATE_FACTOR,
            "guard.allow_networks": NETWORK,
            "guard.ports": hosts.port,
            "guard.nameservers": self._nameserver,
            "database.heartbeat_seconds": size.heartbeat_seconds,
            "database.dead_after_seconds": size.shape.dead_after_seconds,
            "database.lease_seconds": size.lease_seconds,
            "fetch.total_timeout_seconds": size.fetch_seconds,
            "events.kafka": self._broker.servers,
            "events.kafka_topic": TOPIC,
            "pool.processes": 0,
            "log.format": "text",
        }
        return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]

    async def _crawl(self, workers: SoakWorkers, hosts: Hosts) -> None:
        """Until nothing waits, all disturbances are done, and Kafka has all events."""
        seeds = self._home / "seeds.txt"
        seeds.write_text("".join(f"{origin}/\n" for origin in hosts.origins))
        code, said = await workers.command("seed", "--file", str(seeds), *self._options(hosts))
        if code:
            raise BenchError(f"`tenax seed` ended with {code}: {said}")
        self._began = time.monotonic()
        self._began_at = time.time()
        async with _beside(workers.keep(), self._disturb(workers)) as (keeping, disturbing):
            while not (await self._is_at_its_end(len(hosts.expected())) and disturbing.done()):
                if keeping.done() or (disturbing.done() and disturbing.exception()):
                    raise BenchError(f"the trial itself broke: {keeping if keeping.done() else disturbing}")
                if self._seconds > self._size.most_seconds:
                    self._found.troubles.append(f"no end within {self._size.most_seconds:g} s")
                    break
                await asyncio.sleep(SAY_SECONDS)
        self._report.figure("seconds", self._seconds)
        await workers.end()

    async def _disturb(self, workers: SoakWorkers) -> None:
        async with asyncio.TaskGroup() as group:
            for one in self._disturbances:
                await asyncio.sleep(max(one.at_seconds - self._seconds, 0.0))
                say(f"{self._seconds:6.1f} s  {one.what}" + (f" of worker {one.slot}" if one.slot >= 0 else ""))
                self._done[one.what] += 1
                group.create_task(self._do(one, workers))

    async def _do(self, one: Disturbance, workers: SoakWorkers) -> None:
        match one.what:
            case "kill":
                workers.kill(one.slot, one.seconds)
            case "pause":
                asleep = asyncio.create_task(workers.sleep(one.slot, one.seconds))
                # Before it wakes, someone must have noticed: that is what this is about.
                await asyncio.sleep(self._size.shape.dead_after_seconds + 1)
                await workers.recover()
                self._buried = await asleep
            case "nap":
                await workers.sleep(one.slot, one.seconds)
            case "redis flush":
                self._redis.say("FLUSHALL")
            case "broker restart":
                self._broker.down()
                await asyncio.sleep(one.seconds)
                self._broker.up()
            case what:
                await self._restart(self._postgres if "postgres" in what else self._redis, "crash" in what, one.seconds)

    async def _restart(self, server: PostgresServer | RedisServer, is_crash: bool, seconds: float) -> None:
        await asyncio.to_thread(server.kill if is_crash else server.stop)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(server.start)

    async def _is_at_its_end(self, expected: int) -> bool:
        status = await self._status()
        if status is None:
            return False
        published = status.cursors["kafka"].seq if "kafka" in status.cursors else 0
        pages = f"{status.pages:,} of {expected:,} pages"
        say(f"{self._seconds:6.1f} s  {pages}, {status.waiting:,} waiting, {published:,} published")
        return status.waiting == 0 and published >= status.pages

    async def _status(self) -> Status | None:
        """None while the server is away."""
        try:
            database = await open_database(self._location, read_only=True)
        except DatabaseError:
            return None
        try:
            return await database.status()
        except DatabaseError:
            return None
        finally:
            await database.close()

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    # ---- what came of it ------------------------------------------------------------------------------------

    async def _judge(self, workers: SoakWorkers, hosts: Hosts, reader: Reader) -> None:
        found, wanted = self._found, hosts.expected()
        database = await open_database(self._location, read_only=True)
        try:
            stored = Counter([page.url async for page in database.pages(PageFilter())])
            found.contradictions += await database.find_problems()
            found.troubles += [f"given up: {dead_letter.url}" async for dead_letter in database.dead_letters()]
            status = await database.status()
        finally:
            await database.close()
        found.lost += [f"not in the database: {url}" for url in sorted(wanted - stored.keys())]
        found.foreign += [f"in the database: {url}" for url in sorted(stored.keys() - wanted)]
        found.doubled += [f"{count} times in the database: {url}" for url, count in stored.items() if count > 1]
        found.doubled += self._more_than_pages(len(stored))
        if status.waiting:
            found.troubles.append(f"{status.waiting} URLs still wait")
        await asyncio.to_thread(reader.wait_for, stored.keys(), CATCH_UP_SECONDS)
        found.unpublished += [f"not published: {url}" for url in sorted(stored.keys() - reader.event_counts.keys())]
        found.troubles += [*workers.troubles, *workers.tracebacks()]
        self._write_report(workers, stored, reader)

    def _more_than_pages(self, pages: int) -> list[str]:
        """A page that was written twice is stored once, but leaves a second content and a second event."""
        rows = {name: int(self._postgres.psql(f"SELECT count(*) FROM tenax.{name}", "soak")) for name in CONTENTS}
        return [f"{count:,} rows of {name} for {pages:,} pages" for name, count in rows.items() if count != pages]

    def _judge_log(self, log: Path) -> None:
        seen = cluster_soak_log.read(log)
        close = cluster_soak_log.too_close(seen, PACE_SECONDS)
        self._found.too_close += [one.describe(self._began_at) for one in close]
        crowds = cluster_soak_log.crowds(seen, PACE_SECONDS / PER_IP_RATE_FACTOR)
        self._found.crowds += [one.describe(self._began_at) for one in crowds]
        apart = cluster_soak_log.closest(seen)
        shared = cluster_soak_log.closest(seen, cluster_soak_log.address_of)
        self._report.figure("closest_seconds", apart.one_worker)
        self._report.figure("closest_of_two_workers_seconds", apart.two_workers)
        self._report.figure("closest_at_address_seconds", shared.one_worker)
        self._report.figure("closest_of_two_workers_at_address_seconds", shared.two_workers)
        self._report.figure("requests", len(seen))
        self._report.figure("workers_seen", len({one.worker for one in seen}))
        answers = Counter(str(one.status) for one in seen)
        self._report.figure("answers", dict(sorted(answers.items())))

    def _write_report(self, workers: SoakWorkers, stored: Counter[str], reader: Reader) -> None:
        report, dead = self._report, workers.taken_for_dead()
        report.figure("hosts", HOSTS)
        report.figure("pages", len(stored))
        report.figure("events", reader.event_counts.total())
        report.figure("workers_killed", workers.kills)
        report.figure("workers_started", workers.started)
        report.figure("starts_refused", workers.refused_starts)
        report.figure("taken_for_dead", list(dead))
        report.figure("disturbances", dict(sorted(self._done.items())))
        table(["what", "times"], [[what, str(count)] for what, count in sorted(self._done.items())])
        events = reader.event_counts.total()
        say(f"{len(stored):,} pages, {events:,} events; leases expired: {', '.join(dead) or 'nobody'}")
        report.at_least("disturbed", self._done.total(), len(self._disturbances))
        report.at_least("woken_after_death", int(self._buried in dead), self._done["pause"])


CONTENTS = ("content", "outbox")


@asynccontextmanager
async def _beside(*works: Coroutine[None, None, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Tasks that run while the block does."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    main()
