"""Pages linked to each other by number: when they repeat their content, and when they do not."""

from __future__ import annotations

import pytest

from tenax.discovery.repeats import (
    MAX_SERIES,
    MIN_SERIES_SIMILARITY,
    SHORT_PAGE_WORDS,
    SeriesPage,
    missing_repeats,
    record_series_page,
    series_pattern,
    series_skip_reason,
    shape_of,
)
from tenax.model import Candidate, GuessState, SeriesRule
from tests.discovery.little_sites import HOST

MOST = 3


def similarity(one: bytes, other: bytes) -> float:
    """The first byte, in hundredths."""
    return other[0] / 100


@pytest.mark.parametrize(
    ("relative_url", "series"),
    [
        ("/calendar/2026/11/", "/calendar/{n}/{n}/"),
        ("/stream/?page=12", "/stream/?page={n}"),
        ("/about", None),
        ("/" + "1/" * 100, None),
    ],
    ids=["a date", "a page", "no number", "too long"],
)
def test_the_series_of_a_url(relative_url: str, series: str | None) -> None:
    assert series_pattern(HOST + relative_url, HOST) == series


def after_pages(
    relative_urls: list[str],
    *,
    new: tuple[str, ...] = (),
    hashes: str = "",
    similar: float = 0.0,
    words: int = 500,
    shape: str = "",
) -> GuessState:
    """Pages that each link to the next, found on the one before; `hashes` has a mark for each, or all are the same."""
    guess_state = GuessState()
    for number, relative_url in enumerate(relative_urls[:-1]):
        via = HOST + (relative_urls[number - 1] if number else "/")
        found = [Candidate(HOST + one, HOST, 1) for one in (relative_urls[number + 1], *new)]
        mark = hashes[number] if hashes else "same"
        page = SeriesPage(HOST + relative_url, via, mark, bytes([round(similar * 100)]), words, shape)
        guess_state = record_series_page(guess_state, page, HOST, found, similarity)
    return guess_state


def pages(count: int, pattern: str = "/moments/page/{}/") -> list[str]:
    return [pattern.format(number) for number in range(2, 2 + count + 1)]


MONTHS = [f"/calendar/2026/{month:02}/" for month in range(1, 7)]
CASES = {
    "the very same text again": (after_pages(pages(3)), "/moments/page/5/", True),
    "too few of them": (after_pages(pages(2)), "/moments/page/4/", False),
    "its first page without a number": (after_pages(["/moments/", *pages(2)]), "/moments/page/4/", True),
    "another page without a number": (after_pages(["/about/", *pages(2)]), "/moments/page/4/", False),
    "too few that are nearly the same": (
        after_pages(pages(3), hashes="abc", similar=MIN_SERIES_SIMILARITY),
        "/moments/page/5/",
        False,
    ),
    "nearly the same": (after_pages(pages(4), hashes="abcd", similar=MIN_SERIES_SIMILARITY), "/moments/page/6/", True),
    "alike, but no more than that": (after_pages(pages(4), hashes="abcd", similar=0.8), "/moments/page/6/", False),
    "texts of their own": (after_pages(pages(9), hashes="abcdefghi"), "/moments/page/11/", False),
    "one in between has another text": (after_pages(pages(5), hashes="aaabb"), "/moments/page/7/", False),
    "they lead to something else": (after_pages(pages(9), new=("/story",)), "/moments/page/11/", False),
    "short pages of dates": (after_pages(MONTHS, hashes="abcde", similar=0.6, words=37), MONTHS[-1], True),
    "dates with other numbers": (after_pages(MONTHS[:4], hashes="abc", words=37, shape="x"), MONTHS[3], True),
    "other numbers without a date": (
        after_pages(pages(4), hashes="abcd", words=37, shape="x"),
        "/moments/page/6/",
        False,
    ),
    "longer pages of dates": (
        after_pages(MONTHS, hashes="abcde", similar=0.6, words=SHORT_PAGE_WORDS),
        MONTHS[-1],
        False,
    ),
    "dates that are not alike": (after_pages(MONTHS, hashes="abcde", similar=0.4, words=37), MONTHS[-1], False),
    "short pages without a date": (
        after_pages(pages(4), hashes="abcd", similar=0.6, words=37),
        "/moments/page/6/",
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_series_that_shows_the_same_again_is_left_alone(name: str) -> None:
    guess_state, following, is_left = CASES[name]
    relative_url = following.rpartition("/")[0].rpartition("/")[0]
    via = f"{HOST}{relative_url}/1/"
    assert (series_skip_reason(guess_state, HOST + following, via, HOST, MOST) is not None) is is_left
    assert series_skip_reason(guess_state, HOST + following, via, HOST, 0) is None, "there is no limit"


def test_the_shape_of_a_short_text_is_what_it_says_without_numbers() -> None:
    assert shape_of("Calendar 2026-11: nothing", 3) == shape_of("Calendar 2027-01: nothing", 3) != ""
    assert shape_of("Calendar 2026-11: nothing", 3) != shape_of("Calendar 2026-11: a concert", 4)
    assert shape_of("Calendar", SHORT_PAGE_WORDS) == shape_of("", 0) == ""


@pytest.mark.parametrize(("same", "identical", "more"), [(0, 0, 2), (1, 0, 2), (2, 0, 1), (1, 1, 1), (9, 0, 1)])
def test_how_many_more_pages_end_a_series(same: int, identical: int, more: int) -> None:
    assert missing_repeats(SeriesRule(same, identical=identical), MOST) == more


def test_only_what_the_series_itself_leads_to_is_left_alone() -> None:
    guess_state = after_pages(pages(5))
    url, other = f"{HOST}/moments/page/9/", f"{HOST}/moments/page/3/"
    assert series_skip_reason(guess_state, url, other, HOST, MOST) == (
        "4 pages of /moments/page/{n}/ in a row had the same content and no other new links"
    )
    assert series_skip_reason(guess_state, url, f"{HOST}/", HOST, MOST) is None, "another page links to it"
    assert series_skip_reason(guess_state, url, None, HOST, MOST) is None, "a sitemap or a person named it"


def test_pages_that_a_list_links_to_are_no_series() -> None:
    guess_state = GuessState()
    for number in range(9):
        page = SeriesPage(f"{HOST}/product?id={number}", f"{HOST}/shop", "same", b"\x64")
        guess_state = record_series_page(guess_state, page, HOST, [], similarity)
    assert guess_state.series == {}


def test_the_series_of_a_host_are_bounded() -> None:
    guess_state = GuessState()
    for number in range(MAX_SERIES + 5):
        letter = chr(ord("a") + number)
        page = SeriesPage(f"{HOST}/{letter}/1", f"{HOST}/{letter}/0", "same", b"")
        guess_state = record_series_page(guess_state, page, HOST, [], similarity)
    assert len(guess_state.series) == MAX_SERIES
    assert next(iter(guess_state.series)) == "/f/{n}"
