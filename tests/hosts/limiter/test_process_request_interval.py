"""The minimum time between any two requests of a process."""

from __future__ import annotations

import pytest

from tenax.hosts.limiter.process import MAX_WAIT_SECONDS, RequestInterval

NOW = 1000.0


def starts(interval: RequestInterval, count: int, now: float = NOW) -> list[float]:
    """The start times of requests that arrive all at once."""
    times = []
    for _ in range(count):
        now += interval.wait_seconds(now)
        interval.mark_started(now)
        times.append(now)
    return times


def test_without_an_interval_nobody_waits() -> None:
    interval = RequestInterval(0.0)
    assert [interval.reserve(NOW) for _ in range(3)] == starts(interval, 3) == [NOW] * 3


def test_starts_are_an_interval_apart() -> None:
    interval = RequestInterval(2.0)
    assert [interval.reserve(NOW) for _ in range(3)] == [NOW] * 3
    assert starts(interval, 3) == [NOW, NOW + 2, NOW + 4]
    interval.mark_started(NOW + 100.5)
    assert interval.wait_seconds(NOW + 101) == 1.5, "counted from when it really started"


def test_whoever_would_wait_for_long_comes_back_when_there_is_room() -> None:
    interval = RequestInterval(2.0)
    let_in = 0
    while (again_at := interval.reserve(NOW)) == NOW:
        let_in += 1
    assert let_in == 3
    assert again_at == NOW + 6 - MAX_WAIT_SECONDS
    assert interval.reserve(again_at) == again_at


def test_what_is_not_sent_takes_nobodys_time() -> None:
    interval = RequestInterval(10.0)
    assert interval.reserve(NOW) == NOW
    assert interval.reserve(NOW) > NOW
    interval.cancel()
    assert interval.reserve(NOW) == NOW


@pytest.mark.parametrize("seconds", [0.5, 60.0])
def test_one_that_follows_is_not_sent_away_but_has_its_time(seconds: float) -> None:
    interval = RequestInterval(seconds)
    assert interval.reserve(NOW) == NOW
    assert starts(interval, 2) == [NOW, NOW + seconds]
    later = interval.reserve(NOW)
    assert (later == NOW) == (2 * seconds <= MAX_WAIT_SECONDS)
