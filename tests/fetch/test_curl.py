from __future__ import annotations

import asyncio
import struct
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenax.clock import Clock, ManualClock
from tenax.config import FetchConfig
from tenax.fetch import Request, Response
from tenax.fetch.answer import fetch_record
from tenax.fetch.curl import CurlTransport, curl_install_hint
from tenax.fetch.headers import Profile
from tenax.fetch.proxies import ProxyScheme
from tenax.model import Failed, FailureKind, TransportKind
from tests.contracts.body_room import BodyRoomContract
from tests.contracts.proxied_transport import SECRET, ProxiedContract, got, page_of, saw_no_secrets
from tests.contracts.transport import CAP_BYTES, OPEN, Names, Rig, TransportContract
from tests.loops import FAULT_SECONDS, outlasted, reached
from tests.site.behaviours import BEHAVIOURS, PAGE
from tests.site.http2 import CERTIFICATE, Http2Site
from tests.site.proxies import LocalProxy
from tests.site.server import Exchange, Site


class TestCurl(TransportContract):
    made = CurlTransport


class TestCurlBodyRoom(BodyRoomContract):
    made = CurlTransport


class TestCurlThroughProxies(ProxiedContract):
    made = CurlTransport
    silence_seconds = 2.0  # libcurl has its own clock, so this time does pass

    @pytest.mark.parametrize("user", ["", "me"])
    @pytest.mark.parametrize("scheme", ["http", "https"])
    async def test_a_plain_site_by_a_tunnel_too(self, site: Site, scheme: ProxyScheme, user: str) -> None:
        async with (
            LocalProxy(scheme, user=user, password=SECRET) as proxy,
            self.by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
        ):
            response = await got(transport, page_of(site, "/page?b=%7e"))
            assert (response.body, response.proxy, response.transport) == (PAGE, proxy.name, TransportKind.CURL)
            assert [(asked.method, asked.target) for asked in proxy.asked] == [("CONNECT", f"127.0.0.1:{site.port}")]
        saw_no_secrets(site)

    @pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
    async def test_http2_with_the_handshake_of_a_browser(self, http2: Http2Site, scheme: ProxyScheme) -> None:
        async with LocalProxy(scheme) as proxy, self.by(proxy.url(), ports=(http2.port,)) as transport:
            url = f"https://secure.example:{http2.port}/page"
            response = await got(transport, Request(url, 1_000_000, FAULT_SECONDS, verify_tls=False, profile="browser"))
            assert (response.body, response.protocol, response.proxy) == (PAGE, "HTTP/2", proxy.name)
            assert [asked.target for asked in proxy.asked] == [f"127.0.0.1:{http2.port}"]


def rig_with(fetch: FetchConfig | None = None, names: Names | None = None, clock: Clock | None = None) -> Rig:
    return Rig(CurlTransport, fetch, names, clock=clock)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with rig_with() as rig:
        yield rig


@pytest.fixture
async def http2() -> AsyncIterator[Http2Site]:
    async with Http2Site() as site:
        yield site


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert curl_install_hint() is None
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "curl_cffi", raising=False)
    assert "pip install 'tenax[curl]'" in (curl_install_hint() or "")


# ---- success ----------------------------------------------------------------------------------------------


async def test_a_page_comes_by_http2_with_its_measurements(rig: Rig, http2: Http2Site) -> None:
    response = await rig.page(http2.url("/page"))
    assert (response.status, response.body) == (200, PAGE)
    assert (response.transport, response.protocol, response.address_class) == (TransportKind.CURL, "HTTP/2", "allowed")
    assert response.headers.content_type == "text/html; charset=utf-8"
    assert 0 < response.wire_bytes < len(PAGE)
    assert response.started_at <= response.answered_at <= response.finished_at
    assert response.is_unverified and fetch_record(response, FetchConfig()).is_unverified


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/early-hints", 200, PAGE),
        ("/trailers", 200, PAGE),
        ("/redirect", 302, b"moved"),
        ("/missing", 404, b"no such page"),
        ("/truncated/404", 404, b""),
        ("/big", 200, b"a" * 900_000),
    ],
)
async def test_odd_but_complete_by_http2(rig: Rig, http2: Http2Site, path: str, status: int, body: bytes) -> None:
    response = await rig.page(http2.url(path))
    assert (response.status, response.body) == (status, body)
    assert response.headers.content_type == "", "a trailer is no header"


async def test_a_conditional_request_gets_its_304(rig: Rig, http2: Http2Site) -> None:
    url, own = http2.url("/etag"), (("If-None-Match", '"1"'),)
    response = await rig.transport.get(Request(url, CAP_BYTES, FAULT_SECONDS, own, verify_tls=False))
    assert isinstance(response, Response)
    assert (response.status, response.body) == (304, b"")
    assert (await rig.page(url)).status == 200, "what one request carried the next does not"


