from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.discover.guessing import (
    MOST_OF_ALL,
    MOST_SECTIONS,
    Answer,
    Guess,
    GuessLimits,
    Listing,
    VisitFacts,
    after_visit,
    guesses_left,
    listing_of,
    not_asked,
)
from tenax.discover.page_numbers import Numbering, trace_of
from tenax.discover.pagination import MOST_OWED, MOST_PRINTS, MOST_RULES, MOST_STYLES
from tenax.model import Finds, Owed, Source
from tests.discover.little_sites import HOST, likeness

LISTS_ONLY = GuessLimits(with_archives=False)
NOW = 1_772_000_000.0


def visit(finds: Finds, place: str, answer: Answer = Answer.PAGE, **more: object) -> tuple[Finds, tuple[Guess, ...]]:
    facts = msgspec.structs.replace(VisitFacts(HOST + place, Source.LINK, answer), **more)
    return after_visit(finds, facts, NOW, LISTS_ONLY, likeness)


def test_an_article_is_only_counted() -> None:
    assert visit(Finds(requests=41), "/a-story", new_urls=7) == (Finds(requests=42), ())


def test_trouble_is_no_answer() -> None:
    finds, guesses = visit(Finds(), "/news", listing=Listing(trace=trace_of([f"{HOST}/x"])))
    assert [guess.url for guess in guesses] == [f"{HOST}/news?page=2"]
    later, _ = visit(finds, "/news?page=2", Answer.OTHER, source=Source.PAGINATION)
    assert later.lists == finds.lists
    failed, _ = visit(later, "/news?page=2", Answer.NO_PAGE, source=Source.PAGINATION)
    assert failed.lists["/news?page={n}"].why == "no such page"


def test_a_guess_says_why() -> None:
    told = Listing(Numbering("/news?page={n}", 4, 4), trace=b"\x01")
    _, guesses = visit(Finds(), "/news?page=4", listing=told)
    assert guesses == (Guess(f"{HOST}/news?page=5", Source.PAGINATION, "/news?page={n}: 4 is the last one known"),)


def test_what_is_owed_is_guessed_when_there_is_room() -> None:
    spent = Finds(requests=90, made=3)
    finds, guesses = visit(spent, "/news", listing=Listing(trace=b"\x01"))
    assert (finds.owed, guesses) == ({"/news?page={n}": Owed(1, is_blank=True)}, ())
    while finds.requests < 133:  # the share has room for a fourth then; looked at with every eighth visit
        finds, guesses = visit(finds, "/a-story")
        assert not guesses
    while not guesses and finds.requests < 160:
        finds, guesses = visit(finds, "/a-story")
    assert finds.requests == 136
    assert [guess.url for guess in guesses] == [f"{HOST}/news?page=2"]
    assert not finds.owed


def test_a_revisit_of_a_guessed_page_is_no_second_success() -> None:
    finds, _ = visit(Finds(), "/news", listing=Listing(trace=b"\x01"))
    second = VisitFacts(f"{HOST}/news?page=2", Source.PAGINATION, Answer.PAGE, Listing(trace=b"\xf0"), "x", new_urls=4)
    once, guesses = after_visit(finds, second, NOW, LISTS_ONLY, likeness)
    assert (once.succeeded, [guess.url for guess in guesses]) == (1, [f"{HOST}/news?page=3"])
    again, guesses = after_visit(once, second, NOW, LISTS_ONLY, likeness)
    assert (again.succeeded, again.lists, guesses) == (1, once.lists, ())


def test_an_answer_counts_however_its_url_was_found() -> None:
    finds, _ = visit(Finds(), "/news", listing=Listing(trace=b"\x01"))
    linked, _ = visit(finds, "/news?page=2", Answer.REDIRECTED)
    assert linked.lists["/news?page={n}"].why == "redirected"


@pytest.mark.parametrize(("new_urls", "guessed"), [(0, []), (5, [f"{HOST}/news?page=10"])])
def test_a_guess_whose_rule_is_forgotten_leads_on_if_it_found_something(new_urls: int, guessed: list[str]) -> None:
    told = Listing(Numbering("/news?page={n}", 9, 9), trace=b"\x01")
    more = {"source": Source.PAGINATION, "listing": told, "new_urls": new_urls}
    finds, guesses = visit(Finds(), "/news?page=9", Answer.PAGE, **more)
    assert [guess.url for guess in guesses] == guessed
    assert finds.succeeded == 0


def test_only_before_the_earliest_month_that_is_linked_is_guessed() -> None:
    limits, months = GuessLimits(with_lists=False), "/blog/{yyyy}/{mm}/"

    def read(finds: Finds, place: str, earliest: int) -> tuple[Finds, list[str]]:
        facts = VisitFacts(HOST + place, Source.LINK, Answer.PAGE, Listing(dated={months: earliest}))
        finds, guesses = after_visit(finds, facts, NOW, limits, likeness)
        return finds, [guess.url for guess in guesses]

    finds, guessed = read(Finds(), "/blog/2025/12/", 2025 * 12 + 8)
    assert (finds.archives[months].reached, guessed) == (2025 * 12 + 8, [])
    finds, guessed = read(finds, "/", 2025 * 12 + 7)
    assert (finds.archives[months].reached, guessed) == (2025 * 12 + 7, [])
    assert read(finds, "/blog/2025/08/", 2025 * 12 + 7)[1] == [f"{HOST}/blog/2025/07/"]


