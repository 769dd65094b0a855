"""Redis and Kafka unavailable, and back: everything waits, nothing is lost, and it is logged once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tenax.runtime.cancellation import cancel_and_wait
from tenax.runtime.redis import create_redis_client
from tenax.services.page_fetcher import fetcher as fetcher_module
from tenax.services.page_fetcher.in_flight import PageFetcherMetrics
from tenax.services.page_fetcher.redis_queue import RedisQueue
from tenax.services.wiring import open_page_fetcher
from tests.hostile.by_hand import Days
from tests.loops import FAULT_SECONDS
from tests.servers.kafka import KafkaBroker, read
from tests.servers.redis import RedisServer
from tests.services.lab import QUEUE, Lab, published_urls, until
from tests.services.test_outage import Leaping
from tests.site.politeness import gaps, slow
from tests.site.robots import page, rules
from tests.site.server import Site

PATHS = [f"/{number}" for number in range(60)]
BEHAVIOURS = {"/robots.txt": rules(""), **{path: slow(0.02, page("/")) for path in PATHS}}


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """One that can be stopped without affecting other tests."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def own_broker() -> Iterator[KafkaBroker]:
    with KafkaBroker() as broker:
        if not broker.is_ours:
            pytest.fail("this test takes brokers down, and needs the one that is ours")
        yield broker


