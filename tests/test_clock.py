"""Time: one clock that never jumps, and one that moves when told to."""

from __future__ import annotations

import time

import pytest

from tenax.clock import Clock, ManualClock, ShiftedClock, SteadyClock


def test_the_steady_clock_tells_the_time_of_day() -> None:
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


def test_the_manual_clock_moves_when_told_to() -> None:
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
