"""The rate at which one host's pages may fill the frontier."""

from __future__ import annotations

import pytest

from tenax.database.admission import AdmissionRate

NOW = 1000.0


def test_a_second_s_worth_may_come_at_once_and_the_rest_one_by_one() -> None:
    inflow = AdmissionRate(per_second=100)
    dues = [inflow.due_time(1, NOW) for _ in range(300)]
    assert dues[:100] == pytest.approx([NOW] * 100)
    assert dues == sorted(dues)
    assert dues[-1] == pytest.approx(NOW + 2.0)
    assert dues[150] - dues[149] == pytest.approx(0.01)


def test_sources_do_not_share() -> None:
    inflow = AdmissionRate(per_second=10)
    for _ in range(50):
        inflow.due_time(1, NOW)
    assert inflow.due_time(2, NOW) == NOW


def test_a_pause_earns_no_more_than_one_second_s_worth() -> None:
    inflow = AdmissionRate(per_second=10)
    inflow.due_time(1, NOW)
    later = NOW + 3600
    dues = [inflow.due_time(1, later) for _ in range(20)]
    assert dues[:10] == pytest.approx([later] * 10)
    assert dues[-1] == pytest.approx(later + 1.0)


def test_no_limit() -> None:
    inflow = AdmissionRate(per_second=0)
    assert {inflow.due_time(1, NOW) for _ in range(10_000)} == {NOW}


def test_the_memory_of_many_sources_is_bounded_and_those_behind_are_kept() -> None:
    inflow = AdmissionRate(per_second=1, max_sources=100)
    for _ in range(10):
        inflow.due_time(7, NOW)
    behind = inflow.due_time(7, NOW)
    for source in range(100, 1000):
        inflow.due_time(source, NOW)
    assert len(inflow._free_at) <= 101
    assert inflow.due_time(7, NOW) == pytest.approx(behind + 1)
