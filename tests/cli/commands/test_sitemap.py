"""`tenax sitemap` as a person sees it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.listing import Listing
from tests.site.hostile import moves, serves
from tests.site.server import Behaviour, Exchange, Site

XML = "application/xml"


def xml(text: str) -> Behaviour:
    return serves(text.encode(), XML)


def urlset(*paths: str) -> Behaviour:
    return xml(f"<urlset>{''.join(f'<url><loc>{path}</loc></url>' for path in paths)}</urlset>")


def index(*paths: str) -> Behaviour:
    return xml(f"<sitemapindex>{''.join(f'<sitemap><loc>{path}</loc></sitemap>' for path in paths)}</sitemapindex>")


async def gone(exchange: Exchange) -> None:
    exchange.reset()


NEWS = """<urlset xmlns:n="news"><url><loc>/one?utm_source=x</loc><lastmod>2026-01-31</lastmod>
<changefreq>daily</changefreq><priority>0.5</priority><link rel="alternate" hreflang="de" href="/eins"/>
<n:news><n:title>The ferry</n:title><n:publication_date>2026-01-30T12:00:00Z</n:publication_date></n:news></url>
<url><loc>/two</loc><lastmod>2026-01-31T12:34:00+01:00</lastmod></url></urlset>"""

BEHAVIOURS: dict[str, Behaviour] = {
    "/robots.txt": serves(b"User-agent: *\nDisallow: /closed\nSitemap: /all.xml\nSitemap: /news.xml", "text/plain"),
    "/all.xml": index("/a.xml.gz", "/all.xml", "/missing.xml", "/closed.xml", "/nested.xml", "/news.xml"),
    "/nested.xml": index("/all.xml", "/moved.xml"),
    "/a.xml.gz": serves(gzip.compress(b"<urlset><url><loc>/a</loc></url><url><loc>http://[</loc></url></urlset>"), XML),
    "/moved.xml": moves("/b.txt"),
    "/b.txt": lambda exchange: exchange.answer(f"http://{exchange.headers['host']}/b\n".encode()),
    "/news.xml": xml(NEWS),
    "/closed.xml": urlset("/secret"),
    "/broken.xml": xml("<urlset><url><loc>/a</loc></url>\n<url></urlset>"),
    "/many.xml": urlset(*(f"/{number}" for number in range(500))),
    "/none.xml": urlset(),
    "/self.xml": index("/self.xml"),
    "/page": serves(b"<!doctype html><title>A page</title><p>Words"),
    "/empty.xml": serves(b"", XML),
    "/strange.xml": urlset("/\u202e\u009b31m"),
    "/gone.xml": gone,
    "/elsewhere.xml": index("http://127.0.0.2:9/sitemap.xml", "http://localhost/sitemap.xml"),
}


@pytest.fixture
def sitemap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Listing:
    return Listing("sitemap", tmp_path, monkeypatch, capsys)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(BEHAVIOURS) as site:
        yield site


async def test_all_of_a_site_each_sitemap_once_and_in_order(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.origin)
    assert result.code == 0
    assert result.out.splitlines() == [
        f"{site.url('/news.xml')}, listed in {site.url('/robots.txt')}",
        f"  2026-01-31        {site.url('/one')}",
        f"  2026-01-31 11:34  {site.url('/two')}",
        f"{site.url('/a.xml.gz')}, listed in {site.url('/all.xml')}",
        f"                    {site.url('/a')}",
        f"{site.url('/b.txt')}, listed in {site.url('/nested.xml')}",
        f"                    {site.url('/b')}",
    ]
    assert result.err.splitlines() == [
        "4 URLs in 5 sitemaps; 3 problems:",
        f"  {site.url('/missing.xml')}: failed, not found: HTTP 404",
        f"  {site.url('/closed.xml')}: not fetched: {site.origin}/robots.txt does not allow it",
        f"  {site.url('/a.xml.gz')}: it has 1 invalid URL",
    ]
    asked = ["/robots.txt", "/all.xml", "/news.xml", "/a.xml.gz", "/missing.xml", "/nested.xml", "/moved.xml", "/b.txt"]
    assert [hit.path for hit in site.hits] == asked, "as politely as a crawl"


async def test_json_lines(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.url("/news.xml"), "--json")
    first, second = map(json.loads, result.out.splitlines())
    assert first == {
        "url": site.url("/one"),
        "sitemap": site.url("/news.xml"),
        "lastmod": 1769817600.0,
        "changefreq": "daily",
        "priority": 0.5,
        "alternates": [site.url("/eins")],
        "title": "The ferry",
        "published": 1769774400.0,
    }
    assert second == {"url": site.url("/two"), "sitemap": site.url("/news.xml"), "lastmod": 1769859240.0}
    assert (result.code, result.err) == (0, "2 URLs in 1 sitemap\n")


async def test_the_usual_place_where_robots_txt_names_none(sitemap: Listing) -> None:
    async with Site({"/sitemap.xml": urlset("/a")}) as site:
        result = await sitemap(site.origin, "--json")
        assert json.loads(result.out) == {"url": site.url("/a"), "sitemap": site.url("/sitemap.xml")}
        assert [hit.path for hit in site.hits] == ["/robots.txt", "/sitemap.xml"]


async def test_the_next_usual_place_where_the_first_has_none(sitemap: Listing) -> None:
    async with Site({"/sitemap_index.xml": index("/a.xml"), "/a.xml": urlset("/a")}) as site:
        result = await sitemap(site.origin, "--json")
        assert json.loads(result.out) == {"url": site.url("/a"), "sitemap": site.url("/a.xml")}
        assert [hit.path for hit in site.hits] == ["/robots.txt", "/sitemap.xml", "/sitemap_index.xml", "/a.xml"]


async def test_the_usual_place_where_those_named_are_none(sitemap: Listing) -> None:
    robots = serves(b"Sitemap: /old.xml\nSitemap: /page", "text/plain")
    behaviours = {"/robots.txt": robots, "/page": BEHAVIOURS["/page"], "/sitemap.xml": urlset("/a")}
    async with Site(behaviours) as site:
        result = await sitemap(site.origin)
        assert (result.code, result.out.splitlines()[1].strip()) == (0, site.url("/a"))
        assert result.err.startswith("1 URL in 1 sitemap; 2 problems:\n")


async def test_a_limit(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.url("/many.xml"), "--limit", "3")
    assert [line.strip() for line in result.out.splitlines()[1:]] == [site.url(f"/{number}") for number in range(3)]
    assert result.err == "3 URLs in 1 sitemap, stopped at --limit 3\n"
    await sitemap(site.origin, "--limit", "1")
    assert site.hits[-1].path == "/news.xml", "what is not wanted is not fetched"


async def test_sitemaps_beyond_the_limit_are_counted(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.origin, "--set", "discovery.max_sitemaps=3")
    assert "3 sitemaps not read: too many, or nested too deeply" in result.err
    assert len(site.hits) == 4


async def test_an_index_of_an_index_has_an_end(sitemap: Listing) -> None:
    deep = {f"/{depth}.xml": index(f"/{depth + 1}.xml") for depth in range(20)}
    async with Site(deep) as site:
        result = await sitemap(site.url("/0.xml"))
        assert result.err.splitlines() == [
            "0 URLs in 6 sitemaps; 1 problem:",
            "  1 sitemap not read: too many, or nested too deeply",
        ]


async def test_what_was_read_of_a_broken_one_is_shown(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.url("/broken.xml"))
    assert result.out.splitlines()[1].strip() == site.url("/a")
    assert result.err.splitlines() == [
        "1 URL in 1 sitemap; 1 problem:",
        f"  {site.url('/broken.xml')}: broken at line 2: mismatched tag",
    ]


@pytest.mark.parametrize("path", ["/none.xml", "/self.xml"])
async def test_an_empty_sitemap_is_no_mistake(site: Site, sitemap: Listing, path: str) -> None:
    result = await sitemap(site.url(path))
    assert (result.code, result.err) == (0, "0 URLs in 1 sitemap\n")


async def test_the_text_of_strangers_is_inert(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.url("/strange.xml"))
    assert result.out.splitlines()[1].strip() == site.url("/%E2%80%AE%C2%9B31m")
    assert (await sitemap(site.url("/strange.xml"), "--json")).out.isascii()


async def test_only_the_host_that_was_typed_may_be_private(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.url("/elsewhere.xml"))
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("0 URLs in 1 sitemap; 2 problems:\n")
    assert result.err.count("not fetched: ") == 2


async def test_progress_on_a_terminal(site: Site, sitemap: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    result = await sitemap(site.url("/news.xml"))
    assert f"\r\x1b[Ksitemap 1 of 1: {site.url('/news.xml')}\r\x1b[K" in result.err
    assert result.err.endswith("\r\x1b[K2 URLs in 1 sitemap\n")


ENDS = [
    ("/page", 2, "no sitemap found: {url}: an HTML page, not a sitemap; for all of the site: tenax sitemap {origin}/"),
    ("/missing.xml", 2, "no sitemap found: {url}: failed, not found: HTTP 404; for all of the site: "),
    ("/empty.xml", 2, "no sitemap found: {url}: rejected, not stored: empty; for all of the site: "),
    ("/closed.xml", 3, "{url}: not fetched: {origin}/robots.txt does not allow it"),
    ("/gone.xml", 3, "{url}: failed, connection closed: "),
]


@pytest.mark.parametrize(("path", "code", "complaint"), ENDS, ids=[path for path, *_ in ENDS])
async def test_nothing_found_is_one_line(site: Site, sitemap: Listing, path: str, code: int, complaint: str) -> None:
    result = await sitemap(site.url(path))
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("tenax: " + complaint.format(url=site.url(path), origin=site.origin))
    assert result.err.count("\n") == 1


async def test_a_site_without_any(sitemap: Listing) -> None:
    async with Site({}) as site:
        result = await sitemap(site.origin)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"tenax: no sitemap found: {site.url('/sitemap.xml')}: failed, not found: HTTP 404; "
        f"{site.url('/sitemap_index.xml')}: failed, not found: HTTP 404\n"
    )


async def test_a_site_whose_robots_txt_cannot_be_read(sitemap: Listing) -> None:
    broken = serves(b"oh no", "text/plain", "500 Internal Server Error")
    async with Site({"/robots.txt": broken, "/sitemap.xml": urlset("/a")}) as site:
        result = await sitemap(site.origin)
        assert (result.code, result.out) == (3, "")
        assert result.err.count("robots.txt unreachable") == 1
        assert {hit.path for hit in site.hits} == {"/robots.txt"}


async def test_a_site_that_cannot_be_asked(site: Site, sitemap: Listing) -> None:
    result = await sitemap(site.origin, "--proxy", "http://127.0.0.1:9")
    assert (result.code, result.out, site.hits) == (3, "", [])
    assert result.err.startswith(f"tenax: {site.url('/robots.txt')}: failed, proxy error: ")


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5"])
async def test_a_limit_is_a_number_from_1_on(sitemap: Listing, limit: str) -> None:
    result = await sitemap("example.org", f"--limit={limit}")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tenax: argument --limit: `{limit}` is not a number from 1")


async def test_what_is_no_url(sitemap: Listing) -> None:
    result = await sitemap("ftp://example.org/sitemap.xml")
    assert (result.code, result.out) == (2, "")
    assert "`ftp` is not a supported scheme" in result.err
