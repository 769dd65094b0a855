"""Pages that no link leads to, found by the program; and pages that are kept fresh until it is stopped."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, Ended, ended, in_one_process, page_lines, start, status, tenax, until
from tests.site.hostile import page, serves
from tests.site.server import Behaviour, Exchange, Site

HURRIED = ("--rate", "0", *INLINE)
STORIES = ("by-link", "by-sitemap", "by-old-sitemap", "by-feed", *(f"page{n}-{m}" for n in (1, 2, 3) for m in "abc"))
ALTERNATE = '<link rel="alternate" type="application/atom+xml" href="/news.atom">'


def story(name: str) -> Behaviour:
    words = " ".join(f"{name} number {number}" for number in range(60))
    return serves(page(name, words=words))


async def news(exchange: Exchange) -> None:
    """Three pages of a list; only the first is linked, and there is no fourth."""
    number = int(exchange.path.partition("?page=")[2] or 1)
    if number > 3:
        await exchange.answer(b"no such page", "404 Not Found")
        return
    rows = "".join(f'<li><a href="/page{number}-{name}">A story, told on page {number}</a></li>' for name in "abc")
    body = f"<!doctype html><title>News</title><h1>News</h1><ul>{rows}</ul>".encode()
    await exchange.answer(body, headers={"Content-Type": "text/html"})


def xml(text: str) -> Behaviour:
    return serves(text.encode(), "application/xml")


def behaviours() -> dict[str, Behaviour]:
    home = page("Home", ["/by-link", "/news"]).replace(b"<title>", ALTERNATE.encode() + b"<title>", 1)
    return {
        "/robots.txt": serves(b"User-agent: *\nDisallow: /closed\nSitemap: /index.xml\n", "text/plain"),
        "/index.xml": xml(
            "<sitemapindex><sitemap><loc>/new.xml</loc></sitemap><sitemap><loc>/old.xml.gz</loc></sitemap>"
            "</sitemapindex>"
        ),
        "/new.xml": xml("<urlset><url><loc>/by-sitemap</loc></url><url><loc>/closed</loc></url></urlset>"),
        "/old.xml.gz": serves(
            gzip.compress(b"<urlset><url><loc>/by-old-sitemap</loc></url></urlset>"), "application/x-gzip"
        ),
        "/news.atom": xml(
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>n</title>"
            "<entry><id>1</id><title>t</title><link href='/by-feed'/></entry></feed>"
        ),
        "/": serves(home),
        "/news": news,
        **{f"/{name}": story(name) for name in STORIES},
    }


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(behaviours()) as running:
        yield running


async def crawl(site: Site, out: Path, *options: str) -> Ended:
    done = await asyncio.to_thread(tenax, "crawl", site.origin, *HURRIED, *options, "--dir", out)
    assert done.code == 0, done.err
    return done


def stored(site: Site, out: Path) -> set[str]:
    return {line["url"].removeprefix(site.origin) for line in page_lines(out)}


async def test_what_no_link_leads_to_is_found_and_its_source_is_told(site: Site, tmp_path: Path) -> None:
    done = await crawl(site, tmp_path, "--discover", "links,sitemaps,feeds,archives,pagination")
    assert {f"/{name}" for name in STORIES} <= stored(site, tmp_path)
    assert not [url for url in stored(site, tmp_path) if "xml" in url or "atom" in url], "a sitemap is no page"
    assert "/closed" not in [hit.path for hit in site.hits]
    found = await asyncio.to_thread(status, tmp_path)
    assert {name: found["found"][name] for name in ("seed", "sitemap", "feed")} == {"seed": 1, "sitemap": 3, "feed": 1}
    assert found["found"]["pagination"] >= 3
    assert re.search(r"found +1 seed, \d+ by links, 3 by sitemaps, 1 by a feed", done.out)
    assert "guesses" in done.out
    sources = {
        "/by-sitemap": ("sitemap", "/new.xml"),
        "/by-old-sitemap": ("sitemap", "/old.xml.gz"),
        "/by-feed": ("feed", "/news.atom"),
        "/news?page=3": ("guessed as the next page", "/news?page=2"),
        "/page3-a": ("link", "/news?page=3"),
        "/old.xml.gz": ("sitemap", "/index.xml"),
    }
    explained = await asyncio.to_thread(
        in_one_process, *(("explain", site.url(path), "--dir", tmp_path) for path in sources)
    )
    for (source, via), explanation in zip(sources.values(), explained, strict=True):
        [line] = [line for line in explanation.splitlines() if re.search(r":\d\d +found +", line)]
        assert source in line
        assert line.endswith(site.url(via))


async def test_a_site_of_ones_own_is_asked_for_nothing_that_it_does_not_name(site: Site, tmp_path: Path) -> None:
    """Without a rate limit, a 404 in the log of the site is a broken link, never a guess."""
    await crawl(site, tmp_path)
    lists = {"/index.xml", "/new.xml", "/old.xml.gz", "/news.atom"}
    linked = {f"/{name}" for name in STORIES if not name.startswith(("page2", "page3"))}
    assert {hit.path for hit in site.hits} == {"/robots.txt", "/", "/news", *lists, *linked}
    explained = await asyncio.to_thread(tenax, "explain", site.origin, "--dir", tmp_path)
    assert "✗ off: its rate is unlimited" in " ".join(explained.out.split())


async def test_a_site_that_is_no_news_site_is_asked_for_nothing_that_it_does_not_name(tmp_path: Path) -> None:
    paths = [f"/manual/chapter-{number}" for number in range(12)]
    pages = {path: story(path.strip("/").replace("/", " ")) for path in paths}
    async with Site({"/": serves(page("A manual", paths)), **pages}) as site:
        done = await asyncio.to_thread(tenax, "crawl", site.origin, "--rate", "1000", *INLINE, "--dir", tmp_path)
        assert done.code == 0, done.err
        assert {hit.path for hit in site.hits} == {"/robots.txt", "/sitemap.xml", "/", *paths}
        explained = await asyncio.to_thread(tenax, "explain", site.origin, "--dir", tmp_path)
    assert "✗ off: too few signs of a news site or a blog: mostly articles; `discovery.guesses =" in " ".join(
        explained.out.split()
    )


SECTIONS = ("news", "sport", "culture")
TODAY = datetime.now(UTC).date()
LAST_YEAR = TODAY.year - 1
OLD = {"/archive": range(7), f"/{LAST_YEAR}/": range(7, 14), f"/news/{LAST_YEAR}/": range(14, 20)}


async def listed(exchange: Exchange) -> None:
    """The home page, archives, and lists of three pages each, of which the first is linked."""
    path, _, number = exchange.path.partition("?page=")
    if int(number or 1) > 3:
        await exchange.answer(b"no such page", "404 Not Found")
        return
    rows = [f"/{section}/" for section in SECTIONS]
    if path in OLD:
        rows = [f"/news/old-{name}" for name in OLD[path]]
    elif path != "/":
        rows = [f"{path}{name}-{number or 1}" for name in "abcdefghij"]
    links = "".join(f'<li><a href="{row}">A story of {row.strip("/")} for everyone</a></li>' for row in rows)
    body = f"<!doctype html><title>The Paper {path}</title><h1>The Paper</h1><ul>{links}</ul>"
    await exchange.answer(body.encode(), headers={"Content-Type": "text/html"})


def dated_story(name: str) -> Behaviour:
    date = f'<meta property="og:type" content="article"><meta property="article:published_time" content="{TODAY}">'
    words = " ".join(f"{name} has a word, and this is number {word} of them." for word in range(40))
    text = f"<!doctype html><title>{name}</title>{date}<article><h1>{name}</h1><p>{words}</p></article>"
    return serves(text.encode())


def paper() -> dict[str, Behaviour]:
    """About 120 pages, 20 of them in archives only."""
    paths = [f"/{section}/{name}-{number}" for section in SECTIONS for name in "abcdefghij" for number in (1, 2, 3)]
    paths += [f"/news/old-{number}" for number in range(20)]
    lists = ["/", *OLD, *(f"/{section}/" for section in SECTIONS)]
    return {path: dated_story(path.strip("/").replace("/", " ")) for path in paths} | dict.fromkeys(lists, listed)


async def test_archives_of_a_small_news_site_are_found_beside_its_lists(tmp_path: Path) -> None:
    async with Site(paper()) as site:
        done = await asyncio.to_thread(
            tenax, "crawl", site.origin, "--rate", "1000", *INLINE, "--per-host", "4", "--dir", tmp_path
        )
        assert done.code == 0, done.err
        assert paper().keys() <= stored(site, tmp_path)
        asked_of_all = ("/robots.txt", "/sitemap.xml")
        missing = [hit.path for hit in site.hits if hit.path.partition("?")[0] not in (*paper(), *asked_of_all)]
        assert len(missing) <= 0.12 * len(site.hits), missing
        explained = await asyncio.to_thread(tenax, "explain", site.origin, "--dir", tmp_path)
        assert "✓ on: it looks like a news site or a blog (articles with dates" in " ".join(explained.out.split())


@pytest.mark.parametrize(
    ("sources", "paths"),
    [("links", {"/", "/by-link", "/news", "/page1-a", "/page1-b", "/page1-c"}), ("none", {"/"})],
)
async def test_only_what_is_wanted_is_asked_for(site: Site, tmp_path: Path, sources: str, paths: set[str]) -> None:
    await crawl(site, tmp_path, "--discover", sources)
    assert stored(site, tmp_path) == paths
    assert {hit.path for hit in site.hits} == {"/robots.txt", *paths}


async def test_an_unknown_way_is_a_mistake_that_is_told(tmp_path: Path) -> None:
    done = await asyncio.to_thread(tenax, "crawl", "http://127.0.0.1:9/", "--discover", "magic", "--dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "magic" in done.err


async def test_pages_are_kept_fresh_until_it_is_stopped_and_after_it_goes_on(tmp_path: Path) -> None:
    """Bounds of a second make days of it; a page that changed is written again, one that did not is not."""
    versions = iter(range(1_000_000))

    async def lively(exchange: Exchange) -> None:
        version = next(versions)
        words = " ".join(f"version{version} word{version * 1000 + number}" for number in range(60))
        await exchange.answer(page("Lively", words=words), headers={"Content-Type": "text/html"})

    options = (
        *HURRIED, "--discover", "links", "--continuous", "--set", "recrawl.min_interval_seconds=1",
        "--set", "recrawl.max_interval_seconds=1", "--dir", tmp_path,
    )  # fmt: skip
    async with Site({"/": serves(page("Home", ["/lively"])), "/lively": lively}) as site:

        def asked() -> int:
            return sum(hit.path == "/lively" for hit in site.hits)

        for round_ in (1, 2):
            before = asked()
            process = start("crawl", *([site.origin, *options] if round_ == 1 else ["--dir", str(tmp_path)]))
            await asyncio.to_thread(
                until,
                lambda before=before, process=process: process.poll() is not None or asked() >= before + 3,
                "visits",
            )
            assert process.poll() is None, "it never ends by itself"
            os.killpg(process.pid, signal.SIGINT)
            stopped = await asyncio.to_thread(ended, process)
            assert stopped.code == 130, stopped.err
            assert f"Resume with:  python -m tenax crawl --dir {tmp_path}" in stopped.out
            assert ("resuming:" in stopped.err) is (round_ == 2)
            assert ("kept from the last run: --discover links --continuous" in stopped.err) is (round_ == 2)
        urls = [line["url"] for line in page_lines(tmp_path)]
        assert urls.count(site.url("/lively")) >= 4
        assert urls.count(site.url("/")) == 1
        table, as_json = await asyncio.to_thread(
            in_one_process,
            ("status", "--schedule", "--dir", tmp_path),
            ("status", "--schedule", "1", "--json", "--dir", tmp_path),
        )
    assert re.search(r"changed in \d+ of \d+ visits, about every", table)
    assert site.url("/lively") in table
    schedule = json.loads(as_json)
    assert sum(schedule["due_within"].values()) == 2
    assert len(schedule["tasks"]) == 1


async def test_what_ends_and_what_never_does_are_not_asked_for_together(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        tenax, "crawl", "http://127.0.0.1:9/", "--continuous", "--max-pages", "3", "--dir", tmp_path
    )
    assert done.code == 2
    assert "--max-pages ends a crawl and --continuous never does" in done.err
