from __future__ import annotations

import msgspec
import pytest

from tenax.discovery.list_order import why_past_end
from tenax.discovery.page_numbers import Numbering, trace_of
from tenax.discovery.pagination import (
    FEW_LISTS,
    FORGIVEN_AFTER_SECONDS,
    MOST_OPEN,
    MOST_OWED,
    MOST_PRINTS,
    MOST_RULES,
    SMALL_HOST,
    ListLimits,
    ListPage,
    after_guess,
    asked_list,
    blank_pattern,
    owing,
    prospect_of,
    read_list,
    style_of,
    why_not_on,
    with_list,
)
from tenax.model import Finds, ListRule, Owed, Tally
from tests.discovery.little_sites import HOST, likeness

NOW = 1_772_000_000.0
LIMITS = ListLimits()
PATTERN = "/news?page={n}"
FULL = trace_of(f"https://example.org/{letter}" for letter in "abcdefghij")
OTHERS = trace_of(f"https://example.org/{letter}" for letter in "qrstuvwxyz")
PAGE = ListPage("a" * 64, b"one two three", FULL, 10)


def test_the_page_after_the_last_known_is_owed() -> None:
    finds = read_list(Finds(), "/news?page=4", Numbering(PATTERN, 4, 4), PAGE, NOW)
    assert finds.owed == {PATTERN: Owed(4)}
    assert finds.lists == {
        PATTERN: ListRule(4, at=NOW, content_hash="a" * 16, fingerprint=PAGE.fingerprint, trace=FULL)
    }


def test_pages_that_are_linked_are_left_to_their_links() -> None:
    finds = read_list(Finds(), "/news", Numbering(PATTERN, 1, 4), PAGE, NOW)
    assert not finds.owed and finds.lists[PATTERN].known == 1
    assert finds.styles == {"linked ?page={n}": Tally(worked=1, at=NOW)}


@pytest.mark.parametrize(
    ("numbering", "page"),
    [
        (Numbering("/f?start={n}", 40, 40, 0), PAGE),  # nobody knows how far to go
        (Numbering(f"/{'a' * 200}?page={{n}}", 4, 4), PAGE),  # too long to be remembered
        (Numbering(PATTERN, 4, 4), ListPage()),  # nothing to be seen on it
        (Numbering(PATTERN, 4, 4), ListPage(trace=bytes(64))),  # or nothing that it leads to
    ],
)
def test_what_tells_too_little_is_not_guessed(numbering: Numbering, page: ListPage) -> None:
    assert read_list(Finds(), "/", numbering, page, NOW) == Finds()


def test_a_step_once_known_serves_later() -> None:
    known = Finds(lists={"/f?start={n}": ListRule(20, 20, "valid")})
    assert read_list(known, "/", Numbering("/f?start={n}", 40, 40, 0), PAGE, NOW).lists["/f?start={n}"].step == 20


@pytest.mark.parametrize(
    ("rule", "number", "is_owed"),
    [
        (ListRule(4, asked=5, at=NOW), 4, False),  # it has been asked for
        (ListRule(4, asked=5, at=NOW), 9, False),
        (ListRule(4, state="invalid", at=NOW), 4, False),  # it ended there
        (ListRule(4, state="invalid", at=NOW), 6, True),  # it has grown since
        (ListRule(4, state="invalid", at=NOW - FORGIVEN_AFTER_SECONDS), 4, True),
        (ListRule(4, asked=5, at=NOW - FORGIVEN_AFTER_SECONDS), 4, True),  # nobody will answer any more
        (ListRule(9, state="valid", at=NOW), 4, False),  # not the last
    ],
)
def test_a_list_is_not_asked_twice(rule: ListRule, number: int, is_owed: bool) -> None:
    finds = read_list(Finds(lists={PATTERN: rule}), "/news", Numbering(PATTERN, number, number), PAGE, NOW)
    assert bool(finds.owed) is is_owed


@pytest.mark.parametrize(
    ("rule", "page", "why"),
    [
        (ListRule(1, content_hash="a" * 16), PAGE, "the same as the page before"),
        (ListRule(1, fingerprint=b"three two one"), PAGE, "like the page before"),
        (ListRule(1, fingerprint=b"four five six"), PAGE, ""),
        (ListRule(1, trace=FULL), PAGE, "empty: no links that the page before had not"),
        (ListRule(1, trace=OTHERS), PAGE, ""),
        (ListRule(1), ListPage(), "empty: no new links"),
        (ListRule(1, trace=FULL), ListPage(new_urls=1), ""),
        (ListRule(1, trace=OTHERS, barren=1), ListPage(trace=FULL), ""),
        (ListRule(1, trace=OTHERS, barren=2), ListPage(trace=FULL), "nothing new on 3 pages in a row"),
        (ListRule(1, trace=OTHERS, barren=2), ListPage(trace=FULL, new_urls=1), ""),
    ],
)
def test_why_a_list_ends(rule: ListRule, page: ListPage, why: str) -> None:
    assert why_not_on(rule, page, LIMITS, likeness) == why


