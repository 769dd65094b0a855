"""The supervisor: what it detects, what it logs, and how often."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection

import pytest

from tenax.clock import ManualClock
from tenax.config import ResilienceConfig
from tenax.crawl.connectivity import NetworkMonitor, NetworkState
from tenax.crawl.supervisor import Supervisor, Timing, WatchedDatabase, WatchedLoop
from tenax.errors import CrawlStalled, DatabaseTimeout, DatabaseUnusable, MemoryExceeded, StorageFull, TenaxError
from tenax.model import Fetched

TICK = 0.001
RESILIENCE = ResilienceConfig(stall_seconds=60)
PATIENT = Timing(TICK, blocked_seconds=1e9)
IDLE = WatchedLoop([], lambda: 0.0)


async def reached(condition: Callable[[], bool]) -> None:
    """Let the supervisor run until the condition holds; it only counts, so there is nothing else to wait for."""
    for _ in range(60_000):
        if condition():
            return
        await asyncio.sleep(TICK)
    raise AssertionError("the condition never became true")


async def some_iterations(supervisor: Supervisor, clock: ManualClock) -> None:
    """Until the supervisor has checked again, at the current time of the clock."""
    now = clock.now()
    await reached(lambda: supervisor._heartbeat_at == now)
    await asyncio.sleep(3 * TICK)


async def stalled_times(supervisor: Supervisor, times: int) -> None:
    await reached(lambda: supervisor.stalls == times)


async def ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_stall_is_logged_with_the_oldest_visits(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    begun = clock.now()
    in_flight = [(f"https://a.test/{number}", begun + number) for number in range(20)]
    supervisor = Supervisor(clock, WatchedLoop(in_flight, lambda: begun), RESILIENCE, timing=PATIENT)
    running = asyncio.ensure_future(supervisor.run())
    clock.advance(59)
    await some_iterations(supervisor, clock)
    assert supervisor.stalls == 0
    clock.advance(2)
    await reached(lambda: supervisor.stalls == 1)
    await some_iterations(supervisor, clock)
    assert supervisor.stalls == 1  # logged once, not at every check
    clock.advance(61)
    await reached(lambda: supervisor.stalls == 2)
    await ended(running)
    [first, _] = [record for record in caplog.records if record.message == "crawl stalled"]
    assert first.levelno == logging.ERROR
    assert first.__dict__["silent_seconds"] == 61
    assert first.__dict__["in_flight"] == 20
    assert first.__dict__["oldest"] == [f"https://a.test/{number}" for number in range(10)]


async def test_an_unavailable_database_is_waited_for_however_long_it_takes() -> None:
    clock, is_away = ManualClock(), True
    begun = clock.now()
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(60)

    loop = WatchedLoop([("https://a.test/", begun)], lambda: begun)
    database = WatchedDatabase(ask, lambda: is_away)
    timing = PATIENT._replace(database_timeout_seconds=TICK)
    supervisor = Supervisor(clock, loop, RESILIENCE, database=database, timing=timing)
    running = asyncio.ensure_future(supervisor.run())
    for _ in range(10):
        clock.advance(86_400)
        await some_iterations(supervisor, clock)
    assert (supervisor.stalls, asked, running.done()) == (0, 0, False)
    is_away = False
    clock.advance(61)
    with pytest.raises(BaseExceptionGroup) as raised:
        await asyncio.wait_for(running, 60)
    assert raised.group_contains(DatabaseTimeout), "it was back, nothing moved, and it gave no answer"


async def test_a_database_that_notices_only_when_it_is_asked_is_waited_for() -> None:
    clock, is_away = ManualClock(), False
    begun = clock.now()

    async def ask() -> None:
        nonlocal is_away
        is_away = True
        await asyncio.sleep(60)

    loop = WatchedLoop([("https://a.test/", begun)], lambda: begun)
    database = WatchedDatabase(ask, lambda: is_away)
    timing = PATIENT._replace(database_timeout_seconds=TICK)
    supervisor = Supervisor(clock, loop, RESILIENCE, database=database, timing=timing)
    running = asyncio.ensure_future(supervisor.run())
    clock.advance(61)
    await stalled_times(supervisor, 1)
    clock.advance(86_400)
    await some_iterations(supervisor, clock)
    assert (supervisor.stalls, running.done()) == (1, False)
    await ended(running)


async def test_a_crawl_that_progresses_or_backs_off_has_not_stalled() -> None:
    clock = ManualClock()
    in_flight: list[tuple[str, float]] = []
    last = clock.now()
    supervisor = Supervisor(clock, WatchedLoop(in_flight, lambda: last), RESILIENCE, timing=PATIENT)
    running = asyncio.ensure_future(supervisor.run())
    clock.advance(1000)  # nothing in flight: every host backs off
    await some_iterations(supervisor, clock)
    last = clock.now()
    in_flight.append(("https://a.test/", last))
    for _ in range(5):  # slow, but one after the other ends
        clock.advance(50)
        await some_iterations(supervisor, clock)
        last = clock.now()
    await ended(running)
    assert (supervisor.stalls, supervisor.blocks) == (0, 0)


# ---- what is done about a stall -----------------------------------------------------------------------------


def stuck(
    clock: ManualClock,
    *,
    in_flight: Collection[tuple[str, float]] | None = None,
    ask_database: Callable[[], Awaitable[object]] | None = None,
    network: NetworkMonitor | None = None,
    last_turn: Callable[[], float] | None = None,
) -> Supervisor:
    """Watches a crawl in which one visit never ends."""
    begun = clock.now()
    visits = [("https://a.test/", begun)] if in_flight is None else in_flight
    return Supervisor(
        clock,
        WatchedLoop(visits, lambda: begun, last_turn),
        RESILIENCE,
        database=WatchedDatabase(ask_database),
        network=network,
        timing=PATIENT._replace(database_timeout_seconds=0.02),
    )


async def gave_up(running: asyncio.Task[None]) -> TenaxError:
    """The one error that the supervisor ended with."""
    with pytest.raises(ExceptionGroup) as group:
        await asyncio.wait_for(running, 60)
    [error] = group.value.exceptions
    assert isinstance(error, TenaxError)
    return error


async def test_a_stall_that_outlasts_three_diagnoses_is_hopeless() -> None:
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1

    clock = ManualClock()
    supervisor = stuck(clock, ask_database=ask)
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    for _ in range(3):
        clock.advance(61)
        await stalled_times(supervisor, asked + 1)
        await some_iterations(supervisor, clock)
    assert not running.done()
    clock.advance(61)
    error = await gave_up(running)
    assert isinstance(error, CrawlStalled)
    assert str(error).startswith("no progress for 4 minutes, and neither the network nor the database")
    assert asked == 3


async def test_a_crawl_that_moves_again_begins_anew() -> None:
    clock = ManualClock()
    last = clock.now()
    loop = WatchedLoop([("https://a.test/", last)], lambda: last)
    supervisor = Supervisor(clock, loop, RESILIENCE, timing=PATIENT)
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    for stalls in range(1, 7):
        clock.advance(61)
        await stalled_times(supervisor, stalls)
        await some_iterations(supervisor, clock)
        if stalls % 2 == 0:
            last = clock.now()
            await some_iterations(supervisor, clock)
    assert not running.done()
    await ended(running)


async def test_an_engine_that_does_not_look_for_work_has_stalled() -> None:
    clock = ManualClock()
    turned_at = clock.now()
    supervisor = stuck(clock, in_flight=[], last_turn=lambda: turned_at)
    running = asyncio.ensure_future(supervisor.run())
    for _ in range(5):
        clock.advance(50)
        turned_at = clock.now()
        await some_iterations(supervisor, clock)
    assert supervisor.stalls == 0
    clock.advance(61)
    await reached(lambda: supervisor.stalls == 1)
    await ended(running)


async def never() -> None:
    await asyncio.Event().wait()


async def refuses() -> None:
    raise DatabaseUnusable("the file is gone")


@pytest.mark.parametrize(
    ("ask", "why"), [(never, "no answer within 0.02 s"), (refuses, "the file is gone")], ids=["silent", "broken"]
)
async def test_a_database_that_does_not_answer_ends_the_run(
    ask: Callable[[], Awaitable[object]], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    supervisor = stuck(clock, ask_database=ask)
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    clock.advance(61)
    error = await gave_up(running)
    assert isinstance(error, DatabaseTimeout)
    assert str(error).startswith(f"the database does not answer: {why}; everything committed is safe")
    logged = [record for record in caplog.records if record.message == "database does not answer"]
    assert [record.__dict__["why"] for record in logged] == [why] * 3


async def test_a_database_that_answers_at_last_is_forgiven() -> None:
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            await refuses()

    clock = ManualClock()
    supervisor = stuck(clock, ask_database=ask)
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    clock.advance(61)
    await reached(lambda: asked == 3)
    await some_iterations(supervisor, clock)
    assert not running.done()
    await ended(running)


async def test_a_full_disk_is_said_as_such() -> None:
    async def ask() -> None:
        raise StorageFull("the disk is full")

    clock = ManualClock()
    running = asyncio.ensure_future(stuck(clock, ask_database=ask).run())
    await asyncio.sleep(TICK)
    clock.advance(61)
    assert isinstance(await gave_up(running), StorageFull)


async def test_a_stall_without_network_waits_for_it_and_is_not_hopeless() -> None:
    clock = ManualClock()
    paused: list[bool] = []
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    probe = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    resilience = ResilienceConfig(stall_seconds=60, network_probes=(probe,))
    watch = NetworkState(resilience)
    network = NetworkMonitor(
        watch, resilience, clock, lambda reason, is_paused: paused.append(is_paused), poll_seconds=TICK
    )
    watch.record_outcome(Fetched(200), "http://a.test")
    assert (await network.probe()).is_up
    server.close()
    await server.wait_closed()
    supervisor = stuck(clock, network=network)
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    clock.advance(61)
    await reached(lambda: watch.is_down and paused == [True])
    for _ in range(10):
        clock.advance(61)
        await some_iterations(supervisor, clock)
    assert (supervisor.stalls, running.done()) == (1, False)
    await ended(running)
    assert paused == [True, False]


# ---- the event loop -----------------------------------------------------------------------------------------


async def test_a_loop_that_stays_blocked_ends_the_process_where_that_is_allowed() -> None:
    clock = ManualClock()
    exits: list[int] = []
    supervisor = Supervisor(clock, IDLE, RESILIENCE, timing=Timing(TICK))
    supervisor.exit_process = exits.append
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    clock.advance(11)
    stands_in_the_way(lambda: supervisor.blocks == 1)
    assert exits == []
    clock.advance(170)
    stands_in_the_way(lambda: bool(exits))
    assert exits == [CrawlStalled.exit_code]
    await ended(running)


class LookedAt(ManualClock):
    """Counts how often a thread other than the loop's has read it."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self._own = threading.get_ident()

    def now(self) -> float:
        self.looks += threading.get_ident() != self._own
        return super().now()


