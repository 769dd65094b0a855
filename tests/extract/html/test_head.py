"""The head of a page."""

from __future__ import annotations

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.html.head import find_script_dates, read_head


def test_values_per_name_are_limited() -> None:
    head = read_head(
        Dom("<meta name=Author content=a><meta property=author content=b>" + "<meta name=x content=y>" * 99)
    )
    assert head.meta_values["author"] == ["a", "b"]
    assert len(head.meta_values["x"]) == 20
    assert (head.meta("author"), head.meta("missing")) == ("a", "")


def test_meta_with_name_and_property() -> None:
    head = read_head(Dom("<meta name=image property=og:image content=/a.jpg><meta name=empty content=''>"))
    assert (head.meta("image"), head.meta("og:image")) == ("/a.jpg", "/a.jpg")
    assert "empty" not in head.meta_values


def test_links_and_scripts() -> None:
    head = read_head(
        Dom(
            "<link rel='canonical x' href=' /c '><link rel=canonical href=/later><link rel=image_src href=/i.jpg>"
            "<script type=Application/LD+JSON>{}</script><script>other</script>"
        )
    )
    assert (head.canonical, head.image_href, head.scripts) == ("/c", "/i.jpg", ("{}",))


@pytest.mark.parametrize(
    ("markup", "feeds"),
    [
        ("<link rel=alternate type=application/rss+xml href=' /a.rss '>", ("/a.rss",)),
        ("<link rel='ALTERNATE nofollow' type='Application/Atom+XML; charset=utf-8' href=a.atom>", ("a.atom",)),
        ("<link rel=feed type=application/feed+json href=/feed.json>", ("/feed.json",)),
        ("<link rel=feed type=application/rss+xml href=/a><link rel=alternate type=text/rss+xml href=/a>", ("/a",)),
        ("<body><link rel=alternate type=application/rdf+xml href=/late.rdf>", ("/late.rdf",)),
        ("<link rel=alternate hreflang=de href=/de>", ()),
        ("<link rel=alternate type=text/html href=/amp>", ()),
        ("<link rel=stylesheet type=application/rss+xml href=/a.rss>", ()),
        ("<link rel=alternate type=application/rss+xml>", ()),
        ("".join(f"<link rel=alternate type=application/rss+xml href=/{n}>" for n in range(99)),
         tuple(f"/{n}" for n in range(20))),
    ],
)  # fmt: skip
def test_feeds(markup: str, feeds: tuple[str, ...]) -> None:
    assert read_head(Dom(markup)).feeds == feeds


def test_next_href() -> None:
    head = read_head(Dom("<link rel=prev href=/1><link rel='Next' href=' ?page=3 '><link rel=next href=/later>"))
    assert head.next_href == "?page=3"
    assert read_head(Dom("<link rel=prev href=/1>")).next_href == ""


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('{"datePublished":"2025-08-24"}', ["2025-08-24"]),
        ("{publishedAt: '2025-08-24'}", ["2025-08-24"]),
        ('{"createdAt":"2025-08-24","publish_date":"2025-08-25"}', ["2025-08-25", "2025-08-24"]),
        ('{"published": true, "publisher": "x"}', []),
        ('{"published":"2025-08-24","publishedAt":"2025-08-25"}', ["2025-08-24", "2025-08-25"]),
    ],
)
def test_script_dates(script: str, found: list[str]) -> None:
    assert list(find_script_dates(Dom(f"<script>{script}</script>"))) == found


class NothingFound:
    """A searcher that found no script dates."""

    def find_byline_lines(self, _: str) -> None:
        return None

    def may_have_script_dates(self) -> bool:
        return False


def test_script_dates_are_not_searched_without_need() -> None:
    dom = Dom("<script>{published: '2025-08-24'}</script>")
    dom.searcher = NothingFound()
    assert list(find_script_dates(dom)) == []


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", None),
        ("<base target=x>", None),
        ("<base href=''>", None),
        ("<base href=' /a/ '><base href=/b/>", "/a/"),
        ("<base target=x><base href=/b/>", "/b/"),
    ],
)
def test_base_href(html: str, expected: str | None) -> None:
    assert read_head(Dom(html)).base_href == expected
