"""Hints from the head and the URL."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints, read_head, read_page_hints


def hints(html: str, url: str | None = None) -> PageHints:
    return read_page_hints(read_head(Dom(html)), url)


def ld(text: str) -> str:
    return f"<script type=application/ld+json>{text}</script>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", PageHints()),
        ("<title> A \n page </title>", PageHints(title="A page")),
        ("<title>A page | Site</title><meta property=og:title content='A  page'>", PageHints(title="A page")),
        ("<meta property=og:type content=Article>", PageHints(og_type="article")),
        (ld('{"@type": "NewsArticle", "author": {"@type":"Person"}}'), PageHints(ld_types="NewsArticle Person")),
        (ld('{"@type": "WebSite"}') + ld('{"@type": "Product"}'), PageHints(ld_types="WebSite Product")),
        ('<script>{"@type": "Product"}</script>', PageHints()),
        (ld('{"@type": broken "@type": "Thing"'), PageHints(ld_types="Thing")),
    ],
)
def test_hints_of_the_head(html: str, expected: PageHints) -> None:
    assert hints(html) == expected


@pytest.mark.parametrize(
    ("url", "path", "query"),
    [
        (None, "/", ""),
        ("https://h.example", "/", ""),
        ("https://h.example/a/b-c?x=1&y#z", "/a/b-c", "x=1&y"),
    ],
)
def test_hints_of_the_url(url: str | None, path: str, query: str) -> None:
    found = hints("", url)
    assert (found.path, found.query) == (path, query)


@given(
    st.sampled_from(("http://", "https://", "HTTP://", "ftp://", "//", " http://", "")),
    st.text(st.sampled_from("/?#:@[]. \taZ1%é\u2100"), max_size=12),
)
def test_url_parts_equal_urlsplit(scheme: str, rest: str) -> None:
    try:
        parts = urlsplit(scheme + rest)
    except ValueError:
        with pytest.raises(ValueError):
            hints("", scheme + rest)
        return
    found = hints("", scheme + rest)
    assert (found.host, found.path, found.query) == (parts.netloc, parts.path or "/", parts.query)
