from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.discovery.guess_budget import MOST_OF_ALL, SUCCESSES_PER_EXTRA_MISS
from tenax.discovery.guesses import (
    MOST_SECTIONS,
    Answer,
    Guess,
    GuessLimits,
    VisitFacts,
    after_visit,
    not_asked,
)
from tenax.discovery.listing import Listing, listing_of
from tenax.discovery.page_numbers import Numbering, trace_of
from tenax.discovery.pagination import MOST_OWED, MOST_PRINTS, MOST_RULES, MOST_STYLES
from tenax.model import Finds, Owed, Source
from tests.discovery.little_sites import HOST, likeness

LISTS_ONLY = GuessLimits(with_archives=False)
ARCHIVES_ONLY = GuessLimits(with_lists=False)
NOW = 1_772_000_000.0


def visit(finds: Finds, place: str, answer: Answer = Answer.PAGE, **more: object) -> tuple[Finds, tuple[Guess, ...]]:
    plain = VisitFacts(HOST + place, Source.LINK, answer, depth=2, waiting_high=0)
    facts = msgspec.structs.replace(plain, **more)
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
    assert guesses == (Guess(f"{HOST}/news?page=5", Source.PAGINATION, "/news?page={n}: 4 is the last one known", 2),)
    _, guesses = visit(Finds(), "/news", listing=Listing(trace=b"\x01"))
    why = "/news?page={n}: no further page is linked"
    assert guesses == (Guess(f"{HOST}/news?page=2", Source.PAGINATION, why, 2),)


def test_what_is_owed_is_guessed_when_there_is_room() -> None:
    told = Listing(Numbering("/news?page={n}", 4, 4), trace=b"\x01")
    spent = Finds(requests=90, made=7)
    finds, guesses = visit(spent, "/news?page=4", listing=told, waiting=1)
    assert (finds.owed, guesses) == ({"/news?page={n}": Owed(4, depth=2)}, ())
    while not guesses and finds.requests < 900:
        finds, guesses = visit(finds, "/a-story", waiting=1)
    assert finds.requests == 536, "the share has room for an eighth; looked at with every eighth visit"
    assert [(guess.url, guess.depth) for guess in guesses] == [(f"{HOST}/news?page=5", 2)], "as deep as its list"
    assert not finds.owed


def test_a_list_that_goes_on_is_not_held_up_by_others_that_did_not() -> None:
    told = Listing(Numbering("/news?page={n}", 4, 4), trace=b"\x01")
    finds, _ = visit(Finds(requests=90), "/news?page=4", listing=told)
    finds = msgspec.structs.replace(finds, made=40)
    told = Listing(Numbering("/news?page={n}", 5, 5), trace=b"\xf0")
    finds, guesses = visit(finds, "/news?page=5", listing=told, source=Source.PAGINATION, new_urls=4, waiting=200)
    assert [guess.url for guess in guesses] == [f"{HOST}/news?page=6"]


def test_a_list_without_numbers_is_owed_until_the_host_runs_dry() -> None:
    listed = Listing(trace=b"\x01")
    finds, guesses = visit(Finds(), "/news", listing=listed, waiting_high=None, waiting=3)
    assert (finds.owed, guesses) == ({"/news?page={n}": Owed(1, 1, True, 2, "/news")}, ())
    finds, guesses = visit(finds, "/a-story", depth=7)
    assert [(guess.url, guess.depth) for guess in guesses] == [(f"{HOST}/news?page=2", 2)], "as deep as its list"


@pytest.mark.parametrize(("requests", "asked"), [(500, ("/many", "/few", "/all")), (40, ("/many", "/few"))])
def test_the_longest_list_is_asked_first_but_for_one_that_shows_everything(requests: int, asked: list[str]) -> None:
    """Two are enough on a small host."""
    finds = Finds(requests=requests)
    for place, links in (("/all", 512), ("/few", 1), ("/many", 32)):
        listing = Listing(trace=b"\x01", links=links)
        finds, _ = visit(finds, place, listing=listing, waiting_high=None, waiting=3)
    _, guesses = visit(finds, "/a-story")
    assert [guess.url for guess in guesses] == [f"{HOST}{place}?page=2" for place in asked]


