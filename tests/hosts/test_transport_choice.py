from __future__ import annotations

import pytest

from tenax.config import BrowserConfig
from tenax.hosts.rules import usual_transport
from tenax.model import HostRecord, Outcome, Rejected, TransportKind
from tests.hosts.history import HOST, HTTP_404, HTTP_503, NOW, OK, REFUSED, RESET, after, host, site

DAY = 86_400.0


@pytest.mark.parametrize(
    ("way", "until", "usual"),
    [
        (None, 0.0, TransportKind.HTTP),
        (TransportKind.CURL, NOW + 1, TransportKind.CURL),
        (TransportKind.BROWSER, NOW + 1, TransportKind.BROWSER),
        (TransportKind.BROWSER, NOW, TransportKind.HTTP),
    ],
)
def test_what_was_learned_is_believed_for_a_while(
    way: TransportKind | None, until: float, usual: TransportKind
) -> None:
    assert usual_transport(host(transport=way, transport_until=until), NOW) is usual


def test_a_page_teaches_the_way_it_came_by() -> None:
    learned = after(HOST, OK, way=TransportKind.BROWSER)
    assert (learned.transport, learned.transport_until) == (TransportKind.BROWSER, NOW + DAY)
    assert after(learned, OK, NOW + 10, way=TransportKind.BROWSER).transport_until == NOW + 10 + DAY
    forgotten = after(learned, OK, NOW + 10, way=TransportKind.HTTP)
    assert (forgotten.transport, forgotten.transport_until) == (None, 0)
    assert (
        after(HOST, OK, way=TransportKind.CURL, config=site(browser=BrowserConfig(learn_seconds=5))).transport_until
        == NOW + 5
    )


@pytest.mark.parametrize("outcome", [HTTP_404, HTTP_503, REFUSED, Rejected("wall: enable JavaScript")])
@pytest.mark.parametrize("way", TransportKind)
def test_other_answers_teach_nothing_about_the_way(outcome: Outcome, way: TransportKind) -> None:
    record = host(transport=TransportKind.CURL, transport_until=NOW + 100)
    assert after(record, outcome, way=way, other_way=TransportKind.BROWSER).transport is TransportKind.CURL


def test_after_a_reset_the_whole_host_is_tried_another_way_long_before_it_is_taken_for_down() -> None:
    record, tried = HOST, []
    next_ways = {
        TransportKind.HTTP: TransportKind.CURL,
        TransportKind.CURL: TransportKind.BROWSER,
        TransportKind.BROWSER: None,
    }
    for _ in range(4):
        transport = usual_transport(record, record.next_at)
        tried.append(transport)
        record = after(record, RESET, record.next_at, way=transport, other_way=next_ways[transport])
    assert tried == [TransportKind.HTTP, TransportKind.CURL, TransportKind.BROWSER, TransportKind.HTTP]
    assert record.breaker == "closed"
    found = after(record, OK, record.next_at, way=TransportKind.CURL)
    assert (found.transport, found.failures_in_a_row) == (TransportKind.CURL, 0)


def test_a_late_reset_of_the_old_way_changes_nothing() -> None:
    def fields(record: HostRecord) -> tuple[TransportKind | None, float]:
        return record.transport, record.transport_until

    learned = host(transport=TransportKind.BROWSER, transport_until=NOW + 100)
    assert fields(after(learned, RESET, way=TransportKind.HTTP, other_way=TransportKind.CURL)) == fields(learned)
    assert after(HOST, RESET, way=TransportKind.HTTP).transport is None, "there is no other way"
