from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import PolitenessConfig, SiteConfig
from tenax.hosts.robots import apply_robots, extend_robots_expiry
from tenax.hosts.rules import host_after_probe, should_probe
from tenax.hosts.throttle import is_unknown_host
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    HostRecord,
    Outcome,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    TransportKind,
    Unchanged,
)
from tests.hosts.history import (
    ALL,
    HOST,
    HTTP_403,
    HTTP_404,
    HTTP_429,
    HTTP_500,
    NOW,
    OK,
    REFUSED,
    SITE,
    after,
    host,
    site,
)

POLITE = SITE.politeness
SITES = st.sampled_from([SITE, site(PolitenessConfig(rate_per_second=0)), site(PolitenessConfig(rate_per_second=0.1))])
VISITS = st.tuples(
    st.sampled_from(ALL), st.floats(0, 1000), st.integers(0, 3), st.floats(0, 1), st.sampled_from(TransportKind)
)


def test_the_next_request_counts_from_the_answer_and_every_request() -> None:
    assert after(HOST, OK).next_at == NOW + 1
    assert after(HOST, OK, requests=3).next_at == NOW + 3
    assert after(host(crawl_delay_seconds=10.0), OK, requests=2).next_at == NOW + 20


@pytest.mark.parametrize("outcome", [Refused("robots: no"), Unchanged("young enough to serve")])
def test_what_sent_nothing_changes_nothing(outcome: Outcome) -> None:
    assert after(HOST, outcome, requests=0) == HOST


def test_the_whole_host_waits_for_a_permit_of_another_crawl() -> None:
    """Otherwise each of its tasks would be claimed, find no permit, and be put back."""
    waiting = after(HOST, Deferred(NOW + 5, "permit: taken by another"), requests=0)
    assert waiting == msgspec.structs.replace(HOST, next_at=NOW + 5)
    assert after(waiting, Deferred(NOW + 3, "permit: taken by another"), requests=0) == waiting
    backing_off = after(HOST, HTTP_429, jitter=0.5)
    assert after(backing_off, Deferred(NOW + 5, "permit: taken by another"), requests=0) == backing_off
    over = after(backing_off, Deferred(NOW + 99, "permit: taken by another"), NOW + 60, requests=0)
    assert (over.next_at, over.backoff_reason) == (NOW + 99, "")


def test_what_is_counted() -> None:
    record = after(after(after(HOST, OK), HTTP_404), Rejected("empty"))
    assert (record.page_count, record.error_count) == (1, 1)


@pytest.mark.parametrize(
    ("record", "outcome", "seconds", "why"),
    [
        (host(failures_in_a_row=4, recent_failures=(990,) * 5), HTTP_500, 120, "retry budget: 6 failures in 5 min"),
        (
            host(failures_in_a_row=4, recent_failures=(1,) * 5),
            HTTP_500,
            30,
            "down: 5 failures in a row, last: HTTP 500",
        ),
        (host(blocks_in_a_row=4, recent_failures=(990,) * 5), HTTP_403, 900, "cooldown: 5 refusals in a row"),
        (host(limited_in_a_row=1, recent_failures=(990,) * 5), HTTP_429, 300, "rate limited: 2 times in a row"),
    ],
)
def test_the_longest_of_several_backoffs_applies(
    record: HostRecord, outcome: Outcome, seconds: float, why: str
) -> None:
    record = after(record, outcome)
    assert (record.next_at, record.backoff_reason) == (NOW + seconds, why)


def test_a_late_answer_does_not_end_a_backoff() -> None:
    backing_off = after(HOST, HTTP_429, jitter=0.5)
    late = after(backing_off, OK, NOW + 1)
    assert (late.next_at, late.backoff_reason) == (NOW + 45, "rate limited")
    assert after(late, OK, NOW + 45).backoff_reason == ""


