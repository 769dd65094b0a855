from __future__ import annotations

import msgspec
import pytest

from tenax.discovery.paged_urls import Numbering, guess_pattern, link_fingerprint, numbering_style, past_end_reason
from tenax.discovery.pagination import (
    MAX_FAILED_LISTS,
    MAX_FINGERPRINTS,
    MAX_OPEN_LISTS,
    MAX_PENDING,
    MAX_RULES,
    RETRY_AFTER_SECONDS,
    SMALL_HOST,
    GuessedPage,
    ListLimits,
    ListPage,
    add_pending,
    guess_prospect,
    list_end_reason,
    record_guess_result,
    record_list_guess,
    record_list_page,
    store_list_rule,
)
from tenax.model import GuessState, GuessStats, ListRule, PendingGuess
from tests.discovery.little_sites import HOST, similarity

NOW = 1_772_000_000.0
LIMITS = ListLimits()
PATTERN = "/news?page={n}"
FULL = link_fingerprint(f"https://example.org/{letter}" for letter in "abcdefghij")
OTHERS = link_fingerprint(f"https://example.org/{letter}" for letter in "qrstuvwxyz")
PAGE = ListPage("a" * 64, b"one two three", FULL, 10)


def test_the_page_after_the_last_known_is_pending() -> None:
    guess_state = record_list_page(GuessState(), "/news?page=4", Numbering(PATTERN, 4, 4), PAGE, NOW)
    assert guess_state.pending == {PATTERN: PendingGuess(4)}
    assert guess_state.lists == {
        PATTERN: ListRule(4, at=NOW, content_hash="a" * 16, fingerprint=PAGE.fingerprint, link_fingerprint=FULL)
    }


def test_pages_that_are_linked_are_left_to_their_links() -> None:
    guess_state = record_list_page(GuessState(), "/news", Numbering(PATTERN, 1, 4), PAGE, NOW)
    assert not guess_state.pending and guess_state.lists[PATTERN].last_known == 1
    assert guess_state.styles == {"linked ?page={n}": GuessStats(worked=1, at=NOW)}


@pytest.mark.parametrize(
    ("numbering", "page"),
    [
        (Numbering("/f?start={n}", 40, 40, 0), PAGE),  # the step is unknown
        (Numbering(f"/{'a' * 200}?page={{n}}", 4, 4), PAGE),  # too long to be stored
        (Numbering(PATTERN, 4, 4), ListPage()),  # nothing on the page
        (Numbering(PATTERN, 4, 4), ListPage(link_fingerprint=bytes(64))),  # or no links
    ],
)
def test_lists_without_enough_information_are_not_guessed(numbering: Numbering, page: ListPage) -> None:
    assert record_list_page(GuessState(), "/", numbering, page, NOW) == GuessState()


def test_a_step_once_known_serves_later() -> None:
    known = GuessState(lists={"/f?start={n}": ListRule(20, 20, "valid")})
    assert (
        record_list_page(known, "/", Numbering("/f?start={n}", 40, 40, 0), PAGE, NOW).lists["/f?start={n}"].step == 20
    )


@pytest.mark.parametrize(
    ("rule", "number", "is_pending"),
    [
        (ListRule(4, guessed_number=5, at=NOW), 4, False),  # it was guessed
        (ListRule(4, guessed_number=5, at=NOW), 9, False),
        (ListRule(4, state="invalid", at=NOW), 4, False),  # it ended there
        (ListRule(4, state="invalid", at=NOW), 6, True),  # it has grown since
        (ListRule(4, state="invalid", at=NOW - RETRY_AFTER_SECONDS), 4, True),
        (ListRule(4, guessed_number=5, at=NOW - RETRY_AFTER_SECONDS), 4, True),  # the guess has expired
        (ListRule(9, state="valid", at=NOW), 4, False),  # not the last
    ],
)
def test_a_list_is_not_guessed_twice(rule: ListRule, number: int, is_pending: bool) -> None:
    guess_state = record_list_page(
        GuessState(lists={PATTERN: rule}), "/news", Numbering(PATTERN, number, number), PAGE, NOW
    )
    assert bool(guess_state.pending) is is_pending


