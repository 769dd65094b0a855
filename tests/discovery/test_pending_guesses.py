"""Which guesses are owed and kept back by a limit, and that those made later are counted with their answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.discovery.guesses import Answer, GuessLimits, VisitFacts, after_visit, guesses_due
from tenax.discovery.listing import Listing
from tenax.discovery.pagination import ListLimits
from tenax.discovery.pending_guesses import BUDGET, PAGES_OF_LIST, held_back_by, is_owed, pending_guesses
from tenax.model import ArchiveRule, Finds, ListRule, Owed, Source, Tally

A = "https://a.test"
NOW = 1_772_000_000.0
NONE = GuessLimits(share=0.0, least=0)
LIST, YEARS = "/list?page={n}", "/news/{yyyy}/"
OWED = Finds(
    requests=3,
    lists={LIST: ListRule(2, at=NOW)},
    archives={YEARS: ArchiveRule("valid", at=NOW, worked=1, reached=2022)},
    owed={LIST: Owed(2, 1, depth=3), YEARS: Owed()},
)


def with_rule(**changes: Any) -> Finds:
    return msgspec.structs.replace(OWED, lists={LIST: msgspec.structs.replace(OWED.lists[LIST], **changes)})


def unlike(one: bytes, other: bytes) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("finds", "limits", "places"),
    [
        pytest.param(OWED, NONE, {"/list?page=3": BUDGET, "/news/2021/": BUDGET}, id="owed"),
        pytest.param(Finds(requests=20), NONE, {}, id="nothing is owed"),
        pytest.param(OWED, GuessLimits(is_on=False), {}, id="nothing is guessed here"),
        pytest.param(OWED, GuessLimits(with_lists=False), {"/news/2021/": BUDGET}, id="no lists wanted"),
        pytest.param(OWED, GuessLimits(with_archives=False), {"/list?page=3": BUDGET}, id="no archives wanted"),
        pytest.param(
            with_rule(state="valid", guesses=9),
            GuessLimits(with_archives=False, lists=ListLimits(pages=9)),
            {"/list?page=3": PAGES_OF_LIST},
            id="as many pages as allowed",
        ),
        pytest.param(with_rule(asked=3), GuessLimits(with_archives=False), {}, id="asked for already"),
        pytest.param(
            msgspec.structs.replace(OWED, owed={LIST: Owed(1, 1, is_blank=True, place="/list")}),
            NONE,
            {},
            id="nothing says that the list goes on",
        ),
        pytest.param(
            Finds(lists=OWED.lists, owed={LIST: Owed(2)}, styles={"beyond ?page={n}": Tally(failed=3, at=NOW)}),
            NONE,
            {},
            id="other lists ended where they said",
        ),
        pytest.param(
            msgspec.structs.replace(OWED, archives={YEARS: ArchiveRule(at=NOW)}, owed={YEARS: Owed()}),
            NONE,
            {},
            id="a usual place that nothing speaks for",
        ),
    ],
)
def test_only_guesses_with_evidence_are_owed(finds: Finds, limits: GuessLimits, places: dict[str, str]) -> None:
    assert {one.place: one.limit for one in pending_guesses(finds, NOW, limits).values()} == places


@pytest.mark.parametrize(
    ("before", "url", "limits", "counts"),
    [
        pytest.param(Finds(), f"{A}/list?page=2", NONE, {BUDGET: 2}, id="both are owed since this visit"),
        pytest.param(OWED, f"{A}/list?page=2", NONE, {BUDGET: 1}, id="a page of the list comes again"),
        pytest.param(OWED, f"{A}/news/2022/", NONE, {BUDGET: 1}, id="a page of the archive comes again"),
        pytest.param(OWED, f"{A}/other", NONE, {}, id="another page has nothing to do with it"),
        pytest.param(Finds(), f"{A}/list", GuessLimits(), {}, id="there is room"),
    ],
)
def test_a_page_says_what_was_not_guessed_from_it(
    before: Finds, url: str, limits: GuessLimits, counts: dict[str, int]
) -> None:
    assert held_back_by(before, OWED, url, NOW, limits) == counts


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/list?page=3", True), ("/list?page=4", False), ("/news/2021/", True), ("/news/2020/", False), ("/", False)],
)
def test_the_next_guess_is_known_by_its_url(path: str, expected: bool) -> None:
    assert is_owed(OWED, A + path) is expected
    assert not is_owed(Finds(), A + path)


def test_a_guess_of_a_later_run_is_counted_with_its_answer_and_once() -> None:
    limits = GuessLimits(share=0.0, archives_below=0)
    assert guesses_due(OWED, f"{A}/", NOW, NONE) == ()
    due = [guess.url for guess in guesses_due(OWED, f"{A}/", NOW, limits)]
    assert due == [guess.url for guess in guesses_due(OWED, f"{A}/", NOW, limits)], "nothing is kept of it"
    assert {f"{A}/list?page=3", f"{A}/news/2021/"} <= set(due)
    finds = OWED
    for path, source in (("/list?page=3", Source.PAGINATION), ("/news/2021/", Source.ARCHIVE)):
        facts = VisitFacts(A + path, source, Answer.NO_PAGE)
        finds, _ = after_visit(finds, facts, NOW, msgspec.structs.replace(NONE, is_on=False), unlike)
    assert (finds.made, finds.archives_made, finds.owed.keys() - {YEARS}) == (2, 1, set())
    assert (finds.lists[LIST].state, finds.archives[YEARS].missed) == ("invalid", 1)
    again, _ = after_visit(finds, facts, NOW, msgspec.structs.replace(NONE, is_on=False), unlike)
    assert (again.made, again.archives) == (2, finds.archives), "a page that comes again is no other guess"


def test_a_guess_of_a_later_run_that_led_to_something_goes_on() -> None:
    facts = VisitFacts(f"{A}/list?page=3", Source.PAGINATION, Answer.PAGE, Listing(None), "hash", b"", new_urls=3)
    finds, guesses = after_visit(OWED, facts, NOW, GuessLimits(with_archives=False), unlike)
    assert f"{A}/list?page=4" in [guess.url for guess in guesses]
    assert finds.succeeded == 1
