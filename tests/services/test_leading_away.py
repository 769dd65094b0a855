"""Redirects to a host that backs off: the redirecting host is not requested again and again."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.services.lab import Lab, until
from tests.services.test_page_fetcher import OPEN, leads_to
from tests.site.politeness import now_and_then, unavailable
from tests.site.robots import page
from tests.site.server import Site

PATHS = [f"/{number}" for number in range(10)]
LONG = {"page_fetcher.circuit_breaker_failure_threshold": 1}
SHORT = {
    **LONG,
    "page_fetcher.circuit_breaker_initial_backoff_seconds": 0.2,
    "page_fetcher.circuit_breaker_max_backoff_seconds": 0.2,
}


async def test_a_host_that_redirects_to_a_host_that_is_down_is_not_requested_repeatedly(lab: Lab) -> None:
    async with Site({"/robots.txt": OPEN, "/there": unavailable}, "127.0.0.71") as down:
        behaviours = {"/robots.txt": OPEN, "/away": leads_to(down.url("/there")), **{path: page("/") for path in PATHS}}
        async with Site(behaviours, "127.0.0.72") as site:
            lab.enqueue(down.url("/there"))
            async with lab.fetching([site, down], LONG) as fetcher:
                await until(lambda: fetcher.in_flight_items.is_blocked)
                lab.enqueue(*[site.url("/away")] * 2, *(site.url(path) for path in PATHS))
                await until(lambda: fetcher.metrics.fetched == len(PATHS))
                await asyncio.sleep(1.0)  # there is nothing to wait for: nothing must happen
            asked = Counter(hit.path for hit in site.hits)
    assert [asked[path] for path in PATHS] == [1] * len(PATHS)
    assert asked["/away"] == 2
    assert sorted(lab.queue) == sorted(url.encode() for url in (down.url("/there"), *[site.url("/away")] * 2))


async def test_they_arrive_when_it_is_back(lab: Lab) -> None:
    is_down = True
    behaviours = now_and_then(
        {"/robots.txt": OPEN, "/": page("/"), "/there": page("/")}, unavailable, lambda _: is_down
    )
    async with (
        Site(behaviours, "127.0.0.73") as other,
        Site({"/robots.txt": OPEN, "/away": leads_to(other.url("/there"))}, "127.0.0.74") as site,
    ):
        lab.enqueue(site.url("/away"))
        async with lab.fetching([site, other], SHORT) as fetcher:
            await until(lambda: fetcher.metrics.probes["failure"] > 2 or len(site.hits) > 100)
            is_down = False
            await until(lambda: lab.is_settled)
        asked = Counter(hit.path for hit in site.hits)
    assert lab.page(site.url("/away")) is not None
    assert asked["/away"] <= 3
    assert lab.dead == []


async def test_there_is_room_for_others_beside_them(lab: Lab) -> None:
    """No more items that wait for a host that is down are in memory than of any other host."""
    away = [f"/away/{number}" for number in range(40)]
    async with Site({"/robots.txt": OPEN, "/there": unavailable}, "127.0.0.75") as down:
        behaviours = {"/robots.txt": OPEN, **{path: leads_to(down.url("/there")) for path in away}}
        async with Site(behaviours, "127.0.0.76") as site, Site({"/robots.txt": OPEN, "/": page("/")}) as well:
            lab.enqueue(down.url("/there"), *(site.url(path) for path in away), well.url("/"))
            settings = {**LONG, "page_fetcher.rate_limit_per_second": 50.0, "page_fetcher.max_in_flight": 20}
            async with lab.fetching([site, down, well], settings) as fetcher:
                await until(lambda: fetcher.metrics.fetched == 1)
    assert len(lab.queue) == len(away) + 1
