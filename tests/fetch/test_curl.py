from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import struct
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenax.clock import Clock, ManualClock, SteadyClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.curl import CurlTransport, curl_missing
from tenax.fetch.guard import Guard
from tenax.fetch.names import Found, NameUnknown
from tenax.model import Failed, FailureKind, Refused, Way
from tests.site.http2 import CERTIFICATE, Http2Site
from tests.site.manners import BOMBS, ENCODED, MANNERS, PAGE
from tests.site.server import Exchange, Site

CAP_BYTES = 1024 * 1024
OPEN = GuardConfig(allow_networks=("127.0.0.0/8",), ports=tuple(range(1, 65_536)))


class Names:
    """A resolver that knows what the test tells it, and can change its mind."""

    def __init__(self, **known: tuple[str, ...]) -> None:
        self.known = {name.replace("_", "."): addresses for name, addresses in known.items()}

    async def addresses(self, host: str) -> Found:
        if host not in self.known:
            raise NameUnknown(None, "no such name")
        return Found(self.known[host])

    def close(self) -> None: ...


class Rig:
    """A transport with a guard that lets it go anywhere on loopback."""

    def __init__(
        self,
        fetch: FetchConfig | None = None,
        names: Names | None = None,
        guard: GuardConfig | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SteadyClock()
        self.guard = Guard(guard or OPEN, clock, lookup=names or Names(localhost=("127.0.0.1",)))
        self.transport = CurlTransport(fetch or FetchConfig(), self.guard, clock)

    async def __aenter__(self) -> Rig:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()
        await self.guard.close()

    async def get(self, url: str, seconds: float = 5.0, *, verify: bool = False) -> Response | Failed | Refused:
        return await self.transport.get(Request(url, CAP_BYTES, seconds, verify_tls=verify))

    async def page(self, url: str) -> Response:
        response = await self.get(url)
        assert isinstance(response, Response), response
        return response

    async def failure(self, url: str, seconds: float = 5.0, *, verify: bool = False) -> Failed:
        failed = await self.get(url, seconds, verify=verify)
        assert isinstance(failed, Failed), failed
        assert "127.0.0" not in failed.why
        return failed


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def http2() -> AsyncIterator[Http2Site]:
    async with Http2Site() as site:
        yield site


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert curl_missing() is None
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "curl_cffi", raising=False)
    assert "pip install 'tenax[curl]'" in (curl_missing() or "")


# ---- what goes well ---------------------------------------------------------------------------------------


async def test_a_page_comes_by_http2_with_its_measurements(rig: Rig, http2: Http2Site) -> None:
    response = await rig.page(http2.url("/page"))
    assert (response.status, response.body) == (200, PAGE)
    assert (response.way, response.protocol, response.address_class) == (Way.CURL, "HTTP/2", "allowed")
    assert response.content_type == "text/html; charset=utf-8"
    assert 0 < response.wire_bytes < len(PAGE)
    assert response.started_at <= response.answered_at <= response.finished_at
    assert response.is_unverified and response.record.is_unverified


async def test_where_there_is_no_tls_it_is_http1(rig: Rig, site: Site) -> None:
    response = await rig.page(site.url("/page"))
    assert (response.protocol, response.way, response.body) == ("HTTP/1.1", Way.CURL, PAGE)
    assert not response.is_unverified


@pytest.mark.parametrize("path", [path + suffix for path in ENCODED for suffix in ("", "/chunked")])
async def test_every_encoding_gives_the_same_page(rig: Rig, site: Site, path: str) -> None:
    assert (await rig.page(site.url(path))).body == PAGE


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/999", 999, b"no"),
        ("/429", 429, b"slow down"),
        ("/no-reason", 200, PAGE),
        ("/folded", 200, b"page"),
        ("/no-length", 200, PAGE),
        ("/empty", 200, b""),
        ("/missing", 404, b"no such page"),
        ("/truncated/404", 404, b""),
        ("/redirect", 302, b"moved"),
        ("/redirect/bomb", 302, b""),
        ("/early-hints", 200, PAGE),
        ("/lengths", 200, b"page"),
        ("/bare-lines", 200, b"page"),
    ],
)
async def test_odd_but_complete(rig: Rig, site: Site, path: str, status: int, body: bytes) -> None:
    response = await rig.page(site.url(path))
    assert (response.status, response.body) == (status, body)


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
    assert response.content_type == "", "a trailer is no header"