@pytest.mark.parametrize(
    ("rule", "page", "why"),
    [
        (ListRule(1, content_hash="a" * 16), PAGE, "the same as the page before"),
        (ListRule(1, fingerprint=b"three two one"), PAGE, "like the page before"),
        (ListRule(1, fingerprint=b"four five six"), PAGE, ""),
        (ListRule(1, link_fingerprint=FULL), PAGE, "empty: no new links compared with the page before"),
        (ListRule(1, link_fingerprint=OTHERS), PAGE, ""),
        (ListRule(1), ListPage(), "empty: no new links"),
        (ListRule(1, link_fingerprint=FULL), ListPage(new_urls=1), ""),
        (ListRule(1, link_fingerprint=OTHERS, empty_pages=1), ListPage(link_fingerprint=FULL), ""),
        (
            ListRule(1, link_fingerprint=OTHERS, empty_pages=2),
            ListPage(link_fingerprint=FULL),
            "nothing new on 3 pages in a row",
        ),
        (ListRule(1, link_fingerprint=OTHERS, empty_pages=2), ListPage(link_fingerprint=FULL, new_urls=1), ""),
    ],
)
def test_why_a_list_ends(rule: ListRule, page: ListPage, why: str) -> None:
    assert list_end_reason(rule, page, LIMITS, similarity) == why


def test_a_failure_ends_the_list_and_forgets_the_page() -> None:
    rule = ListRule(4, guessed_number=5, content_hash="a", fingerprint=b"b", link_fingerprint=b"c")
    guessed = GuessedPage(Numbering(PATTERN, 5, 5), ListPage(), "no such page")
    guess_state = record_guess_result(GuessState(), rule, guessed, NOW, LIMITS)
    assert guess_state.lists == {PATTERN: ListRule(4, state="invalid", why="no such page", at=NOW)}
    assert guess_state.styles == {"beyond ?page={n}": GuessStats(failed=1, at=NOW)}
    assert not guess_state.pending


def test_a_success_owes_the_next_before_others() -> None:
    before = GuessState(pending={"/other?page={n}": PendingGuess(1)})
    guessed = GuessedPage(Numbering(PATTERN, 5, 5), PAGE)
    guess_state = record_guess_result(before, ListRule(4, guessed_number=5), guessed, NOW, LIMITS)
    assert list(guess_state.pending.items()) == [(PATTERN, PendingGuess(5)), ("/other?page={n}", PendingGuess(1))]
    assert (guess_state.lists[PATTERN].last_known, guess_state.lists[PATTERN].state) == (5, "valid")
    assert guess_state.styles == {"beyond ?page={n}": GuessStats(worked=1, at=NOW)}


def test_a_success_that_links_further_owes_nothing() -> None:
    guessed = GuessedPage(Numbering(PATTERN, 5, 8), PAGE)
    guess_state = record_guess_result(GuessState(), ListRule(4, guessed_number=5), guessed, NOW, LIMITS)
    assert guess_state.lists[PATTERN].last_known == 8 and not guess_state.pending


def test_the_end_of_a_list_that_worked_is_no_failure_of_its_style() -> None:
    rule = ListRule(4, state="valid", guessed_number=5)
    guessed = GuessedPage(Numbering(PATTERN, 5, 5), ListPage(), "redirected")
    assert not record_guess_result(GuessState(), rule, guessed, NOW, LIMITS).styles


