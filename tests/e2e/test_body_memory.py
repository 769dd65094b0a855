"""Many hosts with pages that are small on the wire and large in memory: all are stored, in the memory there is."""

from __future__ import annotations

import asyncio
import gzip
import re
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from tenax.config import Config, CrawlConfig, DiscoveryConfig, PoolConfig
from tenax.crawl.api import Crawl
from tenax.fetch.body_budget import PROCESSING_FACTOR
from tenax.model import Ending
from tests.e2e.program import ended, start, stored
from tests.site.server import Exchange, Site

HOSTS = 64
MB = 1024 * 1024
WORDS = "<p>Plain words that make this a page worth keeping, and nothing else. </p>" * 20
HEAD = f"<!doctype html><title>A page</title><h1>Here</h1>{WORDS}"


def page_of(length: int) -> bytes:
    """Gzipped; read in no time, as all but its beginning is a script."""
    return gzip.compress(f"{HEAD}<script>".encode().ljust(length - 9) + b"</script>")


async def sites_with(body: bytes, count: int, stack: AsyncExitStack) -> list[Site]:
    async def show(exchange: Exchange) -> None:
        await exchange.answer(body, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})

    return [await stack.enter_async_context(Site({"/": show}, f"127.0.0.{2 + number}")) for number in range(count)]


def peaks_mb(pid: int, known: dict[int, int]) -> None:
    """The most memory that this process and its children ever had, by their numbers."""
    for number in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
        try:
            status = Path(f"/proc/{number}/status").read_text()
        except OSError:
            continue
        if (found := re.search(r"VmHWM:\s+(\d+) kB", status)) is not None:
            known[number] = int(found[1]) // 1024


async def test_all_pages_are_stored_in_little_memory(tmp_path: Path) -> None:
    body = page_of(9_900_000)
    assert len(body) < 25_000
    async with AsyncExitStack() as stack:
        sites = await sites_with(body, HOSTS, stack)
        seeds = [site.url("/") for site in sites]
        process = start("crawl", *seeds, "--discover", "links", "--dir", tmp_path, "--set", "pool.processes=1")
        peaks: dict[int, int] = {}
        while process.poll() is None:
            with suppress(OSError):  # it has just ended
                peaks_mb(process.pid, peaks)
            await asyncio.sleep(0.02)
        code, _, err = await asyncio.to_thread(ended, process)
        assert code == 0, err
        assert sorted(stored(tmp_path)) == sorted(seeds)
        assert {sum(hit.path == "/" for hit in site.hits) for site in sites} == {1}, "none was asked for twice"
        assert len(peaks) >= 2, "the crawl and its reader"
        assert sum(peaks.values()) < 700, peaks


async def test_the_budget_is_kept_and_given_back(tmp_path: Path) -> None:
    length, limit = 3_000_000, 16 * MB
    async with AsyncExitStack() as stack:
        sites = await sites_with(page_of(length), 24, stack)
        config = Config(
            crawl=CrawlConfig(max_body_memory_bytes=limit),
            discovery=DiscoveryConfig(sources=("links",)),
            pool=PoolConfig(processes=1),
        )
        seeds = [site.url("/") for site in sites]
        async with Crawl(seeds, config, directory=tmp_path, typed_by_person=True) as crawl:
            bodies = crawl._entered_app.engine.bodies
            assert await crawl.run() is Ending.COMPLETE
            assert (bodies.used_bytes, bodies.waiting) == (0, 0)
            # One body may go beyond, and is counted several times while it is read.
            assert limit // 2 < bodies.peak_bytes < limit + PROCESSING_FACTOR * length
            assert (await crawl.status()).pages == 24
