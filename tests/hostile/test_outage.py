"""Two hours without a site: nothing is lost, next to nothing is asked, and nobody has to do anything."""

from __future__ import annotations

import asyncio
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tenax.model import Deferred, Ending, HostRecord, Visit
from tests.hostile.by_hand import Days, crawl_by_hand
from tests.hostile.crawling import Settings, crawled
from tests.site.politeness import (
    assert_as_planned,
    gaps,
    given_up,
    now_and_then,
    nth,
    reopen,
    shut,
    too_many_requests,
    unavailable,
)
from tests.site.robots import pages, reset, rules, silent, status
from tests.site.server import Behaviour, Site

PATHS = [f"/{number}" for number in range(40)]
ROBOTS = rules("User-agent: *\nDisallow: /private\n")
PACE: Settings = {"politeness.rate_per_second": 1.0}
HOUR = 3600.0
TIMEOUT_SECONDS = 10.0
DOWN_AT, UP_AT = 10.5, 10.5 + 2 * HOUR


def times(visits: list[Visit], days: Days, words: str) -> list[float]:
    """End times of the visits whose outcome starts with these words."""
    return [
        visit.finished_at - days.started_at
        for visit in visits
        if isinstance(visit.outcome, Deferred) and visit.outcome.why.startswith(words)
    ]


async def test_the_two_hour_outage(tmp_path: Path) -> None:
    """The port is closed for two hours. The host beside it does not notice."""
    days = Days()
    many = [f"/{number}" for number in range(200)]
    async with (
        Site({"/robots.txt": ROBOTS, **pages(*PATHS)}, "127.0.0.43", now=days.time) as site,
        Site({"/robots.txt": ROBOTS, **pages(*many)}, "127.0.0.44", now=days.time) as other,
        crawl_by_hand([site.url("/"), other.url("/")], tmp_path, days, PACE) as crawling,
    ):
        days.at(DOWN_AT, lambda: shut(site))
        days.at(UP_AT, lambda: reopen(site))
        assert await crawling.run() is Ending.COMPLETE
        visits = crawling.visits
    # Nothing is lost, nothing is doubled, and nothing is given up.
    done = await crawled(tmp_path)
    assert set(done.pages) == {site.url(path) for path in ["/", *PATHS]} | {other.url(path) for path in ["/", *many]}
    assert done.dead_letters == {}
    fetched = [hit.path for hit in site.hits if hit.method == "GET" and hit.path != "/robots.txt"]
    assert sorted(fetched) == sorted(["/", *PATHS])
    # Five failures, then probes only, ever more seldom.
    failures = [visit for visit in visits if visit.outcome.label == "failed:connect"]
    assert len(failures) == 5
    probes = times(visits, days, "probe: still down")
    opened_at = failures[-1].finished_at - days.started_at
    assert 30 <= probes[0] - opened_at <= 33
    assert_as_planned(probes)
    assert 24 <= len(probes) <= 29
    # The first probe after its return finds it, and all is as before.
    [back_at] = times(visits, days, "probe: it is back")
    assert UP_AT <= back_at <= UP_AT + 300
    after = [hit for hit in site.hits if hit.at > DOWN_AT]
    assert [(hit.method, hit.path) for hit in after[:2]] == [("HEAD", "/"), ("GET", "/robots.txt")]
    assert gaps(after) == pytest.approx([1.0] * (len(after) - 1))
    # The other host was asked once a second all the while.
    assert gaps(other.hits) == pytest.approx([1.0] * (len(many) + 1))


