"""The simulated frontier does what the real one promises, and notices when it does not."""

from __future__ import annotations

import pytest

from bench.frontier import PACE_SECONDS, Frontier, Table, Web
from bench.simulate import ideal_pages_per_second, simulated, window_bytes
from tenax.model import HostRecord


def test_every_host_gets_its_turn_and_none_too_early() -> None:
    frontier = Frontier(hosts=3000, workers=4, rate=100.0, concurrency=100)
    count = frontier.run(30.0)
    assert min(frontier.table.requested_at) >= 0.0 and frontier.table.hosts_never_requested == 0
    assert count.violations == 0
    assert count.visits == pytest.approx(4 * 100 * 30, rel=0.05)


def test_a_host_that_forgets_its_turn_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(table: Table, host: int, record: HostRecord) -> None:
        give_back(table, host, HostRecord(record.origin, record.domain, record.robots))

    give_back = Table.give_back
    monkeypatch.setattr(Table, "give_back", hasty)
    assert Frontier(hosts=50, workers=4, rate=200.0, concurrency=100).run(30.0).violations > 0


def test_the_same_seed_tells_the_same_story() -> None:
    first, again, other = (Frontier(500, 3, 100.0, 50, seed).run(10.0) for seed in (1, 1, 2))
    assert first == again != other


def test_a_host_is_held_by_one_worker_and_comes_back_with_its_turn() -> None:
    table = Table(30, Web(30, seed=1))
    taken = table.take(now=5.0, most=20)
    assert len(taken) == 20 and len(table.take(5.0, 20)) == 10 and table.take(5.0, 20) == []
    host, record = taken[0]
    table.give_back(host, HostRecord(record.origin, record.domain, record.robots, next_at=9.0))
    assert table.take(8.9, 20) == [] and table.overdue(8.9) == 0.0
    assert table.overdue(11.0) == 2.0
    assert [(one, back.next_at) for one, back in table.take(9.0, 20)] == [(host, 9.0)]


def test_a_host_without_work_waits_for_some() -> None:
    table = Table(1, Web(1, seed=1))
    ((host, record),) = table.take(0.0, 20)
    table.first[host] = table.end[host]
    table.give_back(host, record)
    assert table.hosts_with_work == 0 and not table.has_due(100.0)
    table.admit(host, now=100.0)
    assert table.hosts_with_work == 1 and table.has_due(100.0) and table.overdue(103.0) == 3.0


def test_the_ideal_is_what_workers_and_hosts_allow() -> None:
    assert ideal_pages_per_second(300.0, 1_000_000, 0.3) == 300.0
    assert ideal_pages_per_second(1e6, 1000, 1.0) == 1000 / (PACE_SECONDS + 1.0)


def test_few_hosts_for_many_workers_are_bound_by_their_pace() -> None:
    figures = simulated(hosts=500, workers=5)
    assert figures["ideal"] < 5 * 312 and figures["share_of_ideal"] > 0.8 and figures["violations"] == 0


def test_the_window_of_a_worker_is_small() -> None:
    assert 1e6 < window_bytes() < 50e6
