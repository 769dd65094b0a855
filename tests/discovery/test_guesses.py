from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.discovery.archives import Listing, build_listing
from tenax.discovery.guess_budget import MAX_GUESS_RATIO, MAX_SECTIONS, SUCCESSES_PER_EXTRA_MISS
from tenax.discovery.guesses import (
    Guess,
    GuessLimits,
    VisitFacts,
    VisitResult,
    discard_guesses,
    update_guesses,
)
from tenax.discovery.paged_urls import MAX_STYLES, Numbering, link_fingerprint
from tenax.discovery.pagination import MAX_FINGERPRINTS, MAX_PENDING, MAX_RULES
from tenax.model import GuessState, PendingGuess, Source
from tests.discovery.little_sites import HOST, similarity

LISTS_ONLY = GuessLimits(with_archives=False)
ARCHIVES_ONLY = GuessLimits(with_lists=False)
NOW = 1_772_000_000.0


def visit(
    guess_state: GuessState, relative_url: str, answer: VisitResult = VisitResult.PAGE, **more: object
) -> tuple[GuessState, tuple[Guess, ...]]:
    plain = VisitFacts(HOST + relative_url, Source.LINK, answer, depth=2, waiting_high=0)
    facts = msgspec.structs.replace(plain, **more)
    return update_guesses(guess_state, facts, NOW, LISTS_ONLY, similarity)


def test_an_article_is_only_counted() -> None:
    assert visit(GuessState(requests=41), "/a-story", new_urls=7) == (GuessState(requests=42), ())


def test_trouble_is_no_answer() -> None:
    guess_state, guesses = visit(
        GuessState(), "/news", listing=Listing(link_fingerprint=link_fingerprint([f"{HOST}/x"]))
    )
    assert [guess.url for guess in guesses] == [f"{HOST}/news?page=2"]
    later, _ = visit(guess_state, "/news?page=2", VisitResult.OTHER, source=Source.PAGINATION)
    assert later.lists == guess_state.lists
    failed, _ = visit(later, "/news?page=2", VisitResult.NO_PAGE, source=Source.PAGINATION)
    assert failed.lists["/news?page={n}"].why == "no such page"


def test_a_guess_says_why() -> None:
    page_listing = Listing(Numbering("/news?page={n}", 4, 4), link_fingerprint=b"\x01")
    _, guesses = visit(GuessState(), "/news?page=4", listing=page_listing)
    assert guesses == (
        Guess(f"{HOST}/news?page=5", Source.PAGINATION, "/news?page={n}: page 4 is the last known one", 2),
    )
    _, guesses = visit(GuessState(), "/news", listing=Listing(link_fingerprint=b"\x01"))
    why = "/news?page={n}: no further page is linked"
    assert guesses == (Guess(f"{HOST}/news?page=2", Source.PAGINATION, why, 2),)


def test_pending_guesses_are_made_when_the_budget_allows() -> None:
    page_listing = Listing(Numbering("/news?page={n}", 4, 4), link_fingerprint=b"\x01")
    spent = GuessState(requests=90, guesses_made=7)
    guess_state, guesses = visit(spent, "/news?page=4", listing=page_listing, waiting=1)
    assert (guess_state.pending, guesses) == ({"/news?page={n}": PendingGuess(4, depth=2)}, ())
    while not guesses and guess_state.requests < 900:
        guess_state, guesses = visit(guess_state, "/a-story", waiting=1)
    assert guess_state.requests == 536, "the share has room for an eighth; looked at with every eighth visit"
    assert [(guess.url, guess.depth) for guess in guesses] == [(f"{HOST}/news?page=5", 2)], "as deep as its list"
    assert not guess_state.pending


def test_a_continued_list_is_not_delayed_by_failed_ones() -> None:
    page_listing = Listing(Numbering("/news?page={n}", 4, 4), link_fingerprint=b"\x01")
    guess_state, _ = visit(GuessState(requests=90), "/news?page=4", listing=page_listing)
    guess_state = msgspec.structs.replace(guess_state, guesses_made=40)
    page_listing = Listing(Numbering("/news?page={n}", 5, 5), link_fingerprint=b"\xf0")
    guess_state, guesses = visit(
        guess_state, "/news?page=5", listing=page_listing, source=Source.PAGINATION, new_urls=4, waiting=200
    )
    assert [guess.url for guess in guesses] == [f"{HOST}/news?page=6"]