def test_the_host_backs_off_until_an_unreachable_robots_txt_is_requested_again() -> None:
    gone = RobotsCopy(RobotsVerdict.UNREACHABLE, NOW, NOW + 60, why="HTTP 503")
    record = apply_robots(HOST, gone, POLITE)
    assert (record.next_at, record.backoff_reason) == (NOW + 60, "robots.txt unreachable: HTTP 503")
    assert record.is_allowed, "the host has not closed itself to us"
    record = after(record, Deferred(NOW + 60, "robots"))
    assert (record.next_at, record.backoff_reason) == (NOW + 60, "robots.txt unreachable: HTTP 503")
    rules = RobotsCopy(RobotsVerdict.RULES, NOW + 60, NOW + 3660)
    record = after(apply_robots(record, rules, POLITE), Deferred(NOW + 60, "asked first"), NOW + 60)
    assert (record.next_at, record.backoff_reason) == (NOW + 61, "")


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
    record = apply_robots(HOST, RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 3600, text), POLITE)
    assert (record.crawl_delay_seconds, record.is_allowed) == (crawl_delay, is_allowed)


@pytest.mark.parametrize(
    ("delay", "age", "verdict", "lasts"),
    [
        (30, 0, RobotsVerdict.RULES, 3600),
        (3600, 0, RobotsVerdict.RULES, 7200),
        (86_400, 0, RobotsVerdict.RULES, 172_800),
        (3600, 80_000, RobotsVerdict.RULES, 6400),
        (3600, 86_000, RobotsVerdict.RULES, 3600),
        (3600, 0, RobotsVerdict.UNREACHABLE, 3600),
    ],
)
def test_a_copy_lasts_until_the_page_it_was_asked_for(
    delay: int, age: float, verdict: RobotsVerdict, lasts: float
) -> None:
    """With a day between two requests it must; but a copy that replaces a missing one not beyond its own day."""
    copy = RobotsCopy(verdict, NOW - age, NOW + 3600, f"User-agent: *\nCrawl-delay: {delay}")
    assert extend_robots_expiry(copy, HOST, POLITE, NOW, 1).expires_at == NOW + lasts


# ---- invariants -------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(VISITS, st.booleans()), max_size=40), SITES)
def test_the_next_request_only_moves_forward(
    visits: list[tuple[tuple[Outcome, float, int, float, TransportKind], bool]], config: SiteConfig
) -> None:
    record, now = HOST, NOW
    for (outcome, passed, requests, jitter, transport), is_up in visits:
        now += passed
        before = record
        if should_probe(record):
            record = host_after_probe(record, is_up, "why", now, config, jitter)
        record = after(record, outcome, now, requests, jitter, config, transport)
        assert record.next_at >= before.next_at
        sent = requests - is_unknown_host(outcome)
        assert sent <= 0 or not config.politeness.rate_per_second or record.next_at >= now + sent
        assert not (before.backoff_reason and before.next_at > now) or record.backoff_reason, (
            "a backoff keeps its reason"
        )
        assert (record.breaker == "closed") == (record.breaker_backoff_seconds == 0)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 100_000), st.none() | st.floats(0, 1e6)), max_size=60))
def test_no_row_of_429s_opens_the_breaker(visits: list[tuple[bool, float, float | None]]) -> None:
    record, now = HOST, NOW
    for is_ready, passed, retry_after in visits:
        now = record.next_at if is_ready else now + passed
        failed = Failed("HTTP 429", FailureKind.RATE_LIMITED, False, 429, retry_after)
        record = after(record, failed, now, jitter=0.3)
        assert (record.breaker, record.failures_in_a_row) == ("closed", 0)
        assert record.rate_per_minute is not None
        assert record.rate_per_minute >= 1


@settings(max_examples=10, deadline=None)
@given(st.lists(VISITS, min_size=1, max_size=30))
def test_ten_thousand_answers_leave_a_small_record(
    visits: list[tuple[Outcome, float, int, float, TransportKind]],
) -> None:
    record, now = HOST, NOW
    for number in range(10_000):
        outcome, passed, requests, jitter, transport = visits[number % len(visits)]
        now += passed / 100
        record = after(record, outcome, now, requests, jitter, transport=transport)
        assert len(record.recent_failures) < SITE.hosts.budget_failures
    stored = msgspec.json.encode(record)
    assert len(stored) < 1000
    assert msgspec.json.decode(stored, type=HostRecord) == record
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=HostRecord) == record


def test_a_restart_forgets_nothing() -> None:
    record = HOST
    for outcome in (HTTP_429, HTTP_403, HTTP_500, REFUSED, REFUSED, REFUSED, REFUSED):
        record = after(record, outcome, record.next_at)
        record = msgspec.json.decode(msgspec.json.encode(record), type=HostRecord)
    assert (record.breaker, record.rate_per_minute, record.blocks_in_a_row) == ("open", 15, 2)
