"""Where a page leads: each place once, in order, as written."""

from __future__ import annotations

import pytest

from tenax.parse.html import Dom
from tenax.parse.links import MAX_LINKS, Link, is_followable, read_base_href, read_links


def links_of(html: str) -> tuple[Link, ...]:
    return read_links(Dom(html))


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
def test_read_links(html: str, expected: list[Link]) -> None:
    assert links_of(html) == tuple(expected)


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
    assert read_base_href(Dom(html)) == expected


def test_links_are_bounded() -> None:
    html = "".join(f"<a href=/{number}>" for number in range(MAX_LINKS + 100))
    assert len(links_of(html)) == MAX_LINKS
