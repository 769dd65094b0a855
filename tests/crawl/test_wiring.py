"""Wiring: the sinks of a crawl by location and settings, what its servers share, and lazy imports of backends."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import tenax
from tenax.clock import ManualClock, ShiftedClock, SteadyClock
from tenax.config import Config, DatabaseConfig, EventsConfig, RedisConfig
from tenax.crawl import DATABASE_FILE
from tenax.crawl.location import Location
from tenax.crawl.wiring import _build_relays, _clock_tasks, _open_sharing
from tenax.database.postgres import PostgresDatabase
from tenax.database.sqlite import SqliteDatabase
from tenax.errors import ConfigError
from tenax.hosts.records import MemoryHosts
from tests.contracts.database import FixedPace
from tests.servers.redis import RedisServer

SERVER = "postgresql://db.test/tenax"
HERE = platform.node()


@pytest.mark.parametrize(
    ("location", "events", "names"),
    [
        (Location(Path("out")), EventsConfig(), ["jsonl"]),
        (Location(Path("out")), EventsConfig(jsonl=""), []),
        (Location(server=SERVER), EventsConfig(), []),
        (Location(Path("/a"), SERVER), EventsConfig(jsonl="p.jsonl"), [f"jsonl {HERE}:/a/p.jsonl"]),
        (Location(Path("b"), SERVER), EventsConfig(), [f"jsonl {HERE}:{Path('b/pages.jsonl').absolute()}"]),
        (Location(server=SERVER), EventsConfig(kafka="k:9092", redis="redis://r"), ["kafka", "redis"]),
        (Location(Path("out")), EventsConfig(kafka="k:9092"), ["jsonl", "kafka"]),
    ],
    ids=["directory", "no file", "server", "server and file", "relative", "server and sinks", "directory and Kafka"],
)
async def test_sinks(location: Location, events: EventsConfig, names: list[str], tmp_path: Path) -> None:
    database = await SqliteDatabase.open(tmp_path / DATABASE_FILE, DatabaseConfig(), ManualClock(), FixedPace())
    relays = _build_relays(location, database, Config(events=events))
    await database.close()
    assert [relay.name for relay in relays] == names
    assert [relay.name for relay in relays if relay.is_shared] == [
        name for name in names if location.server and name in ("kafka", "redis")
    ]
    for relay in relays:
        await relay.close()


@pytest.mark.parametrize("events", [EventsConfig(kafka="nowhere"), EventsConfig(redis="nowhere")])
async def test_an_invalid_sink_is_an_error_before_the_crawl_begins(events: EventsConfig, tmp_path: Path) -> None:
    database = await SqliteDatabase.open(tmp_path / DATABASE_FILE, DatabaseConfig(), ManualClock(), FixedPace())
    with pytest.raises(ConfigError, match=r"^invalid "):
        _build_relays(Location(server=SERVER), database, Config(events=events))
    await database.close()


async def test_workers_of_one_database_know_which_are_cut_off_from_redis(postgres: str) -> None:
    clock = SteadyClock()
    other = await PostgresDatabase.open(postgres, DatabaseConfig(), clock, FixedPace())
    database = await PostgresDatabase.open(postgres, DatabaseConfig(), clock, FixedPace())
    with RedisServer() as redis:
        config = Config(redis=RedisConfig(url=redis.url))
        sharing = await _open_sharing(config, database, clock, MemoryHosts())
        assert sharing is not None
        redis.kill()
        await sharing.presence.send_heartbeat()
        async with asyncio.timeout(60):
            while not (other.peers().without_redis and database.peers().reported_at):
                await other.wait_for_work(0.05)
        await sharing.close()
    await database.close()
    await other.close()


async def test_a_clock_at_a_servers_time_is_compared_with_that_server(
    tmp_path: Path, postgres: str, redis: str
) -> None:
    steady = SteadyClock()
    agreed = ShiftedClock(steady, 1.0)
    there = await PostgresDatabase.open(postgres, DatabaseConfig(), agreed, FixedPace())
    here = await SqliteDatabase.open(tmp_path / DATABASE_FILE, DatabaseConfig(), agreed, FixedPace())
    sharing = await _open_sharing(Config(redis=RedisConfig(url=redis)), here, agreed, MemoryHosts())
    assert sharing is not None
    for server in (there, sharing):
        assert await server.clock_offset_seconds() == pytest.approx(-1.0, abs=0.5)
    assert len(_clock_tasks(agreed, there, None)) == len(_clock_tasks(agreed, here, sharing)) == 1
    assert _clock_tasks(agreed, here, None) == _clock_tasks(steady, there, sharing) == []
    for part in (sharing, here, there):
        await part.close()


LIGHT = """
import sys
import tenax.crawl.api
from tenax.config import Config, Sites
from tenax.database.duplicates import PageSimilarity
assert len(PageSimilarity(Sites(Config())).bands(bytes(128))) == 16
unused = (
    *("selectolax", "tenax.extract.", "tenax.database.postgres", "tenax.hosts.redis", "tenax.events.kafka"),
    *("tenax.events.redis", "re2", "tomllib"),
)
print(sorted(name for name in sys.modules if name.startswith(unused)))
"""


def test_a_crawl_starts_without_the_parser_and_without_servers() -> None:
    environment = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
    answer = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=environment, check=False)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")
