"""The links of a page: each once, in order, as written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.html.links import (
    MAX_LINKS,
    MAX_REL_CHARS,
    MAX_TEXT_CHARS,
    Link,
    Links,
    is_followable,
    read_links,
)


def links_of(html: str) -> tuple[Link, ...]:
    return tuple(read_links(Dom(html)))


def test_links_are_a_sequence_in_columns() -> None:
    links = read_links(Dom("<a href=/a rel=nofollow>A</a><map><area href=b></map><a href=c>C</a>"))
    written = (Link("/a", "a", True, "A", "nofollow"), Link("b", "area"), Link("c", text="C"))
    assert tuple(links) == written
    assert [links[0], links[-1]] == [written[0], written[-1]]
    assert (tuple(links[1:]), len(links), bool(links[3:])) == (written[1:], 3, False)
    assert Links.from_links(written) == links
    assert (links.is_nofollow, links[1:].is_nofollow) == ([True, False, False], [])


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", []),
        ("<a href=/x>x</a>", [Link("/x")]),
        ("<A HREF=' \n/x\t '>x</A>", [Link("/x")]),
        ("<a href='\x01/x'>x</a>", [Link("/x")]),
        ("<a name=x>x</a><a href>x</a><a href=''>x</a><a href='#top'>x</a>", []),
        ("<map><area href=/x></map>", [Link("/x", "area")]),
        ("<iframe src=/x></iframe>", [Link("/x", "iframe")]),
        ("<iframe src=about:blank></iframe><iframe href=/x></iframe>", []),
        ("<link rel=canonical href=/c>", [Link("/c", "canonical")]),
        ("<link rel='shortlink CANONICAL' href=/c>", [Link("/c", "canonical")]),
        ("<link rel=alternate hreflang=de href=/de>", [Link("/de", "alternate")]),
        ("<link rel=alternate type=text/html href=/m>", [Link("/m", "alternate")]),
        ("<link rel=alternate type=application/rss+xml href=/feed>", []),
        ("<link rel=alternate type=application/atom+xml href=/feed>", []),
        ("<link rel=alternate type=application/feed+json href=/feed>", []),
        ("<link rel='alternate stylesheet' href=/dark.css><link rel=stylesheet href=/s.css>", []),
        ("<link rel=icon href=/i.png><link href=/x>", []),
        ("<a rel=nofollow href=/x>x</a>", [Link("/x", "a", True)]),
        ("<a rel='external NoFollow' href=/x>x</a>", [Link("/x", "a", True)]),
        ("<a rel='ugc sponsored nofollowed' href=/x>x</a>", [Link("/x")]),
        ("<a rel=nofollow href=/x>x</a><a href=/y>y</a><a href=/x>x</a>", [Link("/x"), Link("/y")]),
        ("<a href=/x>x</a><a rel=nofollow href=/x>x</a>", [Link("/x")]),
        ("<area rel=nofollow href=/x><a href=' /x'>x</a>", [Link("/x", "area")]),
        ("<a rel=nofollow href=x:y>x</a><a href=' '>x</a><a href=mailto:x>x</a>", []),
        ("<a href=/b>b</a><iframe src=/a></iframe><a href=/c>", [Link("/b"), Link("/a", "iframe"), Link("/c")]),
        ("<noscript><a href=/x>x</a></noscript>", [Link("/x")]),
        ("<template><a href=/x>x</a></template>", []),
        ("<svg><a href=/x></a></svg>", [Link("/x")]),
        ("<a href='/a?b=1&amp;c=2'>", [Link("/a?b=1&c=2")]),
    ],
)
def test_link_hrefs(html: str, expected: list[Link]) -> None:
    assert [Link(link.href, link.kind, link.is_nofollow) for link in links_of(html)] == expected


@pytest.mark.parametrize(
    ("html", "text", "rel"),
    [
        ("<a href=/x> the \n<b>best</b> place </a>", "the best place", ""),
        ("<a href=/x>a<br>b<div>c</div></a>", "a b c", ""),
        ("<a href=/x><img></a><a href=/x>said</a><a href=/x>again</a>", "said", ""),
        ("<a href=/x rel='external NoFollow'>x</a>", "x", "external NoFollow"),
        ("<a href=/x rel=author>x</a><a href=/x rel=nofollow>y</a>", "x", "author"),
        ("<link rel=canonical href=/x>", "", "canonical"),
        ("<iframe src=/x>unseen</iframe>", "", ""),
        ("<body><noscript><a href=/x>unseen</a></noscript>", "", ""),
    ],
)
def test_link_text(html: str, text: str, rel: str) -> None:
    (link,) = links_of(html)
    assert (link.text, link.rel) == (text, rel)


def test_link_text_is_limited() -> None:
    (link,) = links_of(f"<a href=/x rel='{'r' * 9_000}'>{'t' * 9_000}</a>")
    assert (len(link.text), len(link.rel)) == (MAX_TEXT_CHARS, MAX_REL_CHARS)


@pytest.mark.parametrize(
    ("html", "kept", "inside"),
    [
        ("<p><a href=/x>x</a><p>y <a href=/y>y</a>", [False, True], ["/y"]),
        ("<p><a href=/x>x</a><p>y <a href=/x>again</a>", [False, True], ["/x"]),
        ("<p><a href=/x>x</a> <a href=/y>y</a><p>z", [True, False], ["/x", "/y"]),
        ("<a href=/x><p>a</p><p>b</p></a>", [False, True], ["/x"]),
        ("<p>x<a href=/x><img></a><p>y<a href=/y><img></a>", [True, False], ["/x"]),
        ("<p>x<a href=/x></a>", [True], []),  # no visible text, so it is in no run
        ("<link rel=canonical href=/c><p>x", [True], []),
        ("<p><a href=/x>x</a>", [], []),
    ],
)
def test_links_in_the_article(html: str, kept: list[bool], inside: list[str]) -> None:
    assert [link.href for link in read_links(Dom(html), kept) if link.is_in_article] == inside


def test_nested_links_read_only_the_beginning(within: Callable[[float], None]) -> None:
    nested = "".join(f"<a href=/{number}><object>" for number in range(2_000))
    links = links_of(nested + "word <i>and</i> " * 200_000)
    assert {link.text[:12] for link in links} == {"word and wor"}
    assert {len(link.text) for link in links} == {MAX_TEXT_CHARS}
    within(5.0)


@pytest.mark.parametrize(
    "href",
    ["/x", "x", "./x", "../x", "?q", "//host/x", "http://h/", "HTTPS://h/", "ht\ntp://h/", "wiki/Talk:Page", "?u=a:b"],
)
def test_followed(href: str) -> None:
    assert is_followable(href)


@pytest.mark.parametrize(
    "href",
    [
        "", "#x", "mailto:a@b", "MailTo:a@b", "javascript:void(0)", "java\nscript:x", "JAVASCRIPT:x", "tel:1",
        "data:,x", "file:///etc", "ftp://h/", "blob:x", "about:blank", "sms:1", "whatsapp://x", "intent:x",
        "x" * 70_000,
    ],
)  # fmt: skip
def test_not_followed(href: str) -> None:
    assert not is_followable(href)


def test_links_are_limited() -> None:
    html = "".join(f"<a href=/{number}>" for number in range(MAX_LINKS + 100))
    assert len(links_of(html)) == MAX_LINKS


def test_link_around_a_line_break_has_no_text() -> None:
    assert [link.text for link in read_links(Dom("<a href=/x><br></a><a href=/y>b<br></a>"))] == ["", "b"]
