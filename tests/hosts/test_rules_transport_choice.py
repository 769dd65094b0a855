from __future__ import annotations

import pytest

from tenax.config import BrowserConfig
from tenax.hosts.rules import usual_transport
from tenax.model import HostRecord, Outcome, Rejected, TransportKind
from tests.hosts.history import HOST, HTTP_404, HTTP_503, NOW, OK, REFUSED, RESET, after, host, site

DAY = 86_400.0


@pytest.mark.parametrize(
    ("transport", "until", "usual"),
    [
        (None, 0.0, TransportKind.HTTP),
        (TransportKind.CURL, NOW + 1, TransportKind.CURL),
        (TransportKind.BROWSER, NOW + 1, TransportKind.BROWSER),
        (TransportKind.BROWSER, NOW, TransportKind.HTTP),
    ],
)
def test_a_chosen_transport_is_kept_for_a_while(
    transport: TransportKind | None, until: float, usual: TransportKind
) -> None:
    assert usual_transport(host(transport=transport, transport_until=until), NOW) is usual


def test_a_page_confirms_its_transport() -> None:
    updated = after(HOST, OK, transport=TransportKind.BROWSER)
    assert (updated.transport, updated.transport_until) == (TransportKind.BROWSER, NOW + DAY)
    assert after(updated, OK, NOW + 10, transport=TransportKind.BROWSER).transport_until == NOW + 10 + DAY
    forgotten = after(updated, OK, NOW + 10, transport=TransportKind.HTTP)
    assert (forgotten.transport, forgotten.transport_until) == (None, 0)
    assert (
        after(
            HOST, OK, transport=TransportKind.CURL, config=site(browser=BrowserConfig(learn_seconds=5))
        ).transport_until
        == NOW + 5
    )


@pytest.mark.parametrize("outcome", [HTTP_404, HTTP_503, REFUSED, Rejected("wall: enable JavaScript")])
@pytest.mark.parametrize("transport", TransportKind)
def test_other_answers_do_not_change_the_transport(outcome: Outcome, transport: TransportKind) -> None:
    record = host(transport=TransportKind.CURL, transport_until=NOW + 100)
    assert (
        after(record, outcome, transport=transport, other_transport=TransportKind.BROWSER).transport
        is TransportKind.CURL
    )


def test_after_a_reset_the_whole_host_uses_the_other_transport_before_it_counts_as_down() -> None:
    record, tried = HOST, []
    next_transports = {
        TransportKind.HTTP: TransportKind.CURL,
        TransportKind.CURL: TransportKind.BROWSER,
        TransportKind.BROWSER: None,
    }
    for _ in range(4):
        transport = usual_transport(record, record.next_at)
        tried.append(transport)
        record = after(record, RESET, record.next_at, transport=transport, other_transport=next_transports[transport])
    assert tried == [TransportKind.HTTP, TransportKind.CURL, TransportKind.BROWSER, TransportKind.HTTP]
    assert record.breaker == "closed"
    found = after(record, OK, record.next_at, transport=TransportKind.CURL)
    assert (found.transport, found.failures_in_a_row) == (TransportKind.CURL, 0)


def test_a_late_reset_of_the_old_transport_changes_nothing() -> None:
    def fields(record: HostRecord) -> tuple[TransportKind | None, float]:
        return record.transport, record.transport_until

    updated = host(transport=TransportKind.BROWSER, transport_until=NOW + 100)
    assert fields(after(updated, RESET, transport=TransportKind.HTTP, other_transport=TransportKind.CURL)) == fields(
        updated
    )
    assert after(HOST, RESET, transport=TransportKind.HTTP).transport is None, "there is no other transport"
