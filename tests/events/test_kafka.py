"""Events to Kafka, against a broker that speaks its protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from tenax.clock import ManualClock
from tenax.config import DatabaseConfig
from tenax.config.crawl import Codec
from tenax.database.sqlite import SqliteDatabase
from tenax.errors import ConfigError
from tenax.events import kafka as kafka_sink
from tenax.events import url_hash
from tenax.events.kafka import KafkaProducer, KafkaSink, Message
from tenax.events.relay import Relay
from tenax.model import Cursor, Event, Page
from tests.contracts.database import FixedPace, candidate, drain
from tests.loops import reached
from tests.servers.kafka import KafkaBroker, read
from tests.servers.processes import free_port

_topics = count(1)
PRODUCE = 0  # Kafka's number for that request
NOT_ENOUGH_REPLICAS, TOPIC_AUTHORIZATION_FAILED = 19, 29


@pytest.fixture
def topic(kafka: KafkaBroker) -> str:
    name = f"pages{next(_topics)}"
    kafka.create(name)
    return name


def event(seq: int, url: str = "", **fields: object) -> Event:
    page = Page(
        url=url or f"https://a.test/{seq}",
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=5,
        fetched_at=1_750_000_000.0,
        title="Ein Titel",
        text="Grüße, мир, 世界",
    )
    return Event(seq=seq, at=1_750_000_000.0, page=msgspec.structs.replace(page, **fields))


@asynccontextmanager
async def sink_of(servers: str, topic: str, with_text: bool = True, most: int = 1_000_000) -> AsyncIterator[KafkaSink]:
    sink = KafkaSink(servers, topic, with_text, most)
    await sink.open(Cursor(), False)
    try:
        yield sink
    finally:
        await sink.close()


async def consume(kafka: KafkaBroker, topic: str, most: int) -> list[tuple[bytes, dict[str, Any]]]:
    """What a consumer of the topic sees, in the order of each partition."""
    found = await asyncio.to_thread(read, kafka.servers, topic, most)
    return [(key, msgspec.json.decode(value)) for key, value in found]


async def test_every_event_is_acknowledged_and_keyed_by_its_url(kafka: KafkaBroker, topic: str) -> None:
    async with sink_of(kafka.servers, topic) as sink:
        assert await sink.write([event(n) for n in range(1, 101)]) == Cursor(100)
    pages = await consume(kafka, topic, 100)
    assert sorted(page["seq"] for _, page in pages) == list(range(1, 101))
    assert all(key == url_hash(page["url"]).encode() for key, page in pages)
    assert pages[0][1]["text"] == "Grüße, мир, 世界"


async def test_events_of_one_url_stay_in_order(kafka: KafkaBroker, topic: str) -> None:
    async with sink_of(kafka.servers, topic) as sink:
        for first in range(1, 200, 40):
            await sink.write([event(n, f"https://a.test/{n % 5}") for n in range(first, first + 40)])
    pages = await consume(kafka, topic, 200)
    for url in {page["url"] for _, page in pages}:
        numbers = [page["seq"] for _, page in pages if page["url"] == url]
        assert numbers == sorted(numbers) and len(numbers) == 40


async def test_an_unavailable_broker_is_waited_for(kafka: KafkaBroker, topic: str) -> None:
    assert kafka.is_ours
    async with sink_of(kafka.servers, topic) as sink:
        await sink.write([event(1)])
        kafka.down()
        writing = asyncio.ensure_future(sink.write([event(n) for n in range(2, 50)]))
        done, _ = await asyncio.wait([writing], timeout=0.5)
        assert not done
        kafka.up()
        assert await writing == Cursor(49)
    pages = await consume(kafka, topic, 49)
    assert sorted(page["seq"] for _, page in pages) == list(range(1, 50))


async def test_an_error_that_passes_doubles_nothing(kafka: KafkaBroker, topic: str) -> None:
    assert kafka.is_ours
    async with sink_of(kafka.servers, topic) as sink:
        kafka.fail_next(PRODUCE, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS)
        assert await sink.write([event(n, "https://a.test/") for n in range(1, 21)]) == Cursor(20)
    pages = await consume(kafka, topic, 20)
    assert [page["seq"] for _, page in pages] == list(range(1, 21))


async def test_a_page_too_large_is_sent_without_its_text(
    kafka: KafkaBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sink_of(kafka.servers, topic, most=20_000) as sink:
        with caplog.at_level(logging.WARNING):
            large = event(2, text="x" * 100_000, description="y" * 50_000)
            assert await sink.write([event(1), large, event(3)]) == Cursor(3)
    pages = {page["seq"]: page for _, page in await consume(kafka, topic, 4)}
    assert sorted(pages) == [1, 2, 3]
    assert "text" not in pages[2] and pages[2]["title"] == "Ein Titel" and len(pages[2]["description"]) == 1000
    assert "page too large for Kafka, sent without text" in caplog.text


async def test_a_broker_that_never_answers_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        producer = KafkaProducer(f"127.0.0.1:{free_port()}")
        sending = asyncio.ensure_future(producer.send("pages", [Message(b"k", b"v")]))
        await reached(lambda: "Kafka unavailable, events queued" in caplog.text)
        assert not sending.done()
        sending.cancel()
        await producer.close()


async def test_a_broker_unavailable_at_the_start_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_sink, "METADATA_TIMEOUT_SECONDS", 1.0)
    async with sink_of(f"127.0.0.1:{free_port()}", "pages") as sink:
        writing = asyncio.ensure_future(sink.write([event(1)]))
        await reached(lambda: "Kafka unavailable" in caplog.text)
        done, _ = await asyncio.wait([writing], timeout=0.5)  # time enough to log it again
        assert not done
        writing.cancel()
    said = [record.message for record in caplog.records if record.name == kafka_sink.__name__]
    assert said == ["Kafka unavailable, events queued"]


@pytest.mark.parametrize("servers", ["", "not a port:x", "kafka", "kafka:9092,", "http://kafka:9092"])
async def test_invalid_servers_are_a_config_error(servers: str) -> None:
    with pytest.raises(ConfigError, match="write brokers as host:port, separated by commas"):
        KafkaProducer(servers)


async def test_invalid_servers_are_an_error_even_without_leadership() -> None:
    with pytest.raises(ConfigError, match="write brokers as host:port"):
        KafkaSink("kafka", "pages", True)


async def test_a_reader_with_nothing_but_gzip_can_read_it(kafka: KafkaBroker, topic: str) -> None:
    """This client has lz4, snappy and zstd only with an extra package."""
    async with sink_of(kafka.servers, topic) as sink:
        await sink.write([event(n, text="Grüße " * 500) for n in range(1, 51)])
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.servers, enable_auto_commit=False)
    await consumer.start()
    try:
        async with asyncio.timeout(60):
            consumer.assign([TopicPartition(topic, number) for number in range(4)])
            await consumer.seek_to_beginning()
            found = [msgspec.json.decode((await consumer.getone()).value) for _ in range(50)]
    finally:
        await consumer.stop()
    assert sorted(page["seq"] for page in found) == list(range(1, 51))


@pytest.mark.parametrize("compression", get_args(Codec))
async def test_every_codec_that_can_be_chosen_works(kafka: KafkaBroker, topic: str, compression: str) -> None:
    sink = KafkaSink(kafka.servers, topic, True, compression=compression)
    await sink.open(Cursor(), False)
    assert await sink.write([event(1)]) == Cursor(1)
    await sink.close()
    assert [page["seq"] for _, page in await consume(kafka, topic, 1)] == [1]


async def test_while_the_broker_is_unavailable_the_crawl_continues_and_events_wait(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """Also across an end of the crawl, and the next run."""
    assert kafka.is_ours
    clock, cursors = ManualClock(), []
    for run, change in enumerate((kafka.up, kafka.down, kafka.up)):
        change()
        database = await SqliteDatabase.open(tmp_path / "tenax.db", DatabaseConfig(fsync=False), clock, FixedPace())
        relay = Relay(
            database, KafkaSink(kafka.servers, topic, True), pause_seconds=0.01, drain_seconds=0.3 if run == 1 else 60.0
        )
        await relay.open()
        running = asyncio.ensure_future(relay.run())
        await database.admit([candidate(f"https://h{run}-{n}.test/") for n in range(20)])
        await drain(database, clock)
        relay.stop()
        await asyncio.wait_for(running, 120)
        cursors.append((await database.subscribe("kafka")).seq)
        await relay.close()
        await database.close()
    assert cursors == [20, 20, 60]
    pages = await consume(kafka, topic, 60)
    assert sorted({page["seq"] for _, page in pages}) == list(range(1, 61))