async def test_a_header_sent_twice_or_folded_is_there(rig: Rig, site: Site) -> None:
    headers = (await rig.page(site.url("/robots-tags"))).headers
    assert headers.all("X-Robots-Tag") == ("noindex", "other: nofollow")
    folded = (await rig.page(site.url("/folded"))).headers
    assert folded["x-long"].split() == ["first", "second"]
    assert folded["x-bytes"] == "\udce9\udcff"


async def test_a_conditional_request_gets_its_304(rig: Rig, http2: Http2Site) -> None:
    url, own = http2.url("/etag"), (("If-None-Match", '"1"'),)
    response = await rig.transport.get(Request(url, CAP_BYTES, 5.0, own, verify_tls=False))
    assert isinstance(response, Response)
    assert (response.status, response.body) == (304, b"")
    assert (await rig.page(url)).status == 200, "what one request carried the next does not"


async def test_head_asks_without_a_body_and_get_asks_with_one_again(rig: Rig, site: Site) -> None:
    response = await rig.transport.get(Request(site.url("/page"), CAP_BYTES, 5.0, method="HEAD"))
    assert isinstance(response, Response)
    assert (response.status, response.body) == (200, b"")
    assert (await rig.page(site.url("/page"))).body == PAGE
    assert [hit.method for hit in site.hits] == ["HEAD", "GET"]


async def test_many_at_once_share_one_connection(rig: Rig, http2: Http2Site) -> None:
    responses = await asyncio.gather(*(rig.page(http2.url(f"/page?{number}")) for number in range(30)))
    assert [response.body for response in responses] == [PAGE] * 30
    assert http2.connections == 1


# ---- who we say we are ------------------------------------------------------------------------------------


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
    async with Rig(FetchConfig(profile="browser")) as rig:
        assert (await rig.page(http2.url("/page"))).body == PAGE
    hit = http2.hits[0]
    assert hit.names[:4] == [":method", ":authority", ":scheme", ":path"], "as Chrome orders them"
    assert "Chrome/120" in hit.headers["user-agent"]
    assert hit.headers["sec-fetch-mode"] == "navigate"
    assert "Tenax" not in str(hit.headers)


async def hello_of(fetch: FetchConfig) -> list[int]:
    """The cipher suites that a client offers, by number."""
    hellos: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hellos.append(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, Rig(fetch) as rig:
        await rig.failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    session_bytes = hellos[0][43]
    at = 44 + session_bytes
    (length,) = struct.unpack_from(">H", hellos[0], at)
    return list(struct.unpack_from(f">{length // 2}H", hellos[0], at + 2))


async def test_the_handshake_is_a_browsers_when_the_headers_are() -> None:
    honest, browser = await hello_of(FetchConfig()), await hello_of(FetchConfig(profile="browser"))
    assert browser[0] & 0x0F0F == 0x0A0A, "Chrome begins with a number that means nothing (RFC 8701)"
    assert honest[0] & 0x0F0F != 0x0A0A
    assert browser[1:] != honest


# ---- the address is pinned --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["only-the-guard-knows.example", "only-the-guard-knows.example."])
async def test_curl_looks_nothing_up(site: Site, name: str) -> None:
    names = Names()
    names.known[name] = ("127.0.0.1",)
    async with Rig(names=names) as rig:
        assert (await rig.page(f"http://{name}:{site.port}/page")).body == PAGE
    assert site.hits[0].headers["host"].startswith("only-the-guard-knows.example")


async def test_a_name_that_the_system_knows_otherwise_leads_where_the_guard_said(http2: Http2Site) -> None:
    """`localhost` is 127.0.0.1 to libcurl without asking anyone, and somebody listens there."""
    async with Http2Site("127.0.0.2", port=http2.port) as pinned, Rig(names=Names(localhost=("127.0.0.2",))) as rig:
        assert (await rig.page(f"https://localhost:{http2.port}/page")).body == PAGE
        assert (len(pinned.hits), http2.connections) == (1, 0)


async def test_a_kept_connection_serves_only_the_address_that_was_checked(site: Site) -> None:
    names, clock = Names(), ManualClock()
    async with Site(MANNERS, "127.0.0.2", site.port) as second, Rig(names=names, clock=clock) as rig:
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
            names.known["a.example"] = (address,)
            clock.advance(OPEN.dns_ttl_seconds + 1)
            await rig.page(f"http://a.example:{site.port}/page")
        assert (len(site.hits), len(second.hits)) == (2, 1)
        assert site.connections == 1


async def test_the_second_address_is_tried_when_the_first_is_not_there(site: Site) -> None:
    async with Rig(names=Names(two_example=("127.0.0.9", "127.0.0.1"))) as rig:
        assert (await rig.page(f"http://two.example:{site.port}/page")).body == PAGE


async def test_a_request_that_was_heard_is_not_repeated_elsewhere(site: Site) -> None:
    async with (
        Site(MANNERS, "127.0.0.2", site.port) as second,
        Rig(names=Names(two_example=("127.0.0.1", "127.0.0.2"))) as rig,
    ):
        assert (await rig.failure(f"http://two.example:{site.port}/hang-up")).kind is FailureKind.RESET
        assert second.connections == 0


async def test_what_the_guard_refuses_is_not_connected_to(site: Site) -> None:
    closed = GuardConfig(ports=(site.port,))
    async with Rig(names=Names(in_example=("127.0.0.1",)), guard=closed) as rig:
        for url in (site.url("/page"), f"http://in.example:{site.port}/page", f"http://[::1]:{site.port}/page"):
            assert isinstance(await rig.get(url), Refused)
    assert site.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/",
        "http://good.example\\@127.0.0.1/",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/a\r\nX-Injected: 1",
        "http://127.0.0.1/é",
        "http://[fe80::1%25eth0]/",
        "",
    ],
)
async def test_a_url_with_two_readings_is_not_asked_for(rig: Rig, url: str) -> None:
    assert isinstance(await rig.get(url), Refused)


