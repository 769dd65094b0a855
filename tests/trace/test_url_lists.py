"""Several documents fetched one after another, as politely as a crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tenax.clock import ManualClock
from tenax.config import Config, FetchConfig, PolitenessConfig
from tenax.model import Deferred, Failed, FailureKind, Fetched, Refused, RobotsCopy, RobotsVerdict
from tenax.trace.url_lists import open_url_fetcher
from tenax.urls.normalize import NormalizeOptions, WebUrl, normalize
from tests.site.hostile import moves, serves
from tests.site.server import Behaviour, Site

BEHAVIOURS: dict[str, Behaviour] = {
    "/robots.txt": serves(b"User-agent: *\nDisallow: /closed", "text/plain"),
    "/a": serves(b"first", "text/plain"),
    "/b": serves(b"second", "application/xml"),
    "/moved": moves("/moved-again"),
    "/moved-again": moves("/a"),
    "/to-closed": moves("/closed"),
    "/loop": moves("/loop-back"),
    "/loop-back": moves("/loop"),
    "/429": serves(b"", "text/plain", "429 Too Many Requests", Retry_After="30"),
    "/large": serves(b"x" * 5_000),
}


def config(rate: float = 0.0) -> Config:
    return Config(politeness=PolitenessConfig(rate_per_second=rate), fetch=FetchConfig(fallbacks=()))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(BEHAVIOURS) as site:
        yield site


def at(site: Site, path: str) -> WebUrl:
    url = normalize(site.url(path), None, NormalizeOptions())
    assert url is not None
    return url


def paths(site: Site) -> list[str]:
    return [hit.path for hit in site.hits]


async def test_robots_txt_is_asked_once_and_first(site: Site) -> None:
    async with open_url_fetcher(at(site, "/a"), config()) as going:
        robots = await going.fetch_robots(at(site, "/a"))
        assert isinstance(robots, RobotsCopy)
        assert (robots.verdict, robots.text) == (RobotsVerdict.RULES, "User-agent: *\nDisallow: /closed")
        first = await going.fetch(at(site, "/a"))
        second = await going.fetch(at(site, "/b"))
        closed = await going.fetch(at(site, "/closed"))
    assert (first.body, first.content_type) == (b"first", "text/plain")
    assert (second.body, second.content_type) == (b"second", "application/xml")
    assert isinstance(closed.outcome, Refused)
    assert paths(site) == ["/robots.txt", "/a", "/b"]


async def test_redirects_are_followed_to_their_end(site: Site) -> None:
    async with open_url_fetcher(at(site, "/moved"), config()) as going:
        brought = await going.fetch(at(site, "/moved"))
        loop = await going.fetch(at(site, "/loop"))
        closed = await going.fetch(at(site, "/to-closed"))
    assert (brought.url, brought.body, brought.outcome) == (site.url("/a"), b"first", Fetched(200))
    assert isinstance(loop.outcome, Failed)
    assert loop.outcome.kind is FailureKind.REDIRECT
    assert isinstance(closed.outcome, Refused), "robots.txt holds where a redirect leads"
    assert "/closed" not in paths(site)


async def test_a_redirect_to_a_private_address_is_refused(site: Site) -> None:
    async with Site({"/": serves(b"secret")}) as private, Site({"/a": moves(private.url("/"))}) as typed:
        async with open_url_fetcher(at(typed, "/a"), config()) as going:
            brought = await going.fetch(at(typed, "/a"))
        assert isinstance(brought.outcome, Refused)
        assert brought.outcome.why.startswith("guard: ")
        assert private.hits == []


async def test_each_document_waits_for_the_hosts_turn(site: Site) -> None:
    clock, waits = ManualClock(), list[float]()

    def wait(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)

    async with open_url_fetcher(at(site, "/a"), config(rate=50), clock, on_wait=wait) as going:
        for path in ("/a", "/b"):
            assert isinstance((await going.fetch(at(site, path))).outcome, Fetched)
    assert paths(site) == ["/robots.txt", "/a", "/b"]
    assert sum(waits) == pytest.approx(2 / 50, abs=1e-4), "robots.txt counts for the rate limit"


async def test_a_host_that_asks_for_rest_is_left_alone(site: Site) -> None:
    async with open_url_fetcher(at(site, "/429"), config()) as going:
        asked = await going.fetch(at(site, "/429"))
        later = await going.fetch(at(site, "/a"))
    assert isinstance(asked.outcome, Failed)
    assert isinstance(later.outcome, Deferred)
    assert paths(site) == ["/robots.txt", "/429"]


async def test_a_sitemap_may_be_larger_than_a_page(site: Site) -> None:
    small = Config(
        politeness=PolitenessConfig(rate_per_second=0), fetch=FetchConfig(fallbacks=(), max_body_bytes=1_024)
    )
    async with open_url_fetcher(at(site, "/large"), small) as going:
        assert len((await going.fetch(at(site, "/large"))).body) == 5_000


async def test_a_host_that_may_not_be_asked_for_its_robots_txt(site: Site) -> None:
    async with Site({}) as private, open_url_fetcher(at(site, "/a"), config()) as going:
        assert isinstance(await going.fetch_robots(at(private, "/")), Refused)
        assert private.hits == []