def test_a_list_without_numbers_is_pending_until_the_host_runs_out_of_tasks() -> None:
    listed = Listing(link_fingerprint=b"\x01")
    guess_state, guesses = visit(GuessState(), "/news", listing=listed, waiting_high=None, waiting=3)
    assert (guess_state.pending, guesses) == ({"/news?page={n}": PendingGuess(1, 1, True, 2, "/news")}, ())
    guess_state, guesses = visit(guess_state, "/a-story", depth=7)
    assert [(guess.url, guess.depth) for guess in guesses] == [(f"{HOST}/news?page=2", 2)], "as deep as its list"


@pytest.mark.parametrize(("requests", "asked"), [(500, ("/many", "/few", "/all")), (40, ("/many", "/few"))])
def test_the_longest_list_is_guessed_first_except_one_that_shows_everything(requests: int, asked: list[str]) -> None:
    """Two are enough on a small host."""
    guess_state = GuessState(requests=requests)
    for relative_url, links in (("/all", 512), ("/few", 1), ("/many", 32)):
        listing = Listing(link_fingerprint=b"\x01", links=links)
        guess_state, _ = visit(guess_state, relative_url, listing=listing, waiting_high=None, waiting=3)
    _, guesses = visit(guess_state, "/a-story")
    assert [guess.url for guess in guesses] == [f"{HOST}{relative_url}?page=2" for relative_url in asked]


def test_an_archive_that_is_redirected_to_its_slash_is_waited_for() -> None:
    """Otherwise another archive would be guessed while the redirect target is on its way."""
    dry = VisitFacts(f"{HOST}/a-story", Source.LINK, VisitResult.PAGE, waiting_high=0)
    guess_state, first = update_guesses(GuessState(requests=40), dry, NOW, ARCHIVES_ONLY, similarity)
    assert [guess.url for guess in first] == [f"{HOST}/archive"]
    moved = VisitFacts(f"{HOST}/archive", Source.ARCHIVE, VisitResult.REDIRECTED, is_to_slash=True, waiting_high=0)
    guess_state, none = update_guesses(guess_state, moved, NOW, ARCHIVES_ONLY, similarity)
    assert not none
    _, others = update_guesses(guess_state, dry, NOW + 61, ARCHIVES_ONLY, similarity)
    assert [guess.url for guess in others] == [f"{HOST}/2026/"], "but not for ever"
    index = Listing(earliest_periods={"/archive/{yyyy}/": 2023}, link_fingerprint=b"\x01")
    found = VisitFacts(f"{HOST}/archive/", Source.REDIRECT, VisitResult.PAGE, index, new_urls=4, waiting_high=0)
    guess_state, none = update_guesses(guess_state, found, NOW, ARCHIVES_ONLY, similarity)
    assert (guess_state.archives_succeeded, none) == (1, ()), (
        "an index links all its years, and no other path is needed"
    )


def test_recrawl_of_a_guessed_page_is_no_second_success() -> None:
    guess_state, _ = visit(GuessState(), "/news", listing=Listing(link_fingerprint=b"\x01"))
    second = VisitFacts(
        f"{HOST}/news?page=2", Source.PAGINATION, VisitResult.PAGE, Listing(link_fingerprint=b"\xf0"), "x", new_urls=4
    )
    once, guesses = update_guesses(guess_state, second, NOW, LISTS_ONLY, similarity)
    assert (once.guesses_succeeded, [guess.url for guess in guesses]) == (1, [f"{HOST}/news?page=3"])
    again, guesses = update_guesses(once, second, NOW, LISTS_ONLY, similarity)
    assert (again.guesses_succeeded, again.lists, guesses) == (1, once.lists, ())


