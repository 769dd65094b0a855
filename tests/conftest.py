"""Servers that tests share: started when the first test asks for one, ended with the last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.kafka import KafkaBroker
from tests.servers.redis import RedisServer


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
