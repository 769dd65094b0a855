"""Wiring: which sinks a crawl has, by where its ledger is and what is set; what its servers tell each other, and that
it starts without those it does not use."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import tenax
from tenax.clock import ManualClock, ShiftedClock, SteadyClock
from tenax.config import Config, EventsConfig, HostsConfig, LedgerConfig
from tenax.crawl.files import LEDGER_FILE
from tenax.crawl.location import Place
from tenax.crawl.wiring import _following, _relays, _sharing
from tenax.database.postgres import PostgresLedger
from tenax.database.sqlite import SqliteLedger
from tenax.errors import ConfigError
from tenax.hosts.records import MemoryHosts
from tests.contracts.ledger import Manners
from tests.servers.redis import RedisServer

SERVER = "postgresql://db.test/tenax"
HERE = platform.node()


@pytest.mark.parametrize(
    ("place", "events", "names"),
    [
        (Place(Path("out")), EventsConfig(), ["jsonl"]),
        (Place(Path("out")), EventsConfig(jsonl=""), []),
        (Place(server=SERVER), EventsConfig(), []),
        (Place(Path("/a"), SERVER), EventsConfig(jsonl="p.jsonl"), [f"jsonl {HERE}:/a/p.jsonl"]),
        (Place(Path("b"), SERVER), EventsConfig(), [f"jsonl {HERE}:{Path('b/pages.jsonl').absolute()}"]),
        (Place(server=SERVER), EventsConfig(kafka="k:9092", redis="redis://r"), ["kafka", "redis"]),
        (Place(Path("out")), EventsConfig(kafka="k:9092"), ["jsonl", "kafka"]),
    ],
    ids=["directory", "no file", "server", "server and file", "relative", "server and sinks", "directory and Kafka"],
)
async def test_sinks(place: Place, events: EventsConfig, names: list[str], tmp_path: Path) -> None:
    ledger = await SqliteLedger.open(tmp_path / LEDGER_FILE, LedgerConfig(), ManualClock(), Manners())
    relays = _relays(place, ledger, Config(events=events))
    await ledger.close()
    assert [relay.name for relay in relays] == names
    assert [relay.name for relay in relays if relay.is_shared] == [
        name for name in names if place.server and name in ("kafka", "redis")
    ]
    for relay in relays:
        await relay.close()


@pytest.mark.parametrize("events", [EventsConfig(kafka="nowhere"), EventsConfig(redis="nowhere")])
async def test_a_sink_that_cannot_be_is_said_before_the_crawl_begins(events: EventsConfig, tmp_path: Path) -> None:
    ledger = await SqliteLedger.open(tmp_path / LEDGER_FILE, LedgerConfig(), ManualClock(), Manners())
    with pytest.raises(ConfigError, match="cannot be"):
        _relays(Place(server=SERVER), ledger, Config(events=events))
    await ledger.close()


async def test_workers_of_one_ledger_hear_who_is_cut_off_from_redis(postgres: str) -> None:
    clock = SteadyClock()
    other = await PostgresLedger.open(postgres, LedgerConfig(), clock, Manners())
    ledger = await PostgresLedger.open(postgres, LedgerConfig(), clock, Manners())
    with RedisServer() as redis:
        config = Config(hosts=HostsConfig(url=redis.url))
        sharing = await _sharing(config, ledger, clock, MemoryHosts())
        assert sharing is not None
        redis.kill()
        await sharing.presence.beat()
        async with asyncio.timeout(60):
            while not (other.company().cut_off and ledger.company().told_at):
                await other.wait_for_work(0.05)
        await sharing.close()
    await ledger.close()
    await other.close()


async def test_a_clock_at_a_servers_time_is_compared_with_that_server(
    tmp_path: Path, postgres: str, redis: str
) -> None:
    steady = SteadyClock()
    agreed = ShiftedClock(steady, 1.0)
    there = await PostgresLedger.open(postgres, LedgerConfig(), agreed, Manners())
    here = await SqliteLedger.open(tmp_path / LEDGER_FILE, LedgerConfig(), agreed, Manners())
    sharing = await _sharing(Config(hosts=HostsConfig(url=redis)), here, agreed, MemoryHosts())
    assert sharing is not None
    for server in (there, sharing):
        assert await server.ahead_seconds() == pytest.approx(-1.0, abs=0.5)
    assert len(_following(agreed, there, None)) == len(_following(agreed, here, sharing)) == 1
    assert _following(agreed, here, None) == _following(steady, there, sharing) == []
    for part in (sharing, here, there):
        await part.close()


LIGHT = """
import sys
import tenax.crawl.library
from tenax.config import Config, Sites
from tenax.crawl.duplicates import PageLikeness
assert len(PageLikeness(Sites(Config())).bands(bytes(128))) == 16
unused = (
    *("selectolax", "tenax.extract.", "tenax.database.postgres", "tenax.hosts.redis", "tenax.events.kafka"),
    *("tenax.events.redis", "re2", "tomllib"),
)
light = {"tenax.extract.text", "tenax.extract.text.fingerprint"}
print(sorted(name for name in sys.modules if name.startswith(unused) and name not in light))
"""


def test_a_crawl_starts_without_the_parser_and_without_servers() -> None:
    environment = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
    answer = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=environment, check=False)
    assert (answer.stdout, answer.stderr) == ("[]\n", "")
