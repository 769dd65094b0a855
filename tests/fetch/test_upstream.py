"""From the gate through proxies: one per page, after the guard, and invisible to the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tenax.clock import ManualClock
from tenax.config import GuardConfig, ProxyConfig
from tenax.fetch.browser.gate import Gate, GateSession
from tenax.fetch.browser.upstream import Upstream
from tenax.fetch.guard import Guard, Origin
from tenax.fetch.proxies import ProxyPools, ProxyScheme
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.fetch.gate_client import admit, dialled, request_of, said_to
from tests.site.behaviours import PAGE
from tests.site.proxies import VOUCHED, LocalProxy
from tests.site.server import Site

USER, SECRET = "me", "s3cret"
SCHEMES: tuple[ProxyScheme, ...] = ("http", "https", "socks5")


class Lab:
    """A gate whose pages go through proxies."""

    def __init__(self, gate: Gate, upstream: Upstream, clock: ManualClock) -> None:
        self.gate = gate
        self.upstream = upstream
        self.clock = clock

    async def get(self, site: Site, passage: GateSession, path: str = "/page") -> bytes:
        return await said_to(self.gate, f"GET {site.url(path)} HTTP/1.1\nSECRET\n\n", passage)

    async def tunnel(self, site: Site, passage: GateSession) -> bytes:
        """The page received through a CONNECT; empty if there was no connection."""
        reader, writer = await dialled(self.gate)
        writer.write(request_of(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\nSECRET\n\n", passage))
        try:
            if b" 200 " not in await reader.readuntil(b"\r\n\r\n"):
                return b""
            writer.write(b"GET /encoded/not HTTP/1.1\r\nHost: a\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            return await reader.readexactly(len(PAGE))
        finally:
            writer.close()


@asynccontextmanager
async def lab_by(sections: Mapping[str, ProxyConfig], *ports: int) -> AsyncIterator[Lab]:
    """Each host has the proxies of its section, or those of `""`; 127.0.0.1 is the web, everything else private."""
    clock = ManualClock()
    guard = Guard(GuardConfig(allow_networks=("127.0.0.1/32",), ports=ports), clock)
    pools = ProxyPools(lambda host: sections.get(host, sections.get("", ProxyConfig())), lambda: 0.0)
    upstream = Upstream(guard, clock, pools)
    gate = Gate(upstream)
    await gate.open()
    try:
        yield Lab(gate, upstream, clock)
    finally:
        await gate.close()
        await guard.close()


def by(*urls: str) -> dict[str, ProxyConfig]:
    return {"": ProxyConfig(urls=urls, strategy="priority", ban_failures=2)}


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_everything_of_a_page_goes_through_its_proxy(
    site: Site, scheme: ProxyScheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))
    async with (
        LocalProxy(scheme, user=USER, password=SECRET) as proxy,
        lab_by(by(proxy.url(USER, SECRET)), site.port) as lab,
    ):
        passage = admit(lab.gate, 100_000)
        plain = await lab.get(site, passage)
        assert plain.startswith(b"HTTP/1.1 200 OK")
        assert await lab.tunnel(site, passage) == PAGE
        reached = passage.endpoint(Origin("http", "127.0.0.1", site.port))
    assert reached is not None and reached.proxy is not None
    assert (reached.address, reached.proxy.name) == ("127.0.0.1", proxy.name)
    # A plain page is requested from an http proxy itself; a tunnel leads to the checked address.
    asked = [(one.method, one.target) for one in proxy.asked]
    to = f"127.0.0.1:{site.port}"
    assert asked == ([("SOCKS5", to)] * 2 if scheme == "socks5" else [("GET", site.url("/page")), ("CONNECT", to)])
    seen = plain + repr([(hit.path, hit.headers) for hit in site.hits]).encode()
    assert SECRET.encode() not in seen and b"proxy-auth" not in seen.lower()
    assert site.connections == 2


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_no_proxy_hears_of_what_the_guard_refuses(scheme: ProxyScheme) -> None:
    async with (
        LocalProxy(scheme) as proxy,
        Site({}, host="127.0.0.9") as private,
        lab_by(by(proxy.url()), private.port) as lab,
    ):
        passage = admit(lab.gate, 100_000)
        assert await lab.get(private, passage) == b""
        answer = await said_to(lab.gate, f"CONNECT 127.0.0.9:{private.port} HTTP/1.1\nSECRET\n\n", passage)
        assert answer.startswith(b"HTTP/1.1 403 ")
        denial = passage.denial(Origin("http", "127.0.0.9", private.port))
    assert denial == Refused("guard: 127.0.0.9 is not a public address")
    assert (proxy.connections, private.connections) == (0, 0)


async def test_a_proxy_that_fails_is_passed_over_and_banned(site: Site) -> None:
    async with (
        LocalProxy(behaviour="hangs-up") as broken,
        LocalProxy() as good,
        lab_by(by(broken.url(), good.url()), site.port) as lab,
    ):
        for _ in range(3):
            passage = admit(lab.gate, 100_000)
            assert await lab.tunnel(site, passage) == PAGE
            reached = passage.endpoint(Origin("https", "127.0.0.1", site.port))
            assert reached is not None and reached.proxy is not None and reached.proxy.name == good.name
    assert broken.connections == 1, "the host keeps the one that works"


async def test_a_proxy_that_declines_differs_from_one_that_is_broken(site: Site) -> None:
    async with (
        LocalProxy(refusal=502) as one,
        LocalProxy(refusal=502) as other,
        lab_by(by(one.url(), other.url()), site.port) as lab,
    ):
        passage = admit(lab.gate, 100_000)
        for _ in range(3):
            assert await lab.tunnel(site, passage) == b""
        denial = passage.denial(Origin("https", "127.0.0.1", site.port))
        assert lab.upstream.banned_deferral("127.0.0.1") is None, "what all of them say of a host is believed"
    assert isinstance(denial, Failed) and denial.kind is FailureKind.PROXY
    assert "answer 502 to CONNECT" in denial.why


async def test_a_wrong_password_is_not_shown_to_the_page(site: Site) -> None:
    async with LocalProxy(user=USER, password=SECRET) as proxy, lab_by(by(proxy.url(USER, "wrong")), site.port) as lab:
        passage = admit(lab.gate, 100_000)
        origin = Origin("http", "127.0.0.1", site.port)
        assert await lab.get(site, passage) == b"", "no 407: the page, or Chromium, would want to answer it"
        denial = passage.denial(origin)
        assert isinstance(denial, Failed) and denial.kind is FailureKind.PROXY
        assert denial.why == f"proxy {proxy.name}: it does not accept our user and password"
        await lab.get(site, passage)
        wait = lab.upstream.banned_deferral("127.0.0.1")
        assert wait is not None and proxy.name in wait.why and wait.until == lab.clock.now() + 300.0
        assert await lab.get(site, passage) == b""
        assert passage.denial(origin) == wait
    assert isinstance(wait, Deferred)
    assert len(proxy.asked) == 2, "nobody asks one that is banned"
    assert site.connections == 0, "a host with proxies is never asked without one"


async def test_a_page_and_its_parts_go_by_one_proxy_but_for_hosts_with_their_own() -> None:
    urls = tuple(f"http://p{number}.example:3128" for number in range(3))
    sections = {
        "page.example": ProxyConfig(urls=urls),
        "own.example": ProxyConfig(urls=("socks5://own-proxy.example",)),
    }
    async with lab_by(sections) as lab:
        page, cdn, own = (
            lab.upstream.proxy_route(host, "page.example") for host in ("page.example", "cdn.example", "own.example")
        )
        assert page is not None and page == cdn and page.host == "page.example"
        assert own is not None and own.host == "own.example" and own.pool is not page.pool
        assert lab.upstream.proxy_route("cdn.example", "elsewhere.example") is None
        assert lab.upstream.proxy_route("own.example", "elsewhere.example") == own
        assert lab.upstream.banned_deferral("elsewhere.example") is None


async def test_a_silent_proxy_is_left_in_time(site: Site) -> None:
    async with LocalProxy(behaviour="silent") as proxy, lab_by(by(proxy.url()), site.port) as lab:
        passage = lab.gate.open_session(GateSession("127.0.0.1", 100_000, 10, connect_timeout_seconds=0.1))
        async with asyncio.timeout(60):
            assert await lab.tunnel(site, passage) == b""
        denial = passage.denial(Origin("https", "127.0.0.1", site.port))
    assert isinstance(denial, Failed) and denial.why == f"proxy {proxy.name}: no connection within 0.1 s"
