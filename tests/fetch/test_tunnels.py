from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tenax.clock import Clock, ManualClock, SteadyClock
from tenax.config import FetchConfig, GuardConfig, ProxyConfig
from tenax.fetch import Request, Response
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tenax.fetch.http.connections import MAX_FILES, raise_file_limit
from tenax.fetch.names import Found, NameUnknown
from tenax.fetch.proxies import ProxyPools, ProxyScheme
from tenax.fetch.target import origin_of
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.site.manners import MANNERS, PAGE
from tests.site.proxies import VOUCHED, LocalProxy, Manner, vouched_tls
from tests.site.server import Exchange, Site

SECRET = "s3cret"
ENCODED_SECRET = "bWU6czNjcmV0"
"""`me:s3cret` in base64."""


class Names:
    """Every name of the tests leads to this machine."""

    async def addresses(self, host: str) -> Found:
        if not host.endswith(".example") or host == "gone.example":
            raise NameUnknown
        return Found(("127.0.0.1",))

    def close(self) -> None: ...


@asynccontextmanager
async def transport_by(
    *urls: str,
    clock: Clock | None = None,
    allow: str = "127.0.0.1/32",
    connect_seconds: float = 5.0,
    ports: tuple[int, ...] = (),
) -> AsyncIterator[HttpTransport]:
    """One that goes through these proxies; to sites of this machine it may go."""
    clock = clock or SteadyClock()
    section = ProxyConfig(urls=urls, strategy="priority")
    pools = ProxyPools(lambda _: section, lambda: 0.0)
    guard = Guard(GuardConfig(allow_networks=(allow,), ports=ports), clock, (), Names())
    transport = HttpTransport(FetchConfig(connect_timeout_seconds=connect_seconds), guard, clock, pools)
    try:
        yield transport
    finally:
        await transport.close()


def page_of(site: Site, path: str = "/page", *, seconds: float = 5.0, verify_tls: bool = True) -> Request:
    """By name, so that it shows who looks the name up."""
    url = site.url(path).replace("127.0.0.1", "secure.example")
    return Request(url, 1_000_000, seconds, verify_tls=verify_tls)


async def got(transport: HttpTransport, request: Request) -> Response:
    response = await transport.get(request)
    assert isinstance(response, Response), response
    return response


async def failure(transport: HttpTransport, request: Request) -> Failed:
    failed = await transport.get(request)
    assert isinstance(failed, Failed), failed
    return failed


@pytest.fixture(autouse=True)
def we_trust_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))


@pytest.fixture
async def secure_site() -> AsyncIterator[Site]:
    async with Site(MANNERS, tls=vouched_tls()) as site:
        yield site


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


# ---- each kind of proxy, each kind of site ----------------------------------------------------------------


@pytest.mark.parametrize("user", ["", "me"])
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
async def test_an_https_site_by_a_tunnel_to_the_checked_address(
    secure_site: Site, scheme: ProxyScheme, user: str
) -> None:
    async with (
        LocalProxy(scheme, user=user, password=SECRET) as proxy,
        transport_by(proxy.url(user, SECRET), ports=(secure_site.port,)) as transport,
    ):
        first = await got(transport, page_of(secure_site))
        second = await got(transport, page_of(secure_site))
        assert first.body == second.body == PAGE
        assert (first.proxy, first.protocol, first.address_class, first.is_unverified) == (
            proxy.name, "HTTP/1.1", "allowed", False,
        )  # fmt: skip
        assert first.record.proxy == proxy.name
        assert [asked.target for asked in proxy.asked] == [f"127.0.0.1:{secure_site.port}"], "used again, by address"
        assert proxy.asked[0].headers.get("proxy-authorization") == (
            f"Basic {ENCODED_SECRET}" if user and scheme != "socks5" else None
        )
    _saw_no_secrets(secure_site)