def test_an_answer_counts_however_its_url_was_found() -> None:
    guess_state, _ = visit(GuessState(), "/news", listing=Listing(link_fingerprint=b"\x01"))
    linked, _ = visit(guess_state, "/news?page=2", VisitResult.REDIRECTED)
    assert linked.lists["/news?page={n}"].why == "redirected"


@pytest.mark.parametrize(("linked", "is_guessed"), [({}, True), ({"/{yyyy}/{mm}/": 2025 * 12}, False)])
def test_months_are_guessed_below_a_year_that_does_not_link_them(linked: dict[str, int], is_guessed: bool) -> None:
    facts = VisitFacts(
        f"{HOST}/2025/", Source.LINK, VisitResult.PAGE, Listing(earliest_periods={"/{yyyy}/": 2019, **linked})
    )
    _, guesses = update_guesses(GuessState(requests=50), facts, NOW, GuessLimits(with_lists=False), similarity)
    assert [guess.url for guess in guesses] == ([f"{HOST}/2025/12/"] if is_guessed else [])


@pytest.mark.parametrize(("new_urls", "guessed"), [(0, []), (5, [f"{HOST}/news?page=10"])])
def test_a_guess_whose_rule_is_forgotten_leads_on_if_it_found_something(new_urls: int, guessed: list[str]) -> None:
    page_listing = Listing(Numbering("/news?page={n}", 9, 9), link_fingerprint=b"\x01")
    more = {"source": Source.PAGINATION, "listing": page_listing, "new_urls": new_urls}
    guess_state, guesses = visit(GuessState(), "/news?page=9", VisitResult.PAGE, **more)
    assert [guess.url for guess in guesses] == guessed
    assert guess_state.guesses_succeeded == 0


def test_only_before_the_earliest_month_that_is_linked_is_guessed() -> None:
    limits, months = GuessLimits(with_lists=False), "/blog/{yyyy}/{mm}/"

    def read(guess_state: GuessState, relative_url: str, earliest: int) -> tuple[GuessState, list[str]]:
        facts = VisitFacts(
            HOST + relative_url, Source.LINK, VisitResult.PAGE, Listing(earliest_periods={months: earliest})
        )
        guess_state, guesses = update_guesses(guess_state, facts, NOW, limits, similarity)
        return guess_state, [guess.url for guess in guesses]

    guess_state, guessed = read(GuessState(), "/blog/2025/12/", 2025 * 12 + 8)
    assert (guess_state.archives[months].earliest_period, guessed) == (2025 * 12 + 8, [])
    guess_state, guessed = read(guess_state, "/", 2025 * 12 + 7)
    assert (guess_state.archives[months].earliest_period, guessed) == (2025 * 12 + 7, [])
    assert read(guess_state, "/blog/2025/08/", 2025 * 12 + 7)[1] == [f"{HOST}/blog/2025/07/"]


def test_what_was_not_let_in_costs_nothing() -> None:
    archive, page = Guess("", Source.ARCHIVE, ""), Guess("", Source.PAGINATION, "")
    guess_state = discard_guesses(GuessState(guesses_made=6, guesses_succeeded=1, archives_made=3), [archive, page])
    assert (guess_state.guesses_made, guess_state.archives_made) == (4, 2)
    guess_state = discard_guesses(
        GuessState(guesses_made=2, guesses_succeeded=1, archives_made=1, archives_succeeded=1), [archive, page]
    )
    assert (guess_state.guesses_made, guess_state.archives_made) == (1, 1)


def test_a_listing_is_of_its_own_host() -> None:
    links = [
        f"{HOST}/news?page=2",
        "https://other.org/news?page=9",
        f"{HOST}/blog/2020/01/",
        f"{HOST}.evil/news?page=7",
    ]
    page_listing = build_listing(f"{HOST}/news", links, "https://other.org/news?page=3")
    assert page_listing.numbering == Numbering("/news?page={n}", 1, 2)
    assert page_listing.earliest_periods == {"/blog/{yyyy}/{mm}/": 2020 * 12}


