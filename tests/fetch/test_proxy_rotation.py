"""Proxies that fail by themselves: the next one is used in the same visit, and neither host nor URL is blamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import FetchConfig, GuardConfig, ProxyConfig
from tenax.fetch import Request, Response
from tenax.fetch.http import HttpTransport
from tenax.fetch.proxies import MAX_SUSPECTED_PROXIES, ProxyPools
from tenax.model import Deferred, Ending, Failed, FailureKind
from tests.contracts.transport import Rig
from tests.hostile.crawling import crawl
from tests.loops import FAULT_SECONDS, outlasted
from tests.site.behaviours import BEHAVIOURS, PAGE
from tests.site.proxies import VOUCHED, Behaviour, LocalProxy, vouched_tls
from tests.site.robots import pages, rules
from tests.site.server import Exchange, Site


@asynccontextmanager
async def through(*proxies: LocalProxy, clock: ManualClock | None = None) -> AsyncIterator[Rig]:
    """A transport that prefers the first of these proxies."""
    section = ProxyConfig(urls=tuple(proxy.url() for proxy in proxies), strategy="priority")
    pools = ProxyPools(lambda _: section, lambda: 0.0)
    guard = GuardConfig(("127.0.0.0/8",), tuple(range(1024, 65_536)))
    async with Rig(HttpTransport, FetchConfig(), None, guard, clock or ManualClock(), pools) as rig:
        yield rig


def _was_asked(site: Site, times: int) -> bool:
    return len(site.hits) == times


async def unavailable(exchange: Exchange) -> None:
    await exchange.answer(b"no", "503 No")


BROKEN: dict[str, Callable[[], LocalProxy]] = {
    "accepts and closes": lambda: LocalProxy("http", "hangs-up"),
    "is no proxy": lambda: LocalProxy("http", "garbage"),
    **{f"answers {status}": partial(LocalProxy, answer=status) for status in (403, 429, 502, 503, 504)},
}


@pytest.mark.parametrize("trouble", BROKEN)
async def test_the_next_proxy_serves_in_the_same_visit(trouble: str) -> None:
    async with (
        Site(BEHAVIOURS) as site,
        BROKEN[trouble]() as bad,
        BROKEN[trouble]() as worse,
        LocalProxy() as good,
        through(bad, worse, good) as rig,
    ):
        answer = await rig.get(site.url("/page"))
        assert isinstance(answer, Response), answer
        assert (answer.status, answer.body, answer.proxy) == (200, PAGE, good.name)
        assert (len(site.hits), bad.connections, worse.connections) == (1, 1, 1)


@pytest.mark.parametrize(("trouble", "asked"), [("accepts and closes", 3), ("is no proxy", 3), ("answers 503", 1)])
async def test_the_proxy_that_failed_is_banned_for_it(trouble: str, asked: int) -> None:
    """Each new host would use the preferred one first."""
    async with AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(Site(BEHAVIOURS, f"127.0.0.{40 + nth}")) for nth in range(5)]
        bad = await stack.enter_async_context(BROKEN[trouble]())
        good = await stack.enter_async_context(LocalProxy())
        rig = await stack.enter_async_context(through(bad, good))
        for site in sites:
            answer = await rig.get(site.url("/page"))
            assert isinstance(answer, Response) and answer.proxy == good.name
        assert bad.connections == asked


async def test_an_answer_that_several_proxies_bring_is_the_hosts_own() -> None:
    async with Site({**BEHAVIOURS, "/busy": unavailable}) as site, AsyncExitStack() as stack:
        proxies = [await stack.enter_async_context(LocalProxy()) for _ in range(MAX_SUSPECTED_PROXIES + 1)]
        async with through(*proxies) as rig:
            answer = await rig.get(site.url("/busy"))
            assert isinstance(answer, Response) and answer.status == 503
            assert len(site.hits) == MAX_SUSPECTED_PROXIES, "no more of them are asked"
            page = await rig.get(site.url("/page"))
            assert isinstance(page, Response) and page.proxy == proxies[0].name, "and none is banned"


async def test_the_answer_of_a_proxy_that_is_alone_is_the_hosts_and_bans_it() -> None:
    clock = ManualClock()
    async with Site(BEHAVIOURS) as site, LocalProxy(answer=503) as proxy, through(proxy, clock=clock) as rig:
        answer = await rig.get(site.url("/page"))
        assert isinstance(answer, Response) and answer.status == 503
        deferred = await rig.get(site.url("/page"))
        assert isinstance(deferred, Deferred) and deferred.until == clock.now() + 300


async def test_a_silent_proxy_leaves_no_time_and_the_next_visit_takes_another() -> None:
    async with (
        Site(BEHAVIOURS) as site,
        LocalProxy("http", "silent") as bad,
        LocalProxy() as good,
        through(bad, good) as rig,
    ):
        failed = await outlasted(rig.get(site.url("/page"), seconds=20), 20, lambda: bad.connections == 1)
        assert failed == Failed(f"proxy {bad.name}: no complete response within 20 s", FailureKind.PROXY)
        answer = await rig.get(site.url("/page"))
        assert isinstance(answer, Response) and answer.proxy == good.name


async def test_a_host_that_is_silent_through_several_proxies_is_to_blame() -> None:
    async with Site(BEHAVIOURS) as site, LocalProxy() as one, LocalProxy() as two, through(one, two) as rig:
        kinds = []
        for asked in range(4):
            asking = rig.get(site.url("/silent"), seconds=20)
            failed = await outlasted(asking, 20, partial(_was_asked, site, asked + 1))
            assert isinstance(failed, Failed)
            kinds.append(failed.kind)
        assert kinds == [FailureKind.PROXY, FailureKind.TIMEOUT_TOTAL] * 2


async def test_a_tunnel_that_breaks_before_anything_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))
    async with (
        Site(BEHAVIOURS, tls=vouched_tls()) as site,
        LocalProxy("http", "drops-tunnels") as bad,
        LocalProxy() as good,
        through(bad, good) as rig,
    ):
        answer = await rig.transport.get(Request(site.url("/page"), 1_000_000, FAULT_SECONDS))
        assert isinstance(answer, Response) and answer.proxy == good.name
        good.behaviour = "drops-tunnels"
        failed = await rig.transport.get(Request(site.url("/other"), 1_000_000, FAULT_SECONDS, verify_tls=False))
        assert isinstance(failed, Failed) and failed.kind is FailureKind.RESET, "so say all of them"


@pytest.mark.parametrize("behaviour", ["hangs-up", "garbage", "works"])
async def test_a_crawl_goes_on_by_the_proxy_that_works(tmp_path: Path, behaviour: Behaviour) -> None:
    paths = [f"/{number}" for number in range(5)]
    async with (
        Site({"/robots.txt": rules("User-agent: *\nDisallow: /private\n"), **pages(*paths)}) as site,
        LocalProxy("http", behaviour, answer=503 if behaviour == "works" else 0) as bad,
        LocalProxy() as good,
    ):
        settings = {"proxy.urls": (bad.url(), good.url())}
        done = await crawl([site.url("/")], tmp_path, settings)
        assert done.ending is Ending.COMPLETE
        assert set(done.pages) == {site.url(path) for path in ["/", *paths]}
        host = await done.host(site.origin)
        assert (host.error_count, host.failures_in_a_row, host.backoff_reason) == (0, 0, "")
        assert bad.connections >= 1
