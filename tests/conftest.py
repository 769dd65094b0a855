"""Servers that tests share: started when the first test asks for one, ended with the last."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.servers.kafka import KafkaBroker
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

pytest.register_assert_rewrite("tests.contracts")  # a failing contract says what was found

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
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
