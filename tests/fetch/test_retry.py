from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.fetch.retry import plan_for, retry_delay_seconds
from tenax.model import (
    Again,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    Outcome,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Unchanged,
)

NOW = 1000.0
HOST_NEXT_AT = 1030.0
FETCH = FetchConfig()


def plan(outcome: Outcome, attempt: int = 0, jitter: float = 0.0) -> Plan:
    return plan_for(outcome, attempt, NOW, FETCH, jitter, HOST_NEXT_AT)


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched(200),
        Unchanged(),
        Redirected(301, "https://example.org/"),
        Refused("robots"),
        Rejected("empty"),
        Failed("HTTP 404", FailureKind.NOT_FOUND),
        Failed("HTTP 410", FailureKind.GONE),
    ],
)
def test_answers_settle_the_task(outcome: Outcome) -> None:
    assert plan(outcome) == Done()


def test_a_deferred_task_comes_back_at_its_time() -> None:
    assert plan(Deferred(1234.0, "resting")) == Again(1234.0)


@pytest.mark.parametrize(
    "kind", [FailureKind.CLIENT_ERROR, FailureKind.BLOCKED, FailureKind.TOO_LARGE, FailureKind.REDIRECT]
)
def test_what_would_only_happen_again_is_a_dead_letter(kind: FailureKind) -> None:
    assert plan(Failed("why", kind)) == DeadLetter("why")


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.SERVER_ERROR,
        FailureKind.TRUNCATED,
        FailureKind.TIMEOUT_TOTAL,
        FailureKind.BAD_RESPONSE,
        FailureKind.DNS,
        FailureKind.INTERNAL,
    ],
)
def test_three_attempts_then_a_dead_letter(kind: FailureKind) -> None:
    failed = Failed("why", kind)
    assert [plan(failed, attempt) for attempt in range(3)] == [
        Again(NOW + 1, spends_attempt=True),
        Again(NOW + 2, spends_attempt=True),
        DeadLetter("why (tried 3 times)"),
    ]


@pytest.mark.parametrize("attempt", [0, 2, 50])
@pytest.mark.parametrize(
    ("failed", "at"),
    [
        (Failed("refused", FailureKind.CONNECT, is_site_wide=True), HOST_NEXT_AT),
        (Failed("HTTP 503", FailureKind.SERVER_ERROR, True, 503, 5.0), HOST_NEXT_AT),
        (Failed("HTTP 503", FailureKind.SERVER_ERROR, True, 503, 60.0), NOW + 60),
        (Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429), HOST_NEXT_AT),
        (Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429, retry_after_seconds=1e9), NOW + 3600),
    ],
)
def test_the_hosts_trouble_never_costs_the_url_an_attempt(failed: Failed, at: float, attempt: int) -> None:
    assert plan(failed, attempt) == Again(at)


def test_a_retry_waits_as_long_as_the_host_asked() -> None:
    failed = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500, retry_after_seconds=20.0)
    assert plan(failed) == Again(NOW + 20, spends_attempt=True)


def test_waits_double_up_to_the_most_with_a_share_at_random() -> None:
    assert [retry_delay_seconds(attempt, FETCH, 0.0) for attempt in (0, 1, 2, 3, 4, 1000)] == [1, 2, 4, 8, 8, 8]
    assert retry_delay_seconds(0, FETCH, 1.0) == pytest.approx(1.2)
    assert retry_delay_seconds(9, FETCH, 0.5) == pytest.approx(8.8)
