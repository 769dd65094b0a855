from __future__ import annotations

import msgspec
import pytest

from tenax.config import FetchConfig, SiteConfig
from tenax.fetch.retry import plan_task
from tenax.model import (
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    Outcome,
    Park,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Source,
    Task,
    TransportKind,
    Unchanged,
)
from tests.visit_ends import visit_end

NOW = 1000.0
HOST_NEXT_AT = 1030.0
SITE = SiteConfig()
TASK = Task("https://example.org/a", "https://example.org", 1, Priority.LOW, Source.LINK, None, 900.0, 950.0)
ALL_TRANSPORTS = frozenset(TransportKind)
PLAIN = frozenset({TransportKind.HTTP})
RESET = Failed("the connection was closed before a response", FailureKind.RESET, is_site_wide=True)
SOFT = Rejected("wall: the page asks for JavaScript")
HARD = Rejected("wall: access denied", is_hard=True)
HTTP_304 = Failed("HTTP 304 without a stored copy", FailureKind.NOT_MODIFIED, status=304)


def plan(
    outcome: Outcome,
    attempt: int = 0,
    jitter: float = 0.0,
    available: frozenset[TransportKind] = ALL_TRANSPORTS,
    transport: TransportKind = TransportKind.HTTP,
    task: Task = TASK,
) -> Plan:
    task = msgspec.structs.replace(task, attempt=attempt)
    end = visit_end(outcome, NOW, SITE, jitter=jitter, available=available, transport=transport)
    return plan_task(task, end, HOST_NEXT_AT)


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched(200),
        Unchanged(),
        Unchanged("the stored copy is 2 h old, recent enough to use"),
        Redirected(301, "https://example.org/"),
        Rejected("empty"),
        Rejected("noindex: the page asks not to be kept"),
        Failed("HTTP 404", FailureKind.NOT_FOUND),
        Failed("HTTP 410", FailureKind.GONE),
    ],
)
def test_answers_settle_the_task(outcome: Outcome) -> None:
    assert plan(outcome) == Done()


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Refused("robots: no"), "robots: no"),
        (Refused("guard: a private address"), "guard: a private address"),
        (Refused("rules: exclude"), "rules: exclude"),
        (Refused("facets: enough"), "facets: enough"),
        (Redirected(301, "https://b.test/", "scope"), "redirect: scope, HTTP 301 to https://b.test/"),
    ],
)
def test_what_a_setting_refuses_is_not_settled(outcome: Outcome, cause: str) -> None:
    assert plan(outcome) == Park(cause)


@pytest.mark.parametrize(
    ("source", "why", "is_dead"),
    [
        (Source.SEED, "guard: port 8000 is not allowed", True),
        (Source.REPLAY, "guard: port 8000 is not allowed", True),
        (Source.LINK, "guard: port 8000 is not allowed", False),
        (Source.REDIRECT, "guard: port 8000 is not allowed", False),
        (Source.SEED, "robots: no", False),
    ],
)
def test_what_a_person_named_and_the_guard_refused_may_be_replayed(source: Source, why: str, is_dead: bool) -> None:
    task = msgspec.structs.replace(TASK, source=source)
    assert plan(Refused(why), task=task) == (DeadLetter(why) if is_dead else Park(why))


def test_a_deferred_task_comes_back_at_its_time() -> None:
    assert plan(Deferred(1234.0, "backing off")) == Reschedule(1234.0)


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.CLIENT_ERROR,
        FailureKind.BLOCKED,
        FailureKind.TOO_LARGE,
        FailureKind.REDIRECT,
        FailureKind.UNREADABLE,
    ],
)
def test_what_would_only_happen_again_is_a_dead_letter(kind: FailureKind) -> None:
    assert plan(Failed("why", kind)) == DeadLetter("why")


@pytest.mark.parametrize(
    "kind",
    [
        FailureKind.SERVER_ERROR,
        FailureKind.TRUNCATED,
        FailureKind.TIMEOUT_HEADERS,
        FailureKind.TIMEOUT_BODY,
        FailureKind.TIMEOUT_TOTAL,
        FailureKind.BAD_RESPONSE,
        FailureKind.DNS,
        FailureKind.INTERNAL,
    ],
)
def test_three_attempts_then_a_dead_letter(kind: FailureKind) -> None:
    failed = Failed("why", kind)
    assert [plan(failed, attempt) for attempt in range(3)] == [
        Reschedule(NOW + 1, spends_attempt=True),
        Reschedule(NOW + 2, spends_attempt=True),
        DeadLetter("why (tried 3 times)", "fetch.max_attempts>3"),
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
    assert plan(failed, attempt) == Reschedule(at)


def test_a_retry_waits_as_long_as_the_host_asked() -> None:
    failed = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500, retry_after_seconds=20.0)
    assert plan(failed) == Reschedule(NOW + 20, spends_attempt=True)
    assert plan(Failed("cut", FailureKind.TRUNCATED), 1, jitter=1.0) == Reschedule(NOW + 2.4, spends_attempt=True)