def test_an_archive_that_is_redirected_to_its_slash_is_waited_for() -> None:
    """Else another place would be asked for while the answer is on its way."""
    dry = VisitFacts(f"{HOST}/a-story", Source.LINK, Answer.PAGE, waiting_high=0)
    finds, first = after_visit(Finds(requests=40), dry, NOW, ARCHIVES_ONLY, likeness)
    assert [guess.url for guess in first] == [f"{HOST}/archive"]
    moved = VisitFacts(f"{HOST}/archive", Source.ARCHIVE, Answer.REDIRECTED, is_to_slash=True, waiting_high=0)
    finds, none = after_visit(finds, moved, NOW, ARCHIVES_ONLY, likeness)
    assert not none
    _, others = after_visit(finds, dry, NOW + 61, ARCHIVES_ONLY, likeness)
    assert [guess.url for guess in others] == [f"{HOST}/2026/"], "but not for ever"
    index = Listing(dated={"/archive/{yyyy}/": 2023}, trace=b"\x01")
    found = VisitFacts(f"{HOST}/archive/", Source.REDIRECT, Answer.PAGE, index, new_urls=4, waiting_high=0)
    finds, none = after_visit(finds, found, NOW, ARCHIVES_ONLY, likeness)
    assert (finds.archives_succeeded, none) == (1, ()), "an index links all its years, and no other place is needed"


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


@pytest.mark.parametrize(("linked", "is_guessed"), [({}, True), ({"/{yyyy}/{mm}/": 2025 * 12}, False)])
def test_months_are_guessed_below_a_year_that_does_not_link_them(linked: dict[str, int], is_guessed: bool) -> None:
    facts = VisitFacts(f"{HOST}/2025/", Source.LINK, Answer.PAGE, Listing(dated={"/{yyyy}/": 2019, **linked}))
    _, guesses = after_visit(Finds(requests=50), facts, NOW, GuessLimits(with_lists=False), likeness)
    assert [guess.url for guess in guesses] == ([f"{HOST}/2025/12/"] if is_guessed else [])


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


def test_what_was_not_let_in_costs_nothing() -> None:
    archive, page = Guess("", Source.ARCHIVE, ""), Guess("", Source.PAGINATION, "")
    finds = not_asked(Finds(made=6, succeeded=1, archives_made=3), [archive, page])
    assert (finds.made, finds.archives_made) == (4, 2)
    finds = not_asked(Finds(made=2, succeeded=1, archives_made=1, archives_succeeded=1), [archive, page])
    assert (finds.made, finds.archives_made) == (1, 1)


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
        archives = sum(guess.source is Source.ARCHIVE for guess in made)
        assert (finds.made, finds.archives_made) == (len(made), archives)
        for asked, succeeded in (
            (archives, finds.archives_succeeded),
            (len(made) - archives, finds.succeeded - finds.archives_succeeded),
        ):
            going_on = 3 * succeeded  # what has worked may miss a few times more
            assert asked - succeeded <= 7 + 0.015 * finds.requests + succeeded / SUCCESSES_PER_EXTRA_MISS + going_on
            assert asked <= 7 + MOST_OF_ALL * finds.requests
            assert 0 <= succeeded <= asked
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
        mark = b"\x01" * 128
        facts = VisitFacts(HOST + place, Source.LINK, Answer.PAGE, told, f"{number:064}", mark, 3, waiting_high=0)
        finds, guesses = after_visit(finds, facts, NOW + number, limits, likeness)
        for guess in guesses:
            facts = VisitFacts(guess.url, guess.source, Answer.NO_PAGE)
            finds, _ = after_visit(finds, facts, NOW + number, limits, likeness)
    assert len(finds.lists) == MOST_RULES
    assert len(finds.archives) <= 32 and len(finds.styles) <= MOST_STYLES
    assert len(finds.sections) == MOST_SECTIONS and len(finds.owed) <= MOST_OWED
    assert sum(bool(rule.fingerprint) for rule in finds.lists.values()) <= MOST_PRINTS
    assert len(msgspec.json.encode(finds)) < 33_000


def test_nothing_learned_takes_no_room() -> None:
    assert msgspec.json.encode(Finds()) == b"{}"
    assert len(msgspec.json.encode(Finds(requests=10**6))) < 25
