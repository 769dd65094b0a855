"""Pages in a real Chromium: what they show, what they try, and that refused addresses stay unreachable."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tenax.clock import SteadyClock
from tenax.config import BrowserConfig, FetchConfig, GuardConfig, ProxyConfig
from tenax.errors import ConfigError
from tenax.fetch import Request, Response
from tenax.fetch.browser import BrowserTransport
from tenax.fetch.guard import Guard
from tenax.fetch.headers import default_headers
from tenax.fetch.proxies import ProxyPools, ProxyScheme
from tenax.model import Deferred, Failed, FailureKind, Refused, TransportKind
from tenax.version import __version__
from tests.fetch.browser_lab import be_patient
from tests.loops import FAULT_SECONDS, outlasted, reached, turn
from tests.site.browser import PAGES
from tests.site.proxies import LocalProxy
from tests.site.server import Site

CERTIFICATE = Path(__file__).parent.parent / "site" / "self_signed.pem"
CAP_BYTES = 1024 * 1024
UNTIL_QUIET = 10.0
"""Seconds; a page is idle sooner, however busy the machine is."""

pytestmark = pytest.mark.asyncio(loop_scope="module")
on_one_loop = pytest.mark.asyncio(loop_scope="module", loop_factories=["uvloop"])
"""For what happens between the page and Chromium: the loop is not involved."""


class Datagrams(asyncio.DatagramProtocol):
    """Counts datagrams over UDP, as sent by STUN and QUIC."""

    def __init__(self) -> None:
        self.seen = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.seen += 1


class Rig(NamedTuple):
    """A site, a second one that may be visited too, one that may not, and a browser."""

    site: Site
    second: Site
    private: Site
    datagrams: Datagrams
    transport: BrowserTransport

    async def get(
        self, path: str, seconds: float = 60.0, settle: float = 0.25
    ) -> Response | Failed | Refused | Deferred:
        return await self.transport.get(Request(self.site.url(path), CAP_BYTES, seconds, settle_seconds=settle))

    async def page(self, path: str, seconds: float = 60.0, settle: float = 0.25) -> Response:
        response = await self.get(path, seconds, settle)
        assert isinstance(response, Response), (path, response)
        return response


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        be_patient(monkeypatch)
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    clock = SteadyClock()
    async with Site(PAGES) as site, Site(PAGES) as second, Site(PAGES, host="127.0.0.9") as private:
        loop = asyncio.get_running_loop()
        udp, datagrams = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.9", private.port))
        guard = Guard(GuardConfig(ports=(private.port,)), clock, [site.origin, second.origin])
        transport = BrowserTransport(BrowserConfig(pages=4), FetchConfig(), guard, clock)
        yield Rig(site, second, private, datagrams, transport)
        await transport.close()
        await guard.close()
        udp.close()


# ---- what a page shows ------------------------------------------------------------------------------------


async def test_a_page_comes_as_its_scripts_made_it(rig: Rig) -> None:
    response = await rig.page("/rendered")
    assert b"made by a script \xe2\x80\x93 Tenax/" in response.body
    assert response.url == rig.site.url("/rendered")
    assert (response.status, response.headers.content_type) == (200, "text/html; charset=utf-8")
    assert (response.headers["x-robots-tag"], response.headers["etag"]) == ("noarchive", '"1"')
    assert "content-length" not in response.headers
    assert (response.transport, response.protocol, response.address_class) == (
        TransportKind.BROWSER,
        "HTTP/1.1",
        "typed",
    )
    assert response.wire_bytes > 200
    assert response.started_at <= response.answered_at <= response.finished_at
    hit = next(hit for hit in rig.site.hits if hit.path == "/rendered")
    assert hit.headers["user-agent"].startswith("Tenax/")
    assert "proxy-authorization" not in hit.headers


async def test_no_page_knows_of_another(rig: Rig) -> None:
    rig.site.hits.clear()
    await rig.page("/rendered")
    await rig.page("/rendered")
    assert len(rig.site.hits) == 2
    assert not any("cookie" in hit.headers or "if-none-match" in hit.headers for hit in rig.site.hits)


@on_one_loop
async def test_pages_that_need_a_browser(rig: Rig) -> None:
    words = {
        "/loads-more": ("/loads-more", b'<p id="p">loaded later</p>'),
        "/tampers": ("/tampers", b"<p>inner</p>"),
        "/wants-cookie": ("/wants-cookie", b"<p>let in</p>"),
        "/script-moves-here": ("/rendered", b"made by a script"),
        "/moves-state": ("/moves-state", b"same page"),
        "/to/redirect?to=/rendered": ("/rendered", b"made by a script"),
        "/workers": ("/workers", b"from a worker"),
        "/shut": ("/shut", b"challenge"),
        "/alert": ("/alert", b"after the dialogs"),
        "/popups": ("/popups", b"words"),
        "/download": ("/download", b"words"),
        "/starts/download": ("/starts/download", b"words"),
        "/starts/nothing": ("/starts/nothing", b"words"),
        "/starts/mail": ("/starts/mail", b"words"),
        "/service-worker": ("/service-worker", b"words"),
        "/closes": ("/closes", b"still here"),
        "/beforeunload": ("/beforeunload", b"words"),
    }
    rig.site.hits.clear()
    responses = await asyncio.gather(*(rig.page(path, settle=UNTIL_QUIET) for path in words))
    for response, (path, (end, text)) in zip(responses, words.items(), strict=True):
        assert text in response.body, path
        assert response.url == rig.site.url(end), path
    assert responses[list(words).index("/shut")].status == 403
    assert {hit.headers["user-agent"] for hit in rig.site.hits} == {f"Tenax/{__version__}"}
    asked = {hit.path for hit in rig.site.hits}
    assert "/sw.js" not in asked, "no service worker"
    assert not any(path.startswith("/plain?") for path in asked), "no popup"


@on_one_loop
async def test_images_videos_and_fonts_are_not_requested(rig: Rig) -> None:
    rig.site.hits.clear()
    await rig.page("/heavy")
    assert [hit.path for hit in rig.site.hits] == ["/heavy"]


@on_one_loop
async def test_what_is_not_needed_to_render_is_not_requested(rig: Rig) -> None:
    """Prefetches, speculation, icons, beacons, reports, a service worker: the site receives none of them."""
    before = rig.second.connections
    rig.site.hits.clear()
    response = await rig.page(f"/hints?to={rig.second.url('/')}", settle=UNTIL_QUIET)
    assert b'<p id="p">loaded later</p>' in response.body
    assert sorted(hit.path.partition("?")[0] for hit in rig.site.hits) == ["/data", "/hints", "/needed.js"]
    assert rig.second.connections == before, "no connection is made on a hint"


@on_one_loop
@pytest.mark.parametrize("path", ["/asks-much", "/asks-much/worker", "/asks-much/frame"])
async def test_what_a_page_asks_for_is_bounded(rig: Rig, path: str) -> None:
    rig.site.hits.clear()
    request = Request(rig.site.url(path), CAP_BYTES, 60.0, settle_seconds=UNTIL_QUIET, max_subrequests=20)
    response = await rig.transport.get(request)
    assert isinstance(response, Response) and b"words" in response.body
    data = [hit for hit in rig.site.hits if hit.path.startswith("/data?")]
    assert 15 <= len(data) <= 20
    assert len(rig.site.hits) <= 21


@on_one_loop
async def test_what_is_no_page_comes_as_it_was_sent(rig: Rig) -> None:
    sent = {
        "/feed.xml": (200, "application/rss+xml", b"<?xml version='1.0'?><rss></rss>"),
        "/file": (200, "application/octet-stream", b"MZ\0binary"),
        "/nothing": (204, "", b""),
        "/not-there": (404, "", b""),
    }
    for path, expected in sent.items():
        response = await rig.page(path)
        assert (response.status, response.headers.content_type, response.body) == expected


@on_one_loop
async def test_password_prompts_get_no_password(rig: Rig) -> None:
    rig.site.hits.clear()
    assert (await rig.page("/password")).status == 401
    assert (await rig.page("/like-a-proxy")).status == 407
    assert [hit.path for hit in rig.site.hits] == ["/password", "/like-a-proxy"]
    assert not any("authorization" in name for hit in rig.site.hits for name in hit.headers)


# ---- the guard --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["redirect", "refresh", "script", "replace", "form"])
async def test_a_page_that_leads_to_a_private_address_is_refused(rig: Rig, method: str) -> None:
    outcome = await rig.get(f"/to/{method}?to={rig.private.url('/data')}")
    assert outcome == Refused("guard: 127.0.0.9 is not a public address")
    assert rig.private.connections == 0


async def test_nothing_in_a_page_reaches_a_private_address(rig: Rig) -> None:
    private = rig.private.url("/data")
    bare = f"127.0.0.9:{rig.private.port}"
    methods = ["iframe", "object", "style", "hints", "fetch", "beacon", "websocket", "eventsource", "worker", "popup"]
    paths = [f"/to/{method}?to={private}" for method in methods]
    paths += [f"/to/{method}?to={bare}" for method in ("webrtc", "webtransport")]
    paths += [f"/to/iframe?to={rig.site.url('/to/redirect')}?to={private}"]
    responses = await asyncio.gather(*(rig.page(path, settle=UNTIL_QUIET) for path in paths))
    assert all(b"<p" in response.body for response in responses)
    assert b'<p id="p">stopped</p>' in responses[methods.index("fetch")].body
    assert b'<p id="p">stopped</p>' in responses[methods.index("websocket")].body
    assert rig.private.connections == 0
    assert rig.datagrams.seen == 0


@on_one_loop
async def test_what_the_guard_allows_is_reached_by_the_same_means(rig: Rig) -> None:
    """Otherwise the test above would prove nothing."""
    before = rig.second.connections
    for method in ("iframe", "fetch", "websocket", "worker"):
        await rig.page(f"/to/{method}?to={rig.second.url('/data')}", settle=UNTIL_QUIET)
        assert rig.second.connections > before, method
        before = rig.second.connections
    assert b"reached" in (await rig.page(f"/to/fetch?to={rig.second.url('/data')}", settle=UNTIL_QUIET)).body


@on_one_loop
@pytest.mark.parametrize("method", ["redirect", "refresh", "script"])
async def test_a_page_that_leads_to_another_host_is_a_redirect(rig: Rig, method: str) -> None:
    """The other host has its own rate limit and robots.txt."""
    rig.second.hits.clear()
    response = await rig.page(f"/to/{method}?to={rig.second.url('/plain')}")
    assert (response.status, response.headers["location"]) == (302, rig.second.url("/plain"))
    assert response.body == b""
    assert rig.second.hits == []


@pytest.mark.parametrize(
    "url", ["http://127.0.0.9/", "http://10.0.0.1/", "http://[::1]/", "file:///etc/passwd", "http://a@127.0.0.1/"]
)
async def test_what_may_not_be_visited_is_not_even_opened(rig: Rig, url: str) -> None:
    outcome = await rig.transport.get(Request(url, CAP_BYTES, FAULT_SECONDS))
    assert isinstance(outcome, Refused) and outcome.why.startswith("guard: ")


# ---- what pages do to the browser -------------------------------------------------------------------------


@on_one_loop
async def test_pages_that_misbehave_fail_alone_and_in_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 1e6)  # a look at the browser lasts, too
    monkeypatch.setattr("tenax.fetch.browser.sessions.CLOSE_PAGE_SECONDS", FAULT_SECONDS)
    kinds = {
        "/alert/endless": FailureKind.BAD_RESPONSE,
        "/busy-loop": FailureKind.TIMEOUT_TOTAL,
        "/silent": FailureKind.TIMEOUT_TOTAL,
        "/endless": FailureKind.TOO_LARGE,
        "/grows": FailureKind.TOO_LARGE,
        "/cut-off": FailureKind.TRUNCATED,
        "/xchunked": FailureKind.BAD_RESPONSE,
        "/reset": FailureKind.RESET,
        "/reloads": FailureKind.REDIRECT,
    }
    await rig.page("/plain")
    rig.site.hits.clear()
    endless = [path for path, kind in kinds.items() if kind is FailureKind.TIMEOUT_TOTAL]
    asking = {path: asyncio.ensure_future(rig.get(path, 600.0)) for path in endless}
    await reached(lambda: {*endless} <= {hit.path for hit in rig.site.hits})
    turn(600.0)
    asking |= {path: asyncio.ensure_future(rig.get(path, 600.0)) for path in kinds if path not in endless}
    for path, kind in kinds.items():
        outcome = await asking[path]
        assert isinstance(outcome, Failed) and outcome.kind is kind, (path, outcome)
    assert b"plain words" in (await rig.page("/plain")).body


@on_one_loop
async def test_a_page_that_never_stops_loading_is_taken_before_its_deadline(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenax.fetch.browser.chromium.ANSWER_SECONDS", 1e6)  # a look at the browser lasts, too
    monkeypatch.setattr("tenax.fetch.browser.rendering.MAX_SPARE_SECONDS", FAULT_SECONDS)
    rig.site.hits.clear()
    asking = rig.page("/waits-for-ever", 10 * FAULT_SECONDS)
    response = await outlasted(asking, 9 * FAULT_SECONDS, lambda: any(hit.path == "/silent" for hit in rig.site.hits))
    assert b"here already" in response.body


@on_one_loop
async def test_a_page_that_eats_memory_is_ended(rig: Rig) -> None:
    outcome, other = await asyncio.gather(rig.get("/eats-memory"), rig.get("/plain"))
    assert isinstance(outcome, Failed) and outcome.kind is FailureKind.INTERNAL and not outcome.is_site_wide
    assert isinstance(other, Response)


@on_one_loop
async def test_of_a_large_list_the_beginning_is_taken_where_that_is_enough(rig: Rig) -> None:
    for takes_beginning in (True, False):
        request = Request(rig.site.url("/long.txt"), 100_000, FAULT_SECONDS, may_truncate=takes_beginning)
        outcome = await rig.transport.get(request)
        if takes_beginning:
            assert isinstance(outcome, Response), outcome
            assert outcome.body == (b"Disallow: /words\n" * 20_000)[:100_000]
        else:
            assert isinstance(outcome, Failed) and outcome.kind is FailureKind.TOO_LARGE


# ---- proxies ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def behind(*urls: str, private: Site, **settings: Any) -> AsyncIterator[BrowserTransport]:
    """A browser whose pages all go through these proxies."""
    clock = SteadyClock()
    section = ProxyConfig(urls=urls, strategy="priority", **settings)
    pools = ProxyPools(lambda _: section, lambda: 0.0)
    guard = Guard(GuardConfig(allow_networks=("127.0.0.1/32",), ports=(*range(1024, 65_536),)), clock)
    transport = BrowserTransport(BrowserConfig(settle_seconds=UNTIL_QUIET), FetchConfig(), guard, clock, pools)
    try:
        yield transport
    finally:
        await transport.close()
        await guard.close()
        assert private.connections == 0


@on_one_loop
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_site_with_proxies_is_rendered_through_its_proxy(rig: Rig, scheme: ProxyScheme) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    async with (
        Site(PAGES) as plain,
        Site(PAGES, tls=tls) as secure,
        LocalProxy(scheme, user="me", password="s3cret") as proxy,
        behind(proxy.url("me", "s3cret"), private=rig.private) as transport,
    ):
        for site in (plain, secure):
            for path, words in (("/loads-more", b"loaded later"), ("/rendered", b"made by a script")):
                request = Request(site.url(path), CAP_BYTES, 60.0, verify_tls=False)
                response = await transport.get(request)
                assert isinstance(response, Response) and words in response.body, response
                assert (response.proxy, response.address_class) == (proxy.name, "allowed")
                assert b"s3cret" not in response.body
            assert not any("proxy" in name for hit in site.hits for name in hit.headers)
        private = rig.private.url("/data")
        reached = await transport.get(Request(plain.url(f"/to/fetch?to={private}"), CAP_BYTES, 60.0))
        assert isinstance(reached, Response) and b"stopped" in reached.body
    targets = [asked.target.removeprefix("http://").partition("/")[0] for asked in proxy.asked]
    assert set(targets) == {f"127.0.0.1:{plain.port}", f"127.0.0.1:{secure.port}"}, "no proxy heard of the private one"
    assert targets.count(f"127.0.0.1:{plain.port}") == plain.connections, "nothing went past the proxy"


@on_one_loop
async def test_a_proxy_is_judged_by_the_page_that_came_through_it(rig: Rig) -> None:
    async with (
        Site(PAGES) as site,
        LocalProxy("socks5") as proxy,
        behind(proxy.url(), private=rig.private, ban_failures=2) as transport,
    ):

        async def get(path: str) -> Response | Failed | Refused | Deferred:
            return await transport.get(Request(site.url(path), CAP_BYTES, 60.0))

        failed = await get("/reset")
        assert isinstance(failed, Failed) and failed.kind is FailureKind.RESET
        assert failed.why.endswith(f", through proxy {proxy.name}")
        assert isinstance(await get("/plain"), Response), "one failure is none"
        assert isinstance(await get("/alert/endless"), Failed), "the page's own fault"
        assert isinstance(await get("/plain"), Response)
        shut = await get("/shut")
        assert isinstance(shut, Response) and shut.status == 403
        hits = len(site.hits)
        banned = await get("/plain")
        assert isinstance(banned, Deferred) and f"every proxy is banned: {proxy.name} (answer 403)" in banned.why
        assert len(site.hits) == hits, "a host with proxies is never asked without one"


@on_one_loop
async def test_a_proxy_that_is_broken_is_nobody_s_fault(rig: Rig) -> None:
    async with (
        Site(PAGES) as site,
        LocalProxy(user="me", password="s3cret") as proxy,
        behind(proxy.url("me", "wrong"), private=rig.private) as transport,
    ):
        failed = await transport.get(Request(site.url("/plain"), CAP_BYTES, 60.0))
    assert isinstance(failed, Failed) and failed.kind is FailureKind.PROXY
    assert failed.why == f"proxy {proxy.name}: it does not accept our user and password"
    assert site.connections == 0


# ---- certificates and config ------------------------------------------------------------------------------


@on_one_loop
async def test_a_certificate_nobody_vouches_for() -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    clock = SteadyClock()
    async with Site(PAGES, tls=tls) as site:
        guard = Guard(GuardConfig(), clock, [site.origin])
        fetch = FetchConfig(profile="browser")
        transport = BrowserTransport(BrowserConfig(settle_seconds=0), fetch, guard, clock)
        request = Request(site.url("/rendered"), CAP_BYTES, 60.0)
        refused = await transport.get(request)
        assert isinstance(refused, Failed) and refused.kind is FailureKind.TLS and refused.is_site_wide
        taken = await transport.get(Request(site.url("/rendered"), CAP_BYTES, 60.0, verify_tls=False))
        assert isinstance(taken, Response) and taken.is_unverified
        agent = site.hits[-1].headers["user-agent"]
        assert agent.startswith("Mozilla/5.0") and "Headless" not in agent, "this profile was asked for"
        await transport.close()
        await guard.close()


@on_one_loop
@pytest.mark.parametrize(
    ("fetch", "begins"),
    [
        (FetchConfig(contact="mailto:us@a.example"), "Tenax/"),
        (FetchConfig(user_agent="Somebody/1.0"), "Somebody/1.0"),
        (FetchConfig(profile="browser"), "Mozilla/5.0 (X11; Linux x86_64)"),
        (FetchConfig(profile="browser", user_agent="Somebody/1.0"), "Somebody/1.0"),
    ],
)
async def test_a_site_gets_the_user_agent_set_for_it(rig: Rig, fetch: FetchConfig, begins: str) -> None:
    rig.site.hits.clear()
    request = Request(rig.site.url("/rendered"), CAP_BYTES, 60.0, default_headers=default_headers(fetch))
    response = await rig.transport.get(request)
    assert isinstance(response, Response)
    agent = rig.site.hits[0].headers["user-agent"]
    assert agent.startswith(begins) and fetch.contact in agent and "Headless" not in agent
    assert f"made by a script – {agent}".encode() in response.body


async def test_a_name_that_cannot_be_sent_is_the_configs_fault() -> None:
    clock = SteadyClock()
    guard = Guard(GuardConfig(), clock)
    with pytest.raises(ConfigError, match=r"fetch\.contact"):
        BrowserTransport(BrowserConfig(), FetchConfig(contact="a\nb"), guard, clock)
    await guard.close()
