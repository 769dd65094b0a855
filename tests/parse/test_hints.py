"""What the head and the address say."""

from __future__ import annotations

import pytest

from tenax.parse.head import read_head
from tenax.parse.hints import MIN_BODY_CHARS, Hints, hints_of
from tenax.parse.html import Dom

LONG = "The ferry was late. " * (MIN_BODY_CHARS // 20 + 1)


def hints(html: str, url: str | None = None) -> Hints:
    return hints_of(read_head(Dom(html)), url)


def ld(text: str) -> str:
    return f"<script type=application/ld+json>{text}</script>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", Hints()),
        ("<title> A \n page </title>", Hints(title="A page")),
        ("<title>A page | Site</title><meta property=og:title content='A  page'>", Hints(title="A page")),
        ("<meta name=description content=about>", Hints(description="about")),
        ("<meta property=og:description content=og>", Hints(description="og")),
        ("<meta property=og:type content=Article>", Hints(og_type="article")),
        (ld('{"@type": "NewsArticle", "author": {"@type":"Person"}}'), Hints(ld_types="NewsArticle Person")),
        (ld('{"@type": "WebSite"}') + ld('{"@type": "Product"}'), Hints(ld_types="WebSite Product")),
        ('<script>{"@type": "Product"}</script>', Hints()),
        (ld('{"@type": broken "@type": "Thing"'), Hints(ld_types="Thing")),
    ],
)
def test_hints_of_the_head(html: str, expected: Hints) -> None:
    assert hints(html) == expected


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (LONG, " ".join(LONG.lower().split())),
        (LONG.replace(". ", ".\\n\\t"), " ".join(LONG.lower().split())),
        (LONG.replace(". ", ".\n"), " ".join(LONG.lower().split())),  # a raw line break is not JSON, but common
        (LONG + "\\u00c9", " ".join(LONG.lower().split()) + " é"),
        (LONG + 'she said \\"no\\"', " ".join(LONG.lower().split()) + ' she said "no"'),
        ("A teaser.", ""),
        (LONG + "\\x", ""),
        (LONG + "\\ud800", ""),
    ],
    ids=["plain", "escaped breaks", "raw breaks", "escaped letter", "quotes", "short", "bad escape", "lone surrogate"],
)
def test_the_body_that_data_gives(text: str, body: str) -> None:
    assert hints(ld(f'{{"@type": "Article", "articleBody" : "{text}"}}')).body == body


def test_a_body_without_an_end_is_none() -> None:
    assert hints(ld('{"articleBody": "' + LONG)).body == ""


@pytest.mark.parametrize(
    ("url", "path", "query"),
    [
        (None, "/", ""),
        ("https://h.example", "/", ""),
        ("https://h.example/a/b-c?x=1&y#z", "/a/b-c", "x=1&y"),
    ],
)
def test_hints_of_the_address(url: str | None, path: str, query: str) -> None:
    found = hints("", url)
    assert (found.path, found.query) == (path, query)
