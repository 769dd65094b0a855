"""A site that is down for two hours, on a manual clock: the queue waits, and then everything continues by itself."""

from __future__ import annotations

import asyncio

import pytest

from tenax.services.page_fetcher.fetcher import PageFetcher
from tests.hostile.by_hand import Days
from tests.services.lab import Lab, until
from tests.site.politeness import (
    assert_as_planned,
    gaps,
    given_up,
    now_and_then,
    reopen,
    shut,
    too_many_requests,
    unavailable,
)
from tests.site.robots import page, reset, rules, silent, status
from tests.site.server import Behaviour, Site

HOUR = 3600.0
PATIENCE_SECONDS = 10.0
DOWN_AT, UP_AT = 10.5, 10.5 + 2 * HOUR
PATHS = [f"/{number}" for number in range(40)]
HEALTHY: dict[str, Behaviour] = {"/robots.txt": rules(""), "/": page("/"), **{path: page("/") for path in PATHS}}
PACE = {"page_fetcher.rate_limit_per_second": 1.0, "politeness.share_rate_limit": False}


class Leaping:
    """Time passes where the fetcher would wait; not while something is on its way in or out."""

    def __init__(self, days: Days) -> None:
        self._days = days
        self.fetcher: PageFetcher | None = None

    async def __call__(self, news: asyncio.Event, seconds: float) -> None:
        for _ in range(20):
            await asyncio.sleep(0.001)
            if news.is_set():
                return
        fetcher = self.fetcher
        if fetcher is not None and not fetcher.in_flight and not fetcher.in_flight_items.is_moving:
            await self._days.leap(self._days.clock.now() + seconds)


