from __future__ import annotations

import pytest

from tenax.config import HostsConfig
from tenax.hosts.rules import attribute_failure, host_after_probe, should_probe
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    Redirected,
    Refused,
    Rejected,
    Unchanged,
)
from tests.hosts.history import (
    HOST,
    HTTP_403,
    HTTP_404,
    HTTP_429,
    HTTP_500,
    HTTP_503,
    NOW,
    OK,
    REFUSED,
    RESET,
    SITE,
    History,
    after,
    asking_to_wait,
    host,
    site,
)

DOWN = host(
    breaker="open", breaker_backoff_seconds=30.0, failures_in_a_row=5, next_at=NOW + 30, backoff_reason="down: …"
)


def failed(kind: FailureKind, is_site_wide: bool = False) -> Failed:
    return Failed("why", kind, is_site_wide)


@pytest.mark.parametrize(
    ("outcome", "failures"),
    [
        # site-wide
        (REFUSED, 4),
        (RESET, 4),
        (failed(FailureKind.DNS, is_site_wide=True), 4),
        (failed(FailureKind.TIMEOUT_CONNECT, is_site_wide=True), 4),
        (failed(FailureKind.TLS, is_site_wide=True), 4),
        (HTTP_503, 4),
        # one may be caused by the page; several in a row by the host
        (HTTP_500, 4),
        (failed(FailureKind.TIMEOUT_HEADERS), 4),
        (failed(FailureKind.TIMEOUT_BODY), 4),
        (failed(FailureKind.TIMEOUT_TOTAL), 4),
        # answers
        (OK, 0),
        (Unchanged(), 0),
        (Redirected(301, "https://example.org/x"), 0),
        (Rejected("empty"), 0),
        (Rejected("wall: denied", is_hard=True), 0),
        (HTTP_403, 0),
        (HTTP_404, 0),
        (HTTP_429, 0),
        (failed(FailureKind.TRUNCATED), 0),
        (failed(FailureKind.TOO_LARGE), 0),
        # these are ignored
        (Deferred(NOW, "robots.txt was asked first"), 3),
        (Refused("robots: no"), 3),
        (failed(FailureKind.INTERNAL), 3),
        (failed(FailureKind.INTERNAL, is_site_wide=True), 3),
        (failed(FailureKind.DNS), 3),
    ],
)
def test_what_counts_as_the_hosts_trouble(outcome: Outcome, failures: int) -> None:
    assert after(host(failures_in_a_row=3), outcome).failures_in_a_row == failures


def test_five_failures_open_it_and_the_waits_before_grow() -> None:
    history, table = History(), []
    for _ in range(5):
        history.visit(REFUSED, jitter=0.0)
        table.append((history.wait, history.record.breaker, history.record.backoff_reason))
    assert table == [
        (1, "closed", "trouble: connection refused"),
        (2, "closed", "trouble: connection refused"),
        (4, "closed", "trouble: connection refused"),
        (8, "closed", "trouble: connection refused"),
        (30, "open", "down: 5 failures in a row, last: connection refused"),
    ]
    assert should_probe(history.record)


def test_an_outage_is_probed_ever_less_often_and_ends_by_itself() -> None:
    history, waits = History(DOWN, now=NOW + 30), []
    for _ in range(6):
        history.probe(is_up=False)
        waits.append(history.wait)
        assert history.record.breaker == "open"
    assert waits == [60, 120, 240, 300, 300, 300]
    assert history.record.backoff_reason == "down: 11 failures in a row, last: connection refused"
    history.probe(is_up=True)
    assert (history.record.breaker, history.wait, history.record.backoff_reason) == ("closed", 1, "")
    assert (history.record.failures_in_a_row, history.record.breaker_backoff_seconds) == (0, 0)
    history.visit(OK)
    assert not should_probe(history.record)


def test_the_two_hour_outage() -> None:
    """The example of the page-fetcher: about five URLs fail, then only probes are sent, one every five minutes."""
    history = History()
    while not should_probe(history.record):
        history.visit(REFUSED, jitter=0.0)
    probes = 0
    while history.record.next_at < NOW + 7200:
        history.probe(is_up=False)
        probes += 1
    history.probe(is_up=True)
    assert history.now - (NOW + 7200) < 300
    assert (probes, history.record.error_count, history.record.breaker) == (26, 5, "closed")


def test_the_next_outage_begins_with_a_short_backoff_again() -> None:
    history = History(DOWN, now=NOW + 30)
    history.probe(is_up=False)
    history.probe(is_up=True)
    history.now += 3600
    for _ in range(5):
        history.visit(REFUSED)
    assert history.record.breaker_backoff_seconds == 30


