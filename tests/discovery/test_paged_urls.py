from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.discovery.paged_urls import (
    Numbering,
    count_new_links,
    find_numbering,
    link_fingerprint,
    may_be_sure,
    page_url_prefix,
    parse_paged_url,
    to_relative_url,
)

HOST = "https://example.org"


@pytest.mark.parametrize(
    ("relative_url", "pattern", "number", "first"),
    [
        ("/news?page=2", "/news?page={n}", 2, "/news"),  # Django, Shopify, the Guardian
        ("/?page=3", "/?page={n}", 3, "/"),
        ("/node?page=1", "/node?page={n}", 1, "/node"),  # Drupal, from zero
        (
            "/collections/all?page=4&sort_by=price",
            "/collections/all?page={n}&sort_by=price",
            4,
            "/collections/all?sort_by=price",
        ),
        ("/c/support/5?page=1", "/c/support/5?page={n}", 1, "/c/support/5"),  # Discourse
        ("/?cat=7&paged=2", "/?cat=7&paged={n}", 2, "/?cat=7"),  # WordPress without permalinks
        ("/list.asp?Page=12", "/list.asp?Page={n}", 12, "/list.asp"),
        ("/novosti/?PAGEN_1=5", "/novosti/?PAGEN_1={n}", 5, "/novosti/"),  # Bitrix
        ("/archiv?seite=9", "/archiv?seite={n}", 9, "/archiv"),
        ("/noticias?pagina=2", "/noticias?pagina={n}", 2, "/noticias"),
        ("/blog/page/2/", "/blog/page/{n}/", 2, "/blog/"),  # WordPress
        ("/page/2", "/page/{n}", 2, "/"),
        ("/blog/page/2/?s=x", "/blog/page/{n}/?s=x", 2, "/blog/?s=x"),
        ("/threads/a.12/page-7", "/threads/a.12/page-{n}", 7, "/threads/a.12"),  # XenForo
        ("/forum/12-general/page2", "/forum/12-general/page{n}", 2, "/forum/12-general"),  # vBulletin
        ("/aktuell/seite-3.html", "/aktuell/seite-{n}.html", 3, "/aktuell"),
        ("/p%C3%A1gina/2", "/p%C3%A1gina/{n}", 2, "/"),
        ("/wiadomosci/strona/4/", "/wiadomosci/strona/{n}/", 4, "/wiadomosci/"),
        ("/xw/index_2.html", "/xw/index_{n}.html", 2, "/xw/index.html"),  # Chinese newspapers
        ("/2024/05/page/2/", "/2024/05/page/{n}/", 2, "/2024/05/"),
    ],
)
def test_numbers_that_surely_count_pages(relative_url: str, pattern: str, number: int, first: str) -> None:
    found = parse_paged_url(HOST + relative_url)
    assert found is not None
    assert (found.pattern, found.number, found.first_page) == (pattern, number, first)
    assert found.is_sure and not found.is_offset
    assert may_be_sure(HOST + relative_url)


@pytest.mark.parametrize(
    ("relative_url", "pattern", "number"),
    [
        ("/viewforum.php?f=2&start=25", "/viewforum.php?f=2&start={n}", 25),  # phpBB
        ("/search?offset=40&q=x", "/search?offset={n}&q=x", 40),
        ("/items?limit=20&skip=60", "/items?limit=20&skip={n}", 60),
        ("/index.php?limitstart=10", "/index.php?limitstart={n}", 10),  # Joomla
    ],
)
def test_numbers_that_count_entries(relative_url: str, pattern: str, number: int) -> None:
    found = parse_paged_url(HOST + relative_url)
    assert found is not None and found.is_offset
    assert (found.pattern, found.number) == (pattern, number)


@pytest.mark.parametrize(
    "relative_url", ["/?p=2", "/thema/x/p2/", "/actualite/2/", "/thread-123-2.html", "/list_2.html", "/docs/3"]
)
def test_numbers_that_may_count_pages(relative_url: str) -> None:
    found = parse_paged_url(HOST + relative_url)
    assert found is not None and not found.is_sure


@pytest.mark.parametrize(
    "relative_url",
    [
        "/",
        "/news",
        "/2025/12/",  # a month
        "/blog/2024/11",
        "/archive/2024-05/",
        "/news/2024/05/07/",
        "/2024-05-07.html",
        "/article/4711",  # an id
        "/a-story-98765.html",
        "/?p=4711",  # a post of WordPress
        "/?page_id=12",
        "/?id=3",
        "/?page=",
        "/?page=two",
        "/?page=123456",
        "/?page=-1",
        "/?page=02",
        "/blog/page/02/",
        "/?page=٣",
        "/w/index.php?offset=20250101000000",  # MediaWiki's history goes by time
        "/report?from=20250101",
        "/v1.2/",
        "/python-3.11/",
        "/room/007/",
        "/homepage/2x",
        "/x?q={n}&page=2",
    ],
)
def test_numbers_that_count_no_pages(relative_url: str) -> None:
    assert parse_paged_url(HOST + relative_url) is None