def test_a_failure_ends_the_list_and_forgets_the_page() -> None:
    rule = ListRule(4, asked=5, content_hash="a", fingerprint=b"b", trace=b"c")
    finds = after_guess(Finds(), rule, Numbering(PATTERN, 5, 5), ListPage(), "no such page", NOW, LIMITS)
    assert finds.lists == {PATTERN: ListRule(4, state="invalid", why="no such page", at=NOW)}
    assert finds.styles == {"beyond ?page={n}": Tally(failed=1, at=NOW)}
    assert not finds.owed


def test_a_success_owes_the_next_before_others() -> None:
    before = Finds(owed={"/other?page={n}": Owed(1)})
    finds = after_guess(before, ListRule(4, asked=5), Numbering(PATTERN, 5, 5), PAGE, "", NOW, LIMITS)
    assert list(finds.owed.items()) == [(PATTERN, Owed(5)), ("/other?page={n}", Owed(1))]
    assert (finds.lists[PATTERN].known, finds.lists[PATTERN].state) == (5, "valid")
    assert finds.styles == {"beyond ?page={n}": Tally(worked=1, at=NOW)}


def test_a_success_that_links_further_owes_nothing() -> None:
    finds = after_guess(Finds(), ListRule(4, asked=5), Numbering(PATTERN, 5, 8), PAGE, "", NOW, LIMITS)
    assert finds.lists[PATTERN].known == 8 and not finds.owed


def test_the_end_of_a_list_that_worked_is_no_failure_of_its_way() -> None:
    rule = ListRule(4, state="valid", asked=5)
    assert not after_guess(Finds(), rule, Numbering(PATTERN, 5, 5), ListPage(), "redirected", NOW, LIMITS).styles


@pytest.mark.parametrize(
    ("rule", "tally", "requests", "prospect"),
    [
        (ListRule(1, is_blank=True), Tally(failed=FEW_LISTS - 1, at=NOW), SMALL_HOST, "good"),
        (ListRule(1, is_blank=True), Tally(failed=FEW_LISTS - 1, at=NOW), SMALL_HOST - 1, "hopeless"),
        (ListRule(1), Tally(failed=FEW_LISTS - 1, at=NOW), 0, "good"),
        (ListRule(1, is_blank=True), Tally(failed=FEW_LISTS, at=NOW), 100_000, "hopeless"),
        (ListRule(1, is_blank=True), Tally(failed=FEW_LISTS, worked=1, at=NOW), 0, "good"),
        (ListRule(1, is_blank=True), Tally(failed=1, open=2, at=NOW), 0, "open"),
        (ListRule(1, is_blank=True), Tally(failed=9, at=NOW - FORGIVEN_AFTER_SECONDS), 0, "good"),
        (ListRule(1, is_blank=True, state="valid"), Tally(failed=9, at=NOW), 0, "good"),
        (ListRule(1), Tally(failed=FEW_LISTS, at=NOW), 0, "hopeless"),
        (ListRule(1), Tally(failed=FEW_LISTS, at=NOW), 100, "good"),
        (ListRule(1), Tally(failed=FEW_LISTS + 1, at=NOW), 100, "hopeless"),
    ],
)
def test_prospects(rule: ListRule, tally: Tally, requests: int, prospect: str) -> None:
    way = "blank ?page={n}" if rule.is_blank else "beyond ?page={n}"
    finds = Finds(requests=requests, styles={way: tally}, lists={PATTERN: rule})
    assert prospect_of(finds, PATTERN, Owed(1, is_blank=rule.is_blank), NOW, share=0.03) == prospect
    early = msgspec.structs.replace(finds, requests=0)
    is_as_many = prospect_of(early, PATTERN, Owed(1, is_blank=rule.is_blank), NOW, 0.03, waiting=requests)
    assert is_as_many == prospect, "those that wait count like those that were made"


@pytest.mark.parametrize(("links", "prospect"), [(9, "hopeless"), (10, "good"), (0, "good")])
def test_a_list_that_does_not_fill_a_page_has_no_second_one(links: int, prospect: str) -> None:
    first = ListPage("x", b"x", trace=b"\x01", links=10, is_hub=True)
    finds = read_list(Finds(requests=500), "/news", Numbering(PATTERN, 1, 4), first, NOW)
    text = msgspec.structs.replace(first, links=2, is_hub=False)
    finds = read_list(finds, "/story", Numbering("/story?page={n}", 1, 4), text, NOW)
    assert finds.full_list == 10, "a story in parts says nothing of lists"
    other = "/sport?page={n}"
    finds = read_list(finds, "/sport", None, msgspec.structs.replace(first, links=links), NOW)
    assert prospect_of(finds, other, finds.owed[other], NOW, share=0.03) == prospect