@pytest.mark.parametrize("user", ["", "me"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_plain_site_by_asking_the_proxy_for_the_page(site: Site, scheme: ProxyScheme, user: str) -> None:
    async with (
        LocalProxy(scheme, user=user, password=SECRET, names={"secure.example": "127.0.0.1"}) as proxy,
        transport_by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
    ):
        request = page_of(site, "/page?b=%7e")
        assert (await got(transport, request)).body == (await got(transport, request)).body == PAGE
        first = proxy.asked[0]
        assert (first.method, first.target) == ("GET", request.url)
        assert first.headers["host"] == f"secure.example:{site.port}"
        assert ("proxy-authorization" in first.headers) == bool(user)
        assert (len(proxy.asked), proxy.connections) == (2, 1)
        assert site.hits[0].path == "/page?b=%7e"
    _saw_no_secrets(site)


@pytest.mark.parametrize("user", ["", "me"])
async def test_a_plain_site_by_socks5_is_reached_at_the_checked_address(site: Site, user: str) -> None:
    async with (
        LocalProxy("socks5", user=user, password=SECRET) as proxy,
        transport_by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
    ):
        response = await got(transport, page_of(site))
        assert (response.body, response.proxy) == (PAGE, proxy.name)
        assert [asked.target for asked in proxy.asked] == [f"127.0.0.1:{site.port}"]
        assert site.hits[0].headers["host"] == f"secure.example:{site.port}"
    _saw_no_secrets(site)


async def test_ipv6_targets() -> None:
    async with Site(MANNERS, host="::1") as site, LocalProxy("socks5") as by_socks, LocalProxy() as by_connect:
        url = f"http://[::1]:{site.port}/page"
        async with transport_by(by_socks.url(), allow="::1/128", ports=(site.port,)) as transport:
            assert (await got(transport, Request(url, 1_000_000, 5.0))).body == PAGE
        async with transport_by(by_connect.url(), allow="::1/128", ports=(site.port,)) as transport:
            await failure(transport, Request(url.replace("http:", "https:"), 1_000_000, 5.0))
        assert [asked.target for asked in by_socks.asked] == [f"::1:{site.port}"]
        assert [asked.target for asked in by_connect.asked] == [f"[::1]:{site.port}"]


async def test_a_proxy_may_have_a_name(site: Site) -> None:
    async with LocalProxy("https", names={"secure.example": "127.0.0.1"}) as proxy:
        url = proxy.url().replace("127.0.0.1", "proxy.example")
        async with transport_by(url, ports=(site.port,)) as transport:
            assert (await got(transport, page_of(site))).proxy == f"proxy.example:{proxy.port}"


def _saw_no_secrets(site: Site) -> None:
    assert site.hits
    for hit in site.hits:
        assert not [name for name in hit.headers if name.startswith("proxy-")]
        assert not [value for value in hit.headers.values() if SECRET in value or ENCODED_SECRET in value]


# ---- the guard --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "https://127.0.0.1/",
        "https://secure.example/",
        "http://169.254.169.254/latest/meta-data",
        "http://8.8.8.8:25/",
        "http://me:pass@8.8.8.8/",
    ],
)
async def test_no_proxy_hears_of_a_target_that_the_guard_refuses(scheme: ProxyScheme, url: str) -> None:
    async with (
        LocalProxy(scheme) as proxy,
        transport_by(proxy.url(), allow="10.0.0.0/8", ports=(80, 443)) as transport,
    ):
        assert isinstance(await transport.get(Request(url, 1_000_000, 5.0)), Refused)
        assert proxy.connections == 0


@pytest.mark.parametrize(
    ("url", "address", "expected"),
    [
        ("http://any.example", "8.8.8.8", "public"),
        ("http://any.example", "2606:4700::1111", "public"),
        ("http://any.example", "10.1.2.3", "allowed"),
        ("http://typed.example", "127.0.0.1", "typed"),
        ("http://typed.example", "10.1.2.3", "allowed"),
        ("http://typed.example", "8.8.8.8", "public"),
        ("http://any.example", "127.0.0.1", ""),
        ("http://any.example", "any.example", ""),
    ],
)
async def test_the_class_of_an_address(url: str, address: str, expected: str) -> None:
    knobs = GuardConfig(allow_networks=("10.0.0.0/8",))
    guard = Guard(knobs, ManualClock(), ["http://typed.example"], Names())
    origin = origin_of(url)
    assert origin is not None
    assert guard.class_of(origin, address) == expected


