"""A seed that does not answer at first is tried again, as any other URL; one that never does ends the crawl soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.errors import NoSeedReachable
from tenax.model import Ending
from tests.hostile.by_hand import Days, crawl_by_hand
from tests.site.politeness import reopen, shut
from tests.site.robots import one_after_the_other, pages, reset, rules
from tests.site.server import Site

ROBOTS = rules("User-agent: *\nDisallow: /private\n")
PATHS = ["/a", "/b"]


async def test_a_seed_that_refuses_the_first_connection_is_crawled(tmp_path: Path) -> None:
    days = Days()
    async with Site({"/robots.txt": ROBOTS, **pages(*PATHS)}, now=days.time) as site:
        await shut(site)
        async with crawl_by_hand([site.url("/")], tmp_path, days) as crawling:
            days.at(0.5, lambda: reopen(site))
            assert await crawling.run() is Ending.COMPLETE
            assert crawling.stored == {site.url(path) for path in ["/", *PATHS]}
            assert [visit.outcome.label for visit in crawling.visits[:2]] == ["failed:connect", "deferred"]
        assert days.time() == pytest.approx(1.1, abs=0.11), "the first retry comes after 1 s, and a fifth at random"


@pytest.mark.parametrize("times", [1, 2])
async def test_a_seed_that_resets_the_first_connections_is_crawled(tmp_path: Path, times: int) -> None:
    days = Days()
    robots = one_after_the_other(*[reset] * times, ROBOTS)
    async with (
        Site({"/robots.txt": robots, **pages(*PATHS)}, now=days.time) as site,
        crawl_by_hand([site.url("/")], tmp_path, days) as crawling,
    ):
        assert await crawling.run() is Ending.COMPLETE
        assert crawling.stored == {site.url(path) for path in ["/", *PATHS]}
        assert [hit.path for hit in site.hits[: times + 1]] == ["/robots.txt"] * (times + 1)


async def test_a_seed_that_never_answers_ends_the_crawl_when_its_attempts_are_spent(tmp_path: Path) -> None:
    days = Days()
    async with Site({}, now=days.time) as site:
        await shut(site)
        async with crawl_by_hand([site.url("/")], tmp_path, days) as crawling:
            with pytest.raises(ExceptionGroup) as raised:
                await crawling.run()
            ended_at = [visit.finished_at - days.started_at for visit in crawling.visits]
        [error] = raised.value.exceptions
        assert isinstance(error, NoSeedReachable)
        assert str(error) == f"no seed answers: {site.origin}: connection refused; check the URL, or run it again later"
        assert ended_at == [0.0, pytest.approx(1.1, abs=0.11), pytest.approx(3.3, abs=0.31)]


async def test_the_attempts_are_those_of_the_settings(tmp_path: Path) -> None:
    days = Days()
    settings = {"fetch.max_attempts": 1}
    async with Site({}, now=days.time) as site:
        await shut(site)
        async with crawl_by_hand([site.url("/")], tmp_path, days, settings) as crawling:
            with pytest.raises(ExceptionGroup):
                await crawling.run()
            assert len(crawling.visits) == 1
