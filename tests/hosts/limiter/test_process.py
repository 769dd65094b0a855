from __future__ import annotations

import pytest

from tenax.hosts import SharedTurns, Turn
from tenax.hosts.limiter.process import LocalTurns
from tests.contracts.turns import NOW, TurnsContract


@pytest.fixture
def turns() -> SharedTurns:
    return LocalTurns()


class TestLocalTurns(TurnsContract): ...


def test_what_has_passed_is_forgotten() -> None:
    turns = LocalTurns()
    for number in range(1000):
        turns.take([Turn(f"host http://{number}.example", 1.0)], NOW + number / 10)
    assert len(turns) <= 11


def test_when_it_is_full_new_hosts_wait_and_nobody_is_forgotten() -> None:
    turns = LocalTurns(max_entries=10)
    hosts = [Turn(f"host http://{number}.example", 5.0 + number) for number in range(11)]
    for host in hosts[:10]:
        assert turns.take([host], NOW) == NOW
    assert turns.take([hosts[10]], NOW + 1) == NOW + 5.0, "when the first of them is free"
    assert all(turns.take([host], NOW + 1) > NOW + 1 for host in hosts[:10])
    assert turns.take([hosts[10]], NOW + 5.0) == NOW + 5.0


def test_turns_that_end_at_once_do_not_pile_up() -> None:
    turns = LocalTurns(max_entries=500)
    host = Turn("host http://a.example", 0.1, 30.0)
    now = NOW
    for _ in range(2000):
        assert turns.take([host], now) == now
        turns.end([host], now)
        now += 0.2