# ---- certificates -----------------------------------------------------------------------------------------


async def _self_signed_site(stack: AsyncExitStack) -> Site:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parents[1] / "site" / "self_signed.pem")
    return await stack.enter_async_context(Site(MANNERS, tls=context))


@pytest.mark.parametrize("through", [None, "http", "https", "socks5"])
async def test_a_certificate_that_nobody_vouches_for(through: ProxyScheme | None) -> None:
    async with AsyncExitStack() as stack:
        site = await _self_signed_site(stack)
        urls = [(await stack.enter_async_context(LocalProxy(through))).url()] if through else []
        transport = await stack.enter_async_context(transport_by(*urls, ports=(site.port,)))
        for _ in range(4):
            failed = await failure(transport, page_of(site))
            assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True), "and the proxy is not banned for it"
        response = await got(transport, page_of(site, verify_tls=False))
        assert response.is_unverified and response.record.is_unverified
        assert (await failure(transport, page_of(site))).kind is FailureKind.TLS, "that connection is not for others"


async def test_a_plain_site_is_not_unverified(site: Site) -> None:
    async with transport_by(ports=(site.port,)) as transport:
        assert not (await got(transport, page_of(site, verify_tls=False))).is_unverified


async def test_the_proxy_is_verified_whatever_the_request_says(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    async with (
        LocalProxy("https") as proxy,
        transport_by(proxy.url("me", SECRET), ports=(site.port,)) as transport,
    ):
        failed = await failure(transport, page_of(site, verify_tls=False))
        assert failed.kind is FailureKind.CONNECT
        assert failed.why == f"proxy {proxy.name}: TLS: self-signed certificate"
        assert proxy.asked == []


# ---- proxies that fail ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "manner", "why"),
    [
        ("http", "hangs-up", "it closed the connection"),
        ("http", "garbage", "not a proper answer to CONNECT"),
        ("http", "endless", "not a proper answer to CONNECT"),
        ("http", "speaks-first", "it spoke out of turn"),
        ("socks5", "hangs-up", "it closed the connection"),
        ("socks5", "garbage", "not a SOCKS5 proxy"),
        ("socks5", "endless", "not a SOCKS5 proxy"),
        ("socks5", "speaks-first", "it spoke out of turn"),
    ],
)
async def test_a_proxy_that_fails_is_named_and_the_next_one_serves(
    secure_site: Site, scheme: ProxyScheme, manner: Manner, why: str
) -> None:
    async with LocalProxy(scheme, manner) as broken, LocalProxy() as sound:
        async with transport_by(broken.url("me", SECRET), ports=(secure_site.port,)) as transport:
            failed = await failure(transport, page_of(secure_site))
            assert failed == Failed(f"proxy {broken.name}: {why}", FailureKind.CONNECT, is_site_wide=True)
        assert secure_site.hits == []
        urls = (broken.url("me", SECRET), sound.url())
        async with transport_by(*urls, ports=(secure_site.port,)) as transport:
            assert (await got(transport, page_of(secure_site))).proxy == sound.name
    assert len(secure_site.hits) == 1


