"""Packed links: a round trip keeps everything, and partial reads agree with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.database.page_codec import find_links, followed_targets, pack_links, pack_urls, unpack_links
from tenax.model import PageLink
from tests.link_columns import link_columns

A = "https://a.test"
LINKS = (
    PageLink(f"{A}/", "Home"),
    PageLink(f"{A}/story?n=1", "Grüße, мир, 世界", "next", False, True),
    PageLink("https://a.test.example/", "", "nofollow sponsored", True, False),
    PageLink("http://a.test/", "", "", True, True),
)


def packed(*links: PageLink, is_nofollow: bool = False) -> bytes:
    return pack_links(A, link_columns(links), is_nofollow=is_nofollow)


urls = st.builds(
    "{}/{}".format,
    st.sampled_from([A, f"{A}.example", "http://a.test", "https://b.test:8080"]),
    st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="/?=&%-"), max_size=30),
)
words = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=9)).map(
    " ".join
)
links = st.lists(st.builds(PageLink, urls, words, words, st.booleans(), st.booleans()), unique_by=lambda link: link.url)


@given(links)
def test_what_was_packed_is_unpacked(links: list[PageLink]) -> None:
    assert unpack_links(A, packed(*links)) == tuple(links)


@given(links)
def test_a_part_of_it_says_the_same(links: list[PageLink]) -> None:
    row = packed(*links)
    assert followed_targets(A, row) == [link.url for link in links if not link.is_nofollow]
    for link in links:
        assert find_links(link.url, A, row) == [link]


@pytest.mark.parametrize("target", [f"{A}/st", f"{A}/story?n=", "https://a.test.example/x", "Home", "https://b.test/"])
def test_where_no_link_leads(target: str) -> None:
    assert find_links(target, A, packed(*LINKS)) == []


def test_a_feed_that_a_page_names_is_kept_beside_its_links() -> None:
    feed = f"{A}/feed.xml"
    row = pack_links(A, link_columns([PageLink(feed, "RSS"), PageLink(f"{A}/b", "b")]), feeds=[feed, feed, None])
    assert unpack_links(A, row) == (
        PageLink(feed, "RSS"),
        PageLink(f"{A}/b", "b"),
        PageLink(feed, "", "feed", is_url_list=True),
    )
    assert followed_targets(A, row) == [feed, f"{A}/b"], "no URL list is a link"
    assert [link.is_url_list for link in find_links(feed, A, row)] == [False, True]
    alone = pack_links(A, link_columns([]), feeds=[feed], is_nofollow=True)
    assert unpack_links(A, alone) == (PageLink(feed, "", "feed", is_nofollow=True, is_url_list=True),)


def test_a_list_keeps_pages_and_the_lists_that_it_names() -> None:
    row = pack_urls(A, [f"{A}/1", None], [f"{A}/older.xml"], "feed")
    assert unpack_links(A, row) == (PageLink(f"{A}/1"), PageLink(f"{A}/older.xml", "", "feed", is_url_list=True))


def test_nothing_is_kept_of_a_page_without_links() -> None:
    assert packed() == b""
    assert (unpack_links(A, b""), followed_targets(A, b""), find_links(A, A, b"")) == ((), [], [])


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (PageLink(A, "", "a"), PageLink(A, "said", "b"), PageLink(A, "said", "a")),
        (PageLink(A, "first"), PageLink(A, "second"), PageLink(A, "first")),
        (PageLink(A, "", "", True, False), PageLink(A, "", "", False, True), PageLink(A, "", "", False, True)),
        (PageLink(A, "", "", True, True), PageLink(A, "", "", True, False), PageLink(A, "", "", True, True)),
    ],
)
def test_two_links_to_one_target_are_one(one: PageLink, other: PageLink, kept: PageLink) -> None:
    assert unpack_links(A, packed(one, LINKS[0], other)) == (kept, LINKS[0])


def test_a_page_that_says_nofollow_says_it_of_all() -> None:
    assert followed_targets(A, packed(*LINKS, is_nofollow=True)) == []
    assert all(link.is_nofollow for link in unpack_links(A, packed(*LINKS, is_nofollow=True)))


def test_a_strange_text_stays_on_its_line() -> None:
    strange = (PageLink(f"{A}/1", "a\nb\0c\rd"), PageLink(f"{A}/2", "e\ud800", "x\n\ny"))
    first, second = unpack_links(A, packed(*strange))
    assert (first.text, second.text, second.rel) == ("a b c d", "e?", "x y")


def test_it_is_small() -> None:
    menu = [PageLink(f"{A}/archive/2025/{n:02}/", f"Archive of {n}/2025") for n in range(50)]
    assert len(packed(*menu)) < 50 * 12
