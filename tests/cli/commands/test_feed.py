"""`tenax feed` as a person sees it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.listing import Listing
from tests.site.hostile import moves, serves
from tests.site.server import Site

RSS = """<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>Harbour Post</title>
<item><title>The key of the ferry</title><link>/key</link><guid isPermaLink="false">no-1</guid>
  <pubDate>Thu, 01 Jan 2026 10:30:00 GMT</pubDate></item>
<item><title>Ropes &lt;i&gt;and&lt;/i&gt; tides \x9b2J</title><link>/ropes</link>
  <pubDate>Fri, 02 Jan 2026 00:00:00 GMT</pubDate></item>
</channel></rss>""".encode()
BROKEN = b"""<rss><channel><title>Fish & chips</title><atom:link rel="next" href="/older.xml"/>
<item><title>Nowhere</title></item></channel></rss>"""
BASED = b"""<rss xml:base="file:///etc/"><channel><title>T</title><link>file:///</link>
<item><title>One</title><guid>passwd</guid></item><item><title>Two</title><link>file:///etc/shadow</link></item>
</channel></rss>"""
ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title></feed>'
PAGE = b"""<!doctype html><html><head><title>Harbour Post</title><base href="/blog/">
<link rel="alternate" type="application/rss+xml" href="../feed.xml"><link rel="alternate" href="/de">
<link rel="alternate" type="application/atom+xml" href="atom.xml"></head><body><p>Welcome to the harbour.</p>"""

BEHAVIOURS = {
    "/robots.txt": serves(b"User-agent: *\nDisallow: /closed", "text/plain"),
    "/feed.xml": serves(RSS, "application/rss+xml"),
    "/based.xml": serves(BASED, "text/xml"),
    "/broken.xml": serves(BROKEN, "text/xml"),
    "/moved.xml": moves("/feed.xml"),
    "/": serves(PAGE),
    "/blog/atom.xml": serves(ATOM, "application/atom+xml"),
    "/plain": serves(b"<!doctype html><title>Plain</title><p>A page without a feed."),
    "/names-nothing": serves(b'<!doctype html><link rel=alternate type=application/rss+xml href="/missing">'),
    "/names-a-page": serves(b'<!doctype html><link rel=alternate type=application/rss+xml href="/plain">'),
    "/data": serves(b'{"version": "https://jsonfeed.org/version/1", "items": 5}', "application/json"),
    "/picture": serves(b"\x89PNG\r\n\x1a\n and so on", "image/png"),
    "/closed": serves(RSS, "application/rss+xml"),
    "/missing": serves(b"no", status="404 Not Found"),
    "/away": serves(b"no", status="503 Service Unavailable"),
}


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Listing:
    return Listing("feed", tmp_path, monkeypatch, capsys)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(BEHAVIOURS) as site:
        yield site


# ---- what is shown ----------------------------------------------------------------------------------------


async def test_a_table(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/feed.xml"))
    head, about, *rows = result.out.splitlines()
    assert (result.code, result.err) == (0, "2 entries\n")
    assert (head, about) == (site.url("/feed.xml"), "  “Harbour Post”, rss 2.0")
    assert [row.split() for row in rows] == [
        ["2026-01-01", "10:30", "The", "key", "of", "the", "ferry", site.url("/key")],
        ["2026-01-02", "Ropes", "and", "tides", "›2J", site.url("/ropes")],
    ]
    assert len({row.index("http") for row in rows}) == 1, "links stand below each other"
    assert [hit.path for hit in site.hits] == ["/robots.txt", "/feed.xml"], "as politely as a crawl"


async def test_json_lines(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/feed.xml"), "--json")
    assert (result.code, result.err) == (0, "2 entries\n")
    first, second = map(json.loads, result.out.splitlines())
    assert first == {
        "link": site.url("/key"),
        "feed": site.url("/feed.xml"),
        "id": "no-1",
        "title": "The key of the ferry",
        "published": 1_767_263_400.0,
    }
    assert second["title"] == "Ropes and tides ›2J"


async def test_no_link_leads_to_a_file_of_ours(site: Site, feed: Listing) -> None:
    for more in ((), ("--json",)):
        result = await feed(site.url("/based.xml"), *more)
        assert result.code == 0
        assert "file:" not in result.out + result.err
        assert site.url("/passwd") in result.out


async def test_a_limit(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/feed.xml"), "--limit", "1", "--json")
    assert (result.code, result.err) == (0, "1 of 2 entries\n")
    assert [json.loads(line)["title"] for line in result.out.splitlines()] == ["The key of the ferry"]


async def test_problems_and_older_entries_are_told(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/broken.xml"))
    assert result.code == 0
    assert "  “Fish & chips”, rss" in result.out.splitlines()
    assert result.err.splitlines() == [
        "1 entry; 2 problems:",
        "  not well-formed: invalid token in line 1",
        "  1 entry without a link",
        f"older entries: tenax feed {site.url('/older.xml')}",
    ]


# ---- where it comes from ----------------------------------------------------------------------------------


async def test_the_feed_that_a_page_names(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/"))
    assert result.out.splitlines()[0] == site.url("/feed.xml")
    assert (result.code, result.err.splitlines()) == (
        0,
        [
            "2 entries",
            f"read {site.url('/feed.xml')}, linked from {site.url('/')}",
            "the page links to more feeds:",
            f"  {site.url('/blog/atom.xml')}",
        ],
    )


async def test_a_redirect_is_followed(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/moved.xml"))
    assert (result.code, result.out.splitlines()[0]) == (0, site.url("/feed.xml"))


async def test_a_feed_without_entries(site: Site, feed: Listing) -> None:
    result = await feed(site.url("/blog/atom.xml"))
    assert (result.code, result.err) == (0, "0 entries\n")
    assert result.out.splitlines()[1] == "  “Tides”, atom 1.0"


ENDS = [
    ("/plain", "/plain", 2, "neither a feed nor a page that links to one"),
    ("/picture", "/picture", 2, "neither a feed nor a page that links to one"),
    ("/missing", "/missing", 2, "not found: HTTP 404"),
    ("/names-nothing", "/missing", 2, "not found: HTTP 404"),
    ("/names-a-page", "/plain", 2, "not a feed"),
    ("/data", "/data", 2, "JSON, but not a JSON Feed"),
    ("/closed", "/closed", 3, "not fetched: "),
    ("/away", "/away", 3, "503"),
]


@pytest.mark.parametrize(("path", "named", "code", "complaint"), ENDS, ids=[path for path, *_ in ENDS])
async def test_a_url_without_a_feed_is_one_line(
    site: Site, feed: Listing, path: str, named: str, code: int, complaint: str
) -> None:
    result = await feed(site.url(path))
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"tenax: {site.url(named)}: ")
    assert result.err.count("\n") == 1
    assert complaint in result.err


@pytest.mark.parametrize(
    "arguments",
    [("ftp://example.org/feed",), ("http://a.example/", "--limit", "0"), ("http://a.example/", "--limit", "x")],
)
async def test_what_cannot_be_asked_for(feed: Listing, arguments: tuple[str, ...]) -> None:
    result = await feed(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err
