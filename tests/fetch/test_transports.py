"""Requests of one process to any hosts: never closer together than `crawl.request_interval_seconds`."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from tenax.clock import SteadyClock
from tenax.config import GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.guard import Guard
from tenax.fetch.headers import Headers
from tenax.fetch.transports import Pace, Transports
from tenax.hosts.limiter.process import ProcessRateLimiter, RequestInterval
from tenax.model import Deferred, Ending, Failed, Refused, TransportKind
from tests.hostile.crawling import crawl
from tests.loops import FAULT_SECONDS
from tests.site.robots import moved, page, pages, rules
from tests.site.server import Exchange, Site

INTERVAL = 0.05
EARLY = 0.002
"""uvloop's timers have millisecond resolution."""


class Noting:
    """A transport that answers at once, and records when each request was sent."""

    def __init__(self) -> None:
        self.interval = RequestInterval(0.0)
        self.started_at: list[float] = []

    async def get(self, request: Request) -> Response | Failed | Refused | Deferred:
        now = self.interval._started_at
        self.started_at.append(now)
        return Response(request.url, 200, Headers(), b"", 0, now, now, now)

    async def close(self) -> None: ...


@pytest.mark.parametrize("pace", [0.0, 0.001])
async def test_any_two_requests_are_an_interval_apart(pace: float) -> None:
    clock, transport = SteadyClock(), Noting()
    guard = Guard(GuardConfig(("127.0.0.0/8",), (80,)), clock)
    transports = Transports(
        {TransportKind.HTTP: transport}, guard, ProcessRateLimiter(), clock, request_interval_seconds=INTERVAL
    )
    transport.interval = transports._interval
    requests = [Request(f"http://127.0.0.{number}/", 1000, FAULT_SECONDS) for number in range(1, 11)]
    request_pace = Pace(pace, is_followup=False)
    answers = await asyncio.gather(*(transports.get(TransportKind.HTTP, request, request_pace) for request in requests))
    assert all(isinstance(answer, Response) for answer in answers)
    assert all(later - earlier > INTERVAL - EARLY for earlier, later in pairwise(transport.started_at))
    await transports.close()


async def other_spelling(exchange: Exchange) -> None:
    """The same normalized URL, in the spelling that the site requires."""
    behaviour = page("/") if "?" in exchange.path else moved("/b?utm_source=x")
    await behaviour(exchange)


async def test_a_crawl_of_several_hosts_is_complete_and_redirects_are_followed(tmp_path: Path) -> None:
    behaviours = {"/robots.txt": rules(""), **pages("/a", "/b"), "/b": other_spelling}
    async with Site(behaviours, "127.0.0.43") as one, Site(behaviours, "127.0.0.44") as two:
        settings = {"crawl.request_interval_seconds": 0.01, "politeness.connections_per_host": 4}
        done = await crawl([one.url("/"), two.url("/")], tmp_path, settings)
        assert done.ending is Ending.COMPLETE
        assert set(done.pages) == {site.url(path) for site in (one, two) for path in ("/", "/a", "/b")}
        assert [hit.path for hit in one.hits if "utm" in hit.path] == ["/b?utm_source=x"]
        assert done.dead_letters == {}
