"""What a page says about itself, made safe to show."""

from __future__ import annotations

import pytest

from tenax.model import PageKind
from tenax.parse.html import Dom
from tenax.parse.metadata import Metadata, normal_language, read_metadata, robots_hints, shown

PARAGRAPH = "<p>" + "words of some length " * 12 + "</p>"


def about(html: str) -> Metadata:
    return read_metadata(Dom(html))


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("", ""),
        ("<title> A \n title </title>", "A title"),
        ("<title></title><meta property=og:title content=Og><h1>H</h1>", "Og"),
        ("<h1>The <b>head</b>ing</h1>", "The heading"),
        ("<svg><title>icon</title></svg><h1>H</h1>", "H"),
        ("<body><svg><title>icon</title></svg><title>T</title><h1>H</h1>", "T"),
        ("<title>a&#27;[31mb&#27;]0;x&#7;c</title>", "abc"),
        ("<title>a\u202eb\u2066c\u200fd\ufeff</title>", "abcd"),
        ("<title>&lt;script&gt;alert('x')&lt;/script&gt;</title>", "<script>alert('x')</script>"),
        ("<title>a\x08b\x7fc\x00</title>", "abc\ufffd"),
        ("<title>" + "x" * 5000 + "</title>", "x" * 1000),
        ("<title>a &amp; b é 日本</title>", "a & b é 日本"),
        ("<head><noscript><img></noscript><title>late</title>", "late"),
    ],
)
def test_title(html: str, title: str) -> None:
    assert about(html).title == title


@pytest.mark.parametrize(
    ("html", "description"),
    [
        ("", ""),
        ("<meta name=description content=' a  b '>", "a b"),
        ("<META NAME=Description CONTENT=x>", "x"),
        ("<meta name=description content=''><meta property=og:description content=og>", "og"),
        ("<meta property=og:description content=og><meta name=description content=d>", "d"),
        ("<meta name=description content=a><meta name=description content=b>", "a"),
        (f"<meta name=description content={'x' * 9000}>", "x" * 5000),
    ],
)
def test_description(html: str, description: str) -> None:
    assert about(html).description == description


@pytest.mark.parametrize(
    ("html", "canonical"),
    [
        ("", None),
        ("<link rel=canonical href=' /x '>", "/x"),
        ("<link rel=CANONICAL href=https://h/x>", "https://h/x"),
        ("<link rel=canonical href=''>", None),
        ("<link rel=canonical href=javascript:x>", None),
    ],
)
def test_canonical(html: str, canonical: str | None) -> None:
    assert about(html).canonical == canonical


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ("<html lang=EN>", "en"),
        ("<html lang=en_gb>", "en-GB"),
        ("<html xml:lang=fr>", "fr"),
        ("<html lang=''><meta http-equiv=content-language content='de-at, en'>", "de-AT"),
        ("<meta name=language content=it>", "it"),
        ("<html lang='{{lang}}'>", None),
        ("", None),
    ],
)
def test_language(html: str, language: str | None) -> None:
    assert about(html).language == language


@pytest.mark.parametrize(
    ("tag", "normal"),
    [
        ("zh-hant-tw", "zh-Hant-TW"), ("es-419", "es-419"), ("en-US-x-private", "en-US"), ("x-default", None),
        ("english", None), ("", None), ("-", None), ("sr-Latn", "sr-Latn"), (" pt-br ", "pt-BR"),
    ],
)  # fmt: skip
def test_normal_language(tag: str, normal: str | None) -> None:
    assert normal_language(tag) == normal


@pytest.mark.parametrize(
    ("metas", "header", "expected"),
    [
        ([], None, (False, False)),
        ([("robots", "index, follow")], None, (False, False)),
        ([("robots", "NOINDEX")], None, (True, False)),
        ([("ROBOTS", "nofollow noindex")], None, (True, True)),
        ([("robots", "none")], None, (True, True)),
        ([("tenax", "nofollow")], None, (False, True)),
        ([("googlebot", "noindex")], None, (False, False)),
        ([("robots", "noindex")], "nofollow", (True, True)),
        ([], "noindex, nofollow", (True, True)),
        ([], "googlebot: noindex, nofollow", (False, False)),
        ([], "googlebot: noindex, tenax: nofollow", (False, True)),
        ([], "googlebot: noindex\nnofollow", (False, True)),
        ([], "Tenax: None", (True, True)),
        ([], "unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", (True, False)),
        ([], "max-snippet:10, noindex", (True, False)),
        ([], ",:,::", (False, False)),
    ],
)
def test_robots_hints(metas: list[tuple[str, str]], header: str | None, expected: tuple[bool, bool]) -> None:
    assert robots_hints(metas, header) == expected


def test_robots_of_a_page() -> None:
    page = about("<meta name=Robots content=noindex><meta name=tenax content=nofollow>")
    assert (page.is_noindex, page.is_nofollow) == (True, True)


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("", PageKind.PAGE),
        ("<meta property=og:type content=Article>", PageKind.ARTICLE),
        ("<meta property=og:type content=website>", PageKind.PAGE),
        ('<script type=application/ld+json>{"@type": "NewsArticle"}</script>', PageKind.ARTICLE),
        ('<script type=application/ld+json>{"@type":["Thing","BlogPosting"]}</script>', PageKind.ARTICLE),
        ('<script type=application/ld+json>{"@type":"https://schema.org/Article"}</script>', PageKind.ARTICLE),
        ('<script type=application/ld+json>{"@type":"JobPosting"}</script>', PageKind.PAGE),
        ('<script type=application/ld+json>{"@type":"Product"}</script>', PageKind.PAGE),
        ('<script>{"@type": "NewsArticle"}</script>', PageKind.PAGE),
        (f"<article>{PARAGRAPH * 3}</article>", PageKind.ARTICLE),
        (f"<article>{PARAGRAPH}</article>" * 5, PageKind.PAGE),
        ("<article>" + "<p>few</p>" * 9 + "</article>", PageKind.PAGE),
        (PARAGRAPH * 9, PageKind.PAGE),
    ],
)
def test_kind(html: str, kind: PageKind) -> None:
    assert about(html).kind == kind


def test_shown_is_quick_on_endless_text() -> None:
    assert shown("\x1b[" * 5_000_000, 10) == ""