async def test_many_at_once_share_one_connection(rig: Rig, http2: Http2Site) -> None:
    responses = await asyncio.gather(*(rig.page(http2.url(f"/page?{number}")) for number in range(30)))
    assert [response.body for response in responses] == [PAGE] * 30
    assert http2.connections == 1


# ---- identity ---------------------------------------------------------------------------------------------


async def test_honest_by_http2(rig: Rig, http2: Http2Site) -> None:
    await rig.page(http2.url("/page?b=%7e&a=%C3%A9"))
    hit = http2.hits[0]
    assert hit.headers["user-agent"].startswith("Tenax/")
    assert hit.headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert hit.path == "/page?b=%7e&a=%C3%A9", "the URL is sent as it was given"
    assert set(hit.names) - {":method", ":authority", ":scheme", ":path"} == {
        "user-agent",
        "accept",
        "accept-language",
        "accept-encoding",
    }


async def test_the_browser_profile_by_http2(http2: Http2Site) -> None:
    async with rig_with(FetchConfig(profile="browser")) as rig:
        assert (await rig.page(http2.url("/page"))).body == PAGE
    hit = http2.hits[0]
    assert hit.names[:4] == [":method", ":authority", ":scheme", ":path"], "as Chrome orders them"
    assert "Chrome/120" in hit.headers["user-agent"]
    assert hit.headers["sec-fetch-mode"] == "navigate"
    assert "Tenax" not in str(hit.headers)


async def hello_of(fetch: FetchConfig, profile: Profile | None = None) -> list[int]:
    """The cipher suites in a client's hello, by number."""
    hellos: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hellos.append(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, rig_with(fetch) as rig:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await rig.transport.get(Request(url, CAP_BYTES, FAULT_SECONDS, profile=profile))
    session_bytes = hellos[0][43]
    at = 44 + session_bytes
    (length,) = struct.unpack_from(">H", hellos[0], at)
    return list(struct.unpack_from(f">{length // 2}H", hellos[0], at + 2))


async def test_the_handshake_is_a_browsers_when_the_headers_are() -> None:
    honest, browser = await hello_of(FetchConfig()), await hello_of(FetchConfig(profile="browser"))
    assert browser[0] & 0x0F0F == 0x0A0A, "Chrome begins with a number that means nothing (RFC 8701)"
    assert honest[0] & 0x0F0F != 0x0A0A
    assert browser[1:] != honest


async def test_each_site_has_the_handshake_that_its_headers_promise() -> None:
    everywhere, own = await hello_of(FetchConfig(), "browser"), await hello_of(FetchConfig(profile="browser"), "honest")
    assert everywhere[0] & 0x0F0F == 0x0A0A
    assert own == await hello_of(FetchConfig())


async def test_a_connection_with_another_handshake_does_not_serve(rig: Rig, http2: Http2Site) -> None:
    profiles: list[Profile | None] = ["honest", "browser", None, "browser"]
    for profile in profiles:
        request = Request(http2.url("/page"), CAP_BYTES, FAULT_SECONDS, verify_tls=False, profile=profile)
        assert isinstance(await rig.transport.get(request), Response)
    assert [hit.connection for hit in http2.hits] == [1, 2, 1, 2]


# ---- the address is pinned --------------------------------------------------------------------------------


async def test_a_name_that_the_system_knows_otherwise_leads_where_the_guard_said(http2: Http2Site) -> None:
    """libcurl resolves `localhost` to 127.0.0.1 without a look-up, and a server listens there."""
    async with (
        Http2Site("127.0.0.2", port=http2.port) as pinned,
        rig_with(names=Names(localhost=("127.0.0.2",))) as rig,
    ):
        assert (await rig.page(f"https://localhost:{http2.port}/page")).body == PAGE
        assert (len(pinned.hits), http2.connections) == (1, 0)


async def test_a_kept_connection_serves_only_the_address_that_was_checked(site: Site) -> None:
    names, clock = Names(), ManualClock()
    async with Site(BEHAVIOURS, "127.0.0.2", site.port) as second, rig_with(names=names, clock=clock) as rig:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
            names.known["a.example"] = (address,)
            clock.advance(OPEN.dns_ttl_seconds + 1)
            await rig.page(f"http://a.example:{site.port}/page")
        assert (len(site.hits), len(second.hits)) == (2, 1)
        assert site.connections == 1


async def test_the_environment_has_no_say(
    rig: Rig, http2: Http2Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login user password secret\n", encoding="ascii")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with Site(BEHAVIOURS) as site, Site(BEHAVIOURS) as decoy:
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, decoy.origin)
        await rig.page(site.url("/page"))
        await rig.page(http2.url("/page"))
        assert decoy.connections == 0
        assert "authorization" not in site.hits[0].headers
        assert "authorization" not in http2.hits[0].headers


async def test_no_memory_from_one_answer_to_the_next(rig: Rig, http2: Http2Site) -> None:
    """No cookie is kept, no redirect followed, no other port or scheme treated as the same."""
    for path in ("/redirect", "/page", "/elsewhere", "/page"):
        await rig.page(http2.url(path))
    assert [hit.path for hit in http2.hits] == ["/redirect", "/page", "/elsewhere", "/page"]
    assert not any("cookie" in hit.headers for hit in http2.hits)
    assert http2.connections == 1


# ---- failures ---------------------------------------------------------------------------------------------

HTTP2_FAILURES = [
    ("/truncated", FailureKind.TRUNCATED, False),
    ("/truncated/reset", FailureKind.TRUNCATED, False),
    ("/truncated/length", FailureKind.TRUNCATED, False),
    ("/garbage", FailureKind.RESET, True),
    ("/headers-huge", FailureKind.BAD_RESPONSE, False),
    ("/headers-many", FailureKind.BAD_RESPONSE, False),
    ("/large", FailureKind.TOO_LARGE, False),
    ("/endless", FailureKind.TOO_LARGE, False),
    ("/bomb", FailureKind.TOO_LARGE, False),
    ("/reset", FailureKind.RESET, True),
    ("/go-away", FailureKind.RESET, True),
    ("/hang-up", FailureKind.RESET, True),
]


@pytest.mark.parametrize(("path", "kind", "is_site_wide"), HTTP2_FAILURES)
async def test_each_failure_of_http2_has_its_kind(
    rig: Rig, http2: Http2Site, path: str, kind: FailureKind, is_site_wide: bool
) -> None:
    failed = await rig.failure(http2.url(path))
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why
    assert len(http2.hits) == 1
    assert (await rig.page(http2.url("/page"))).body == PAGE


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/silent", FailureKind.TIMEOUT_HEADERS),
        ("/silent/in-the-body", FailureKind.TIMEOUT_BODY),
        ("/drip", FailureKind.TIMEOUT_TOTAL),
    ],
)
async def test_each_wait_has_its_own_limit(rig: Rig, http2: Http2Site, path: str, kind: FailureKind) -> None:
    await rig.page(http2.url("/page"))
    limits = Request(
        http2.url(path), CAP_BYTES, 50, headers_timeout_seconds=20, body_timeout_seconds=20, verify_tls=False
    )
    failed = await outlasted(rig.transport.get(limits), 1, lambda: len(http2.hits) == 2, steps=50)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (kind, False)
    assert (await rig.page(http2.url("/page"))).body == PAGE


