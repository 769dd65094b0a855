from __future__ import annotations

import pytest

from tenax.config import HostsConfig
from tenax.model import Failed, FailureKind, HostRecord, Outcome, Rejected, Unchanged
from tests.hosts.history import HOST, HTTP_403, HTTP_404, HTTP_429, HTTP_500, NOW, OK, REFUSED, after, host, site

TRUNCATED = Failed("the body ends too early", FailureKind.TRUNCATED)


def over(outcomes: list[tuple[float, Outcome]], record: HostRecord = HOST) -> HostRecord:
    for at, outcome in outcomes:
        record = after(record, outcome, NOW + at)
    return record


def test_six_failures_in_five_minutes_lock_the_host_out_for_two() -> None:
    five = over([(at, TRUNCATED) for at in (0, 50, 100, 150, 200)])
    assert (five.backoff_reason, five.recent_failures) == ("", (1000, 1050, 1100, 1150, 1200))
    sixth = over([(299, TRUNCATED)], five)
    assert (sixth.next_at, sixth.backoff_reason) == (NOW + 299 + 120, "retry budget: 6 failures in 5 min")
    assert sixth.recent_failures == (), "a new window begins"


def test_time_gives_the_budget_back_and_nothing_else_does() -> None:
    five = [(float(at), TRUNCATED) for at in range(5)]
    between: list[tuple[float, Outcome]] = [(100, OK), (110, Unchanged()), (120, Rejected("empty")), (130, HTTP_404)]
    assert over([*five, *between, (299, TRUNCATED)]).backoff_reason.startswith("retry budget")
    later = over([*five, *between, (303, TRUNCATED)])
    assert (later.backoff_reason, later.recent_failures) == ("", (NOW + 4, NOW + 303))


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [
        (REFUSED, True),
        (HTTP_500, True),
        (HTTP_403, True),
        (HTTP_429, True),
        (Failed("HTTP 400", FailureKind.CLIENT_ERROR), True),
        (Failed("no such host", FailureKind.DNS), False),
        (Failed("the name look-up failed", FailureKind.DNS, is_site_wide=True), True),
        (Failed("slow", FailureKind.TIMEOUT_BODY), True),
        (HTTP_404, False),
        (Failed("HTTP 410", FailureKind.GONE), False),
        (Failed("HTTP 304", FailureKind.NOT_MODIFIED), False),
        (Failed("a loop", FailureKind.REDIRECT), False),
        (Failed("large", FailureKind.TOO_LARGE), False),
        (Failed("too costly to read", FailureKind.UNREADABLE), False),
        (Failed("ours", FailureKind.INTERNAL), False),
        (OK, False),
        (Rejected("wall: denied", is_hard=True), False),
    ],
)
def test_which_failures_count(outcome: Outcome, counts: bool) -> None:
    assert after(HOST, outcome).recent_failures == ((NOW,) if counts else ())


def test_answers_out_of_order_are_kept_in_order() -> None:
    assert over([(2, TRUNCATED), (1, TRUNCATED), (3, TRUNCATED)]).recent_failures == (1001, 1002, 1003)


def test_the_numbers_are_settings() -> None:
    settings = site(hosts=HostsConfig(budget_failures=2, budget_window_seconds=30, budget_lockout_seconds=7))
    record = after(after(HOST, TRUNCATED, config=settings), TRUNCATED, NOW + 29, config=settings)
    assert (record.next_at, record.backoff_reason) == (NOW + 36, "retry budget: 2 failures in 30 s")
    smaller = after(host(recent_failures=(990, 991, 992, 993)), TRUNCATED, config=settings)
    assert smaller.backoff_reason == "retry budget: 5 failures in 30 s", "the setting was turned down between two runs"
