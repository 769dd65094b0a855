"""The memory budget of bodies: who waits, who is first, and that all of them finish."""

from __future__ import annotations

import asyncio
import random

import pytest

from tenax.fetch.body_budget import PROCESSING_FACTOR, SMALL_BYTES, BodyBudget, BudgetExhausted, MemoryReservation
from tests.loops import FAULT_SECONDS, rounds

MB = 1024 * 1024
LIMIT = 64 * MB
LARGE_LIMIT = LIMIT * 3 // 4


def budget(limit_bytes: int = LIMIT, concurrency: int = 256) -> BodyBudget:
    return BodyBudget(limit_bytes, concurrency)


def full(bodies: BodyBudget) -> MemoryReservation:
    """A reservation of all that large bodies may have."""
    room = bodies.open_reservation()
    assert room.try_reserve(LARGE_LIMIT)
    return room


async def waiting(room: MemoryReservation, wanted_bytes: int) -> asyncio.Task[None]:
    task = asyncio.ensure_future(room.reserve(wanted_bytes))
    await rounds()
    return task


async def test_what_is_taken_counts_until_it_is_closed() -> None:
    bodies = budget()
    one, other = bodies.open_reservation(), bodies.open_reservation()
    assert one.try_reserve(3 * MB) and other.try_reserve(MB)
    one.resize(2 * MB)
    assert bodies.used_bytes == 3 * MB
    one.close()
    other.close()
    other.close()
    assert (bodies.used_bytes, bodies.peak_bytes) == (0, 4 * MB)


async def test_large_bodies_leave_a_part_to_small_ones() -> None:
    bodies = budget()
    full(bodies)
    large, small = bodies.open_reservation(), bodies.open_reservation()
    assert not large.try_reserve(SMALL_BYTES + 1)
    assert large.free_bytes(10 * MB) == SMALL_BYTES
    task = await waiting(large, MB)
    assert task.done(), "it came first, and may go beyond"
    second = await waiting(bodies.open_reservation(), MB)
    assert not second.done()
    assert small.try_reserve(SMALL_BYTES), "whoever needs little does not wait for the large ones"
    assert not small.try_reserve(1), "and is a large one from there on"
    second.cancel()


async def test_the_first_goes_on_until_it_is_over_then_the_next() -> None:
    bodies = budget()
    full(bodies)
    rooms = [bodies.open_reservation() for _ in range(3)]
    tasks = [await waiting(room, MB) for room in rooms]
    assert [task.done() for task in tasks] == [True, False, False]
    assert rooms[0].try_reserve(2 * LIMIT), "a body may be larger than all of the budget"
    assert not rooms[1].try_reserve(MB)
    rooms[0].close()
    await rounds()
    assert [task.done() for task in tasks] == [True, True, False]


async def test_who_waited_first_is_served_first_also_when_it_waits_again() -> None:
    bodies = budget()
    holder = full(bodies)
    rooms = [bodies.open_reservation() for _ in range(4)]
    tasks = [await waiting(room, MB) for room in rooms]
    rooms[0].close()  # the next may exceed the budget
    await rounds()
    assert [task.done() for task in tasks] == [True, True, False, False]
    holder.resize(LARGE_LIMIT - 2 * MB)
    await rounds()
    assert tasks[2].done() and not tasks[3].done(), "there was room for one"
    again = await waiting(rooms[2], MB)
    rooms[1].close()
    await rounds()
    assert again.done(), "its body comes before that of who came later"
    tasks[3].cancel()


async def test_who_gives_up_lets_the_next_one_go() -> None:
    bodies = budget()
    full(bodies)
    await waiting(bodies.open_reservation(), MB)
    large, small = bodies.open_reservation(), bodies.open_reservation()
    impatient = await waiting(large, LIMIT)
    small.try_reserve(SMALL_BYTES)
    impatient.cancel()
    await rounds()
    assert bodies.waiting == 0


async def test_only_a_part_of_the_visits_may_wait() -> None:
    bodies = budget(concurrency=8)
    full(bodies)
    tasks = [await waiting(bodies.open_reservation(), MB) for _ in range(3)]
    assert [task.done() for task in tasks] == [True, False, False]
    with pytest.raises(BudgetExhausted):
        await bodies.open_reservation().reserve(MB)
    for task in tasks:
        task.cancel()


async def test_only_so_much_is_handed_on_as_is_brought_to_its_end() -> None:
    bodies = budget()
    rooms = [bodies.open_reservation() for _ in range(4)]
    for room in rooms:
        assert room.try_reserve(8 * MB)
    tasks = [asyncio.ensure_future(room.start_processing()) for room in rooms]
    await rounds()
    assert [task.done() for task in tasks] == [True, False, False, False]
    assert bodies.used_bytes == 8 * MB * PROCESSING_FACTOR + 3 * 8 * MB
    small = bodies.open_reservation()
    assert small.try_reserve(SMALL_BYTES)
    await asyncio.wait_for(small.start_processing(), FAULT_SECONDS)
    rooms[0].resize(MB)  # it was extracted, and its page waits for the commit
    await rounds()
    assert [task.done() for task in tasks] == [True, True, False, False]
    for room in rooms:
        room.close()
    await rounds()
    assert bodies.used_bytes == SMALL_BYTES * PROCESSING_FACTOR


async def test_a_body_larger_than_the_budget_is_handed_on_when_nothing_else_is() -> None:
    bodies = budget(limit_bytes=MB)
    room = bodies.open_reservation()
    await asyncio.wait_for(room.reserve(5 * MB), FAULT_SECONDS)
    await asyncio.wait_for(room.start_processing(), FAULT_SECONDS)
    room.close()
    assert bodies.used_bytes == 0


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_comes_all_of_it_comes_to_an_end(seed: int) -> None:
    """Bodies of all sizes at once, some cancelled midway: none waits for ever, and nothing stays reserved."""
    dice = random.Random(seed)
    bodies = budget(limit_bytes=dice.choice([MB, 8 * MB, LIMIT]), concurrency=1000)

    async def visit(size: int, given_up_at: int | None) -> None:
        room = bodies.open_reservation()
        try:
            while room.reserved_bytes < size:
                piece = min(64 * 1024, size - room.reserved_bytes)
                if not room.try_reserve(piece):
                    await room.reserve(piece)
                if given_up_at is not None and room.reserved_bytes >= given_up_at:
                    return
                if dice.random() < 0.1:
                    await asyncio.sleep(0)
            await room.start_processing()
            await rounds(dice.randrange(5))
            room.resize(size // 2)
            await asyncio.sleep(0)
        finally:
            room.close()

    sizes = [dice.choice([1000, 100_000, 2 * MB, dice.randrange(1, 3 * bodies.limit_bytes // 2)]) for _ in range(150)]
    given_up = [dice.randrange(size) if dice.random() < 0.2 else None for size in sizes]
    async with asyncio.timeout(FAULT_SECONDS):
        await asyncio.gather(*map(visit, sizes, given_up))
    assert (bodies.used_bytes, bodies.waiting) == (0, 0)
    # Bodies being processed count several times, and one body may exceed the budget.
    assert bodies.peak_bytes <= bodies.limit_bytes * 3 // 2 + PROCESSING_FACTOR * max(sizes)