async def test_the_environment_has_no_say(
    rig: Rig, http2: Http2Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login user password secret\n", encoding="ascii")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with Site(MANNERS) as site, Site(MANNERS) as decoy:
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, decoy.origin)
        await rig.page(site.url("/page"))
        await rig.page(http2.url("/page"))
        assert decoy.connections == 0
        assert "authorization" not in site.hits[0].headers
        assert "authorization" not in http2.hits[0].headers


async def test_no_memory_from_one_answer_to_the_next(rig: Rig, http2: Http2Site) -> None:
    """No cookie is kept, no redirect followed, no other place or scheme taken for the same."""
    for path in ("/redirect", "/page", "/elsewhere", "/page"):
        await rig.page(http2.url(path))
    assert [hit.path for hit in http2.hits] == ["/redirect", "/page", "/elsewhere", "/page"]
    assert not any("cookie" in hit.headers for hit in http2.hits)
    assert http2.connections == 1


# ---- what goes wrong --------------------------------------------------------------------------------------

FAILURES = [
    ("/truncated", FailureKind.TRUNCATED, False),
    ("/truncated/chunked", FailureKind.TRUNCATED, False),
    ("/truncated/gzip", FailureKind.TRUNCATED, False),
    ("/truncated/reset", FailureKind.TRUNCATED, False),
    ("/truncated/no-length", FailureKind.TRUNCATED, False),
    ("/chunked-nonsense", FailureKind.BAD_RESPONSE, False),
    ("/damaged/gzip", FailureKind.BAD_RESPONSE, False),
    ("/garbage", FailureKind.BAD_RESPONSE, False),
    ("/headers-huge", FailureKind.BAD_RESPONSE, False),
    ("/headers-many", FailureKind.BAD_RESPONSE, False),
    ("/early-hints/endless", FailureKind.BAD_RESPONSE, False),
    ("/upgrade", FailureKind.BAD_RESPONSE, False),
    ("/large", FailureKind.TOO_LARGE, False),
    ("/endless", FailureKind.TOO_LARGE, False),
    ("/reset", FailureKind.RESET, True),
    ("/hang-up", FailureKind.RESET, True),
    ("/hang-up/in-headers", FailureKind.RESET, True),
]
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


@pytest.mark.parametrize(("path", "kind", "is_site_wide"), FAILURES)
async def test_each_failure_has_its_kind(
    rig: Rig, site: Site, path: str, kind: FailureKind, is_site_wide: bool
) -> None:
    failed = await rig.failure(site.url(path))
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why
    assert len(site.hits) == 1, "a new connection that breaks is not tried again"
    assert (await rig.page(site.url("/page"))).body == PAGE, "the transport goes on"


@pytest.mark.parametrize(("path", "kind", "is_site_wide"), HTTP2_FAILURES)
async def test_each_failure_of_http2_has_its_kind(
    rig: Rig, http2: Http2Site, path: str, kind: FailureKind, is_site_wide: bool
) -> None:
    failed = await rig.failure(http2.url(path))
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why
    assert len(http2.hits) == 1
    assert (await rig.page(http2.url("/page"))).body == PAGE