def numbering(relative_url: str, *links: str, following: str | None = None) -> Numbering | None:
    return find_numbering(HOST + relative_url, [HOST + link for link in links], HOST + following if following else None)


@pytest.mark.parametrize(
    ("relative_url", "links", "expected"),
    [
        ("/news", ["/news?page=2", "/news?page=3"], Numbering("/news?page={n}", 1, 3)),
        ("/news/", ["/news?page=2", "/about"], Numbering("/news?page={n}", 1, 2)),
        ("/news?page=3", ["/news?page=1", "/news?page=2"], Numbering("/news?page={n}", 3, 3)),
        ("/news?page=3", [], Numbering("/news?page={n}", 3, 3)),
        ("/blog/", ["/blog/page/2/", "/blog/page/48/"], Numbering("/blog/page/{n}/", 1, 48)),
        ("/blog", ["/blog/page/2", "/other/page/9"], Numbering("/blog/page/{n}", 1, 2)),
        ("/xw/", ["/xw/index_2.html", "/xw/index_3.html"], Numbering("/xw/index_{n}.html", 1, 3)),
        ("/c/support/5", ["/c/support/5?page=1", "/c/other/6"], Numbering("/c/support/5?page={n}", 1, 1)),
        ("/f.php?f=2", ["/f.php?f=2&start=25", "/f.php?f=2&start=50"], Numbering("/f.php?f=2&start={n}", 0, 50, 25)),
        ("/f?start=21", ["/f?start=1", "/f?start=11", "/f?start=41"], Numbering("/f?start={n}", 21, 41, 10)),
        ("/f?offset=40", [], Numbering("/f?offset={n}", 40, 40, 0)),
        ("/f?offset=40", ["/f?offset=47", "/f?offset=60"], Numbering("/f?offset={n}", 40, 60, 0)),
        # confirmed by the others
        ("/aktuell", ["/aktuell/2/", "/aktuell/3/"], Numbering("/aktuell/{n}/", 1, 3)),
        ("/aktuell/4/", ["/aktuell/3/", "/aktuell/5/"], Numbering("/aktuell/{n}/", 4, 5)),
        ("/news.html", ["/news-2.html", "/news-3.html"], Numbering("/news-{n}.html", 1, 3)),
        ("/?p=2", ["/?p=1", "/?p=3"], Numbering("/?p={n}", 2, 3)),
        # not confirmed
        ("/aktuell", ["/aktuell/2/"], None),
        ("/chapters", ["/chapters/1", "/chapters/2", "/chapters/3"], None),
        ("/article", ["/article/4711", "/article/4712", "/article/4713"], None),
        ("/shop/7", ["/shop/12", "/shop/90"], None),
        ("/2024", ["/2024/2/", "/2024/3/"], None),
        # of another list, or nothing
        ("/news", ["/sport?page=2", "/news?page=2&sort=old"], None),
        ("/news", [], None),
    ],
)
def test_what_links_say(relative_url: str, links: list[str], expected: Numbering | None) -> None:
    assert numbering(relative_url, *links) == expected
    near = [link for link in links if (HOST + link).startswith(page_url_prefix(HOST + relative_url))]
    assert numbering(relative_url, *near) == expected, "those that are left out tell nothing"


def test_the_next_page_is_believed_first() -> None:
    assert numbering("/a", "/a?page=2", "/a?page=3", following="/a/2/") == Numbering("/a/{n}/", 1, 2)
    assert numbering("/a/2/", following="/a/3/") == Numbering("/a/{n}/", 2, 3)
    assert numbering("/a", "/a?page=2", following="/elsewhere") == Numbering("/a?page={n}", 1, 2)


def test_a_link_fingerprint_shows_how_much_is_new() -> None:
    frame = [f"{HOST}/about", f"{HOST}/login"]
    first = link_fingerprint([*frame, *(f"{HOST}/story-{number}x" for number in range(20))])
    second = link_fingerprint([*frame, *(f"{HOST}/tale-{number}x" for number in range(20))])
    empty = link_fingerprint(frame)
    assert count_new_links(first, second) >= 15
    assert count_new_links(first, empty) == 0
    assert count_new_links(first, first) == 0


@given(st.text("/pageinx?&=-_.{}0123456789abc%", max_size=40))
def test_a_pattern_with_its_number_is_the_url(text: str) -> None:
    url = f"{HOST}/{text}"
    found = parse_paged_url(url)
    if found is not None:
        assert found.pattern.replace("{n}", str(found.number)) == to_relative_url(url)


_SEGMENTS = (
    *("page", "paged", "seite", "index", "news", "p", "2024", "page2", "page-3", "index_2.html", "2.html", "7", "x"),
)


@given(st.lists(st.sampled_from(_SEGMENTS), max_size=4), st.sampled_from(["", "/", "?page=2", "/?p=3"]))
def test_whatever_is_surely_a_page_passes_the_filter(segments: list[str], end: str) -> None:
    url = "/".join((HOST, *(segments or ("",)))) + end
    found = parse_paged_url(url)
    assert may_be_sure(url) or found is None or not found.is_sure
    assert not may_be_sure(f"{HOST}/news/an-article-4072")
