from __future__ import annotations

import pytest

from tenax.discovery.facets import (
    MAX_PATHS,
    RATIO_WINDOW,
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
    finds: GuessState,
    place: str,
    *,
    kind: PageKind = PageKind.HUB,
    content_hash: str = "same",
    fingerprint: bytes = ONE,
    new_urls: int = 0,
    narrowed: bool = False,
) -> GuessState:
    return record_facet_page(finds, HOST + place, HOST, kind, content_hash, fingerprint, new_urls, similarity, narrowed)


def after(count: int, kind: PageKind = PageKind.HUB, new_urls: int = 0, is_alike: bool = True) -> GuessState:
    """So many selections of one path were visited; they are alike, or each is like nothing before."""
    guess_state = GuessState()
    for number in range(count):
        mark = "" if is_alike else str(number)
        guess_state = seen(
            guess_state,
            f"/shop?colour={number}&size=l",
            kind=kind,
            content_hash=f"same{mark}",
            fingerprint=f"one{mark}".encode(),
            new_urls=new_urls,
        )
    return guess_state


def spared(finds: GuessState, place: str = "/shop?colour=red", tried: int = TRIED) -> str | None:
    return facet_skip_reason(finds, HOST + place, HOST, tried)


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("/shop?colour=red", "/shop"), ("/?q=x", "/"), ("/shop", None), ("/shop?", None),
        ("/shop?page=2", None), ("/shop?colour=red&page=2", None), ("/shop/page/2?colour=red", None),
        ("/shop?offset=40", None),
    ],
)  # fmt: skip
def test_what_can_be_a_selection(place: str, path: str | None) -> None:
    assert facet_path(HOST + place, HOST) == path


def test_the_rest_of_a_path_is_spared_once_enough_were_the_same() -> None:
    assert spared(after(TRIED - 1)) is None
    assert spared(after(TRIED)) == (
        "10 other selections of /shop were visited, and of late hardly any led to something new"
    )
    assert spared(after(TRIED), "/other?colour=red") is None
    assert spared(after(TRIED), "/shop") is None
    assert spared(after(TRIED), tried=0) is None, "switched off"


@pytest.mark.parametrize("page", ["/shop?page=2", "/shop/page/2?colour=red"])
def test_a_numbered_page_is_neither_counted_nor_spared(page: str) -> None:
    guess_state = after(TRIED)
    assert spared(guess_state, page) is None
    assert seen(guess_state, page) is guess_state


@pytest.mark.parametrize("kind", [PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION])
def test_pages_with_a_text_of_their_own_are_never_spared(kind: PageKind) -> None:
    """`/index.php?id=42`, even where each looks like the one before."""
    assert spared(after(5 * TRIED, kind)) is None


@pytest.mark.parametrize("kind", [PageKind.PRODUCT, PageKind.OTHER])
def test_other_pages_are_spared_only_where_they_are_alike(kind: PageKind) -> None:
    assert spared(after(TRIED, kind, is_alike=False)) is None
    assert spared(after(2 * TRIED, kind)) is not None


def test_lists_that_lead_to_nothing_new_are_the_same_however_they_look() -> None:
    assert spared(after(TRIED, is_alike=False)) is not None


@pytest.mark.parametrize(("every", "is_spared"), [(2, False), (5, False), (40, True), (1000, True)])
def test_some_that_lead_to_something_new_keep_it_going(every: int, is_spared: bool) -> None:
    guess_state = GuessState()
    for number in range(1, 200):
        guess_state = seen(guess_state, f"/shop?colour={number}", new_urls=int(number % every == 0))
    assert (spared(guess_state) is not None) is is_spared


def test_what_the_first_ones_led_to_is_forgotten() -> None:
    """A shop of which all is known by now was new once."""
    guess_state = GuessState()
    visits = 0
    while spared(guess_state) is None:
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


def test_a_fingerprint_tells_what_is_nearly_the_same() -> None:
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
    ("place", "offered", "is_one"),
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
def test_a_selection_is_known_by_the_ways_to_narrow_it(place: str, offered: list[str], is_one: bool) -> None:
    assert is_combined(f"{HOST}/shop{place}", [f"{HOST}/shop{one}" for one in offered]) is is_one
    assert not is_combined(f"{HOST}/shop{place}", [f"{HOST}/other{one}" for one in offered])


def narrowed_after(count: int, new_urls: int = 0) -> GuessState:
    guess_state = GuessState()
    for number in range(count):
        guess_state = seen(guess_state, f"/shop?n={number}", kind=PageKind.ARTICLE, new_urls=new_urls, narrowed=True)
    return guess_state


def test_what_can_be_narrowed_is_a_selection_though_it_reads_like_a_text() -> None:
    assert spared(narrowed_after(2)) is None
    assert spared(narrowed_after(3)) is not None, "a third is enough where there is no doubt"
    assert spared(narrowed_after(3), tried=0) is None, "switched off"
    assert spared(narrowed_after(20, new_urls=1)) is None, "what leads to something new is worth it"
    mixed = seen(narrowed_after(3), "/shop?plain=1", narrowed=False)
    assert spared(mixed) is None, "one that cannot be narrowed leaves a doubt"


@pytest.mark.parametrize(
    ("rule", "most"),
    [
        (None, 3), (FacetRule(2, 0.0, combined=2), 1), (FacetRule(2, 0.0), 8), (FacetRule(2, 0.5, combined=2), 8),
        (FacetRule(9, 1.0), 1),
    ],
)  # fmt: skip
def test_no_more_are_asked_for_at_once_than_it_takes_to_judge_them(rule: FacetRule | None, most: int) -> None:
    assert most_at_once(rule, TRIED) == most
