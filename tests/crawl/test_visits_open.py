"""How many tasks a host has left while some visits have no answer yet."""

from __future__ import annotations

from tenax.crawl.visits import OpenVisits
from tenax.model import Claim, HostRecord, Lease, Priority, Source, Task

NOW = 1_772_000_000.0


def claim(number: int, waiting: int | None, site: str = "https://a.test") -> Claim:
    task = Task(f"{site}/{number}", site, 1, Priority.HIGH, Source.LINK, None, NOW, NOW)
    return Claim(task, HostRecord(site, "a.test"), Lease(number, number, NOW + 60), waiting=waiting)


def test_visits_without_an_answer_count_as_left() -> None:
    visits = OpenVisits()
    first, second, other = claim(1, 1), claim(2, 0), claim(3, 7, "https://b.test")
    for one in (first, second, other):
        visits.begin(one)
    assert visits.record_answer(second) == 1, "the first may lead anywhere"
    assert visits.record_answer(first) == 0, "what waited when it was claimed was taken meanwhile"
    assert visits.record_answer(other) == 7


def test_an_abandoned_visit_is_not_waited_for() -> None:
    visits = OpenVisits()
    first, second = claim(1, 0), claim(2, 0)
    visits.begin(first)
    visits.begin(second)
    visits.end(first)
    visits.end(first)
    assert visits.record_answer(second) == 0
    visits.end(second)
    assert visits.record_answer(second) == 0, "what is not known is as its claim says"


def test_many_are_not_counted() -> None:
    visits = OpenVisits()
    one = claim(1, None)
    visits.begin(one)
    assert visits.record_answer(one) is None
