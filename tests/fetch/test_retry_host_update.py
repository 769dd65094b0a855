"""How a visit updates its host, in order: robots.txt, the probe, the outcome."""

from __future__ import annotations

from tenax.config import Config, Sites
from tenax.fetch.answer import FetchResult, Probe
from tenax.fetch.retry import update_host
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    RobotsCopy,
    RobotsVerdict,
    TransportKind,
)
from tests.visit_ends import visit_end

NOW = 1_750_000_000.0
SITE = Sites(Config()).for_host("")
HOST = HostRecord(origin="http://a.example", domain="a.example")
WAYS = frozenset({TransportKind.HTTP, TransportKind.CURL})


def after(host: HostRecord, answer: FetchResult, outcome: Outcome | None = None, jitter: float = 0.0) -> HostRecord:
    end = visit_end(outcome or answer.outcome, NOW, SITE, answer=answer, jitter=jitter, available=WAYS)
    return update_host(host, end)


def test_a_page_sets_the_time_of_the_hosts_next_request() -> None:
    record = after(HOST, FetchResult(Fetched(200), NOW, 1))
    assert (record.next_at, record.page_count) == (NOW + 1, 1)


def test_a_robots_txt_is_stored_before_the_next_request_is_planned() -> None:
    copy = RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 3600, "User-agent: *\nCrawl-delay: 7")
    record = after(HOST, FetchResult(Deferred(NOW, "robots.txt was fetched first"), NOW, 1, robots=copy))
    assert record.robots == copy
    assert record.next_at == NOW + 7, "its own delay holds for the very next request"


def test_a_probe_is_judged_before_the_answer_that_it_is_part_of() -> None:
    down = HostRecord(
        origin=HOST.origin, domain=HOST.domain, breaker="open", breaker_backoff_seconds=30.0, failures_in_a_row=5
    )
    back = after(down, FetchResult(Deferred(NOW, "probe: it is back"), NOW, 1, probe=Probe(True, "HTTP 200")))
    assert (back.breaker, back.failures_in_a_row) == ("closed", 0)
    still = after(down, FetchResult(Deferred(NOW, "probe: still down"), NOW, 1, probe=Probe(False, "refused")))
    assert (still.breaker, still.breaker_backoff_seconds, still.next_at) == ("open", 60.0, NOW + 60)


def test_the_outcome_may_be_another_than_that_of_the_answer() -> None:
    """Extraction may have found no page."""
    trouble = Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503)
    assert after(HOST, FetchResult(Fetched(200), NOW, 1), trouble).failures_in_a_row == 1


def test_a_reset_switches_the_host_to_another_transport_if_there_is_one() -> None:
    reset = Failed("reset", FailureKind.RESET, is_site_wide=True)
    assert after(HOST, FetchResult(reset, NOW, 1)).transport is TransportKind.CURL
    assert update_host(HOST, visit_end(reset, NOW, SITE)).transport is None


def test_a_robots_txt_in_trouble_counts_towards_an_outage() -> None:
    """The page was only deferred, but its host has failed. A 429 is no failure, nor is a usable copy."""

    def failures(verdict: RobotsVerdict, status: int) -> int:
        copy = RobotsCopy(verdict, NOW, NOW + 60, http_status=status, why=f"HTTP {status}")
        return after(HOST, FetchResult(Deferred(NOW + 60, "…"), NOW, 1, robots=copy)).failures_in_a_row

    assert failures(RobotsVerdict.UNREACHABLE, 503) == 1
    assert failures(RobotsVerdict.UNREACHABLE, 429) == 0
    assert failures(RobotsVerdict.RULES, 503) == 0


def test_a_name_that_does_not_exist_makes_nobody_wait() -> None:
    lost = Failed("no such host", FailureKind.DNS)
    record = HOST
    for _ in range(20):
        record = after(record, FetchResult(lost, NOW, 1))
    assert (record.next_at, record.backoff_reason, record.failures_in_a_row) == (NOW, "", 0)