@pytest.mark.parametrize(
    ("finds", "left"),
    [
        (Finds(), 3),
        (Finds(requests=50, made=3), 0),
        (Finds(requests=100, made=3), 0),
        (Finds(requests=1000, made=3), 27),
        (Finds(requests=1000, made=90, succeeded=70), 10),
        (Finds(requests=1000, made=250, succeeded=250), 0),
        (Finds(requests=40, made=9, succeeded=8), 1),
    ],
)
def test_the_share(finds: Finds, left: int) -> None:
    assert guesses_left(finds, 0.03, 3) == left


def test_what_was_not_let_in_costs_nothing() -> None:
    assert not_asked(Finds(made=5, succeeded=1), 2).made == 3
    assert not_asked(Finds(made=2, succeeded=1), 9).made == 1


def test_a_listing_is_of_its_own_host() -> None:
    links = [
        f"{HOST}/news?page=2",
        "https://other.org/news?page=9",
        f"{HOST}/blog/2020/01/",
        f"{HOST}.evil/news?page=7",
    ]
    told = listing_of(f"{HOST}/news", links, "https://other.org/news?page=3")
    assert told.numbering == Numbering("/news?page={n}", 1, 2)
    assert told.dated == {"/blog/{yyyy}/{mm}/": 2020 * 12}


PLACES = st.sampled_from(
    [f"/s{section}{page}" for section in "abcdefgh" for page in ("", "?page=2", "?page=3", "/page/2/", "?start=20")]
    + ["/", "/2025/", "/2024/", "/blog/2025/12/", "/archive", "/x-1.html"]
)
VISITS = st.tuples(PLACES, st.sampled_from(Answer), st.lists(PLACES, max_size=6), st.integers(0, 3), st.booleans())


def wander(visits: Sequence[tuple[str, Answer, list[str], int, bool]]) -> tuple[Finds, list[Guess]]:
    """Visits in any order, guesses answered at any time or never."""
    finds, made = Finds(), list[Guess]()
    for number, (place, answer, links, new_urls, is_guess) in enumerate(visits):
        guess = made[-1] if is_guess and made else None
        url = guess.url if guess else HOST + place
        source = guess.source if guess else Source.LINK
        told = listing_of(url, [HOST + link for link in links], None)
        facts = VisitFacts(url, source, answer, told, str(new_urls), b"x", new_urls, waiting_high=number % 20)
        finds, guesses = after_visit(finds, facts, NOW + 3600 * number, GuessLimits(), likeness)
        made += guesses
        misses = finds.made - finds.succeeded
        assert misses <= max(3, 0.03 * finds.requests)
        assert finds.made <= max(3, MOST_OF_ALL * finds.requests)
        assert finds.succeeded <= finds.made == len(made)
    return finds, made


@settings(max_examples=60)
@given(st.lists(VISITS, max_size=60))
def test_guesses_keep_to_their_share_whatever_happens(visits: list[tuple[str, Answer, list[str], int, bool]]) -> None:
    finds, made = wander(visits)
    assert wander(visits) == (finds, made)
    assert msgspec.json.decode(msgspec.json.encode(finds), type=Finds) == finds


def test_memory_is_bounded() -> None:
    finds = Finds()
    limits = GuessLimits(share=1.0, least=1000)
    for number in range(300):
        place = f"/section{chr(97 + number % 26)}{number}x/{2000 + number % 20}/"
        told = Listing(Numbering(f"{place}?q{number}={{n}}", 1, 1), {f"/{number}z/{{yyyy}}/": 2020}, b"\x01" * 64)
        facts = VisitFacts(HOST + place, Source.LINK, Answer.PAGE, told, f"{number:064}", b"\x01" * 128, 3, 0)
        finds, guesses = after_visit(finds, facts, NOW + number, limits, likeness)
        for guess in guesses:
            facts = VisitFacts(guess.url, guess.source, Answer.NO_PAGE)
            finds, _ = after_visit(finds, facts, NOW + number, limits, likeness)
    assert len(finds.lists) == MOST_RULES
    assert len(finds.archives) <= 32 and len(finds.styles) <= MOST_STYLES
    assert len(finds.sections) == MOST_SECTIONS and len(finds.owed) <= MOST_OWED
    assert sum(bool(rule.fingerprint) for rule in finds.lists.values()) <= MOST_PRINTS
    assert len(msgspec.json.encode(finds)) < 30_000


def test_nothing_learned_takes_no_room() -> None:
    assert msgspec.json.encode(Finds()) == b"{}"
    assert len(msgspec.json.encode(Finds(requests=10**6))) < 25
