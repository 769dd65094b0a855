"""Settings of one site apply to its requests, and to no others."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

import msgspec
import pytest

from tenax.clock import ManualClock, SteadyClock
from tenax.config import Config, FetchConfig, GuardConfig, PolitenessConfig, Sites
from tenax.fetch import Request, Response, Transport
from tenax.fetch.curl import CurlTransport
from tenax.fetch.guard import Guard
from tenax.fetch.headers import Headers
from tenax.fetch.http import HttpTransport
from tenax.fetch.pipeline import Pipeline
from tenax.fetch.transports import Transports
from tenax.hosts.limiter.process import ProcessRateLimiter
from tenax.model import (
    Deferred,
    Failed,
    Fetched,
    HostRecord,
    Priority,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
    TransportKind,
)
from tenax.urls.normalize import NormalizeOptions
from tests.fetch.anywhere import Anywhere, transports_over

NOW = ManualClock().now()
OWN = {
    "fetch.contact": "mailto:us@a.test",
    "fetch.total_timeout_seconds": 90.0,
    "fetch.connect_timeout_seconds": 3.0,
    "fetch.headers_timeout_seconds": 4.0,
    "fetch.body_timeout_seconds": 5.0,
    "fetch.max_body_bytes": 2048,
    "fetch.verify_tls": False,
    "browser.settle_seconds": 6.0,
}


class Mirror:
    """Answers everything, and records the requests."""

    def __init__(self, moved: Mapping[str, str] | None = None) -> None:
        self.requests: list[Request] = []
        self._moved = moved or {}

    async def get(self, request: Request) -> Response:
        self.requests.append(request)
        if to := self._moved.get(request.url):
            return Response(request.url, 302, Headers([(b"Location", to.encode())]), b"", 0, NOW, NOW, NOW)
        return Response(request.url, 200, Headers(), b"<p>here", 7, NOW, NOW, NOW)

    async def close(self) -> None: ...


def task_of(origin: str) -> tuple[Task, HostRecord]:
    robots = RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW + 3600)
    task = Task(f"{origin}/page", origin, 1, Priority.LOW, Source.LINK, None, NOW, NOW)
    return task, HostRecord(origin=origin, domain="a.test", robots=robots)


async def test_a_site_s_own_settings_travel_with_its_requests() -> None:
    clock, mirror = ManualClock(), Mirror()
    pipeline = Pipeline(transports_over(clock, mirror), clock, Sites(Config(sites={"a.test": OWN})), NormalizeOptions())
    for origin in ("https://a.test", "https://b.test"):
        await pipeline.fetch(*task_of(origin))
    own, other = mirror.requests
    assert ("mailto:us@a.test" in dict(own.default_headers)["User-Agent"], other.default_headers) == (True, ())
    assert (own.total_timeout_seconds, other.total_timeout_seconds) == (90.0, 30.0)
    assert (own.connect_timeout_seconds, other.connect_timeout_seconds) == (3.0, 10.0)
    assert (own.headers_timeout_seconds, other.headers_timeout_seconds) == (4.0, 20.0)
    assert (own.body_timeout_seconds, other.body_timeout_seconds) == (5.0, 15.0)
    assert (own.max_body_bytes, other.max_body_bytes) == (2048, 10 * 1024 * 1024)
    assert (own.verify_tls, other.verify_tls) == (False, True)
    assert (own.settle_seconds, other.settle_seconds) == (6.0, 2.0)


async def test_they_do_not_follow_a_robots_txt_to_another_host() -> None:
    """Nor are the settings of the other host ignored: its certificate is checked."""
    clock, mirror = ManualClock(), Mirror({"https://a.test/robots.txt": "https://b.test/rules"})
    for sites in ({"a.test": OWN}, {"b.test": OWN}):
        pipeline = Pipeline(transports_over(clock, mirror), clock, Sites(Config(sites=sites)), NormalizeOptions())
        task, host = task_of("https://a.test")
        await pipeline.fetch(task, msgspec.structs.replace(host, robots=None))
        clock.advance(60)
    first, second, third, fourth = mirror.requests
    assert [request.url for request in mirror.requests] == 2 * ["https://a.test/robots.txt", "https://b.test/rules"]
    for own, other in ((first, second), (fourth, third)):
        assert (own.verify_tls, other.verify_tls) == (False, True)
        assert ("mailto:us@a.test" in dict(own.default_headers)["User-Agent"], other.default_headers) == (True, ())
        assert (own.connect_timeout_seconds, other.connect_timeout_seconds) == (3.0, 10.0)


@pytest.mark.parametrize("made", [HttpTransport, CurlTransport], ids=["http", "curl"])
async def test_the_site_s_patience_for_a_connection(
    made: Callable[[FetchConfig, Guard, SteadyClock], Transport],
) -> None:
    """A full queue silently drops further connections."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        origin, clock = f"http://127.0.0.1:{full.getsockname()[1]}", SteadyClock()
        guard = Guard(GuardConfig(), clock, [origin])
        transport = made(FetchConfig(connect_timeout_seconds=20.0), guard, clock)
        failed = await transport.get(Request(f"{origin}/", 1024, 30.0, connect_timeout_seconds=0.2))
        await transport.close()
        await guard.close()
        for sock in waiting:
            sock.close()
    assert isinstance(failed, Failed)
    assert failed.why == "no connection within 0.2 s"


@pytest.mark.parametrize(("everywhere", "here", "waits"), [(True, False, False), (False, True, True)])
async def test_rate_limits_are_shared_for_one_site_or_for_all_but_one(
    everywhere: bool, here: bool, waits: bool
) -> None:
    """Another crawl has just sent requests to both hosts."""
    clock, shared = ManualClock(), ProcessRateLimiter()
    config = Config(
        politeness=PolitenessConfig(share_rate_limit=everywhere),
        sites={"a.test": {"politeness.share_rate_limit": here}},
    )
    crawls = []
    for _ in range(2):
        guard = Guard(GuardConfig(), clock, (), Anywhere())
        transports = Transports(
            {TransportKind.HTTP: Mirror()}, guard, shared, clock, unshared_rate_limiter=ProcessRateLimiter()
        )
        crawls.append(Pipeline(transports, clock, Sites(config), NormalizeOptions()))
    outcomes = {}
    for origin in ("https://a.test", "https://b.test"):
        assert (await crawls[0].fetch(*task_of(origin))).outcome == Fetched(200)
        outcomes[origin] = (await crawls[1].fetch(*task_of(origin))).outcome
    assert isinstance(outcomes["https://a.test"], Deferred) is waits
    assert isinstance(outcomes["https://b.test"], Deferred) is not waits


async def test_an_explicit_limiter_is_shared_whatever_is_shared_on_this_machine() -> None:
    clock, shared = ManualClock(), ProcessRateLimiter()
    config = Config(politeness=PolitenessConfig(share_rate_limit=False))
    outcomes = []
    for _ in range(2):
        guard = Guard(GuardConfig(), clock, (), Anywhere())
        transports = Transports({TransportKind.HTTP: Mirror()}, guard, shared, clock)
        pipeline = Pipeline(transports, clock, Sites(config), NormalizeOptions())
        outcomes.append((await pipeline.fetch(*task_of("https://a.test"))).outcome)
    assert outcomes[0] == Fetched(200)
    assert isinstance(outcomes[1], Deferred)
