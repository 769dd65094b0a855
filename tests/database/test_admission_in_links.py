"""Counting in-links of tasks, and the moves that follow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenax.database.admission import InLinks, Move, link_lead_ms
from tenax.database.schedule import Entry

A = "https://a.test"
X, Y = f"{A}/x", f"{A}/y"
HOSTS = {A: 7}
NOW = 10_000.0


def key(url: str) -> int:
    return len(url) * 1000 + ord(url[-1])


def entry(url: str, due: int = 5_000_000) -> Entry:
    return Entry(1, due, key(url), "/x", 1, 0, due, None, 0, None, None)


def counted(*urls: str, kept: int = 100) -> InLinks:
    """The counts of tasks with one in-link each."""
    counts = InLinks(kept)
    for url in urls:
        counts.on_commit({url: 1}, [], (), [(url, entry(url))])
    return counts


def test_a_step_moves_a_task() -> None:
    counts = counted(X)
    assert counts.plan_moves({X: 2}, HOSTS, key, {7: ()}, NOW) == []
    assert counts.plan_moves({X: 3}, HOSTS, key, {7: ()}, NOW) == [
        Move(5_000_000 - link_lead_ms(4), 7, 1, 5_000_000, key(X), X)
    ]


def test_what_is_planned_and_not_written_is_planned_again() -> None:
    counts = counted(X)
    assert counts.plan_moves({X: 3}, HOSTS, key, {7: ()}, NOW) == counts.plan_moves({X: 3}, HOSTS, key, {7: ()}, NOW)


def test_a_loaded_task_is_moved_when_it_is_unloaded() -> None:
    counts = counted(X)
    for loaded in ({}, {8: ()}, {7: {key(X)}}):
        assert counts.plan_moves({X: 3}, HOSTS, key, loaded, NOW) == []
    counts.on_commit({X: 3}, [], (), [])
    (move,) = counts.plan_moves({X: 1}, HOSTS, key, {7: {key(Y)}}, NOW)
    assert move.due == 5_000_000 - link_lead_ms(5)


def test_who_is_gone_is_forgotten() -> None:
    counts = counted(X, Y)
    moves = counts.plan_moves({X: 3, Y: 3}, HOSTS, key, {7: ()}, NOW)
    counts.on_commit({X: 3, Y: 3}, moves, {(7, key(Y))}, [])
    assert X not in counts and Y in counts
    counts.forget(Y)
    assert Y not in counts


def test_no_more_than_so_many_are_counted() -> None:
    urls = [f"{A}/{number}" for number in range(100)]
    counts = counted(*urls, kept=10)
    assert [url for url in urls if url in counts] == urls[-12:]


@given(st.lists(st.integers(1, 20), max_size=30))
def test_however_links_come_their_worth_is_that_of_their_number(groups: list[int]) -> None:
    counts = counted(X)
    due = 5_000_000
    for more in groups:
        moves = counts.plan_moves({X: more}, HOSTS, key, {7: ()}, NOW)
        counts.on_commit({X: more}, moves, {(7, key(X))}, [])
        for move in moves:
            assert (move.was_due, move.rank) == (due, 1)
            due = move.due
    assert due == 5_000_000 - link_lead_ms(1 + sum(groups))
