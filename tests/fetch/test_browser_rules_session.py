from __future__ import annotations

import pytest

from tenax.config import BrowserConfig
from tenax.fetch.browser.rules import (
    CRASHES_TO_BLAME,
    DISABLED_SECONDS,
    IDLE_SECONDS,
    BrowserErrors,
    CrashSuspicion,
    SessionUsage,
    describe_errors,
    is_crash_cause,
    is_exhausted,
    record_crash,
    record_error,
    should_close,
)

CONFIG = BrowserConfig()
NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("pages", "age", "spent"),
    [(0, 0, False), (49, 599, False), (50, 0, True), (51, 0, True), (0, 600, True), (3, 86_400, True)],
)
def test_a_browser_is_spent_after_fifty_pages_or_ten_minutes(pages: int, age: float, spent: bool) -> None:
    assert is_exhausted(SessionUsage(NOW - age, NOW, pages_started=pages), NOW, CONFIG) is spent


@pytest.mark.parametrize(
    ("use", "over"),
    [
        (SessionUsage(NOW, NOW), False),
        (SessionUsage(NOW - 300, NOW - IDLE_SECONDS, 7), True),
        (SessionUsage(NOW - 300, NOW - IDLE_SECONDS + 1, 7), False),
        (SessionUsage(NOW - 300, NOW - IDLE_SECONDS, 7, pages_open=1), False),
        (SessionUsage(NOW - 700, NOW, 7), True),
        (SessionUsage(NOW - 700, NOW, 7, pages_open=2), False),
        (SessionUsage(NOW, NOW, 50), True),
    ],
)
def test_a_browser_ends_when_it_is_spent_or_idle_and_empty(use: SessionUsage, over: bool) -> None:
    assert should_close(use, NOW, CONFIG) is over


def test_fifty_one_pages_take_two_browsers() -> None:
    browsers, use = 1, SessionUsage(NOW, NOW)
    for _ in range(51):
        if is_exhausted(use, NOW, CONFIG):
            browsers, use = browsers + 1, SessionUsage(NOW, NOW)
        use = use.with_page(NOW).without_page(NOW)
    assert (browsers, use.pages_started, use.pages_open) == (2, 1, 0)


def test_three_errors_in_a_row_and_nobody_tries_for_a_while() -> None:
    trouble = BrowserErrors()
    for number in (1, 2):
        trouble = record_error(trouble, "it fell over", NOW, CONFIG)
        assert (trouble.errors_in_a_row, trouble.disabled_until) == (number, 0.0)
    trouble = record_error(trouble, "it fell over", NOW, CONFIG)
    assert trouble.disabled_until == NOW + DISABLED_SECONDS
    said = describe_errors(trouble, NOW + 100)
    assert "3 times in a row (it fell over)" in said and "in 200 s" in said and "browser.executable" in said


def test_the_first_error_after_a_pause_disables_browsers_again() -> None:
    trouble = record_error(BrowserErrors(3, NOW, "it fell over"), "again", NOW + 1, CONFIG)
    assert trouble.disabled_until == NOW + 1 + DISABLED_SECONDS


@pytest.mark.parametrize(
    ("good_pages_at_each_break", "blamed"),
    [
        ([5], False),
        ([5, 6], False),
        ([5, 6, 7], True),
        ([0, 0, 1], True),
        ([5, 5, 5], False),
        ([0] * 50, False),
        ([0] * 50 + [1], True),
    ],
)
def test_a_page_is_blamed_when_browsers_break_on_it_and_on_no_other(
    good_pages_at_each_break: list[int], blamed: bool
) -> None:
    suspicion = CrashSuspicion()
    for good_pages in good_pages_at_each_break:
        suspicion = record_crash(suspicion, good_pages)
    assert is_crash_cause(suspicion, good_pages_at_each_break[-1]) is blamed
    assert CRASHES_TO_BLAME == 3
