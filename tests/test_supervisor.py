"""The supervisor: what it notices, what it says, and how often."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from tenax.clock import ManualClock, SteadyClock
from tenax.supervisor import Supervisor

TICK = 0.001


async def reached(condition: Callable[[], bool]) -> None:
    """Give the supervisor its turns until this holds; it only counts, so there is nothing else to wait for."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(TICK)
    raise AssertionError("it never came to that")


async def some_turns(supervisor: Supervisor, clock: ManualClock) -> None:
    """Until the supervisor has looked again, at the time the clock shows now."""
    now = clock.now()
    await reached(lambda: supervisor._beat == now)
    await asyncio.sleep(3 * TICK)


async def ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_crawl_in_which_no_visit_ends_is_told_with_the_oldest_visits(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    begun = clock.now()
    in_flight = {f"https://a.test/{number}": begun + number for number in range(20)}
    supervisor = Supervisor(clock, in_flight, lambda: begun, stall_seconds=60, blocked_seconds=1e9, check_seconds=TICK)
    running = asyncio.ensure_future(supervisor.run())
    clock.advance(59)
    await some_turns(supervisor, clock)
    assert supervisor.stalls == 0
    clock.advance(2)
    await reached(lambda: supervisor.stalls == 1)
    await some_turns(supervisor, clock)
    assert supervisor.stalls == 1  # said once, not at every look
    clock.advance(61)
    await reached(lambda: supervisor.stalls == 2)
    await ended(running)
    [first, _] = [record for record in caplog.records if record.message == "the crawl has stalled"]
    assert first.levelno == logging.ERROR
    assert first.__dict__["silent_seconds"] == 61
    assert first.__dict__["in_flight"] == 20
    assert first.__dict__["oldest"] == [f"https://a.test/{number}" for number in range(10)]


async def test_a_crawl_that_moves_or_rests_is_left_alone() -> None:
    clock = ManualClock()
    in_flight: dict[str, float] = {}
    last = clock.now()
    supervisor = Supervisor(clock, in_flight, lambda: last, stall_seconds=60, blocked_seconds=1e9, check_seconds=TICK)
    running = asyncio.ensure_future(supervisor.run())
    clock.advance(1000)  # nothing in flight: everyone rests
    await some_turns(supervisor, clock)
    in_flight["https://a.test/"] = last = clock.now()
    for _ in range(5):  # slow, but one after the other ends
        clock.advance(50)
        await some_turns(supervisor, clock)
        last = clock.now()
    await ended(running)
    assert (supervisor.stalls, supervisor.blocks) == (0, 0)


async def test_a_blocked_loop_is_told_once_with_the_place_where_it_stands(caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor(SteadyClock(), {}, lambda: 0.0, blocked_seconds=0.05, check_seconds=0.01)
    running = asyncio.ensure_future(supervisor.run())
    await asyncio.sleep(0)
    stands_in_the_way(lambda: supervisor.blocks > 0)
    await asyncio.sleep(0.03)
    await ended(running)
    assert supervisor.blocks == 1
    [told] = [record for record in caplog.records if record.message == "the event loop is blocked"]
    assert any("stands_in_the_way" in line for line in told.__dict__["at"])


def stands_in_the_way(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not until() and time.monotonic() < deadline:
        pass


async def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    running = asyncio.ensure_future(Supervisor(ManualClock(), {}, lambda: 0.0, check_seconds=TICK).run())
    await asyncio.sleep(0)
    assert any(thread.name == "supervisor" for thread in set(threading.enumerate()) - before)
    await ended(running)
    assert not {thread for thread in set(threading.enumerate()) - before if thread.name == "supervisor"}
