"""Which pending guesses a limit holds back, and that those made later are counted with their results."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.discovery.archives import Listing
from tenax.discovery.guesses import GuessLimits, VisitFacts, VisitResult, due_guesses, update_guesses
from tenax.discovery.pagination import ListLimits
from tenax.discovery.pending_guesses import BUDGET, LIST_PAGES, count_limited_guesses, is_pending_guess, limited_guesses
from tenax.model import ArchiveRule, GuessState, GuessStats, ListRule, PendingGuess, Source

A = "https://a.test"
NOW = 1_772_000_000.0
NONE = GuessLimits(ratio=0.0, min_guesses=0)
LIST, YEARS = "/list?page={n}", "/news/{yyyy}/"
PENDING = GuessState(
    requests=3,
    lists={LIST: ListRule(2, at=NOW)},
    archives={YEARS: ArchiveRule("valid", at=NOW, worked=1, earliest_period=2022)},
    pending={LIST: PendingGuess(2, 1, depth=3), YEARS: PendingGuess()},
)


def with_rule(**changes: Any) -> GuessState:
    return msgspec.structs.replace(PENDING, lists={LIST: msgspec.structs.replace(PENDING.lists[LIST], **changes)})


def unlike(one: bytes, other: bytes) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("guess_state", "limits", "relative_urls"),
    [
        pytest.param(PENDING, NONE, {"/list?page=3": BUDGET, "/news/2021/": BUDGET}, id="pending"),
        pytest.param(GuessState(requests=20), NONE, {}, id="nothing is pending"),
        pytest.param(PENDING, GuessLimits(is_enabled=False), {}, id="nothing is guessed here"),
        pytest.param(PENDING, GuessLimits(with_lists=False), {"/news/2021/": BUDGET}, id="no lists wanted"),
        pytest.param(PENDING, GuessLimits(with_archives=False), {"/list?page=3": BUDGET}, id="no archives wanted"),
        pytest.param(
            with_rule(state="valid", guesses=9),
            GuessLimits(with_archives=False, lists=ListLimits(max_pages=9)),
            {"/list?page=3": LIST_PAGES},
            id="as many pages as allowed",
        ),
        pytest.param(with_rule(guessed_number=3), GuessLimits(with_archives=False), {}, id="asked for already"),
        pytest.param(
            msgspec.structs.replace(
                PENDING, pending={LIST: PendingGuess(1, 1, is_unnumbered=True, relative_url="/list")}
            ),
            NONE,
            {},
            id="nothing says that the list goes on",
        ),
        pytest.param(
            GuessState(
                lists=PENDING.lists,
                pending={LIST: PendingGuess(2)},
                styles={"beyond ?page={n}": GuessStats(failed=3, at=NOW)},
            ),
            NONE,
            {},
            id="other lists ended where they said",
        ),
        pytest.param(
            msgspec.structs.replace(PENDING, archives={YEARS: ArchiveRule(at=NOW)}, pending={YEARS: PendingGuess()}),
            NONE,
            {},
            id="a common path without evidence",
        ),
    ],
)
def test_only_guesses_with_evidence_are_limited(
    guess_state: GuessState, limits: GuessLimits, relative_urls: dict[str, str]
) -> None:
    assert {one.relative_url: one.limit for one in limited_guesses(guess_state, NOW, limits).values()} == relative_urls


@pytest.mark.parametrize(
    ("before", "url", "limits", "counts"),
    [
        pytest.param(GuessState(), f"{A}/list?page=2", NONE, {BUDGET: 2}, id="both are owed since this visit"),
        pytest.param(PENDING, f"{A}/list?page=2", NONE, {BUDGET: 1}, id="a page of the list comes again"),
        pytest.param(PENDING, f"{A}/news/2022/", NONE, {BUDGET: 1}, id="a page of the archive comes again"),
        pytest.param(PENDING, f"{A}/other", NONE, {}, id="another page has nothing to do with it"),
        pytest.param(GuessState(), f"{A}/list", GuessLimits(), {}, id="there is room"),
    ],
)
def test_a_page_says_what_was_not_guessed_from_it(
    before: GuessState, url: str, limits: GuessLimits, counts: dict[str, int]
) -> None:
    assert count_limited_guesses(before, PENDING, url, NOW, limits) == counts


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/list?page=3", True), ("/list?page=4", False), ("/news/2021/", True), ("/news/2020/", False), ("/", False)],
)
def test_the_next_guess_is_known_by_its_url(path: str, expected: bool) -> None:
    assert is_pending_guess(PENDING, A + path) is expected
    assert not is_pending_guess(GuessState(), A + path)


def test_a_guess_of_a_later_run_is_counted_with_its_answer_and_once() -> None:
    limits = GuessLimits(ratio=0.0, archives_below=0)
    assert due_guesses(PENDING, f"{A}/", NOW, NONE) == ()
    due = [guess.url for guess in due_guesses(PENDING, f"{A}/", NOW, limits)]
    assert due == [guess.url for guess in due_guesses(PENDING, f"{A}/", NOW, limits)], "nothing is kept of it"
    assert {f"{A}/list?page=3", f"{A}/news/2021/"} <= set(due)
    guess_state = PENDING
    for path, source in (("/list?page=3", Source.PAGINATION), ("/news/2021/", Source.ARCHIVE)):
        facts = VisitFacts(A + path, source, VisitResult.NO_PAGE)
        guess_state, _ = update_guesses(
            guess_state, facts, NOW, msgspec.structs.replace(NONE, is_enabled=False), unlike
        )
    assert (guess_state.guesses_made, guess_state.archives_made, guess_state.pending.keys() - {YEARS}) == (2, 1, set())
    assert (guess_state.lists[LIST].state, guess_state.archives[YEARS].missed) == ("invalid", 1)
    again, _ = update_guesses(guess_state, facts, NOW, msgspec.structs.replace(NONE, is_enabled=False), unlike)
    assert (again.guesses_made, again.archives) == (2, guess_state.archives), (
        "a page that comes again is no other guess"
    )


def test_a_guess_of_a_later_run_that_led_to_something_goes_on() -> None:
    facts = VisitFacts(f"{A}/list?page=3", Source.PAGINATION, VisitResult.PAGE, Listing(None), "hash", b"", new_urls=3)
    guess_state, guesses = update_guesses(PENDING, facts, NOW, GuessLimits(with_archives=False), unlike)
    assert f"{A}/list?page=4" in [guess.url for guess in guesses]
    assert guess_state.guesses_succeeded == 1
