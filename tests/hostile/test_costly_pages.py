"""Pages written against parsers, and readers that die: neither holds up another host, and no page is lost."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
from pathlib import Path

import pytest

from tenax.model import Ending
from tests.crawl.reader.test_pool import MOST_KILLS, a_new_reader, until_it_reads
from tests.e2e.program import tenax
from tests.hostile.crawling import crawl
from tests.site.hostile import hub, page, serves
from tests.site.server import Behaviour, Site

ATTRIBUTES = b"".join(b"<html a%d=1 b%d=2 c%d=3>" % (n, n, n) for n in range(40_000))
COSTLY = {
    "/options": b"<svg>" + b"<option>" * 40_000 + b"</x>" * 40_000,
    "/closed": b"<svg><p>" + b"<div/>" * 290_000,
    "/rows": b"<table><tr><td>" + (b"<div>" * 400 + b"</tbody>") * 600,
    "/forms": (b"<form>" + b"<div>" * 201 + b"</form>") * 700,
    "/merged": ATTRIBUTES,
    "/ruby": b"<rt>" * 200_000,
}
SECONDS_OF_A_PAGE = 0.5
"""Less than the default, for what only ends when its time is used up."""
REASONS = {
    "/options": "too costly to read: elements nest more than 10,000 deep",
    "/merged": f"too costly to read: {SECONDS_OF_A_PAGE} s of CPU used up",
}


def packed(body: bytes) -> Behaviour:
    return serves(gzip.compress(body, mtime=0), Content_Encoding="gzip")


@pytest.mark.parametrize("processes", [0, 1])
async def test_six_small_pages_do_not_hold_up_another_host(tmp_path: Path, processes: int) -> None:
    """They are failed URLs with their reasons; the third of them begins a cooldown, so the others wait."""
    good = [f"/{number}" for number in range(60)]
    bad: dict[str, Behaviour] = {"/": hub(*COSTLY), **{path: packed(body) for path, body in COSTLY.items()}}
    async with (
        Site(bad) as hostile,
        Site({"/": hub(*good), **{path: serves(page(f"Page {path}")) for path in good}}, host="127.0.0.2") as kind,
    ):
        settings = {
            "pool.processes": processes,
            "politeness.connections_per_host": 1,
            "extract.max_cpu_seconds": SECONDS_OF_A_PAGE,
        }
        async with asyncio.timeout(300):
            done = await crawl([hostile.url("/"), kind.url("/")], tmp_path, settings)
        assert {path for path in good if kind.url(path) in done.pages} == set(good)
        causes = {url.removeprefix(hostile.origin): cause for url, cause in done.dead_letters.items()}
        host = await done.host(hostile.origin)
    assert done.ending is Ending.MAX_IDLE
    assert len(causes) == 3
    assert all(cause.startswith("too costly to read: ") for cause in causes.values())
    assert host.backoff_reason == "cooldown: 3 pages too costly to read in 60 min"
    assert done.status.waiting == 3


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize("path", REASONS)
async def test_a_costly_seed_is_a_failed_url_with_its_reason(tmp_path: Path, path: str, processes: int) -> None:
    async with Site({path: packed(COSTLY[path])}) as site:
        async with asyncio.timeout(300):
            settings = {"pool.processes": processes, "extract.max_cpu_seconds": SECONDS_OF_A_PAGE}
            done = await crawl([site.url(path)], tmp_path, settings)
    assert (done.pages, list(done.dead_letters)) == ({}, [site.url(path)])
    assert done.dead_letters[site.url(path)].startswith(REASONS[path])
    assert len(site.hits) == 2, "robots.txt and the page, once"


async def test_a_site_may_be_given_more_time(tmp_path: Path) -> None:
    async with Site({"/": packed(ATTRIBUTES[:150_000] + page("Slow"))}) as site:
        done = await crawl([site.url("/")], tmp_path / "a", {"extract.max_cpu_seconds": 0.001})
        assert done.dead_letters[site.url("/")].endswith("(`extract.max_cpu_seconds`)")
        done = await crawl([site.url("/")], tmp_path / "b", {"extract.max_cpu_seconds": 600.0})
        assert list(done.pages) == [site.url("/")]


async def test_readers_killed_from_outside_cost_no_seed(tmp_path: Path) -> None:
    """Up to six in a row, each as soon as it is there: as when memory is short. One may be quicker than we are."""
    known: set[int] = set()
    async with Site({"/": hub("/a"), "/a": serves(page("A"))}) as site:
        running = asyncio.ensure_future(crawl([site.url("/")], tmp_path, {"pool.processes": 1}))
        for _ in range(6):
            if pid := await a_new_reader(known, unless=running):
                os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(300):
            done = await running
    assert known
    assert done.ending is Ending.COMPLETE
    assert set(done.pages) == {site.url("/"), site.url("/a")}
    assert done.dead_letters == {}


async def test_killing_readers_again_and_again_loses_no_page(tmp_path: Path) -> None:
    """Of four hundred pages, and of those below them."""
    known: set[int] = set()
    leaves = {f"/{number}/below": serves(page(f"Below {number}")) for number in range(400)}
    pages = {f"/{number}": serves(page(f"Page {number}", [f"/{number}/below"])) for number in range(400)}
    async with Site({"/": hub(*pages), **pages, **leaves}) as site:
        settings = {"pool.processes": 1, "politeness.connections_per_host": 16}
        running = asyncio.ensure_future(crawl([site.url("/")], tmp_path, settings))
        kills = 0
        async with asyncio.timeout(300):
            while not running.done() and kills < MOST_KILLS:
                pid = await a_new_reader(known, unless=running)
                if pid and await until_it_reads(pid, 10 + 13 * (kills % 4), unless=running):
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
            done = await running
    assert kills >= 10
    assert (done.ending, done.dead_letters) == (Ending.COMPLETE, {})
    assert set(done.pages) == {site.url(path) for path in ("/", *pages, *leaves)}


async def test_a_page_that_ends_its_readers_can_be_replayed(tmp_path: Path) -> None:
    """Here somebody kills whoever reads it; in the end it is among the failed URLs, and a later run has it."""
    known: set[int] = set()
    settings = {"pool.processes": 1, "extract.max_cpu_seconds": 600.0}
    async with Site({"/": packed(ATTRIBUTES[:200_000] + page("Slow"))}) as site:
        running = asyncio.ensure_future(crawl([site.url("/")], tmp_path, settings))
        async with asyncio.timeout(300):
            while not running.done():
                pid = await a_new_reader(known, unless=running)
                if pid and await until_it_reads(pid, unless=running):
                    os.kill(pid, signal.SIGKILL)
            done = await running
        assert done.dead_letters == {site.url("/"): "unreadable: 2 readers crashed on it, by SIGKILL"}
        assert len(site.hits) == 2, "robots.txt and the page: it is not fetched again for that"
        replayed = await asyncio.to_thread(tenax, "dead-letters", "replay", "--all", "--dir", tmp_path)
        assert replayed.code == 0
        done = await crawl([site.url("/")], tmp_path, settings)
    assert (list(done.pages), done.dead_letters) == ([site.url("/")], {})
