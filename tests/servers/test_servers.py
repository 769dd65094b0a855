"""The servers themselves: started, written to, stopped and started again."""

from __future__ import annotations

from itertools import pairwise

from confluent_kafka import Producer

from tests.servers.kafka import KafkaBroker, read
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


def test_postgres_keeps_its_data_across_a_restart() -> None:
    with PostgresServer() as server:
        server.create("one")
        server.psql("CREATE TABLE t AS SELECT 1 AS a", "one")
        server.restart()
        assert server.psql("SELECT a FROM t", "one") == "1"


def test_redis_keeps_its_data_across_a_restart() -> None:
    with RedisServer() as server:
        server.say("SET", "a", "b")
        server.restart()
        assert server.say("GET", "a") == b"$1\r\nb\r\n"


def test_a_broker_that_was_down_takes_what_waited_for_it(kafka: KafkaBroker) -> None:
    kafka.create("servers")
    producer = Producer({"bootstrap.servers": kafka.servers, "enable.idempotence": True, "log_level": 0})
    for number in range(50):
        producer.produce("servers", str(number).encode(), b"key")
    if kafka.is_ours:
        kafka.down()
    for number in range(50, 100):
        producer.produce("servers", str(number).encode(), b"key")
    if kafka.is_ours:
        kafka.up()
    assert producer.flush(20) == 0
    output = [value for _, value in read(kafka.servers, "servers", 100)]
    assert len(output) == 100
    assert all(int(one) + 1 == int(after) for one, after in pairwise(output))