def test_as_many_probes_as_configured_must_pass() -> None:
    history, table = History(DOWN, site(hosts=HostsConfig(half_open_successes=2))), []
    for is_up in (True, False, True, True):
        record = history.probe(is_up)
        table.append((record.breaker, record.probes_passed, history.wait))
    assert table == [("half_open", 1, 1), ("open", 0, 60), ("half_open", 1, 1), ("closed", 0, 1)]


@pytest.mark.parametrize("outcome", [OK, HTTP_404, HTTP_429, HTTP_403, Unchanged(), Rejected("empty")])
def test_any_answer_starts_the_count_again(outcome: Outcome) -> None:
    history = History()
    for _ in range(4):
        for _ in range(4):
            history.visit(HTTP_500)
        history.visit(outcome)
        assert (history.record.breaker, history.record.failures_in_a_row) == ("closed", 0)


def test_only_the_fifth_500_in_a_row_makes_the_host_back_off() -> None:
    assert after(host(failures_in_a_row=3), HTTP_500).backoff_reason == ""
    fifth = after(host(failures_in_a_row=4), HTTP_500)
    assert (fifth.breaker, fifth.next_at) == ("open", NOW + 30)
    assert fifth.backoff_reason == "down: 5 failures in a row, last: HTTP 500"


def test_a_503_that_names_a_time_gets_it() -> None:
    record = after(HOST, asking_to_wait(HTTP_503, 90.0))
    assert (record.next_at, record.backoff_reason) == (NOW + 90, "trouble: HTTP 503, asked to wait 90 s")
    assert after(HOST, asking_to_wait(HTTP_503, 1e9)).next_at == NOW + 3600
    opened = after(host(failures_in_a_row=4), asking_to_wait(HTTP_503, 90.0))
    assert (opened.breaker, opened.next_at, opened.breaker_backoff_seconds) == ("open", NOW + 90, 30)


def test_late_failures_do_not_lengthen_the_backoff() -> None:
    """Eight requests in flight when the host goes down: three answers come after the one that opened the breaker."""
    record = HOST
    for late in range(8):
        record = after(record, HTTP_500, NOW + late / 10)
    assert (record.breaker, record.breaker_backoff_seconds, record.failures_in_a_row) == ("open", 30, 8)


def test_a_late_page_neither_wakes_nor_closes() -> None:
    record = after(DOWN, OK, NOW + 1)
    assert (record.breaker, record.next_at, record.failures_in_a_row) == ("open", NOW + 30, 0)
    assert host_after_probe(record, False, "no", NOW + 30, SITE, 0.0).next_at == NOW + 90


def test_a_page_without_a_probe_is_worth_one() -> None:
    assert after(DOWN, Fetched(200), NOW + 30).breaker == "closed"
    again = after(DOWN, REFUSED, NOW + 30)
    assert (again.breaker, again.next_at) == ("open", NOW + 90)


def test_hosts_that_went_down_together_are_not_probed_in_step() -> None:
    five = host(failures_in_a_row=4)
    assert [after(five, REFUSED, jitter=jitter).next_at - NOW for jitter in (0.0, 0.5, 1.0)] == [30, 31.5, 33]
    long = host(breaker="open", breaker_backoff_seconds=300.0)
    assert host_after_probe(long, False, "no", NOW, SITE, 1.0).next_at == NOW + 300, "the longest is the longest"


def test_the_numbers_are_settings() -> None:
    settings = HostsConfig(breaker_failures=2, breaker_first_seconds=5, breaker_factor=3, breaker_max_seconds=20)
    history, waits = History(config=site(hosts=settings)), []
    history.visit(REFUSED)
    history.visit(REFUSED, jitter=0.0)
    waits.append(history.wait)
    for _ in range(3):
        history.probe(is_up=False)
        waits.append(history.wait)
    assert waits == [5, 15, 20, 20]


WELL = host(page_count=3)


@pytest.mark.parametrize(
    ("outcome", "record", "fallbacks_tried", "is_of_the_host"),
    [
        (RESET, WELL, 0, False),
        (HTTP_503, WELL, 0, False),
        (asking_to_wait(HTTP_503, 5.0), WELL, 0, True),
        (REFUSED, WELL, 0, True),
        (HTTP_503, host(), 0, True),
        (HTTP_503, host(page_count=3, failures_in_a_row=1), 0, True),
        (RESET, host(page_count=3, failures_in_a_row=1), 1, False),
        (RESET, host(page_count=3, failures_in_a_row=2), 1, True),
        (HTTP_503, DOWN, 0, True),
    ],
    ids=["reset", "503", "asks to wait", "refused", "never well", "second", "fallback", "more than its own", "down"],
)
def test_one_failure_of_a_host_that_responds_is_the_urls_own(
    outcome: Failed, record: HostRecord, fallbacks_tried: int, is_of_the_host: bool
) -> None:
    assert attribute_failure(outcome, record, fallbacks_tried).is_site_wide == is_of_the_host
