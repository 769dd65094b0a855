from __future__ import annotations

from typing import Literal

import pytest

from tenax.config import FetchConfig
from tenax.fetch.retry import fallback_transport, needs_browser
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Outcome,
    Redirected,
    Refused,
    Rejected,
    TransportKind,
    Unchanged,
)

HTTP, CURL, BROWSER = TransportKind.HTTP, TransportKind.CURL, TransportKind.BROWSER
EVERY_WAY = frozenset(TransportKind)
RESET = Failed("the connection was closed before a response", FailureKind.RESET, is_site_wide=True)
SHELL = Rejected("wall: the page asks for JavaScript")


def other(
    outcome: Outcome,
    way: TransportKind = HTTP,
    ways: frozenset[TransportKind] = EVERY_WAY,
    fallbacks: tuple[Literal["curl", "browser"], ...] = ("curl", "browser"),
) -> TransportKind | None:
    return fallback_transport(outcome, way, FetchConfig(fallbacks=fallbacks), ways)


@pytest.mark.parametrize(
    ("outcome", "way", "expected"),
    [
        (RESET, HTTP, CURL),
        (RESET, CURL, BROWSER),
        (RESET, BROWSER, None),
        (SHELL, HTTP, BROWSER),
        (SHELL, CURL, BROWSER),
        (SHELL, BROWSER, None),
    ],
)
def test_which_trouble_leads_where(outcome: Outcome, way: TransportKind, expected: TransportKind | None) -> None:
    assert other(outcome, way) is expected


@pytest.mark.parametrize(
    ("outcome", "ways", "expected"),
    [
        (RESET, {HTTP}, None),
        (RESET, {HTTP, BROWSER}, BROWSER),
        (RESET, {HTTP, CURL}, CURL),
        (SHELL, {HTTP, CURL}, None),
    ],
)
def test_what_is_not_installed_is_passed_over(
    outcome: Outcome, ways: set[TransportKind], expected: TransportKind | None
) -> None:
    assert other(outcome, HTTP, frozenset(ways)) is expected


def test_the_order_is_configured() -> None:
    assert other(RESET, HTTP, fallbacks=("browser", "curl")) is BROWSER
    assert other(RESET, BROWSER, fallbacks=("browser", "curl")) is CURL
    assert other(RESET, CURL, fallbacks=("browser", "curl")) is None
    assert other(RESET, CURL, fallbacks=("browser",)) is BROWSER
    assert other(RESET, CURL, fallbacks=("curl",)) is None
    assert other(RESET, fallbacks=()) is None
    assert other(SHELL, fallbacks=("curl",)) is None


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched(200),
        Unchanged(),
        Redirected(301, "https://example.org/"),
        Deferred(1.0, "turn"),
        Refused("robots: no"),
        Rejected("wall: access denied", is_hard=True),
        Rejected("content: image/png"),
        Rejected("url_list: it is no sitemap"),
        Rejected("empty"),
        Rejected("guess: the same as the page before"),
        Rejected("noindex: the page asks not to be kept"),
        Rejected("partial: only a part of the page came"),
        Rejected("unreadable: too deep"),
        *(Failed("why", kind) for kind in FailureKind if kind is not FailureKind.RESET),
    ],
)
def test_no_other_outcome_leads_to_a_fallback(outcome: Outcome) -> None:
    assert other(outcome) is None
    assert not needs_browser(outcome, TransportKind.HTTP)


@pytest.mark.parametrize(
    ("outcome", "way", "needs"),
    [
        (SHELL, TransportKind.HTTP, True),
        (SHELL, TransportKind.CURL, True),
        (SHELL, TransportKind.BROWSER, False),
        (RESET, TransportKind.HTTP, False),
    ],
)
def test_only_a_page_that_is_none_yet_needs_a_browser(outcome: Outcome, way: TransportKind, needs: bool) -> None:
    assert needs_browser(outcome, way) is needs