# ---- another transport ------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempt", [0, 2, 50])
@pytest.mark.parametrize(
    ("transport", "available", "expected"),
    [
        (TransportKind.HTTP, ALL_TRANSPORTS, Reschedule(HOST_NEXT_AT, transport=TransportKind.CURL)),
        (TransportKind.CURL, ALL_TRANSPORTS, Reschedule(HOST_NEXT_AT, transport=TransportKind.BROWSER)),
        (TransportKind.BROWSER, ALL_TRANSPORTS, Reschedule(HOST_NEXT_AT)),
        (TransportKind.HTTP, PLAIN, Reschedule(HOST_NEXT_AT)),
    ],
)
def test_a_reset_tries_every_transport_once_and_then_begins_again(
    transport: TransportKind, available: frozenset[TransportKind], expected: Plan, attempt: int
) -> None:
    asked = msgspec.structs.replace(TASK, transport=None if transport is TransportKind.HTTP else transport)
    assert plan(RESET, attempt, available=available, transport=transport, task=asked) == expected


def test_a_reset_of_the_url_itself_uses_an_attempt_when_no_transport_is_left() -> None:
    own = Failed("reset", FailureKind.RESET)
    assert plan(own) == Reschedule(HOST_NEXT_AT, transport=TransportKind.CURL)
    assert plan(own, available=PLAIN) == Reschedule(NOW + 1, spends_attempt=True)


@pytest.mark.parametrize(
    ("transport", "available", "expected"),
    [
        (TransportKind.HTTP, ALL_TRANSPORTS, Reschedule(HOST_NEXT_AT, transport=TransportKind.BROWSER)),
        (TransportKind.CURL, ALL_TRANSPORTS, Reschedule(HOST_NEXT_AT, transport=TransportKind.BROWSER)),
        (TransportKind.BROWSER, ALL_TRANSPORTS, Done()),
        (TransportKind.HTTP, PLAIN, DeadLetter(f"needs a browser: {SOFT.why}")),
        (TransportKind.CURL, PLAIN | {TransportKind.CURL}, DeadLetter(f"needs a browser: {SOFT.why}")),
    ],
)
def test_a_soft_rejection_goes_to_the_browser_once(
    transport: TransportKind, available: frozenset[TransportKind], expected: Plan
) -> None:
    assert plan(SOFT, available=available, transport=transport) == expected


def test_it_waits_for_a_browser_too_where_settings_exclude_it() -> None:
    closed = SiteConfig(fetch=FetchConfig(fallbacks=("curl",)))
    put_aside = plan_task(TASK, visit_end(SOFT, NOW, closed, available=ALL_TRANSPORTS), HOST_NEXT_AT)
    assert isinstance(put_aside, DeadLetter) and put_aside.needs_browser


def test_other_dead_letters_need_no_browser() -> None:
    given_up = plan(Failed("HTTP 403", FailureKind.BLOCKED, status=403))
    assert isinstance(given_up, DeadLetter) and not given_up.needs_browser


def test_the_sites_own_order_of_transports_applies() -> None:
    only_browser = SiteConfig(fetch=FetchConfig(fallbacks=("browser",)))
    assert plan_task(TASK, visit_end(RESET, NOW, only_browser, available=ALL_TRANSPORTS), HOST_NEXT_AT) == Reschedule(
        HOST_NEXT_AT, transport=TransportKind.BROWSER
    )


def test_a_hard_rejection_waits_for_the_host_and_spends_an_attempt() -> None:
    assert [plan(HARD, attempt) for attempt in range(3)] == [
        Reschedule(HOST_NEXT_AT, spends_attempt=True),
        Reschedule(HOST_NEXT_AT, spends_attempt=True),
        DeadLetter("wall: access denied (tried 3 times)", "fetch.max_attempts>3"),
    ]


@pytest.mark.parametrize(
    "outcome",
    [
        Deferred(1234.0, "the browser is busy"),
        Failed("refused", FailureKind.CONNECT, is_site_wide=True),
        Failed("HTTP 429", FailureKind.RATE_LIMITED),
        Failed("slow", FailureKind.TIMEOUT_BODY),
        HARD,
    ],
)
def test_what_a_task_was_found_to_need_it_keeps(outcome: Outcome) -> None:
    asked = msgspec.structs.replace(TASK, transport=TransportKind.BROWSER, is_unconditional=True)
    again = plan(outcome, transport=TransportKind.BROWSER, task=asked)
    assert isinstance(again, Reschedule)
    assert (again.transport, again.is_unconditional) == (TransportKind.BROWSER, True)


# ---- a 304 without a stored copy --------------------------------------------------------------------------


def test_a_304_without_a_copy_asks_for_the_whole_page_at_once() -> None:
    assert plan(HTTP_304, attempt=2) == Reschedule(NOW, is_unconditional=True)


def test_a_304_to_an_unconditional_request_is_a_failure_like_any_other() -> None:
    asked = msgspec.structs.replace(TASK, is_unconditional=True)
    assert plan(HTTP_304, task=asked) == Reschedule(NOW + 1, spends_attempt=True, is_unconditional=True)
    assert plan(HTTP_304, 2, task=asked) == DeadLetter(f"{HTTP_304.why} (tried 3 times)", "fetch.max_attempts>3")
