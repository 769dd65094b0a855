from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.config import FetchConfig, PolitenessConfig
from tenax.hosts.rules import after_visit, pace_seconds, with_robots
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
    RobotsCopy,
    RobotsVerdict,
    Unchanged,
)

NOW = 1000.0
HOST = HostRecord("https://example.org", "example.org")
POLITE = PolitenessConfig()
FETCH = FetchConfig()
REFUSED = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
HTTP_500 = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500)
HTTP_404 = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)


def host(**fields: object) -> HostRecord:
    return msgspec.structs.replace(HOST, **fields)


def after(record: HostRecord, outcome: Outcome, now: float = NOW, requests: int = 1, jitter: float = 0.0) -> HostRecord:
    return after_visit(record, outcome, now, requests, POLITE, FETCH, jitter)


@pytest.mark.parametrize(
    ("rate", "crawl_delay", "seconds"),
    [(1.0, None, 1.0), (2.0, None, 0.5), (1.0, 0.5, 1.0), (1.0, 30.0, 30.0), (0.1, 5.0, 10.0), (0.0, 30.0, 0.0)],
)
def test_the_pace_is_the_slower_of_ours_and_theirs(rate: float, crawl_delay: float | None, seconds: float) -> None:
    record = host(crawl_delay_seconds=crawl_delay)
    assert pace_seconds(record, PolitenessConfig(rate_per_second=rate)) == seconds


def test_the_next_turn_counts_from_the_answer_and_every_request() -> None:
    assert after(HOST, Fetched(200)).next_at == NOW + 1
    assert after(HOST, Fetched(200), requests=3).next_at == NOW + 3
    assert after(host(crawl_delay_seconds=10.0), Fetched(200), requests=2).next_at == NOW + 20
    assert after(HOST, Refused("robots"), requests=0) == HOST, "nothing was sent"


def test_what_is_counted() -> None:
    record = after(after(after(HOST, Fetched(200)), HTTP_404), Rejected("empty"))
    assert (record.page_count, record.error_count) == (1, 1)


def test_failures_in_a_row_rest_the_host_longer_each_time() -> None:
    record, rests = HOST, []
    for _ in range(10):
        now = record.next_at
        record = after(record, REFUSED, now)
        rests.append(record.next_at - now)
    assert rests == [1, 2, 4, 8, 30, 60, 120, 240, 300, 300]
    assert record.resting_why == "down: 10 failures in a row, last: connection refused"
    recovered = after(record, Fetched(200), record.next_at)
    assert (recovered.failures_in_a_row, recovered.resting_why) == (0, "")


@pytest.mark.parametrize(
    ("outcome", "failures"),
    [
        (Fetched(200), 0),
        (Unchanged(), 0),
        (Redirected(301, "https://example.org/x"), 0),
        (Rejected("empty"), 0),
        (HTTP_404, 0),
        (Failed("cut", FailureKind.TRUNCATED), 0),
        (Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429), 0),
        (Deferred(NOW, "robots.txt was asked first"), 3),
        (Failed("ours", FailureKind.INTERNAL), 3),
        (Failed("out of files", FailureKind.INTERNAL, is_site_wide=True), 3),
        (Failed("no such host", FailureKind.DNS), 3),
        (Failed("look-up failed", FailureKind.DNS, is_site_wide=True), 4),
        (Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503), 4),
        (HTTP_500, 4),
        (Failed("too slow", FailureKind.TIMEOUT_TOTAL), 4),
    ],
)
def test_what_counts_as_the_hosts_trouble(outcome: Outcome, failures: int) -> None:
    assert after(host(failures_in_a_row=3), outcome).failures_in_a_row == failures


def test_a_500_rests_the_host_only_as_the_fifth_in_a_row() -> None:
    assert after(host(failures_in_a_row=3), HTTP_500).resting_why == ""
    fifth = after(host(failures_in_a_row=4), HTTP_500)
    assert fifth.next_at == NOW + 30
    assert fifth.resting_why == "down: 5 failures in a row, last: HTTP 500"


