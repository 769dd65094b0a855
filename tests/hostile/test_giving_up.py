"""A URL that fails by itself becomes a dead letter, however often its host backs off meanwhile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tenax.model import Ending
from tests.hostile.by_hand import Days, crawl_by_hand
from tests.hostile.crawling import crawled
from tests.hostile.test_outage import HOUR, PACE, TIMEOUT_SECONDS
from tests.site.politeness import given_up
from tests.site.robots import pages, rules, silent, status
from tests.site.server import Behaviour, Site

BROKEN = [f"/{number}" for number in range(10)]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(status("500 Internal Server Error"), id="500"),
        pytest.param(given_up(TIMEOUT_SECONDS, silent), id="silent"),
    ],
)
async def test_urls_that_stay_broken_on_a_host_that_is_up(tmp_path: Path, trouble: Behaviour) -> None:
    """Its root is well and leads to ten pages that never come. Five in a row mean an outage, and each probe ends it."""
    days = Days()
    routes: dict[str, Behaviour] = {"/robots.txt": rules(""), **pages(*BROKEN), **dict.fromkeys(BROKEN, trouble)}
    settings = {**PACE, "fetch.total_timeout_seconds": TIMEOUT_SECONDS}
    async with (
        Site(routes, "127.0.0.66", now=days.time) as site,
        crawl_by_hand([site.url("/")], tmp_path, days, settings) as crawling,
    ):
        assert await crawling.run() is Ending.COMPLETE
    asked = Counter(hit.path for hit in site.hits)
    assert [asked[path] for path in BROKEN] == [3] * 10
    done = await crawled(tmp_path)
    assert set(done.pages) == {site.url("/")}
    assert set(done.dead_letters) == {site.url(path) for path in BROKEN}
    assert days.time() < HOUR


async def test_names_that_do_not_exist_are_given_up_and_no_host_rests_for_them(tmp_path: Path) -> None:
    days = Days()
    urls = [f"http://nosuch.invalid/{number}" for number in range(20)]
    async with (
        Site({"/robots.txt": rules(""), **pages("/a")}, "127.0.0.67", now=days.time) as site,
        crawl_by_hand([site.url("/"), *urls], tmp_path, days, PACE) as crawling,
    ):
        assert await crawling.run() is Ending.COMPLETE
    done = await crawled(tmp_path)
    assert set(done.dead_letters) == set(urls)
    assert set(done.dead_letters.values()) == {"no such host (tried 3 times)"}
    assert days.time() < 60