async def test_a_caller_that_gives_up_leaves_nothing_behind(rig: Rig, http2: Http2Site) -> None:
    asking = asyncio.ensure_future(rig.get(http2.url("/silent")))
    await reached(lambda: bool(http2.hits))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await rig.page(http2.url("/page"))).body == PAGE


async def test_closing_ends_requests_in_flight() -> None:
    asked = asyncio.Event()

    async def silent(_: Exchange) -> None:
        asked.set()
        await asyncio.sleep(3600)

    async with Site({"/silent": silent}) as site, rig_with() as rig, asyncio.TaskGroup() as group:
        waiting = group.create_task(rig.get(site.url("/silent")))
        await asked.wait()
        await rig.transport.close()
    assert isinstance(waiting.result(), Failed)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_many_requests_leave_no_files_open(site: Site) -> None:
    async def visit(number: int) -> None:
        names.known[f"{number}.example"] = ("127.0.0.1",)
        await rig.page(f"http://{number}.example:{site.port}/page")

    names = Names()
    async with rig_with(names=names) as rig:
        before = open_files()
        for start in range(0, 300, 20):
            await asyncio.gather(*(visit(start + number) for number in range(20)))
        # Each kept connection is two files here: ours, and the site's.
        assert open_files() - before < 2 * 64 + 20


# ---- no connection ----------------------------------------------------------------------------------------


async def test_tls_that_nobody_vouches_for(rig: Rig, http2: Http2Site) -> None:
    failed = await rig.failure(http2.url("/page"), verify=True)
    assert failed == Failed("TLS: self-signed certificate", FailureKind.TLS, is_site_wide=True)
    assert http2.hits == []
    assert (await rig.page(http2.url("/page"))).is_unverified, "unless that was wished"
    assert (await rig.failure(http2.url("/page"), verify=True)).kind is FailureKind.TLS, "and only then"


async def test_tls_that_the_system_trusts(http2: Http2Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    async with rig_with(names=Names(localhost=("127.0.0.1",), other_example=("127.0.0.1",))) as rig:
        response = await rig.get(http2.url("/page"), verify=True)
        assert isinstance(response, Response)
        assert (response.body, response.is_unverified) == (PAGE, False)
        failed = await rig.failure(f"https://other.example:{http2.port}/page", verify=True)
        assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True), "a certificate of another host"
