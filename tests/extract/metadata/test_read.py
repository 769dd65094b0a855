"""Metadata of a page, safe to display."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.html.head import parse_robots_hints
from tenax.extract.metadata.read import Metadata, clean_text, normalize_language, read_metadata


def ld(node: object) -> str:
    return f"<script type=application/ld+json>{json.dumps(node)}</script>"


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
def test_normalize_language(tag: str, normal: str | None) -> None:
    assert normalize_language(tag) == normal


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
    assert parse_robots_hints(metas, header) == expected


def test_robots_hints_of_a_page() -> None:
    page = about("<meta name=Robots content=noindex><meta name=tenax content=nofollow>")
    assert (page.is_noindex, page.is_nofollow) == (True, True)


NOW = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
URL = "https://www.h.example/2025/08/25/story"


def metadata_of(html: str, url: str | None = None) -> Metadata:
    return read_metadata(Dom(html), url=url, now=NOW)


@pytest.mark.parametrize(
    ("html", "authors"),
    [
        ("<meta name=author content='Ann Lee'>", ("Ann Lee",)),
        ("<meta name=author content='Bo Ek'>" + ld({"@type": "Article", "author": {"name": "Ann Lee"}}), ("Ann Lee",)),
        ("<meta name=dc.creator content='Lee, Ann'><meta name=dc.creator content='Ek, Bo'>", ("Ann Lee", "Bo Ek")),
        ("<meta property=og:site_name content=Us><meta name=author content=Us><a rel=author>Ann Lee</a>", ("Ann Lee",)),
        ("<meta name=twitter:label1 content='Written by'><meta name=twitter:data1 content='Ann Lee'>", ("Ann Lee",)),
        ("<meta name=author content='https://h/ann'><p class=c-byline>By <a>Ann Lee</a> for us</p>", ("Ann Lee",)),
        ("<div itemprop=author><img><span itemprop=name>Ann Lee</span><p>Writes.</p></div>", ("Ann Lee",)),
        ("<div class=comments><b class=author>Ann Lee</b></div>", ()),
        ("<title>A story</title><h1>A story</h1><p>By Ann Lee</p><p>Text.</p>", ("Ann Lee",)),
        ("<a class=author>Share</a>", ()),
        ("<meta name=author content='a&#27;[31mnn Lee'>", ("ann Lee",)),
    ],
)  # fmt: skip
def test_authors(html: str, authors: tuple[str, ...]) -> None:
    assert metadata_of(html).authors == authors


@pytest.mark.parametrize(
    ("html", "url", "published"),
    [
        ("<meta property=article:published_time content=2025-08-24T10:00:00Z>", None, "2025-08-24T10:00:00+00:00"),
        ("<meta property=article:published_time content=2025-08-26T02:00:00Z>", URL, "2025-08-25"),
        ("<meta property=article:published_time content=2025-01-02>", URL, "2025-01-02"),
        ("<meta property=article:published_time content=2031-01-02>", None, None),
        (ld({"@type": "Article", "datePublished": "2025-08-24"}), None, "2025-08-24"),
        ("<time datetime=2025-08-24>yesterday</time>", None, "2025-08-24"),
        ("<time datetime=2025-08-24>yesterday</time>", URL, "2025-08-25"),
        ("<aside class=related-posts><time datetime=2025-08-24></time></aside>", None, None),
        ("<time datetime=2025-08-24></time><i itemprop=datePublished content=2025-08-23></i>", None, "2025-08-23"),
        ("<title>A story</title><h1>A story</h1><p>Ann · August 24, 2025</p>", None, "2025-08-24"),
        ("<p>August 24, 2025</p>", None, "2025-08-24"),
        ("".join(f"<p>August {day}, 2025</p>" for day in range(1, 9)), None, None),
        ("<html lang=en-GB><p class=date>3/4/2025</p>", None, "2025-04-03"),
        ("<html lang=en-US><p class=date>3/4/2025</p>", None, "2025-03-04"),
        ("<script>x = {'publishedAt': '2025-08-24T10:00'}</script>", None, "2025-08-24T10:00:00"),
        ("<meta name=last-modified content=2025-08-24>", None, "2025-08-24"),
    ],
)  # fmt: skip
def test_published(html: str, url: str | None, published: str | None) -> None:
    assert metadata_of(html, url).published == published


def test_local_day_wins_over_the_day_in_utc() -> None:
    meta = "<meta property=article:published_time content=2025-08-24T{}:00:00Z>"
    page = "<title>A story</title><h1>A story</h1><p>25 August 2025</p>"
    assert metadata_of(meta.format(22) + page).published == "2025-08-25"
    assert metadata_of(meta.format(12) + page).published == "2025-08-24T12:00:00+00:00"


def test_no_dates_without_now() -> None:
    assert about("<meta property=article:published_time content=2025-08-24>").published is None


def test_document_title_is_complete() -> None:
    page = metadata_of("<title>A story | Site</title><h1>A story</h1>")
    assert (page.title, page.document_title) == ("A story", "A story | Site")
    assert metadata_of("<meta property=og:title content=Og><h1>H</h1>").document_title == "Og"
    assert metadata_of("<h1>H</h1>").document_title == "H"


def test_other_fields() -> None:
    page = metadata_of(
        "<meta property=og:site_name content='The Site'><meta property=og:image content=/a.jpg>"
        "<meta property=article:section content=World><meta name=keywords content='a, b,a'>"
        "<meta property=article:modified_time content=2025-08-24>"
    )
    assert (page.site_name, page.image, page.section, page.keywords) == ("The Site", "/a.jpg", "World", ("a", "b"))
    assert (page.modified, page.published) == ("2025-08-24", "2025-08-24")


@pytest.mark.parametrize(
    "html",
    [
        "<meta name=author content=x>" * 100_000,
        "".join(f"<meta name=n{number} content=x>" for number in range(50_000)),
        "<time class=date>x 1 </time>" * 20_000,
        "<b class=author itemprop=author>" * 300 + "Share",
        "<h1>" + "by " * 300_000,
        "<script>" + "ublish" * 500_000 + "</script>",
    ],
    ids=["metas", "names", "times", "authors", "heading", "script"],
)
def test_hostile_pages_have_no_metadata(html: str) -> None:
    page = metadata_of(html, URL)
    assert (page.authors, page.published) == ((), "2025-08-25")


def test_clean_text_is_fast_on_long_text() -> None:
    assert clean_text("\x1b[" * 5_000_000, 10) == ""