async def test_refused_and_unknown_proxies(site: Site) -> None:
    nobody = f"http://127.0.0.1:{unused_port()}"
    async with transport_by(nobody, ports=(site.port,)) as transport:
        assert (await failure(transport, page_of(site))).why == f"proxy {nobody[7:]}: connection refused"
    async with transport_by("socks5://gone.example", ports=(site.port,)) as transport:
        assert (await failure(transport, page_of(site))).why == "proxy gone.example:1080: no such host"
    assert site.connections == 0


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
async def test_a_silent_proxy_times_out_and_the_next_one_serves(secure_site: Site, scheme: ProxyScheme) -> None:
    async with LocalProxy(scheme, "silent") as silent, LocalProxy() as sound:
        urls = (silent.url(), sound.url())
        async with transport_by(*urls[:1], ports=(secure_site.port,), connect_seconds=0.2) as transport:
            failed = await failure(transport, page_of(secure_site))
            assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_CONNECT, True)
            assert failed.why == f"proxy {silent.name}: no connection within 0.2 s"
        async with transport_by(*urls, ports=(secure_site.port,), connect_seconds=0.2) as transport:
            assert (await got(transport, page_of(secure_site))).proxy == sound.name


async def test_the_deadline_ends_the_search(secure_site: Site) -> None:
    async with LocalProxy("http", "silent") as one, LocalProxy("http", "silent") as two:
        began = time.monotonic()
        async with transport_by(one.url(), two.url(), ports=(secure_site.port,)) as transport:
            failed = await failure(transport, page_of(secure_site, seconds=0.2))
        assert failed.kind is FailureKind.TIMEOUT_CONNECT
        assert two.connections == 0
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize(
    ("user", "why"), [("", "it wants a user and a password"), ("me", "it does not accept our user and password")]
)
async def test_wrong_credentials(
    site: Site,
    secure_site: Site,
    scheme: ProxyScheme,
    user: str,
    why: str,
    is_secure: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = secure_site if is_secure else site
    clock = ManualClock()
    caplog.set_level(logging.DEBUG)
    async with (
        LocalProxy(scheme, user="me", password="other") as strict,
        transport_by(strict.url(user, SECRET), clock=clock, ports=(asked.port,)) as transport,
    ):
        for _ in range(3):
            failed = await failure(transport, page_of(asked))
            assert failed == Failed(f"proxy {strict.name}: {why}", FailureKind.CONNECT, is_site_wide=True)
        deferred = await transport.get(page_of(asked))
        assert deferred == Deferred(clock.now() + 300, f"every proxy is banned: {strict.name} ({why})")
        assert asked.connections == 0, "never without a proxy"
    fields = [vars(record).get("fields") for record in caplog.records]
    assert {"proxy": strict.name, "why": why} in fields
    assert SECRET not in str(fields) and ENCODED_SECRET not in str(fields)


# ---- proxies that decline ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "refusal", "why"),
    [
        ("http", 502, "answer 502 to CONNECT"),
        ("http", 403, "answer 403 to CONNECT"),
        ("socks5", 5, "SOCKS5: connection refused"),
        ("socks5", 99, "SOCKS5: reply 99"),
    ],
)
async def test_one_that_declines_is_counted_when_another_serves(
    secure_site: Site, scheme: ProxyScheme, refusal: int, why: str
) -> None:
    async with (
        LocalProxy(scheme, refusal=refusal) as unwilling,
        LocalProxy() as sound,
        transport_by(unwilling.url(), sound.url(), ports=(secure_site.port,)) as transport,
    ):
        for nth in range(5):
            host = f"https://{nth}.secure.example:{secure_site.port}/page"
            assert (await got(transport, Request(host, 1_000_000, 5.0, verify_tls=False))).proxy == sound.name
        assert unwilling.connections == 3, "then it is banned"
        async with transport_by(unwilling.url(), ports=(secure_site.port,)) as alone:
            assert (await failure(alone, page_of(secure_site))).why == f"proxy {unwilling.name}: {why}"
            await failure(alone, page_of(secure_site))
            await failure(alone, page_of(secure_site))
            assert isinstance(await alone.get(page_of(secure_site)), Deferred)


async def test_what_all_say_of_a_host_bans_none_of_them(secure_site: Site) -> None:
    async with (
        LocalProxy(refusal=502) as one,
        LocalProxy("socks5", refusal=4) as two,
        transport_by(one.url(), two.url(), ports=(secure_site.port,)) as transport,
    ):
        for _ in range(4):
            failed = await failure(transport, page_of(secure_site))
            assert failed.why.partition(": ")[2] in ("answer 502 to CONNECT", "SOCKS5: host unreachable")
        assert (one.connections, two.connections) == (4, 4)
        one.refusal = 0
        assert (await got(transport, page_of(secure_site))).proxy == one.name


