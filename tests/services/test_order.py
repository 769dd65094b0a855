"""A host that waits delays no other, and waiting items keep their order."""

from __future__ import annotations

import pytest

from tenax.services.page_fetcher import DeadLetterItem
from tenax.services.page_fetcher.redis_queue import RedisQueue
from tests.servers.processes import free_port
from tests.services.lab import DLQ, QUEUE, Lab, until
from tests.site.politeness import unavailable
from tests.site.robots import page, rules
from tests.site.server import Site

PATHS = [f"/{number}" for number in range(20)]


@pytest.mark.parametrize("rate", [0.0, 50.0])
async def test_three_thousand_urls_of_a_dead_host_delay_no_other_host(lab: Lab, rate: float) -> None:
    port = free_port()
    dead = [f"http://127.0.0.1:{port}/{number}" for number in range(3000)]
    async with Site({"/robots.txt": rules(""), **{path: page("/") for path in PATHS}}, "127.0.0.59") as well:
        urls = [well.url(path) for path in PATHS[:5]]
        lab.enqueue(*dead, *urls)
        settings = {"guard.ports": (well.port, port), "page_fetcher.rate_limit_per_second": rate}
        async with lab.fetching([well], settings):
            await until(lambda: all(lab.page(url) is not None for url in urls))
    assert [hit.path for hit in well.hits] == ["/robots.txt", *PATHS[:5]], "in their order"
    assert [item.decode() for item in lab.queue] == dead, "all of it, in its order: nothing of it was asked for"
    assert lab.dead == []


async def test_the_first_url_of_an_unknown_host_keeps_its_position(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), **{path: page("/") for path in PATHS}}) as site:
        lab.enqueue(*(site.url(path) for path in PATHS))
        async with lab.fetching([site], {"page_fetcher.rate_limit_per_second": 50.0}):
            await until(lambda: lab.is_settled)
    assert [hit.path for hit in site.hits] == ["/robots.txt", *PATHS]


async def test_a_large_host_is_refilled_in_order(lab: Lab) -> None:
    """More URLs than one host may have in memory, and others behind them."""
    paths = [f"/{number}" for number in range(100)]
    behaviours = {"/robots.txt": rules(""), **{path: page("/") for path in paths}}
    async with Site(behaviours, "127.0.0.60") as large, Site(behaviours, "127.0.0.61") as small:
        lab.enqueue(*(large.url(path) for path in paths), *(small.url(path) for path in paths[:3]))
        settings = {"page_fetcher.rate_limit_per_second": 200.0, "page_fetcher.max_in_flight": 100}
        async with lab.fetching([large, small], settings):
            await until(lambda: lab.is_settled)
    assert [hit.path for hit in large.hits] == ["/robots.txt", *paths]
    assert [hit.path for hit in small.hits] == ["/robots.txt", *paths[:3]]


async def test_items_of_a_host_that_backs_off_return_to_the_head(lab: Lab) -> None:
    async with Site({"/robots.txt": unavailable}, "127.0.0.62") as ill:
        urls = [ill.url(path).encode() for path in PATHS]
        lab.enqueue(*urls)
        settings = {
            "page_fetcher.rate_limit_per_second": 50.0, "page_fetcher.circuit_breaker_failure_threshold": 1,
        }  # fmt: skip
        async with lab.fetching([ill], settings) as fetcher:
            await until(lambda: fetcher.metrics.breakers_opened == 1 and lab.queue == urls)
            await until(lambda: fetcher.in_flight_items.is_blocked)
            assert lab.queue == urls
            assert len(ill.hits) == 1


async def _queue(lab: Lab) -> RedisQueue:
    return await RedisQueue.open(lab.config([]).page_fetcher, "me")


async def test_items_are_taken_from_the_middle_by_index(lab: Lab) -> None:
    lab.enqueue(*"abcabcabc")
    queue = await _queue(lab)
    try:
        assert await queue.peek(3, 3) == ([b"a", b"b", b"c"], 9)
        assert await queue.take(3, 3, [b"c", b"a", b"a"]) == [b"a", b"c"], "only those within the window, in order"
        assert lab.queue == [b"a", b"b", b"c", b"b", b"a", b"b", b"c"]
        assert await queue.take(4, 100, [b"b", b"c"]) == [b"b", b"c"]
        assert lab.queue == [b"a", b"b", b"c", b"b", b"a"]
        assert await queue.take(0, 10, [b"a", b"b"]) == [b"a", b"b"]
        assert lab.queue == [b"c", b"b", b"a"]
        assert await queue.take(0, 10, [b"x"]) == []
        assert lab.claimed == [b"a", b"c", b"b", b"c", b"a", b"b"]
        await queue.settle(to_front=[b"a", b"b"], to_back=[b"c"])
        assert lab.queue == [b"a", b"b", b"c", b"b", b"a", b"c"]
        assert lab.claimed == [b"c", b"a", b"b"]
    finally:
        await queue.close()


@pytest.mark.parametrize("wrong", [DLQ, f"{DLQ}:reasons", QUEUE, f"{QUEUE}:attempts"])
async def test_a_list_that_cannot_be_written_to_loses_nothing(lab: Lab, wrong: str) -> None:
    """Its key gets another type while we run: what was to be written there stays where it was."""
    from tenax.errors import ConfigError

    lab.enqueue("a", "b", "c")
    queue = await _queue(lab)
    try:
        assert await queue.take(0, 3, [b"a", b"b", b"c"]) == [b"a", b"b", b"c"]
        lab.redis.set(wrong, "something else")
        with pytest.raises(ConfigError, match="WRONGTYPE"):
            await queue.settle(to_back=[b"b"], dead_letters=[DeadLetterItem(b"a", b"{}")], to_front=[b"c"])
        assert {*lab.claimed, *(lab.queue if wrong != QUEUE else [])} == {b"a", b"b", b"c"}
    finally:
        await queue.close()


async def test_an_item_stays_in_the_queue_when_our_list_cannot_be_written_to(lab: Lab) -> None:
    from tenax.errors import ConfigError

    lab.enqueue("a", "b")
    queue = await _queue(lab)
    try:
        lab.redis.set(f"{QUEUE}:processing:me", "something else")
        with pytest.raises(ConfigError, match="WRONGTYPE"):
            await queue.take(0, 2, [b"b"])
        assert lab.queue == [b"a", b"b"]
        with pytest.raises(ConfigError, match="WRONGTYPE"):
            await queue.unregister()
        assert lab.queue == [b"a", b"b"]
    finally:
        await queue.close()