PLACES = st.sampled_from(
    [f"/s{section}{page}" for section in "abcdefgh" for page in ("", "?page=2", "?page=3", "/page/2/", "?start=20")]
    + ["/", "/2025/", "/2024/", "/blog/2025/12/", "/archive", "/x-1.html"]
)
VISITS = st.tuples(PLACES, st.sampled_from(VisitResult), st.lists(PLACES, max_size=6), st.integers(0, 3), st.booleans())


def wander(visits: Sequence[tuple[str, VisitResult, list[str], int, bool]]) -> tuple[GuessState, list[Guess]]:
    """Visits in any order, guesses answered at any time or never."""
    guess_state, made = GuessState(), list[Guess]()
    for number, (relative_url, answer, links, new_urls, is_guess) in enumerate(visits):
        guess = made[-1] if is_guess and made else None
        url = guess.url if guess else HOST + relative_url
        source = guess.source if guess else Source.LINK
        page_listing = build_listing(url, [HOST + link for link in links], None)
        facts = VisitFacts(url, source, answer, page_listing, str(new_urls), b"x", new_urls, waiting_high=number % 20)
        guess_state, guesses = update_guesses(guess_state, facts, NOW + 3600 * number, GuessLimits(), similarity)
        made += guesses
        archives = sum(guess.source is Source.ARCHIVE for guess in made)
        assert (guess_state.guesses_made, guess_state.archives_made) == (len(made), archives)
        for asked, succeeded in (
            (archives, guess_state.archives_succeeded),
            (len(made) - archives, guess_state.guesses_succeeded - guess_state.archives_succeeded),
        ):
            going_on = 3 * succeeded  # what has worked may miss a few more times
            assert (
                asked - succeeded <= 7 + 0.015 * guess_state.requests + succeeded / SUCCESSES_PER_EXTRA_MISS + going_on
            )
            assert asked <= 7 + MAX_GUESS_RATIO * guess_state.requests
            assert 0 <= succeeded <= asked
    return guess_state, made


@settings(max_examples=60)
@given(st.lists(VISITS, max_size=60))
def test_guesses_keep_to_their_share_whatever_happens(
    visits: list[tuple[str, VisitResult, list[str], int, bool]],
) -> None:
    guess_state, made = wander(visits)
    assert wander(visits) == (guess_state, made)
    assert msgspec.json.decode(msgspec.json.encode(guess_state), type=GuessState) == guess_state


def test_memory_is_bounded() -> None:
    guess_state = GuessState()
    limits = GuessLimits(ratio=1.0, min_guesses=1000)
    for number in range(300):
        relative_url = f"/section{chr(97 + number % 26)}{number}x/{2000 + number % 20}/"
        page_listing = Listing(
            Numbering(f"{relative_url}?q{number}={{n}}", 1, 1), {f"/{number}z/{{yyyy}}/": 2020}, b"\x01" * 64
        )
        mark = b"\x01" * 128
        facts = VisitFacts(
            HOST + relative_url, Source.LINK, VisitResult.PAGE, page_listing, f"{number:064}", mark, 3, waiting_high=0
        )
        guess_state, guesses = update_guesses(guess_state, facts, NOW + number, limits, similarity)
        for guess in guesses:
            facts = VisitFacts(guess.url, guess.source, VisitResult.NO_PAGE)
            guess_state, _ = update_guesses(guess_state, facts, NOW + number, limits, similarity)
    assert len(guess_state.lists) == MAX_RULES
    assert len(guess_state.archives) <= 32 and len(guess_state.styles) <= MAX_STYLES
    assert len(guess_state.sections) == MAX_SECTIONS and len(guess_state.pending) <= MAX_PENDING
    assert sum(bool(rule.fingerprint) for rule in guess_state.lists.values()) <= MAX_FINGERPRINTS
    assert len(msgspec.json.encode(guess_state)) < 33_000


def test_an_empty_state_is_stored_in_no_bytes() -> None:
    assert msgspec.json.encode(GuessState()) == b"{}"
    assert len(msgspec.json.encode(GuessState(requests=10**6))) < 25
