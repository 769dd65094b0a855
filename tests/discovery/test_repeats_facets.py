from __future__ import annotations

import pytest

from tenax.discovery.repeats import (
    MAX_PATHS,
    RATIO_WINDOW,
    FacetPage,
    facet_path,
    facet_skip_reason,
    is_combined,
    most_at_once,
    record_facet_page,
)
from tenax.model import FacetRule, GuessState, PageKind
from tests.discovery.little_sites import HOST

TRIED = 10
ONE, OTHER = b"one", b"other"


def similarity(one: bytes, other: bytes) -> float:
    return 1.0 if one == other else 0.0


def seen(
    guess_state: GuessState,
    relative_url: str,
    *,
    kind: PageKind = PageKind.HUB,
    content_hash: str = "same",
    fingerprint: bytes = ONE,
    new_urls: int = 0,
    narrowed: bool = False,
) -> GuessState:
    page = FacetPage(HOST + relative_url, kind, content_hash, fingerprint, new_urls, is_combined=narrowed)
    return record_facet_page(guess_state, page, HOST, similarity)


def after(count: int, kind: PageKind = PageKind.HUB, new_urls: int = 0, is_similar: bool = True) -> GuessState:
    """`count` facets of one path were visited; they are similar, or each is different."""
    guess_state = GuessState()
    for number in range(count):
        mark = "" if is_similar else str(number)
        guess_state = seen(
            guess_state,
            f"/shop?colour={number}&size=l",
            kind=kind,
            content_hash=f"same{mark}",
            fingerprint=f"one{mark}".encode(),
            new_urls=new_urls,
        )
    return guess_state


def skip_reason(guess_state: GuessState, relative_url: str = "/shop?colour=red", tried: int = TRIED) -> str | None:
    return facet_skip_reason(guess_state, HOST + relative_url, HOST, tried)


@pytest.mark.parametrize(
    ("relative_url", "path"),
    [
        ("/shop?colour=red", "/shop"), ("/?q=x", "/"), ("/shop", None), ("/shop?", None),
        ("/shop?page=2", None), ("/shop?colour=red&page=2", None), ("/shop/page/2?colour=red", None),
        ("/shop?offset=40", None),
    ],
)  # fmt: skip
def test_what_can_be_a_selection(relative_url: str, path: str | None) -> None:
    assert facet_path(HOST + relative_url, HOST) == path


def test_other_facets_are_skipped_after_enough_similar_ones() -> None:
    assert skip_reason(after(TRIED - 1)) is None
    assert skip_reason(after(TRIED)) == (
        "10 other query strings of /shop were visited, and few of the recent ones led to something new"
    )
    assert skip_reason(after(TRIED), "/other?colour=red") is None
    assert skip_reason(after(TRIED), "/shop") is None
    assert skip_reason(after(TRIED), tried=0) is None, "switched off"


@pytest.mark.parametrize("page", ["/shop?page=2", "/shop/page/2?colour=red"])
def test_a_numbered_page_is_neither_counted_nor_skipped(page: str) -> None:
    guess_state = after(TRIED)
    assert skip_reason(guess_state, page) is None
    assert seen(guess_state, page) is guess_state


@pytest.mark.parametrize("kind", [PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION])
def test_pages_with_their_own_text_are_never_skipped(kind: PageKind) -> None:
    """`/index.php?id=42`, even where each looks like the one before."""
    assert skip_reason(after(5 * TRIED, kind)) is None


@pytest.mark.parametrize("kind", [PageKind.PRODUCT, PageKind.OTHER])
def test_other_pages_are_skipped_only_if_they_are_similar(kind: PageKind) -> None:
    assert skip_reason(after(TRIED, kind, is_similar=False)) is None
    assert skip_reason(after(2 * TRIED, kind)) is not None


def test_lists_that_lead_to_nothing_new_are_the_same_however_they_look() -> None:
    assert skip_reason(after(TRIED, is_similar=False)) is not None


@pytest.mark.parametrize(("every", "is_skipped"), [(2, False), (5, False), (40, True), (1000, True)])
def test_some_that_lead_to_something_new_keep_it_going(every: int, is_skipped: bool) -> None:
    guess_state = GuessState()
    for number in range(1, 200):
        guess_state = seen(guess_state, f"/shop?colour={number}", new_urls=int(number % every == 0))
    assert (skip_reason(guess_state) is not None) is is_skipped