@pytest.mark.parametrize(
    ("trouble", "fallbacks"),
    [
        pytest.param(unavailable, (), id="503"),
        pytest.param(status("500 Internal Server Error"), (), id="500"),
        pytest.param(given_up(TIMEOUT_SECONDS, silent), (), id="silent"),
        pytest.param(reset, (), id="reset"),
        pytest.param(reset, ("curl",), id="reset, by another client too"),
    ],
)
async def test_an_outage_with_somebody_at_the_door(
    tmp_path: Path, trouble: Behaviour, fallbacks: tuple[str, ...]
) -> None:
    """As the server sees it: after a few requests, one HEAD at a time, until it is well again."""
    days = Days()
    healthy = {"/robots.txt": ROBOTS, **pages(*PATHS)}
    routes = now_and_then(healthy, trouble, lambda _: DOWN_AT < days.time() < UP_AT)
    settings = {**PACE, "fetch.total_timeout_seconds": TIMEOUT_SECONDS, "fetch.fallbacks": fallbacks}
    async with (
        Site(routes, now=days.time) as site,
        crawl_by_hand([site.url("/")], tmp_path, days, settings) as crawling,
    ):
        assert await crawling.run() is Ending.COMPLETE
    done = await crawled(tmp_path)
    assert set(done.pages) == {site.url(path) for path in ["/", *PATHS]}
    assert done.dead_letters == {}
    during = [hit for hit in site.hits if DOWN_AT < hit.at < UP_AT]
    first_probe = next(number for number, hit in enumerate(during) if hit.method == "HEAD")
    assert {(hit.method, hit.path) for hit in during[first_probe:]} == {("HEAD", "/")}
    assert first_probe <= 12
    assert_as_planned([hit.at for hit in during[first_probe:]])


async def test_killed_in_the_middle_of_the_outage(tmp_path: Path) -> None:
    """One host is down, one said 429, one has its robots.txt away. An hour later the crawl dies: the next one knows."""
    days, killed = Days(), tmp_path / "killed"
    limited = now_and_then({"/robots.txt": ROBOTS, **pages(*PATHS)}, too_many_requests("5400"), nth({6}))
    closed = now_and_then({"/robots.txt": ROBOTS, **pages(*PATHS)}, unavailable, lambda _: days.time() < UP_AT)
    before: dict[str, HostRecord] = {}
    async with (
        Site({"/robots.txt": ROBOTS, **pages(*PATHS)}, "127.0.0.43", now=days.time) as down,
        Site(limited, "127.0.0.44", now=days.time) as slow,
        Site(closed, "127.0.0.45", now=days.time) as away,
    ):
        sites = [down, slow, away]
        seeds = [site.url("/") for site in sites]
        days.at(DOWN_AT, lambda: shut(down))
        days.at(UP_AT, lambda: reopen(down))
        async with crawl_by_hand(seeds, tmp_path / "out", days, PACE) as crawling:

            async def die() -> None:
                """What kill -9 leaves is what is on the disk at that moment."""
                await asyncio.to_thread(shutil.copytree, tmp_path / "out", killed)
                for site in sites:
                    record = await crawling.database.host(site.origin)
                    assert record is not None
                    before[site.origin] = record
                crawling.stop()

            days.at(HOUR, die)
            assert await crawling.run() is Ending.INTERRUPTED
        asked = [len(site.hits) for site in sites]
        assert (before[down.origin].breaker, before[down.origin].breaker_backoff_seconds) == ("open", 300.0)
        assert before[slow.origin].rate_per_minute == 15.0
        assert before[away.origin].backoff_reason == "robots.txt unreachable: HTTP 503"
        async with crawl_by_hand(seeds, killed, days, PACE) as crawling:
            for site in sites:
                assert await crawling.database.host(site.origin) == before[site.origin]
            assert await crawling.run() is Ending.COMPLETE
            visits = crawling.visits
        for site, number in zip(sites, asked, strict=True):
            assert days.started_at + site.hits[number].at >= before[site.origin].next_at - 0.001, site.origin
        # The breaker continues: the longest backoff, and probes only.
        assert gaps_of_probes(visits, days) == {300.0}
        assert [hit.method for hit in down.hits[asked[0] :][:2]] == ["HEAD", "GET"]
        # The 429 is still obeyed: a quarter of the pace.
        waits = gaps(slow.hits[asked[1] :])
        assert waits == pytest.approx([4.0] * len(waits))
    done = await crawled(killed)
    assert set(done.pages) == {site.url(path) for site in sites for path in ["/", *PATHS]}
    assert done.dead_letters == {}


def gaps_of_probes(visits: list[Visit], days: Days) -> set[float]:
    probes = times(visits, days, "probe: still down")
    return {round(later - earlier, 1) for earlier, later in pairwise(probes)}
