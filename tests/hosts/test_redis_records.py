"""Host records in Redis: the same as in one process that made all visits, in any order of updates."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.hosts.records import MemoryHosts
from tenax.hosts.redis import BestEffortRedis, RedisHosts
from tenax.model import HostRecord
from tenax.runtime.redis import MAX_FAILURES, RETRY_SECONDS
from tests.contracts.hosts import (
    HostsContract,
    Store,
    counted,
    events,
    expected,
    other_host,
    side_by_side,
    updated_record,
)
from tests.servers.redis import RedisServer

ORIGIN = "https://a.example"


@pytest.fixture
async def store(redis: str, reaches: Callable[[str], BestEffortRedis]) -> Store:
    local_hosts = MemoryHosts()
    return Store(RedisHosts(reaches(redis), local_hosts), local_hosts)


class TestRedisHosts(HostsContract):
    pass


async def test_two_workers_learn_as_one_that_saw_it_all(redis: str, reaches: Callable[[str], BestEffortRedis]) -> None:
    """Their visits overlap: each updates a record that the other may have changed meanwhile."""
    workers = [RedisHosts(reaches(redis)) for _ in range(2)]

    async def play(number: int) -> None:
        chance, record = random.Random(number), other_host(number)
        history = events(chance, most=8)
        in_progress: list[tuple[RedisHosts, HostRecord]] = []
        known: list[HostRecord] = []
        for event in history:
            for _ in range(chance.choice((0, 1, 2))):
                hosts = chance.choice(workers)
                in_progress.append((hosts, await hosts.acquire(record)))
            hosts, adopted = (
                in_progress.pop(chance.randrange(len(in_progress))) if in_progress else (workers[0], record)
            )
            known.append(await updated_record(hosts, record.origin, adopted, event.rule))
            if chance.random() < 0.7:
                hosts.release(record.origin)
        assert known == await expected(record, history), f"history {number}: {history}"
        last = [await hosts.acquire(record) for hosts in workers]
        assert last == [known[-1]] * 2, f"history {number}: {history}"

    await side_by_side(play, 1000)


async def test_no_change_is_lost_when_many_make_one_at_once(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    workers = [RedisHosts(reaches(redis)) for _ in range(4)]
    record = HostRecord(ORIGIN, "a.example")

    def one_more(host: HostRecord) -> HostRecord:
        return msgspec.structs.replace(host, page_count=host.page_count + 1, next_at=host.next_at + 1)

    async def work(hosts: RedisHosts) -> None:
        await hosts.acquire(record)
        for _ in range(25):
            await updated_record(hosts, ORIGIN, record, one_more)
            await asyncio.sleep(random.random() / 500)

    await asyncio.gather(*map(work, workers))
    last = await RedisHosts(reaches(redis)).acquire(record)
    assert last.page_count == 100


@pytest.mark.parametrize("is_emptied", [True, False], ids=["emptied", "as it was"])
async def test_without_redis_records_come_from_memory_and_go_back_to_it(is_emptied: bool) -> None:
    clock = ManualClock()
    record = HostRecord(ORIGIN, "a.example")
    with RedisServer() as server:
        reach = BestEffortRedis(server.url, clock, call_seconds=60.0)
        hosts = RedisHosts(reach)
        await hosts.acquire(record)
        await updated_record(
            hosts, ORIGIN, record, lambda host: msgspec.structs.replace(host, next_at=10.0, page_count=1)
        )
        server.kill() if is_emptied else server.stop()

        def one_more(host: HostRecord) -> HostRecord:
            return msgspec.structs.replace(host, next_at=host.next_at + 1, page_count=host.page_count + 1)

        for _ in range(MAX_FAILURES + 1):
            updated = await updated_record(hosts, ORIGIN, record, one_more)
        assert (updated.page_count, hosts.get(ORIGIN)) == (MAX_FAILURES + 2, updated)
        server.start()
        clock.advance(RETRY_SECONDS)
        updated = await updated_record(hosts, ORIGIN, record, lambda host: msgspec.structs.replace(host, next_at=99.0))
        assert updated.page_count == MAX_FAILURES + 2
        other = BestEffortRedis(server.url, clock)
        assert await RedisHosts(other).acquire(record) == updated
        await other.close()
        await reach.close()


async def test_a_flushed_redis_forgets_nothing_that_we_know(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    reach = reaches(redis)
    hosts, record = RedisHosts(reach), HostRecord(ORIGIN, "a.example")
    await hosts.acquire(record)
    await updated_record(
        hosts, ORIGIN, record, lambda host: msgspec.structs.replace(host, next_at=500.0, breaker="open", page_count=1)
    )
    await reach.client.flushall()
    updated = await updated_record(
        hosts, ORIGIN, record, lambda host: msgspec.structs.replace(host, page_count=host.page_count + 1)
    )
    assert (updated.next_at, updated.breaker, updated.page_count) == (500.0, "open", 2)
    assert await RedisHosts(reaches(redis)).acquire(record) == updated


async def test_what_others_wrote_under_our_keys_is_passed_over(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    """Another program, or another version of Tenax."""
    reach = reaches(redis)
    hosts, record = RedisHosts(reach), HostRecord(ORIGIN, "a.example")
    await hosts.acquire(record)
    updated = await updated_record(hosts, ORIGIN, record, counted)
    await reach.client.hset("robots:a.example", "https", "User-agent: *")
    assert await RedisHosts(reaches(redis)).acquire(record) == updated
    await reach.client.hset("circuit:a.example", "record:https", "{}")
    assert await RedisHosts(reaches(redis)).acquire(record) == record
