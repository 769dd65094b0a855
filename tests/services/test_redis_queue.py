"""The lists in Redis: nothing is lost when a call is repeated, late, or finds a key of another type."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tenax.errors import ConfigError
from tenax.services.page_fetcher import DeadLetterItem, WorkerStatus
from tenax.services.page_fetcher.redis_queue import RedisQueue
from tests.services.lab import DLQ, QUEUE, Lab

A, B, C, D, E, F = (f"http://127.0.0.1:1/{name}".encode() for name in "abcdef")
OURS = f"{QUEUE}:processing:me"


@pytest.fixture
async def queue(lab: Lab) -> AsyncIterator[RedisQueue]:
    queue = await RedisQueue.open(lab.config([]).page_fetcher, "me")
    yield queue
    await queue.close()


@pytest.fixture
async def other(lab: Lab) -> AsyncIterator[RedisQueue]:
    queue = await RedisQueue.open(lab.config([]).page_fetcher, "other")
    yield queue
    await queue.close()


async def test_waiting_takes_nothing(lab: Lab, queue: RedisQueue) -> None:
    """An item moved by a late command would belong to nobody."""
    assert not await queue.wait_for_items(0.01)
    lab.enqueue(A, B)
    assert await queue.wait_for_items(0.01)
    assert (lab.queue, lab.claimed) == ([A, B], [])


async def test_what_is_taken_by_a_command_that_came_late_is_found_by_others(
    lab: Lab, queue: RedisQueue, other: RedisQueue
) -> None:
    """A Redis that was frozen runs queued commands in any order, even after we have left."""
    lab.enqueue(A, B)
    await queue.unregister()
    assert await queue.take(0, 10, [A]) == [A]
    assert await other.recover_dead_workers() == 1
    assert lab.queue == [A, B]


async def test_what_is_settled_twice_is_in_the_queue_once(
    lab: Lab, queue: RedisQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply to the first call was lost, so it is sent again."""
    lab.enqueue(A, B, C, D)
    await queue.take(0, 10, [A, B, C, D])
    settle, calls = queue._settle, 0

    async def twice(**what: Any) -> object:
        nonlocal calls
        calls += 1
        await settle(**what)
        return await settle(**what)

    monkeypatch.setattr(queue, "_settle", twice)
    await queue.settle([A], [B], [DeadLetterItem(C, b"{}")], [D])
    assert calls == 1
    assert (lab.queue, lab.claimed, lab.dead) == ([D, B], [], [C])
    lab.enqueue(A)
    await queue.take(0, 10, [B])
    await queue.settle(to_back=[B])
    assert lab.queue == [D, A, B]


async def test_what_redis_has_forgotten_is_put_back_all_the_same(lab: Lab, queue: RedisQueue) -> None:
    lab.enqueue(A, B)
    await queue.take(0, 10, [A, B])
    await queue.settle(done=[B])
    lab.redis.flushall()
    await queue.settle(to_back=[A])
    assert lab.queue == [A]


Call = Callable[[RedisQueue], Awaitable[object]]
CALLS: dict[str, tuple[Call, list[str]]] = {
    "take": (lambda queue: queue.take(0, 10, [C, E]), [QUEUE, OURS, f"{QUEUE}:processing"]),
    "settle": (
        lambda queue: queue.settle([A], [B], [DeadLetterItem(D, b"{}")], [F]),
        [QUEUE, OURS, DLQ, f"{DLQ}:reasons", f"{QUEUE}:attempts", f"{QUEUE}:last_activity", f"{OURS}:settled"],
    ),
    "leave": (
        lambda queue: queue.unregister(),
        [QUEUE, OURS, "crawler:worker:me", "crawler:active_workers", f"{QUEUE}:processing"],
    ),
    "spend": (lambda queue: queue.set_attempts(A, 2), [f"{QUEUE}:attempts"]),
}


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, (_, keys) in CALLS.items() for key in keys])
async def test_a_key_of_another_type_loses_nothing(lab: Lab, queue: RedisQueue, name: str, key: str) -> None:
    lab.enqueue(A, B, D, F, C, E)
    await queue.take(0, 10, [A, B, D, F])
    await queue.set_attempts(D, 1)
    await queue.settle(done=[E])
    is_there = bool(lab.redis.exists(key))
    before = in_flight_of(lab)
    if is_there:
        lab.redis.rename(key, "aside")
    lab.redis.zadd(key, {"no list, hash, set or text": 1})
    is_refused = False
    try:
        await CALLS[name][0](queue)
    except ConfigError as error:
        assert "WRONGTYPE" in str(error)
        is_refused = True
    assert is_refused or (name, key) == ("leave", "crawler:worker:me"), "that is removed, whatever it is"
    if is_refused:
        lab.redis.delete(key)
        if is_there:
            lab.redis.rename("aside", key)
        assert in_flight_of(lab) == before, "all of it, or nothing"


def in_flight_of(lab: Lab) -> tuple[object, ...]:
    return lab.queue, lab.claimed, lab.dead, lab.redis.hgetall(f"{QUEUE}:attempts"), lab.redis.hgetall(f"{DLQ}:reasons")


@pytest.mark.parametrize("key", [QUEUE, f"{QUEUE}:processing:gone", "crawler:active_workers"])
async def test_a_key_of_another_type_loses_nothing_of_the_dead(lab: Lab, queue: RedisQueue, key: str) -> None:
    lab.redis.rpush(f"{QUEUE}:processing:gone", A, B)
    lab.redis.sadd(f"{QUEUE}:processing", "gone")
    lab.enqueue(C)
    lab.redis.rename(key, "aside")
    lab.redis.set(key, "a text")
    with pytest.raises(ConfigError, match="WRONGTYPE"):
        await queue.recover_dead_workers()
    lab.redis.rename("aside", key)
    assert await queue.recover_dead_workers() == 2
    assert lab.queue == [A, B, C]


async def test_a_fetcher_that_was_given_up_hears_of_it(lab: Lab, queue: RedisQueue, other: RedisQueue) -> None:
    lab.enqueue(A)
    await queue.take(0, 10, [A])
    lab.redis.delete("crawler:worker:me")
    assert await other.recover_dead_workers() == 1
    assert await queue.send_heartbeat("") is WorkerStatus.EXPIRED
    assert await queue.send_heartbeat("") is WorkerStatus.REGISTERED


async def test_times_are_those_of_redis(lab: Lab) -> None:
    """Our clock may be wrong, and readers of the status compare them with the clock of Redis."""
    queue = await RedisQueue.open(lab.config([]).page_fetcher, "me")
    try:
        await queue.settle(done=[A])
    finally:
        await queue.close()
    now = float(lab.redis.time()[0])
    activity, beat = lab.redis.get(f"{QUEUE}:last_activity"), lab.redis.hget("crawler:worker:me", "lastHeartbeat")
    assert isinstance(activity, bytes) and isinstance(beat, bytes)
    assert float(activity) == pytest.approx(now, abs=60)
    assert int(beat) / 1000 == pytest.approx(now, abs=60)