@pytest.mark.parametrize(
    ("rule", "tally", "requests", "prospect"),
    [
        (ListRule(1, is_unnumbered=True), GuessStats(failed=MAX_FAILED_LISTS - 1, at=NOW), SMALL_HOST, "good"),
        (ListRule(1, is_unnumbered=True), GuessStats(failed=MAX_FAILED_LISTS - 1, at=NOW), SMALL_HOST - 1, "hopeless"),
        (ListRule(1), GuessStats(failed=MAX_FAILED_LISTS - 1, at=NOW), 0, "good"),
        (ListRule(1, is_unnumbered=True), GuessStats(failed=MAX_FAILED_LISTS, at=NOW), 100_000, "hopeless"),
        (ListRule(1, is_unnumbered=True), GuessStats(failed=MAX_FAILED_LISTS, worked=1, at=NOW), 0, "good"),
        (ListRule(1, is_unnumbered=True), GuessStats(failed=1, unanswered=2, at=NOW), 0, "open"),
        (ListRule(1, is_unnumbered=True), GuessStats(failed=9, at=NOW - RETRY_AFTER_SECONDS), 0, "good"),
        (ListRule(1, is_unnumbered=True, state="valid"), GuessStats(failed=9, at=NOW), 0, "good"),
        (ListRule(1), GuessStats(failed=MAX_FAILED_LISTS, at=NOW), 0, "hopeless"),
        (ListRule(1), GuessStats(failed=MAX_FAILED_LISTS, at=NOW), 100, "good"),
        (ListRule(1), GuessStats(failed=MAX_FAILED_LISTS + 1, at=NOW), 100, "hopeless"),
    ],
)
def test_prospects(rule: ListRule, tally: GuessStats, requests: int, prospect: str) -> None:
    way = "blank ?page={n}" if rule.is_unnumbered else "beyond ?page={n}"
    guess_state = GuessState(requests=requests, styles={way: tally}, lists={PATTERN: rule})
    assert (
        guess_prospect(guess_state, PATTERN, PendingGuess(1, is_unnumbered=rule.is_unnumbered), NOW, ratio=0.03)
        == prospect
    )
    early = msgspec.structs.replace(guess_state, requests=0)
    is_as_many = guess_prospect(
        early, PATTERN, PendingGuess(1, is_unnumbered=rule.is_unnumbered), NOW, 0.03, waiting=requests
    )
    assert is_as_many == prospect, "those that wait count like those that were made"


@pytest.mark.parametrize(("links", "prospect"), [(9, "hopeless"), (10, "good"), (0, "good")])
def test_a_list_that_does_not_fill_a_page_has_no_second_one(links: int, prospect: str) -> None:
    first = ListPage("x", b"x", link_fingerprint=b"\x01", links=10, is_hub=True)
    guess_state = record_list_page(GuessState(requests=500), "/news", Numbering(PATTERN, 1, 4), first, NOW)
    text = msgspec.structs.replace(first, links=2, is_hub=False)
    guess_state = record_list_page(guess_state, "/story", Numbering("/story?page={n}", 1, 4), text, NOW)
    assert guess_state.full_list == 10, "a story in parts says nothing of lists"
    other = "/sport?page={n}"
    guess_state = record_list_page(guess_state, "/sport", None, msgspec.structs.replace(first, links=links), NOW)
    assert guess_prospect(guess_state, other, guess_state.pending[other], NOW, ratio=0.03) == prospect


def linked_page(
    number: int, known: int, links: int, words: int, guess_state: GuessState, trace: bytes = b"\x01"
) -> GuessState:
    page = ListPage(str(number), b"", trace, links=links, words=words, is_hub=True)
    return record_list_page(guess_state, "/news", Numbering(PATTERN, number, known), page, NOW)


def test_nothing_is_guessed_after_a_linked_page_without_anything_new() -> None:
    guess_state = linked_page(1, 3, 15, 200, GuessState(), trace=b"\xff")
    assert PATTERN in linked_page(3, 3, 15, 200, guess_state, trace=b"\x00\xff").pending
    guess_state = linked_page(3, 3, 14, 200, guess_state)
    assert not guess_state.pending
    assert (guess_state.lists[PATTERN].state, guess_state.lists[PATTERN].empty_at) == ("invalid", 0)


@pytest.mark.parametrize(
    ("links", "words", "is_over"), [(5, 14, True), (5, 400, False), (14, 14, False)], ids=["empty", "text", "pictures"]
)
def test_links_beyond_an_empty_page_are_not_requested(links: int, words: int, is_over: bool) -> None:
    guess_state = linked_page(2, 4, links, words, linked_page(1, 4, 15, 200, GuessState(), trace=b"\xff"))
    third, first = f"{HOST}/news?page=3", f"{HOST}/news"
    assert (past_end_reason(guess_state, third, first) is not None) is is_over
    assert (past_end_reason(guess_state, third, f"{HOST}/news?page=2") is not None) is is_over
    assert past_end_reason(guess_state, third, f"{HOST}/") is None, "another page links to it"
    assert past_end_reason(guess_state, third, None) is None, "a sitemap names it"
    assert past_end_reason(guess_state, f"{HOST}/news?page=2", first) is None


