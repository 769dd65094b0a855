from __future__ import annotations

import pytest

from tenax.config import BrowserConfig
from tenax.hosts.rules import usual_way
from tenax.model import HostRecord, Outcome, Rejected, Way
from tests.hosts.history import HOST, HTTP_404, HTTP_503, NOW, OK, REFUSED, RESET, after, host, site

DAY = 86_400.0


@pytest.mark.parametrize(
    ("way", "until", "usual"),
    [
        (None, 0.0, Way.HTTP),
        (Way.CURL, NOW + 1, Way.CURL),
        (Way.BROWSER, NOW + 1, Way.BROWSER),
        (Way.BROWSER, NOW, Way.HTTP),
    ],
)
def test_what_was_learned_is_believed_for_a_while(way: Way | None, until: float, usual: Way) -> None:
    assert usual_way(host(way=way, way_until=until), NOW) is usual


def test_a_page_teaches_the_way_it_came_by() -> None:
    learned = after(HOST, OK, way=Way.BROWSER)
    assert (learned.way, learned.way_until) == (Way.BROWSER, NOW + DAY)
    assert after(learned, OK, NOW + 10, way=Way.BROWSER).way_until == NOW + 10 + DAY
    forgotten = after(learned, OK, NOW + 10, way=Way.HTTP)
    assert (forgotten.way, forgotten.way_until) == (None, 0)
    assert after(HOST, OK, way=Way.CURL, config=site(browser=BrowserConfig(learn_seconds=5))).way_until == NOW + 5


@pytest.mark.parametrize("outcome", [HTTP_404, HTTP_503, REFUSED, Rejected("wall: enable JavaScript")])
@pytest.mark.parametrize("way", Way)
def test_other_answers_teach_nothing_about_the_way(outcome: Outcome, way: Way) -> None:
    record = host(way=Way.CURL, way_until=NOW + 100)
    assert after(record, outcome, way=way, other_way=Way.BROWSER).way is Way.CURL


def test_after_a_reset_the_whole_host_is_tried_another_way_long_before_it_is_taken_for_down() -> None:
    record, tried = HOST, []
    next_ways = {Way.HTTP: Way.CURL, Way.CURL: Way.BROWSER, Way.BROWSER: None}
    for _ in range(4):
        way = usual_way(record, record.next_at)
        tried.append(way)
        record = after(record, RESET, record.next_at, way=way, other_way=next_ways[way])
    assert tried == [Way.HTTP, Way.CURL, Way.BROWSER, Way.HTTP]
    assert record.breaker == "closed"
    found = after(record, OK, record.next_at, way=Way.CURL)
    assert (found.way, found.failures_in_a_row) == (Way.CURL, 0)


def test_a_late_reset_of_the_old_way_changes_nothing() -> None:
    def fields(record: HostRecord) -> tuple[Way | None, float]:
        return record.way, record.way_until

    learned = host(way=Way.BROWSER, way_until=NOW + 100)
    assert fields(after(learned, RESET, way=Way.HTTP, other_way=Way.CURL)) == fields(learned)
    assert after(HOST, RESET, way=Way.HTTP).way is None, "there is no other way"