@pytest.mark.parametrize(
    ("retry_after", "jitter", "seconds", "why"),
    [
        (7.0, 0.5, 7.0, "rate limited: asked to wait 7 s"),
        (1e9, 0.5, 3600.0, "rate limited: asked to wait 3600 s"),
        (None, 0.0, 40.5, "rate limited"),
        (None, 0.5, 45.0, "rate limited"),
        (None, 1.0, 49.5, "rate limited"),
    ],
)
def test_a_429_rests_the_host(retry_after: float | None, jitter: float, seconds: float, why: str) -> None:
    failed = Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429, retry_after_seconds=retry_after)
    record = after(HOST, failed, jitter=jitter)
    assert record.next_at == pytest.approx(NOW + seconds)
    assert (record.resting_why, record.failures_in_a_row) == (why, 0)


def test_a_503_that_names_a_time_gets_it() -> None:
    failed = Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503, retry_after_seconds=90.0)
    assert after(HOST, failed).next_at == NOW + 90


def test_a_late_answer_does_not_end_a_rest() -> None:
    resting = after(HOST, Failed("HTTP 429", FailureKind.RATE_LIMITED), jitter=0.5)
    late = after(resting, Fetched(200), NOW + 1)
    assert (late.next_at, late.resting_why) == (NOW + 45, "rate limited")


def test_an_unreachable_robots_txt_rests_the_host_until_it_is_asked_again() -> None:
    gone = RobotsCopy(RobotsVerdict.UNREACHABLE, NOW, NOW + 60, why="HTTP 503")
    record = with_robots(HOST, gone, POLITE)
    assert (record.next_at, record.resting_why) == (NOW + 60, "robots.txt unreachable: HTTP 503")
    assert record.is_allowed, "the host has not closed itself to us"
    record = after(record, Deferred(NOW + 60, "robots"))
    assert (record.next_at, record.resting_why) == (NOW + 60, "robots.txt unreachable: HTTP 503")
    rules = RobotsCopy(RobotsVerdict.RULES, NOW + 60, NOW + 3660)
    record = after(with_robots(record, rules, POLITE), Deferred(NOW + 60, "asked first"), NOW + 60)
    assert (record.next_at, record.resting_why) == (NOW + 61, "")


@pytest.mark.parametrize(
    ("text", "crawl_delay", "is_allowed"),
    [
        ("User-agent: *\nCrawl-delay: 0.5", 0.5, True),
        ("User-agent: *\nCrawl-delay: 999999", 86400.0, True),
        ("User-agent: *\nDisallow: /", None, False),
        ("User-agent: *\nDisallow: /\nAllow: /open", None, True),
        ("User-agent: *\nDisallow: /$", None, True),
        ("User-agent: other\nDisallow: /", None, True),
    ],
)
def test_what_robots_txt_says_about_the_host(text: str, crawl_delay: float | None, is_allowed: bool) -> None:
    record = with_robots(HOST, RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 3600, text), POLITE)
    assert (record.crawl_delay_seconds, record.is_allowed) == (crawl_delay, is_allowed)


OUTCOMES = st.sampled_from(
    [Fetched(200), REFUSED, HTTP_500, HTTP_404, Failed("429", FailureKind.RATE_LIMITED), Refused("x")]
)


@given(st.lists(st.tuples(OUTCOMES, st.floats(0, 100), st.integers(0, 3), st.floats(0, 1)), max_size=30))
def test_the_next_turn_only_moves_forward(visits: list[tuple[Outcome, float, int, float]]) -> None:
    record, now = HOST, NOW
    for outcome, passed, requests, jitter in visits:
        now += passed
        before = record
        record = after(record, outcome, now, requests, jitter)
        assert record.next_at >= before.next_at
        assert requests == 0 or record.next_at >= now + requests