@pytest.mark.parametrize("path", ["/silent", "/drip", "/drip/chunked", "/headers-endless"])
async def test_the_total_deadline_ends_everything(rig: Rig, site: Site, path: str) -> None:
    began = time.monotonic()
    failed = await rig.failure(site.url(path), seconds=0.2)
    assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_TOTAL, False)
    assert time.monotonic() - began < 1.5
    assert (await rig.page(site.url("/page"))).body == PAGE


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
        http2.url(path), CAP_BYTES, 0.8, headers_timeout_seconds=0.2, body_timeout_seconds=0.2, verify_tls=False
    )
    began = time.monotonic()
    failed = await rig.transport.get(limits)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (kind, False)
    assert time.monotonic() - began < 1.5
    assert (await rig.page(http2.url("/page"))).body == PAGE


@pytest.mark.parametrize("path", [path + suffix for path in BOMBS for suffix in ("", "/chunked")])
async def test_a_bomb_stops_at_the_cap(rig: Rig, site: Site, path: str) -> None:
    before_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (await rig.failure(site.url(path))).kind is FailureKind.TOO_LARGE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kilobytes < 50 * 1024


async def test_an_idle_connection_closed_by_the_peer_is_replaced_once(rig: Rig, site: Site) -> None:
    await rig.page(site.url("/once-per-connection"))
    await rig.page(site.url("/once-per-connection"))
    assert [hit.connection for hit in site.hits] == [1, 1, 2]


@pytest.mark.parametrize("path", ["/unasked", "/unasked/late"])
async def test_an_answer_that_nobody_asked_for_is_never_taken(rig: Rig, site: Site, path: str) -> None:
    assert (await rig.page(site.url(path))).body == b"page"
    await asyncio.sleep(0.05)
    assert (await rig.page(site.url("/page"))).body == PAGE
    assert site.connections == 2


async def test_a_caller_that_gives_up_leaves_nothing_behind(rig: Rig, http2: Http2Site) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await rig.get(http2.url("/silent"))
    assert (await rig.page(http2.url("/page"))).body == PAGE


async def test_closing_ends_what_is_under_way() -> None:
    asked = asyncio.Event()

    async def silent(_: Exchange) -> None:
        asked.set()
        await asyncio.sleep(3600)

    async with Site({"/silent": silent}) as site, Rig() as rig, asyncio.TaskGroup() as group:
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
    async with Rig(names=names) as rig:
        before = open_files()
        for start in range(0, 300, 20):
            await asyncio.gather(*(visit(start + number) for number in range(20)))
        # Each connection kept is two files here: ours, and the site's.
        assert open_files() - before < 2 * 64 + 20


# ---- no connection ----------------------------------------------------------------------------------------


async def test_connection_refused(rig: Rig) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        failed = await rig.failure(f"http://127.0.0.1:{unused.getsockname()[1]}/")
    assert failed == Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)


async def test_connect_timeout() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # A queue that is full drops what comes next without a word.
        waiting = [socket.socket() for _ in range(3)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        async with Rig(FetchConfig(connect_timeout_seconds=0.2)) as rig:
            failed = await rig.failure(f"http://127.0.0.1:{full.getsockname()[1]}/")
        for sock in waiting:
            sock.close()
    assert failed == Failed("no connection within 0.2 s", FailureKind.TIMEOUT_CONNECT, is_site_wide=True)


async def test_tls_that_nobody_vouches_for(rig: Rig, http2: Http2Site) -> None:
    failed = await rig.failure(http2.url("/page"), verify=True)
    assert failed == Failed("TLS: self-signed certificate", FailureKind.TLS, is_site_wide=True)
    assert http2.hits == []
    assert (await rig.page(http2.url("/page"))).is_unverified, "unless that was wished"
    assert (await rig.failure(http2.url("/page"), verify=True)).kind is FailureKind.TLS, "and only then"


async def test_tls_that_the_system_trusts(http2: Http2Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    async with Rig(names=Names(localhost=("127.0.0.1",), other_example=("127.0.0.1",))) as rig:
        response = await rig.get(http2.url("/page"), verify=True)
        assert isinstance(response, Response)
        assert (response.body, response.is_unverified) == (PAGE, False)
        failed = await rig.failure(f"https://other.example:{http2.port}/page", verify=True)
        assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True), "a certificate of another host"


async def test_tls_to_a_plain_port(rig: Rig, site: Site) -> None:
    failed = await rig.failure(site.origin.replace("http:", "https:"))
    assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True)


async def test_a_reset_within_the_handshake_is_a_reset(rig: Rig) -> None:
    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        failed = await rig.failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert (failed.kind, failed.is_site_wide) == (FailureKind.RESET, True)


async def test_http1_over_tls_where_the_site_knows_no_other(rig: Rig) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    async with Site(MANNERS, tls=context) as site:
        response = await rig.page(site.url("/page"))
    assert (response.protocol, response.body) == ("HTTP/1.1", PAGE)
