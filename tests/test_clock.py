"""Clocks: one that never jumps, and one that a test moves."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from tenax import clock as time_module
from tenax.clock import MAX_SLEW_RATE, Clock, ManualClock, ShiftedClock, SteadyClock, follow_server_clock


def test_the_steady_clock_gives_wall_time() -> None:
    before = SteadyClock().now()
    assert before == pytest.approx(time.clock_gettime(time.CLOCK_REALTIME), abs=5)


def test_a_jump_of_the_wall_clock_moves_no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """An administrator, a leap second or a virtual machine that slept: the wall clock goes an hour either way."""
    wall, running = 1_750_000_000.0, 500.0
    monkeypatch.setattr(time, "time", lambda: wall)
    monkeypatch.setattr(time, "monotonic", lambda: running)
    clock = SteadyClock()
    assert clock.now() == 1_750_000_000.0
    for jump in (3600.0, -3600.0):
        wall += jump
        running += 2.0
        before = clock.now()
        running += 1.0
        assert clock.now() - before == pytest.approx(1.0)
    assert clock.now() == pytest.approx(1_750_000_006.0)


def test_two_clocks_of_one_machine_agree() -> None:
    first, second = SteadyClock(), SteadyClock()
    assert first.now() == pytest.approx(second.now(), abs=0.5)


def test_the_manual_clock_moves_when_set() -> None:
    clock: Clock = ManualClock(100.0)
    assert (clock.now(), clock.now()) == (100.0, 100.0)
    assert isinstance(clock, ManualClock)
    clock.advance(2.5)
    assert clock.now() == 102.5


def test_a_shifted_clock_keeps_its_distance() -> None:
    other = ManualClock(100.0)
    clock = ShiftedClock(other, -2.5)
    assert clock.now() == 97.5
    other.advance(10.0)
    assert clock.now() == 107.5


@pytest.mark.parametrize("ahead", [0.4, -0.4])
def test_a_correction_is_made_slowly_and_then_done(ahead: float) -> None:
    other = ManualClock(100.0)
    clock = ShiftedClock(other, 5.0)
    clock.correct(ahead)
    assert clock.now() == 105.0, "no jump"
    other.advance(100.0)
    assert clock.now() == pytest.approx(205.0 + 100.0 * MAX_SLEW_RATE * (1 if ahead > 0 else -1))
    other.advance(900.0)
    assert clock.now() == pytest.approx(1105.0 + ahead)
    clock.correct(0.0)
    other.advance(50.0)
    assert clock.now() == pytest.approx(1155.0 + ahead)


def test_time_never_runs_back_nor_leaps_whatever_the_server_says() -> None:
    chance = random.Random(1)
    other = ManualClock()
    clock = ShiftedClock(other, 0.0)
    for _ in range(5000):
        before, step = clock.now(), chance.choice((0.0, 1e-6, 0.01, 30.0))
        if chance.random() < 0.3:
            clock.correct(chance.uniform(-5, 5))
        other.advance(step)
        assert before <= clock.now()
        assert clock.now() - before == pytest.approx(step, rel=0, abs=step * MAX_SLEW_RATE + 1e-6)


async def test_a_clock_that_drifts_is_brought_back_to_the_servers_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours loses a tenth of a second in ten minutes; sometimes the server is unavailable."""
    monkeypatch.setattr(time_module, "SYNC_SECONDS", 0.0)
    monkeypatch.setattr(time_module, "SYNC_RETRY_SECONDS", 0.0)
    ours, server, asked = ManualClock(1000.0), ManualClock(1000.0), 0
    clock, is_over = ShiftedClock(ours, 0.0), asyncio.Event()

    async def ahead() -> float | None:
        nonlocal asked
        asked += 1
        ours.advance(599.9)
        server.advance(600.0)
        if asked == 50:
            is_over.set()
        return None if asked % 7 == 0 else server.now() - clock.now()

    following = asyncio.ensure_future(follow_server_clock(clock, ahead))
    await is_over.wait()
    following.cancel()
    assert server.now() - ours.now() == pytest.approx(5.0)
    assert abs(server.now() - clock.now()) < 0.3
