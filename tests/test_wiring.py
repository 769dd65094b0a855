"""Wiring: which sinks a crawl has, by where its ledger is and what is set."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import Config, EventsConfig, LedgerConfig
from tenax.errors import ConfigError
from tenax.files import LEDGER_FILE
from tenax.ledger.sqlite import SqliteLedger
from tenax.place import Place
from tenax.wiring import _relays
from tests.contracts.ledger import Manners

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