def test_no_more_guesses_are_open_than_can_be_remembered() -> None:
    guess_state = GuessState(
        lists={f"/{number}?page={{n}}": ListRule(1, guessed_number=2) for number in range(MAX_OPEN_LISTS)}
    )
    assert guess_prospect(guess_state, PATTERN, PendingGuess(1), NOW, ratio=0.03) == "open"


def test_with_many_pending_a_working_list_is_still_added() -> None:
    guess_state = GuessState()
    for number in range(MAX_PENDING + 5):
        guess_state = add_pending(guess_state, f"/{number}?page={{n}}", PendingGuess(1))
    guess_state = add_pending(guess_state, PATTERN, PendingGuess(7), is_first=True)
    assert len(guess_state.pending) == MAX_PENDING
    assert next(iter(guess_state.pending.items())) == (PATTERN, PendingGuess(7))


def test_a_guess_is_open_until_it_is_answered() -> None:
    asked = record_list_guess(GuessState(), PATTERN, PendingGuess(4, 2), NOW)
    assert (asked.lists[PATTERN].guessed_number, asked.lists[PATTERN].guesses) == (6, 1)
    assert asked.styles["beyond ?page={n}"].unanswered == 1
    guessed = GuessedPage(Numbering(PATTERN, 6, 6), PAGE)
    answered = record_guess_result(asked, asked.lists[PATTERN], guessed, NOW, LIMITS)
    assert answered.styles["beyond ?page={n}"].unanswered == 0


@pytest.mark.parametrize(
    ("relative_url", "shown", "pattern"),
    [
        ("/news", {}, "/news?page={n}"),
        ("/news/", {}, "/news/?page={n}"),
        ("/", {}, None),
        ("/news?sort=old", {}, None),
        ("/news", {"?seite={n}": 1}, "/news?seite={n}"),
        ("/news/", {"/page/{n}/": 4, "?page={n}": 1}, "/news/page/{n}/"),
        ("/", {"/page/{n}/": 4}, "/page/{n}/"),
        ("/news.html", {"/page/{n}/": 4}, None),
        ("/news", {"other": 4}, "/news?page={n}"),
    ],
)
def test_how_a_list_without_numbers_may_go_on(relative_url: str, shown: dict[str, int], pattern: str | None) -> None:
    guess_state = GuessState(styles={f"linked {style}": GuessStats(worked=count) for style, count in shown.items()})
    assert guess_pattern(relative_url, guess_state) == pattern


@pytest.mark.parametrize(
    ("pattern", "style"),
    [
        ("/news?page={n}", "?page={n}"),
        ("/news?a=1&page={n}&z=2", "?page={n}"),
        ("/news/page/{n}/", "/page/{n}/"),
        ("/news/page/{n}/?s=x", "/page/{n}/"),
        ("/threads/a.12/page-{n}", "/page-{n}"),
        ("/news-{n}.html", "other"),
        ("/news/{n}/", "other"),
    ],
)
def test_styles(pattern: str, style: str) -> None:
    assert numbering_style(pattern) == style


def test_a_bounded_memory_forgets_what_waits_for_nothing() -> None:
    guess_state = store_list_rule(GuessState(), "/asked?page={n}", ListRule(1, guessed_number=2))
    for number in range(MAX_RULES + 5):
        guess_state = store_list_rule(
            guess_state, f"/{number}?page={{n}}", ListRule(1, state="invalid", link_fingerprint=b"x")
        )
    assert len(guess_state.lists) == MAX_RULES
    assert "/asked?page={n}" in guess_state.lists
    assert "/0?page={n}" not in guess_state.lists and f"/{MAX_RULES + 4}?page={{n}}" in guess_state.lists
    assert sum(bool(rule.link_fingerprint) for rule in guess_state.lists.values()) == MAX_FINGERPRINTS


def test_rules_survive_being_stored() -> None:
    guess_state = store_list_rule(
        GuessState(),
        PATTERN,
        ListRule(4, 25, "valid", fingerprint=bytes(range(128)), link_fingerprint=FULL, guessed_number=5),
    )
    assert msgspec.json.decode(msgspec.json.encode(guess_state), type=GuessState) == guess_state