async def test_the_two_hour_outage(lab: Lab) -> None:
    """The port is closed. Five URLs fail and are requeued, then one probe at a time, until it is open again."""
    days = Days()
    leaping = Leaping(days)
    in_the_middle: list[tuple[int, int, int, float]] = []
    async with Site(HEALTHY, "127.0.0.48", now=days.time) as site:
        urls = [site.url(path) for path in PATHS]
        lab.enqueue(*urls)
        async with lab.fetching([site], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            numbers = fetcher.metrics

            def look() -> None:
                state = numbers.values()["page_fetcher_circuit_breaker_state"]
                assert isinstance(state, (int, float))
                in_the_middle.append((len(lab.queue), len(lab.claimed), len(lab.dead), state))

            days.at(DOWN_AT, lambda: shut(site))
            days.at(HOUR, look)
            days.at(UP_AT, lambda: reopen(site))
            await until(lambda: lab.is_settled)
            # Before the outage it was asked for robots.txt and nine pages.
            done = len([hit for hit in site.hits if hit.at < DOWN_AT]) - 1
            assert in_the_middle == [(len(urls) - done, 0, 0, 1)], "the queue is intact, and nothing is claimed"
            assert (numbers.breakers_opened, numbers.breakers_closed, numbers.failed) == (1, 1, 0)
            assert numbers.probes["success"] == 1
            assert 24 <= numbers.probes["failure"] <= 29
            assert numbers.requeued >= 5
            assert numbers.fetched == len(urls)
    assert lab.dead == []
    fetched = [hit.path for hit in site.hits if hit.method == "GET" and hit.path != "/robots.txt"]
    assert sorted(fetched) == sorted(PATHS), "each of them once"
    after = [hit for hit in site.hits if hit.at > DOWN_AT]
    assert (after[0].method, after[0].path) == ("HEAD", "/")
    assert UP_AT <= after[0].at <= UP_AT + 300
    assert min(gaps(after)) >= 0.999


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(unavailable, id="503"),
        pytest.param(status("500 Internal Server Error"), id="500"),
        pytest.param(given_up(PATIENCE_SECONDS, silent), id="silent"),
        pytest.param(reset, id="reset"),
    ],
)
async def test_an_outage_as_the_site_sees_it(lab: Lab, trouble: Behaviour) -> None:
    """After a few requests one HEAD at a time, at 30, 60, 120, 240 and from then on 300 seconds."""
    days = Days()
    leaping = Leaping(days)
    behaviours = now_and_then(HEALTHY, trouble, lambda _: DOWN_AT < days.time() < UP_AT)
    settings = {**PACE, "page_fetcher.request_timeout_seconds": PATIENCE_SECONDS}
    async with Site(behaviours, "127.0.0.49", now=days.time) as site:
        lab.enqueue(*(site.url(path) for path in PATHS))
        async with lab.fetching([site], settings, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == len(PATHS)
    assert lab.dead == []
    during = [hit for hit in site.hits if DOWN_AT < hit.at < UP_AT]
    first = next(number for number, hit in enumerate(during) if hit.method == "HEAD")
    assert first <= 12
    assert {(hit.method, hit.path) for hit in during[first:]} == {("HEAD", "/")}
    # The fetcher checks once a second, possibly just before a backoff ends.
    probes = [hit.at for hit in during[first:]]
    assert_as_planned(probes, late_seconds=1.1)


@pytest.mark.parametrize("trouble", [pytest.param(unavailable, id="503"), pytest.param(reset, id="reset")])
async def test_a_host_that_is_down_when_it_is_first_met(lab: Lab, trouble: Behaviour) -> None:
    """Not even its robots.txt can be fetched; it is found up no later than any other host."""
    days = Days()
    leaping = Leaping(days)
    behaviours = now_and_then(HEALTHY, trouble, lambda _: days.time() < 2 * HOUR)
    async with Site(behaviours, "127.0.0.56", now=days.time) as site:
        lab.enqueue(*(site.url(path) for path in PATHS))
        async with lab.fetching([site], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == len(PATHS)
    assert lab.dead == []
    back_at = next(hit.at for hit in site.hits if hit.at >= 2 * HOUR)
    assert back_at <= 2 * HOUR + 330
    assert len([hit for hit in site.hits if hit.at < 2 * HOUR]) < 40


async def test_a_host_beside_the_one_that_is_down_goes_on(lab: Lab) -> None:
    """Its URLs are found among those of the other, which stay in the queue and are never given up."""
    days = Days()
    leaping = Leaping(days)
    async with (
        Site(HEALTHY, "127.0.0.50", now=days.time) as well,
        Site(now_and_then(HEALTHY, unavailable, lambda _: days.time() < HOUR), "127.0.0.51", now=days.time) as ill,
    ):
        lab.enqueue(*(site.url(path) for path in PATHS for site in (ill, well)))
        async with lab.fetching([well, ill], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: all(lab.page(well.url(path)) is not None for path in PATHS))
            well_at = days.time()
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == 2 * len(PATHS)
    assert well_at < 120, "one a second, and not delayed by the other"
    assert min(gaps(well.hits)) >= 0.999
    assert lab.dead == []


async def test_new_urls_of_another_host_are_noticed_while_nothing_is_taken(lab: Lab) -> None:
    async with (
        Site({"/robots.txt": rules(""), "/a": page("/")}, "127.0.0.52") as well,
        Site({"/robots.txt": unavailable}, "127.0.0.53") as ill,
    ):
        lab.enqueue(*(ill.url(path) for path in PATHS))
        settings = {"page_fetcher.circuit_breaker_failure_threshold": 1, **PACE}
        async with lab.fetching([well, ill], settings) as fetcher:
            await until(lambda: len(lab.queue) == len(PATHS) and bool(ill.hits) and not fetcher.in_flight)
            lab.enqueue(well.url("/a"))
            await until(lambda: lab.page(well.url("/a")) is not None)
    assert sorted(lab.queue) == sorted(ill.url(path).encode() for path in PATHS)


async def test_a_host_that_asks_for_a_long_backoff_gets_it(lab: Lab) -> None:
    """A 429 that names half an hour: its URLs are requeued, and nothing is requested before then."""
    days = Days()
    leaping = Leaping(days)
    behaviours = now_and_then(HEALTHY, too_many_requests("1800"), lambda _: 5.5 < days.time() < 60)
    async with Site(behaviours, "127.0.0.54", now=days.time) as site:
        lab.enqueue(*(site.url(path) for path in PATHS))
        async with lab.fetching([site], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert (fetcher.metrics.breakers_opened, fetcher.metrics.failed) == (0, 0)
            assert fetcher.metrics.fetched == len(PATHS)
    limited = next(number for number, hit in enumerate(site.hits) if hit.at > 5.5)
    assert site.hits[limited + 1].at - site.hits[limited].at >= 1800
    assert min(gaps(site.hits[limited + 1 :])) >= 3.999, "and a quarter of its pace afterwards"
