from __future__ import annotations

import pytest

from tenax.config import BrowserConfig
from tenax.fetch.browser.session_rules import (
    BROKEN_BROWSERS,
    GIVEN_UP_SECONDS,
    IDLE_SECONDS,
    Suspicion,
    Trouble,
    Use,
    after_break,
    after_error,
    is_culprit,
    is_over,
    is_spent,
    words,
)

CONFIG = BrowserConfig()
NOW = 1_750_000_000.0


@pytest.mark.parametrize(
    ("pages", "age", "spent"),
    [(0, 0, False), (49, 599, False), (50, 0, True), (51, 0, True), (0, 600, True), (3, 86_400, True)],
)
def test_a_browser_is_spent_after_fifty_pages_or_ten_minutes(pages: int, age: float, spent: bool) -> None:
    assert is_spent(Use(NOW - age, NOW, pages_begun=pages), NOW, CONFIG) is spent


@pytest.mark.parametrize(
    ("use", "over"),
    [
        (Use(NOW, NOW), False),
        (Use(NOW - 300, NOW - IDLE_SECONDS, 7), True),
        (Use(NOW - 300, NOW - IDLE_SECONDS + 1, 7), False),
        (Use(NOW - 300, NOW - IDLE_SECONDS, 7, pages_open=1), False),
        (Use(NOW - 700, NOW, 7), True),
        (Use(NOW - 700, NOW, 7, pages_open=2), False),
        (Use(NOW, NOW, 50), True),
    ],
)
def test_a_browser_ends_when_it_is_spent_or_idle_and_empty(use: Use, over: bool) -> None:
    assert is_over(use, NOW, CONFIG) is over


def test_fifty_one_pages_take_two_browsers() -> None:
    browsers, use = 1, Use(NOW, NOW)
    for _ in range(51):
        if is_spent(use, NOW, CONFIG):
            browsers, use = browsers + 1, Use(NOW, NOW)
        use = use.with_page(NOW).without_page(NOW)
    assert (browsers, use.pages_begun, use.pages_open) == (2, 1, 0)


def test_three_errors_in_a_row_and_nobody_tries_for_a_while() -> None:
    trouble = Trouble()
    for number in (1, 2):
        trouble = after_error(trouble, "it fell over", NOW, CONFIG)
        assert (trouble.errors_in_a_row, trouble.given_up_until) == (number, 0.0)
    trouble = after_error(trouble, "it fell over", NOW, CONFIG)
    assert trouble.given_up_until == NOW + GIVEN_UP_SECONDS
    said = words(trouble, NOW + 100)
    assert "3 times in a row (it fell over)" in said and "in 200 s" in said and "browser.executable" in said


def test_the_first_error_after_a_rest_gives_up_again() -> None:
    trouble = after_error(Trouble(3, NOW, "it fell over"), "again", NOW + 1, CONFIG)
    assert trouble.given_up_until == NOW + 1 + GIVEN_UP_SECONDS


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
    suspicion = Suspicion()
    for good_pages in good_pages_at_each_break:
        suspicion = after_break(suspicion, good_pages)
    assert is_culprit(suspicion, good_pages_at_each_break[-1]) is blamed
    assert BROKEN_BROWSERS == 3
