"""Tenax as a library: the same engine, in a program of somebody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import tenax
from tenax.config import Config, CrawlConfig, GuardConfig, PolitenessConfig, PoolConfig
from tenax.crawl.api import MAX_UNREAD_PAGES
from tenax.demo import Site
from tests.e2e.program import Demo, holds_once, page_lines, serving, stored, until

FAST = Config(politeness=PolitenessConfig(rate_per_second=0, connections_per_host=8), pool=PoolConfig(processes=0))


async def test_ten_lines(calm: Demo, tmp_path: Path) -> None:
    titles = {}
    async with tenax.Crawl(calm.seeds, FAST, directory=tmp_path, typed_by_person=True) as crawl:
        async for page in crawl:
            titles[page.url] = page.title
    assert titles.keys() == calm.pages
    assert all(titles.values())
    assert holds_once(tmp_path, calm.pages)


async def test_leaving_early_stops_it_and_the_next_one_goes_on(calm: Demo, tmp_path: Path) -> None:
    seen: list[str] = []
    for most in (5, 10, 1000):
        async with tenax.Crawl(calm.seeds, FAST, directory=tmp_path, typed_by_person=True) as crawl:
            number = 0
            async for page in crawl:
                seen.append(page.url)
                number += 1
                if number == most:
                    break
    assert len(seen) == len(set(seen))
    assert set(seen) <= calm.pages
    assert holds_once(tmp_path, calm.pages)


async def test_an_exception_in_the_loop_leaves_everything_committed(calm: Demo, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with tenax.Crawl(calm.seeds, FAST, directory=tmp_path, typed_by_person=True) as crawl:
            async for _ in crawl:
                raise ZeroDivisionError
    assert 0 < len(stored(tmp_path)) < len(calm.pages)
    async with tenax.Crawl(calm.seeds, FAST, directory=tmp_path, typed_by_person=True) as crawl:
        assert await crawl.run() is tenax.Ending.COMPLETE
    assert holds_once(tmp_path, calm.pages)


async def test_the_crawl_waits_for_a_slow_reader(tmp_path: Path) -> None:
    """Who takes no pages gets no more than fit the line, whatever the site has; and loses none."""
    with serving(Site(hosts=1, pages_per_host=400, behaviours="none"), tmp_path / "log") as demo:
        async with tenax.Crawl(demo.seeds, FAST, directory=tmp_path / "out", typed_by_person=True) as crawl:
            pages = aiter(crawl)
            first = await anext(pages)
            await asyncio.to_thread(until, lambda: _is_locked(crawl.progress()), "the crawl to wait")
            # Besides what is in the line: those in flight, and those they replaced, stored but not in it yet.
            most_under_way = 2 * FAST.politeness.connections_per_host
            assert crawl.progress().pages <= 1 + MAX_UNREAD_PAGES + most_under_way
            rest = [page.url async for page in pages]
        assert {first.url, *rest} == demo.pages
        assert len(rest) + 1 == len(demo.pages)


def _is_locked(progress: tenax.Progress) -> bool:
    return progress.pages >= MAX_UNREAD_PAGES and progress.in_flight == 0


async def test_two_crawls_in_one_process(calm: Demo, tmp_path: Path) -> None:
    async def crawled(seed: str, out: Path) -> set[str]:
        async with tenax.Crawl([seed], FAST, directory=out, typed_by_person=True) as crawl:
            return {page.url async for page in crawl}

    first, second = await asyncio.gather(
        crawled(calm.seeds[0], tmp_path / "first"), crawled(calm.seeds[1], tmp_path / "second")
    )
    assert first | second == calm.pages
    assert not first & second


async def test_two_crawls_in_one_directory_are_one_too_many(calm: Demo, tmp_path: Path) -> None:
    async with tenax.Crawl([calm.seeds[0]], FAST, directory=tmp_path, typed_by_person=True):
        with pytest.raises(tenax.TenaxError, match="in use by another process"):
            async with tenax.Crawl([calm.seeds[0]], FAST, directory=tmp_path, typed_by_person=True):
                pass


async def test_a_program_may_not_reach_private_addresses_as_a_person_may(calm: Demo, tmp_path: Path) -> None:
    """Not by default, and not with the port alone; with the network allowed it may."""
    port = int(calm.origins[0].rpartition(":")[2])

    def crawl_with(guard: GuardConfig, out: str) -> tenax.Crawl:
        config = Config(guard=guard, politeness=FAST.politeness, pool=FAST.pool, crawl=CrawlConfig(max_pages=3))
        return tenax.Crawl([calm.seeds[0]], config, directory=tmp_path / out)

    for guard in (GuardConfig(), GuardConfig(ports=(port,))):
        with pytest.raises(tenax.TenaxError, match=r"is not a public address.*: refused; allow it with guard\."):
            await crawl_with(guard, "refused").__aenter__()
        assert not (tmp_path / "refused").exists()
    async with crawl_with(GuardConfig(ports=(port,), allow_networks=("127.0.0.0/8",)), "allowed") as crawl:
        assert len([page async for page in crawl]) == 3


async def test_a_private_seed_beside_an_allowed_one_is_a_notice(calm: Demo, tmp_path: Path) -> None:
    port = int(calm.origins[0].rpartition(":")[2])
    host = calm.origins[0].removeprefix("http://").partition(":")[0]
    guard = GuardConfig(ports=(80, port), allow_networks=(f"{host}/32",))
    config = Config(guard=guard, politeness=FAST.politeness, pool=FAST.pool, crawl=CrawlConfig(max_pages=3))
    async with tenax.Crawl(["http://10.9.8.7/", calm.seeds[0]], config, directory=tmp_path) as crawl:
        [refused] = [notice for notice in crawl.notices if "10.9.8.7" in notice]
        assert refused.startswith("http://10.9.8.7 is not a public address: refused; allow it with")
        assert len([page async for page in crawl]) == 3


async def test_stop_from_elsewhere(calm: Demo, tmp_path: Path) -> None:
    slow = Config(politeness=PolitenessConfig(rate_per_second=30), pool=PoolConfig(processes=0))
    async with tenax.Crawl(calm.seeds, slow, directory=tmp_path, typed_by_person=True) as crawl:
        running = asyncio.ensure_future(crawl.run())
        await asyncio.to_thread(until, lambda: crawl.progress().pages >= 3, "three pages")
        crawl.stop()
        assert await running is tenax.Ending.INTERRUPTED
        assert (await crawl.status()).pages == crawl.progress().pages
    assert 3 <= len(page_lines(tmp_path)) == len(stored(tmp_path)) < len(calm.pages)


async def test_nothing_to_crawl_and_not_entered() -> None:
    with pytest.raises(tenax.TenaxError, match="give at least one URL"):
        tenax.Crawl([])
    with pytest.raises(RuntimeError, match="enter the crawl first"):
        tenax.Crawl(["https://example.org"]).stop()
