"""Servers that tests share, started when the first test asks for one; and which files come first."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.durations import Durations
from tests.loops import FAULT_SECONDS
from tests.servers.kafka import KafkaBroker
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

pytest.register_assert_rewrite("tests.contracts")  # a failing contract says what was found

# That a busy machine makes up examples slowly, or takes long over one, says nothing about us.
settings.register_profile("tenax", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tenax")

HERE = Path(__file__).parent
LONGEST_FIRST = (
    "hostile/test_cost_fuzz.py",
    "test_patterns.py",
    "hostile/test_documents.py",
    "test_scripts.py",
    "e2e/test_cluster.py",
    "database/test_postgres.py",
    "fetch/test_browser.py",
    "hostile/test_costly_pages.py",
    "crawl/reader/test_pool.py",
    "hostile/test_politeness.py",
    "e2e",
    "fetch",
    "database",
    "hostile",
    "services",
    "hosts",
    "crawl",
    "bench",
    "events",
    "runtime",
    "extract",
    "test_wheel.py",
    "test_docs.py",
)
"""Where files take seconds to a minute each, for they read costly documents, start processes, servers and browsers."""

_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Collecting thousands of tests leaves hardly any garbage to look for."""
    gc.disable()
    if config.getoption("durations") is not None:
        config.pluginmanager.register(Durations())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A long file that comes last would keep one process busy while the others have nothing left to do."""
    ranks = {HERE / path: rank for rank, path in enumerate(LONGEST_FIRST)}

    def rank(path: Path) -> int:
        return min(ranks.get(one, len(ranks)) for one in (path, *path.parents))

    by_file = {path: rank(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: by_file[item.path])


def pytest_collection_finish() -> None:
    """What thousands of tests consist of stays until the end: Python need not look for garbage in it all the time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server, pytest.MonkeyPatch.context() as monkeypatch:
        # A server that starts a session late, on a busy machine, is none that is away.
        monkeypatch.setattr("tenax.database.postgres.connection.CONNECT_SECONDS", FAULT_SECONDS)
        yield server


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of an empty database."""
    name = f"test{next(_numbers)}"
    yield postgres_server.create(name)
    postgres_server.psql(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[str]:
    """The URL of an empty Redis."""
    yield redis_server.url
    redis_server.say("FLUSHALL")


@pytest.fixture(scope="module")
def kafka_broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture
def kafka(kafka_broker: KafkaBroker) -> Iterator[KafkaBroker]:
    """A broker that is up; topics made by a test should have names of their own."""
    yield kafka_broker
    if kafka_broker.is_ours:
        kafka_broker.up()
