"""How often an unavailable server is retried."""

from __future__ import annotations

import pytest

from tenax.database.postgres.connection import MAX_FAILURES, RETRY_SECONDS, Breaker


def test_three_tries_then_half_a_minute() -> None:
    breaker, now, tries = Breaker(), 1000.0, []
    while now < 1100.0:
        assert breaker.wait_seconds(now) == 0
        tries.append(now)
        breaker.record_failure(now, jitter=0.0)
        now += breaker.wait_seconds(now)
    assert tries == pytest.approx([1000.0, 1000.1, 1000.3, 1030.3, 1060.3, 1090.3])
    assert (MAX_FAILURES, RETRY_SECONDS) == (3, 30.0)


def test_an_answer_ends_it() -> None:
    breaker = Breaker()
    states = [breaker.is_unavailable]
    for _ in range(5):
        breaker.record_failure(1000.0, jitter=1.0)
    states.append(breaker.is_unavailable)
    assert breaker.wait_seconds(1000.0) == pytest.approx(33.0)
    breaker.record_success()
    assert [*states, breaker.is_unavailable] == [False, True, False]
    assert breaker.wait_seconds(1000.0) == 0
    breaker.record_failure(1000.0, jitter=0.0)
    assert breaker.wait_seconds(1000.0) == pytest.approx(0.1)


def test_whoever_is_dead_sooner_tries_sooner() -> None:
    breaker = Breaker(retry_seconds=5.0)
    for _ in range(MAX_FAILURES):
        breaker.record_failure(1000.0, jitter=0.0)
    assert breaker.wait_seconds(1000.0) == pytest.approx(5.0)