async def test_a_blocked_loop_is_logged_once_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    clock = LookedAt()
    supervisor = Supervisor(clock, IDLE, timing=Timing(TICK))
    running = asyncio.ensure_future(supervisor.run())
    await some_iterations(supervisor, clock)
    clock.advance(11)
    stands_in_the_way(lambda: supervisor.blocks > 0)
    looks = clock.looks
    stands_in_the_way(lambda: clock.looks > looks + 5)
    await some_iterations(supervisor, clock)
    await ended(running)
    assert supervisor.blocks == 1
    [logged] = [record for record in caplog.records if record.message == "event loop blocked"]
    assert any("stands_in_the_way" in line for line in logged.__dict__["at"])


def stands_in_the_way(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline, "the condition never became true"


async def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    running = asyncio.ensure_future(Supervisor(ManualClock(), IDLE, timing=Timing(TICK)).run())
    await asyncio.sleep(0)
    assert any(thread.name == "supervisor" for thread in set(threading.enumerate()) - before)
    await ended(running)
    assert not {thread for thread in set(threading.enumerate()) - before if thread.name == "supervisor"}


# ---- memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "is_ended"), [(1_999_999, True), (2_000_000, False), (0, False)])
async def test_a_run_that_uses_too_much_memory_is_stopped(limit: int, is_ended: bool) -> None:
    clock, stops, looks, parting = ManualClock(), 0, 0, list[int]()

    def used() -> int:
        nonlocal looks
        looks += 1
        return 1_000_000 if looks < 3 else 2_000_000

    def stop() -> None:
        nonlocal stops
        stops += 1

    loop, resilience = WatchedLoop([], clock.now, stop=stop), ResilienceConfig(max_memory_bytes=limit)
    supervisor = Supervisor(clock, loop, resilience, timing=PATIENT, used_memory=used)
    supervisor.exit_process = parting.append
    running = asyncio.ensure_future(supervisor.run())
    if is_ended:
        await reached(lambda: stops == 1)
        assert isinstance(supervisor.error, MemoryExceeded) and supervisor.error.exit_code == 12
        assert str(supervisor.error).startswith("2 MB of memory used, and 2 MB are allowed (")
    elif limit:
        await reached(lambda: looks > 10)
    else:
        await some_iterations(supervisor, clock)
        assert looks == 0
    assert (stops, supervisor.error is not None, running.done()) == (int(is_ended), is_ended, False)
    await ended(running)
    assert parting == [], "there is time to finish"