# ---- what comes through -----------------------------------------------------------------------------------


async def _status(exchange: Exchange) -> None:
    await exchange.answer(b"no", f"{exchange.path[1:]} No")


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_site_that_shuts_a_proxy_out_bans_it_for_five_minutes(scheme: ProxyScheme, status: int) -> None:
    clock = ManualClock()
    names = {"secure.example": "127.0.0.1"}
    async with (
        Site({**MANNERS, f"/{status}": _status}) as site,
        LocalProxy(scheme, names=names) as first,
        LocalProxy(scheme, names=names) as second,
        transport_by(first.url(), second.url(), clock=clock, ports=(site.port,)) as transport,
    ):
        answers = [await got(transport, page_of(site, f"/{status}")) for _ in range(2)]
        assert [answer.proxy for answer in answers] == [first.name, second.name]
        assert {answer.status for answer in answers} == {status}
        deferred = await transport.get(page_of(site))
        assert isinstance(deferred, Deferred)
        assert deferred.until == clock.now() + 300
        assert deferred.why.startswith(f"every proxy is banned: {first.name} (answer {status})")
        assert len(site.hits) == 2, "nothing was sent"
        clock.advance(300)
        assert (await got(transport, page_of(site))).proxy == first.name


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/reset", FailureKind.RESET), ("/truncated", FailureKind.TRUNCATED), ("/silent", FailureKind.TIMEOUT_TOTAL)],
)
async def test_what_breaks_on_the_way_is_not_sent_twice_and_counts(site: Site, path: str, kind: FailureKind) -> None:
    async with (
        LocalProxy("socks5") as one,
        LocalProxy("socks5") as two,
        transport_by(one.url(), two.url(), ports=(site.port,)) as transport,
    ):
        for _ in range(3):
            failed = await failure(transport, page_of(site, path, seconds=0.3))
            assert failed.kind is kind
            assert failed.why.endswith(f", through proxy {one.name}")
        assert (len(site.hits), two.connections) == (3, 0)
        assert (await got(transport, page_of(site))).proxy == two.name, "the first is banned"


async def test_a_tunnel_that_breaks_under_the_handshake(secure_site: Site) -> None:
    async with (
        LocalProxy("http", "drops-tunnels") as proxy,
        transport_by(proxy.url(), ports=(secure_site.port,)) as transport,
    ):
        failed = await failure(transport, page_of(secure_site))
        assert (failed.kind, failed.is_site_wide) == (FailureKind.RESET, True)


async def test_an_idle_tunnel_that_was_closed_is_replaced(site: Site) -> None:
    async with (
        LocalProxy("socks5") as proxy,
        transport_by(proxy.url(), ports=(site.port,)) as transport,
    ):
        await got(transport, page_of(site, "/once-per-connection"))
        await got(transport, page_of(site, "/once-per-connection"))
        assert proxy.connections == 2


async def test_a_caller_that_gives_up_leaves_nothing_behind(secure_site: Site) -> None:
    async with (
        LocalProxy("http", "silent") as proxy,
        transport_by(proxy.url(), ports=(secure_site.port,)) as transport,
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await transport.get(page_of(secure_site))
        proxy.manner = "works"
        assert (await got(transport, page_of(secure_site))).body == PAGE


async def test_without_proxies_it_goes_straight(site: Site) -> None:
    async with transport_by(ports=(site.port,)) as transport:
        response = await got(transport, page_of(site))
        assert (response.proxy, response.address_class) == ("", "allowed")


# ---- files ------------------------------------------------------------------------------------------------


def test_as_many_files_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        allowed = raise_file_limit()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert (allowed, hard) == (soft, before[1])
        assert soft in (MAX_FILES, hard)
        assert raise_file_limit() == allowed
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
