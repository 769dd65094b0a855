"""Events to a Redis stream: in order, none lost, whatever happens to Redis."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from redis.asyncio import Redis

from tenax.errors import ConfigError, SinkError
from tenax.events import encode_page_line
from tenax.events import redis as module
from tenax.events.redis import RedisSink
from tenax.model import Cursor, Event, Page
from tests.servers.redis import RedisServer

STREAM = "crawler:pages"


def event(seq: int, **fields: object) -> Event:
    page = Page(
        url=f"https://a.test/{seq}",
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=5,
        fetched_at=1_750_000_000.0,
        text="Grüße, мир",
    )
    return Event(seq=seq, at=1_750_000_000.0, page=msgspec.structs.replace(page, **fields))


def events(first: int, last: int) -> list[Event]:
    return [event(seq) for seq in range(first, last + 1)]


@asynccontextmanager
async def sink_of(url: str, most_entries: int = 0, stream: str = STREAM) -> AsyncIterator[RedisSink]:
    sink = RedisSink(url, stream, True, most_entries)
    await sink.open(Cursor(), False)
    try:
        yield sink
    finally:
        await sink.close()


async def entries(url: str) -> list[dict[bytes, bytes]]:
    """What a reader of the stream sees."""
    async with Redis.from_url(url) as client:
        found: Any = await client.xrange(STREAM)
        return [fields for _, fields in found]


async def seqs(url: str) -> list[int]:
    return [int(entry[b"seq"]) for entry in await entries(url)]


async def test_an_entry_has_the_number_the_url_and_the_page(redis: str) -> None:
    async with sink_of(redis) as sink:
        assert await sink.write(events(1, 3)) == Cursor(3)
    found = await entries(redis)
    assert [entry[b"seq"] for entry in found] == [b"1", b"2", b"3"]
    assert found[0] == {b"seq": b"1", b"url": b"https://a.test/1", b"event": encode_page_line(event(1).page, 1)}
    assert json.loads(found[0][b"event"])["text"] == "Grüße, мир"


async def test_it_can_be_opened_again_after_it_was_closed(redis: str) -> None:
    """A leader that lost the lead and leads again."""
    sink = RedisSink(redis, STREAM, True)
    for first in (1, 3):
        await sink.open(Cursor(first - 1), True)
        await sink.write(events(first, first + 1))
        await sink.close()
    assert await seqs(redis) == [1, 2, 3, 4]


async def test_a_stream_keeps_about_max_entries(redis: str) -> None:
    async with sink_of(redis, most_entries=100) as sink:
        for first in range(1, 2000, 500):
            await sink.write(events(first, first + 499))
    kept = await seqs(redis)
    assert 100 <= len(kept) <= 300
    assert kept == list(range(2001 - len(kept), 2001))


async def test_many_large_events_go_in_portions(redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCH_BYTES", 3000)
    sizes = [len(portion) for portion in module._split_batches([{"event": b"x" * 1000} for _ in range(7)])]
    assert sizes == [3, 3, 1]
    assert [len(portion) for portion in module._split_batches([{"event": b"x" * 9000} for _ in range(2)])] == [1, 1]
    assert list(module._split_batches([])) == []
    async with sink_of(redis) as sink:
        assert await sink.write([event(n, text="x" * 1000) for n in range(1, 8)]) == Cursor(7)
    assert await seqs(redis) == [1, 2, 3, 4, 5, 6, 7]


async def test_an_unavailable_redis_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server, caplog.at_level(logging.INFO, "tenax"):
        async with sink_of(server.url) as sink:
            await sink.write(events(1, 2))
            server.stop()
            writing = asyncio.ensure_future(sink.write(events(3, 9)))
            for _ in range(1200):
                if "Redis unavailable, events queued" in caplog.text:
                    break
                await asyncio.sleep(0.05)
            assert not writing.done()
            server.start()
            assert await writing == Cursor(9)
        assert await seqs(server.url) == list(range(1, 10))
    assert caplog.text.count("Redis unavailable, events queued") == caplog.text.count("Redis available again") == 1


async def test_a_redis_unavailable_at_open_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server, caplog.at_level(logging.WARNING):
        server.stop()
        async with sink_of(server.url) as sink:
            assert "Redis unavailable, events queued" in caplog.text
            server.start()
            assert await sink.write(events(1, 1)) == Cursor(1)


async def test_a_full_redis_is_waited_for() -> None:
    with RedisServer("--maxmemory-policy", "noeviction") as server:
        async with sink_of(server.url) as sink:
            server.say("CONFIG", "SET", "maxmemory", "1")
            writing = asyncio.ensure_future(sink.write(events(1, 5)))
            done, _ = await asyncio.wait([writing], timeout=0.5)
            assert not done
            server.say("CONFIG", "SET", "maxmemory", "0")
            assert await writing == Cursor(5)
        assert await seqs(server.url) == [1, 2, 3, 4, 5], "a batch is added whole, or not at all"


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://:secret@host:none"])
async def test_a_url_that_cannot_be_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError, match=r"invalid `events.redis` .*: write it as redis://") as caught:
        RedisSink(url, STREAM, True)
    assert "secret" not in str(caught.value)


async def test_a_wrong_password_is_said_and_not_shown() -> None:
    with RedisServer("--requirepass", "right") as server:
        sink = RedisSink(server.url.replace("//", "//:wrong@"), STREAM, True)
        with pytest.raises(ConfigError, match=r"refuses the login: .*; check `events.redis`") as caught:
            await sink.open(Cursor(), False)
        assert "wrong" not in str(caught.value)
        await sink.close()


async def test_a_key_of_another_kind_is_not_written_to(redis: str, redis_server: RedisServer) -> None:
    redis_server.say("SET", STREAM, "something")
    sink = RedisSink(redis, STREAM, True)
    with pytest.raises(SinkError, match=r"is not a stream but a string; use another events.redis_stream"):
        await sink.open(Cursor(), False)
    await sink.close()