def linked_page(number: int, known: int, links: int, words: int, finds: Finds, trace: bytes = b"\x01") -> Finds:
    page = ListPage(str(number), b"", trace, links=links, words=words, is_hub=True)
    return read_list(finds, "/news", Numbering(PATTERN, number, known), page, NOW)


def test_nothing_is_guessed_after_a_linked_page_without_anything_new() -> None:
    finds = linked_page(1, 3, 15, 200, Finds(), trace=b"\xff")
    assert PATTERN in linked_page(3, 3, 15, 200, finds, trace=b"\x00\xff").owed
    finds = linked_page(3, 3, 14, 200, finds)
    assert not finds.owed
    assert (finds.lists[PATTERN].state, finds.lists[PATTERN].empty_at) == ("invalid", 0)


@pytest.mark.parametrize(
    ("links", "words", "is_over"), [(5, 14, True), (5, 400, False), (14, 14, False)], ids=["empty", "text", "pictures"]
)
def test_what_a_pager_links_beyond_an_empty_page_is_not_asked_for(links: int, words: int, is_over: bool) -> None:
    finds = linked_page(2, 4, links, words, linked_page(1, 4, 15, 200, Finds(), trace=b"\xff"))
    third, first = f"{HOST}/news?page=3", f"{HOST}/news"
    assert (why_past_end(finds, third, first) is not None) is is_over
    assert (why_past_end(finds, third, f"{HOST}/news?page=2") is not None) is is_over
    assert why_past_end(finds, third, f"{HOST}/") is None, "another page links to it"
    assert why_past_end(finds, third, None) is None, "a sitemap names it"
    assert why_past_end(finds, f"{HOST}/news?page=2", first) is None


def test_no_more_guesses_are_open_than_can_be_remembered() -> None:
    finds = Finds(lists={f"/{number}?page={{n}}": ListRule(1, asked=2) for number in range(MOST_OPEN)})
    assert prospect_of(finds, PATTERN, Owed(1), NOW, share=0.03) == "open"


def test_many_are_owed_and_what_worked_still_finds_a_place() -> None:
    finds = Finds()
    for number in range(MOST_OWED + 5):
        finds = owing(finds, f"/{number}?page={{n}}", Owed(1))
    finds = owing(finds, PATTERN, Owed(7), is_first=True)
    assert len(finds.owed) == MOST_OWED
    assert next(iter(finds.owed.items())) == (PATTERN, Owed(7))


def test_a_guess_is_open_until_it_is_answered() -> None:
    asked = asked_list(Finds(), PATTERN, Owed(4, 2), NOW)
    assert (asked.lists[PATTERN].asked, asked.lists[PATTERN].guesses) == (6, 1)
    assert asked.styles["beyond ?page={n}"].open == 1
    answered = after_guess(asked, asked.lists[PATTERN], Numbering(PATTERN, 6, 6), PAGE, "", NOW, LIMITS)
    assert answered.styles["beyond ?page={n}"].open == 0


@pytest.mark.parametrize(
    ("place", "shown", "pattern"),
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
def test_how_a_list_without_numbers_may_go_on(place: str, shown: dict[str, int], pattern: str | None) -> None:
    finds = Finds(styles={f"linked {style}": Tally(worked=count) for style, count in shown.items()})
    assert blank_pattern(place, finds) == pattern


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
    assert style_of(pattern) == style


def test_a_bounded_memory_forgets_what_waits_for_nothing() -> None:
    finds = with_list(Finds(), "/asked?page={n}", ListRule(1, asked=2))
    for number in range(MOST_RULES + 5):
        finds = with_list(finds, f"/{number}?page={{n}}", ListRule(1, state="invalid", trace=b"x"))
    assert len(finds.lists) == MOST_RULES
    assert "/asked?page={n}" in finds.lists
    assert "/0?page={n}" not in finds.lists and f"/{MOST_RULES + 4}?page={{n}}" in finds.lists
    assert sum(bool(rule.trace) for rule in finds.lists.values()) == MOST_PRINTS


def test_rules_survive_being_stored() -> None:
    finds = with_list(Finds(), PATTERN, ListRule(4, 25, "valid", fingerprint=bytes(range(128)), trace=FULL, asked=5))
    assert msgspec.json.decode(msgspec.json.encode(finds), type=Finds) == finds