async def test_kafka_unavailable_and_back(
    redis: str, own_broker: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab(redis, own_broker)
    async with Site(BEHAVIOURS) as site, lab.fetching([site]) as fetcher:
        lab.enqueue(site.url("/0"))
        await until(lambda: lab.is_settled)
        own_broker.down()
        lab.enqueue(*(site.url(path) for path in PATHS[1:]))
        await until(lambda: not lab.queue and len(site.hits) == len(PATHS) + 1)
        await until(lambda: not fetcher.in_flight)
        assert len(lab.claimed) == len(PATHS) - 1, "not published, so not settled"
        assert fetcher.metrics.fetched == 1, "nor counted"
        own_broker.up()
        await until(lambda: lab.is_settled)
        assert fetcher.metrics.fetched == len(PATHS)
    assert len(read(own_broker.servers, lab.topic, len(PATHS))) == len(PATHS)
    assert [record.message for record in caplog.records].count(
        "Kafka unavailable, events queued"
    ) == 1  # fmt: skip
    lab.redis.close()


async def test_events_refused_by_kafka_are_sent_again(redis: str, own_broker: KafkaBroker) -> None:
    lab = Lab(redis, own_broker)
    produce, not_authorised = 0, 29
    async with Site(BEHAVIOURS) as site, lab.fetching([site]):
        own_broker.fail_next(produce, not_authorised)
        lab.enqueue(site.url("/0"))
        await until(lambda: lab.is_settled)
    assert len(read(own_broker.servers, lab.topic, 1)) == 1
    lab.redis.close()


async def test_a_redis_that_is_full_is_waited_for(own_redis: RedisServer, kafka: KafkaBroker) -> None:
    lab = Lab(own_redis.url, kafka)
    async with Site(BEHAVIOURS) as site, lab.fetching([site]):
        lab.enqueue(*(site.url(path) for path in PATHS[:5]))
        lab.redis.config_set("maxmemory", "1")
        await asyncio.sleep(0.5)
        assert not any(lab.page(site.url(path)) for path in PATHS[3:5]), "nothing can be written"
        lab.redis.config_set("maxmemory", "0")
        await until(lambda: lab.is_settled)
    assert all(lab.page(site.url(path)) is not None for path in PATHS[:5])
    lab.redis.close()


async def test_redis_unavailable_and_back(
    own_redis: RedisServer, kafka: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """It keeps its data; calls in progress at that moment are repeated."""
    caplog.set_level("INFO", "tenax")
    lab = Lab(own_redis.url, kafka)
    async with Site(BEHAVIOURS) as site:
        urls = [site.url(path) for path in PATHS]
        lab.enqueue(*urls)
        async with lab.fetching([site]):
            await until(lambda: len(site.hits) > 10)
            await asyncio.to_thread(own_redis.stop)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(own_redis.start)
            await until(lambda: lab.is_settled)
    assert all(lab.page(url) is not None for url in urls)
    assert lab.dead == []
    messages = [record.message for record in caplog.records if record.name == "tenax.runtime.redis"]
    # Once, or once more when a call in progress hears of the outage only after its end.
    assert messages.count("Redis unavailable, waiting") == messages.count("Redis available again")
    assert messages.count("Redis available again") in (1, 2)
    lab.redis.close()


async def test_an_item_that_is_being_settled_is_not_claimed_again(
    own_redis: RedisServer, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims are compared with Redis after an outage, possibly between a settlement there and its reply."""
    lab = Lab(own_redis.url, kafka)
    executed, may_reply = asyncio.Event(), asyncio.Event()
    async with Site(BEHAVIOURS) as site, lab.fetching([site]) as fetcher:
        settle = fetcher._queue.settle

        async def settle_slowly(*results: Any) -> None:
            await settle(*results)
            executed.set()
            await may_reply.wait()

        monkeypatch.setattr(fetcher._queue, "settle", settle_slowly)
        lab.enqueue(site.url(PATHS[0]))
        async with asyncio.timeout(FAULT_SECONDS):
            await executed.wait()
            reconciling = asyncio.ensure_future(fetcher.in_flight_items.reconcile())
            await asyncio.wait({reconciling}, timeout=0.5)
            may_reply.set()
            await reconciling
        await until(lambda: lab.is_settled)
    lab.redis.close()


async def test_hosts_with_a_rate_limit_wait_while_redis_is_unavailable(
    own_redis: RedisServer, kafka: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody can give permits: however long it lasts, nothing is requested, and nothing is lost."""
    caplog.set_level("INFO", "tenax")
    lab, days, pace = Lab(own_redis.url, kafka), Days(), {"page_fetcher.rate_limit_per_second": 1.0}
    leaping = Leaping(days)
    async with Site(BEHAVIOURS, now=days.time) as site:
        urls = [site.url(path) for path in PATHS[:20]]
        lab.enqueue(*urls)
        async with lab.fetching([site], pace, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: len(site.hits) > 5)
            await asyncio.to_thread(own_redis.stop)
            await until(lambda: not fetcher.in_flight)
            before = len(site.hits)
            for _ in range(30):
                days.clock.advance(10.0)
                await asyncio.sleep(0.01)
            await until(lambda: not fetcher.in_flight)
            assert len(site.hits) == before
            await asyncio.to_thread(own_redis.start)
            await until(lambda: lab.is_settled)
    assert all(lab.page(url) is not None for url in urls)
    assert lab.dead == []
    messages = [record.message for record in caplog.records]
    assert sum(message.startswith("Redis unavailable") for message in messages) in (1, 2)
    assert min(gaps(site.hits)) >= 0.99
    lab.redis.close()


async def test_claimed_items_survive_a_redis_that_lost_its_data(own_redis: RedisServer, kafka: KafkaBroker) -> None:
    lab = Lab(own_redis.url, kafka)
    # So slow that it has items for seconds yet, however long this process is kept waiting.
    async with Site(BEHAVIOURS | {path: slow(0.2, page("/")) for path in PATHS}) as site:
        urls = [site.url(path) for path in PATHS]
        lab.enqueue(*urls)
        settings = {"page_fetcher.heartbeat_seconds": 0.1, "page_fetcher.concurrency": 1}
        async with lab.fetching([site], settings) as fetcher:
            await until(lambda: not lab.queue and len(site.hits) > 3)
            lab.redis.flushall()
            await until(lambda: len(lab.claimed) == len(fetcher.in_flight_items) > 0)
        found = len([url for url in urls if lab.page(url) is not None])
        left = {item.decode() for item in lab.queue}
    assert found > 0
    messages = read(kafka.servers, lab.topic, len(urls), lambda found: published_urls(found) | left == set(urls))
    assert published_urls(messages) | left == set(urls)
    lab.redis.close()


@pytest.mark.parametrize("is_new", [True, False], ids=["before its first answer", "while it runs"])
async def test_stopping_does_not_wait_for_a_silent_redis(
    own_redis: RedisServer, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    monkeypatch.setattr(fetcher_module, "UNREGISTER_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(create_redis_client, "__defaults__", (2 * FAULT_SECONDS,))  # makes waiting for a reply visible
    lab = Lab(own_redis.url, kafka)
    lab.redis.rpush(f"{QUEUE}:processing:gone", "http://127.0.0.1:1/")
    lab.redis.sadd(f"{QUEUE}:processing", "gone")
    config = lab.config([], {"page_fetcher.grace_seconds": 0.1})
    app = await open_page_fetcher(config, PageFetcherMetrics())
    if is_new:
        own_redis.pause()
    running = asyncio.ensure_future(app.fetcher.run())
    if not is_new:
        await until(lambda: not lab.redis.exists(f"{QUEUE}:processing:gone"))
        own_redis.pause()
    await asyncio.sleep(0.05)
    try:
        assert not running.done()
        app.fetcher.stop()
        async with asyncio.timeout(FAULT_SECONDS):
            await running
            await app.close()
    finally:
        own_redis.go_on()
        await cancel_and_wait(running)
    lab.redis.close()


async def test_a_fetcher_that_counted_as_dead_drops_what_others_have_now(lab: Lab) -> None:
    paths = PATHS[:20]
    async with Site({"/robots.txt": rules(""), **{path: slow(0.1, page("/")) for path in paths}}) as site:
        lab.enqueue(*(site.url(path) for path in paths))
        settings = {"page_fetcher.concurrency": 1, "page_fetcher.heartbeat_seconds": 0.2}
        async with lab.fetching([site], settings) as one:
            await until(lambda: len(one.in_flight_items) == len(paths) and len(site.hits) >= 2)
            # As if it had been paused for longer than its lease, which has expired.
            [name] = [key.decode() for key in lab.redis.scan_iter("crawler:worker:*")]
            worker = name.removeprefix("crawler:worker:")
            lab.redis.set(f"{QUEUE}:processing:{worker}:given_up", "1")
            lab.redis.rename(f"{QUEUE}:processing:{worker}", "elsewhere")
            await until(lambda: len(one.in_flight_items) == 0)
            asked = len(site.hits)
            lab.redis.rename("elsewhere", QUEUE)
            await until(lambda: lab.is_settled)
    assert asked < len(paths), "it went on with what was in flight, and with nothing else"
    assert {hit.path for hit in site.hits} == {"/robots.txt", *paths}


async def test_what_it_took_after_it_counted_as_dead_is_fetched(lab: Lab) -> None:
    """It learns of it at its next heartbeat only. Items claimed until then are in its list, and in no other."""
    paths = PATHS[:20]
    async with Site({"/robots.txt": rules(""), **{path: slow(0.1, page("/")) for path in paths}}) as site:
        lab.enqueue(*(site.url(path) for path in paths))
        settings = {"page_fetcher.concurrency": 1, "page_fetcher.heartbeat_seconds": 0.2}
        async with lab.fetching([site], settings) as one:
            await until(lambda: len(one.in_flight_items) == len(paths) and len(site.hits) >= 2)
            [name] = [key.decode() for key in lab.redis.scan_iter("crawler:worker:*")]
            tombstone = f"{QUEUE}:processing:{name.removeprefix('crawler:worker:')}:given_up"
            lab.redis.set(tombstone, "1")
            await until(lambda: not lab.redis.exists(tombstone))
            await until(lambda: lab.is_settled)
    assert {hit.path for hit in site.hits} == {"/robots.txt", *paths}
    assert len(site.hits) == len(paths) + 1, "and once"


async def test_items_of_a_dead_fetcher_return_to_the_head_in_order(lab: Lab) -> None:
    async with Site(BEHAVIOURS) as site:
        lab.enqueue("http://127.0.0.1:1/last")
        lab.redis.rpush(f"{QUEUE}:processing:gone", site.url("/1"), site.url("/2"))
        lab.redis.sadd(f"{QUEUE}:processing", "gone", "alive")
        lab.redis.rpush(f"{QUEUE}:processing:alive", site.url("/3"))
        lab.redis.set("crawler:worker:alive", "1")
        config = lab.config([site]).page_fetcher
        queue = await RedisQueue.open(config, "me")
        try:
            assert await queue.recover_dead_workers() == 2
            assert lab.queue == [site.url("/1").encode(), site.url("/2").encode(), b"http://127.0.0.1:1/last"]
            assert lab.claimed == [site.url("/3").encode()]
            ours = [site.url("/1").encode(), site.url("/2").encode()]
            assert await queue.take(0, 10, ours) == ours
            assert lab.queue == [b"http://127.0.0.1:1/last"]
            assert await queue.unregister() == 2
        finally:
            await queue.close()
    assert lab.queue[:2] == [site.url("/1").encode(), site.url("/2").encode()]