def test_what_the_first_ones_led_to_is_forgotten() -> None:
    """A shop that is fully known now was new once."""
    guess_state = GuessState()
    visits = 0
    while skip_reason(guess_state) is None:
        guess_state = seen(guess_state, f"/shop?colour={visits}", new_urls=int(visits < 100))
        visits += 1
    assert 100 + RATIO_WINDOW < visits < 100 + 4 * RATIO_WINDOW


def test_the_same_hash_is_alike_without_a_fingerprint() -> None:
    guess_state = seen(
        seen(GuessState(), "/shop?a=1", fingerprint=b""), "/shop?a=2", kind=PageKind.OTHER, fingerprint=b""
    )
    rule = guess_state.facets["/shop"]
    assert (rule.visited, rule.useful_ratio) == (2, 0.0)
    other = seen(guess_state, "/shop?a=3", kind=PageKind.OTHER, fingerprint=b"", content_hash="another")
    assert other.facets["/shop"].useful_ratio == 0.333


def test_a_fingerprint_finds_nearly_identical_pages() -> None:
    guess_state = seen(seen(GuessState(), "/shop?a=1"), "/shop?a=2", kind=PageKind.OTHER, content_hash="another")
    assert guess_state.facets["/shop"].useful_ratio == 0
    guess_state = seen(guess_state, "/shop?a=3", kind=PageKind.OTHER, content_hash="a third", fingerprint=OTHER)
    assert guess_state.facets["/shop"].useful_ratio == 0.333


def test_only_the_paths_visited_last_are_remembered() -> None:
    paths = ["/" + "a" * number for number in range(1, MAX_PATHS + 1)]
    guess_state = GuessState()
    for path in [*paths, paths[0], "/new"]:
        guess_state = seen(guess_state, f"{path}?a=1")
    assert list(guess_state.facets) == [*paths[2:], paths[0], "/new"]
    assert guess_state.facets[paths[0]].visited == 2


SIZES, BRANDS = ("s", "m", "l"), ("acme", "bolt", "crest")


@pytest.mark.parametrize(
    ("relative_url", "links", "is_one"),
    [
        ("?colour=red", [*(f"?colour=red&size={n}" for n in SIZES), *(f"?brand={n}&colour=red" for n in BRANDS)],
         True),
        ("?colour=red", [f"?colour=red&size={one}" for one in SIZES], False),
        ("?colour=red", [f"?size={one}" for one in SIZES] + [f"?brand={one}" for one in BRANDS], False),
        ("?title=X", [f"?title=X&action={one}" for one in ("edit", "history", "info")] + ["?title=X&oldid=7"], False),
        ("?t=5", [f"?t=5&start={n}" for n in (10, 20, 30)] + [f"?t=5&view={one}" for one in SIZES], False),
    ],
    ids=["by size and brand", "by one parameter", "other selections", "a page of a wiki", "pages of a thread"],
)  # fmt: skip
def test_a_facet_is_recognised_by_the_parameters_that_narrow_it(
    relative_url: str, links: list[str], is_one: bool
) -> None:
    assert is_combined(f"{HOST}/shop{relative_url}", [f"{HOST}/shop{one}" for one in links]) is is_one
    assert not is_combined(f"{HOST}/shop{relative_url}", [f"{HOST}/other{one}" for one in links])


def narrowed_after(count: int, new_urls: int = 0) -> GuessState:
    guess_state = GuessState()
    for number in range(count):
        guess_state = seen(guess_state, f"/shop?n={number}", kind=PageKind.ARTICLE, new_urls=new_urls, narrowed=True)
    return guess_state


def test_what_can_be_narrowed_is_a_selection_though_it_reads_like_a_text() -> None:
    assert skip_reason(narrowed_after(2)) is None
    assert skip_reason(narrowed_after(3)) is not None, "a third is enough where there is no doubt"
    assert skip_reason(narrowed_after(3), tried=0) is None, "switched off"
    assert skip_reason(narrowed_after(20, new_urls=1)) is None, "what leads to something new is worth it"
    mixed = seen(narrowed_after(3), "/shop?plain=1", narrowed=False)
    assert skip_reason(mixed) is None, "one that cannot be narrowed leaves a doubt"


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        (None, 3), (FacetRule(2, 0.0, combined=2), 1), (FacetRule(2, 0.0), 8), (FacetRule(2, 0.5, combined=2), 8),
        (FacetRule(9, 1.0), 1),
    ],
)  # fmt: skip
def test_no_more_facets_are_in_flight_than_needed_to_judge_the_path(rule: FacetRule | None, most: int) -> None:
    assert most_at_once(rule, TRIED) == most
