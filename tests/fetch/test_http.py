from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenax.clock import SteadyClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.site.manners import BOMBS, ENCODED, MANNERS, PAGE
from tests.site.server import Site

CAP_BYTES = 1024 * 1024


def request(url: str, seconds: float = 5.0, headers: tuple[tuple[str, str], ...] = ()) -> Request:
    return Request(url, CAP_BYTES, seconds, headers)


async def answer(transport: HttpTransport, site: Site, path: str) -> Response:
    response = await transport.get(request(site.url(path)))
    assert isinstance(response, Response), response
    return response


# ---- what goes well ---------------------------------------------------------------------------------------


async def test_a_page_comes_whole_with_its_measurements(transport: HttpTransport, site: Site) -> None:
    response = await answer(transport, site, "/page")
    assert (response.status, response.body) == (200, PAGE)
    assert response.headers["content-type"] == response.content_type == "text/html; charset=utf-8"
    assert 0 < response.wire_bytes < len(PAGE)
    assert response.started_at <= response.answered_at <= response.finished_at
    assert response.record.body_bytes == len(PAGE)


async def test_the_site_sees_who_we_are_and_no_cookie_of_its_own(transport: HttpTransport, site: Site) -> None:
    await answer(transport, site, "/page")
    await answer(transport, site, "/page?b=%7e&a=%C3%A9")
    first, second = site.hits
    assert first.headers["user-agent"].startswith("Tenax/")
    assert first.headers["accept-encoding"] == "gzip, deflate, br, zstd"
    assert "cookie" not in second.headers
    assert second.path == "/page?b=%7e&a=%C3%A9", "the URL is sent as it was given"
    assert site.connections == 1, "the connection is used again"


@pytest.mark.parametrize("path", [path + suffix for path in ENCODED for suffix in ("", "/chunked")])
async def test_every_encoding_gives_the_same_page(transport: HttpTransport, site: Site, path: str) -> None:
    assert (await answer(transport, site, path)).body == PAGE


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
        ("/brotli", 200, b"page"),
        ("/lengths", 200, b"page"),
        ("/bare-lines", 200, b"page"),
    ],
)
async def test_odd_but_complete(transport: HttpTransport, site: Site, path: str, status: int, body: bytes) -> None:
    response = await answer(transport, site, path)
    assert (response.status, response.body) == (status, body)


async def test_a_conditional_request_gets_its_304(transport: HttpTransport, site: Site) -> None:
    response = await transport.get(request(site.url("/etag"), headers=(("If-None-Match", '"1"'),)))
    assert isinstance(response, Response)
    assert (response.status, response.body) == (304, b"")


async def test_head_asks_without_a_body(transport: HttpTransport, site: Site) -> None:
    response = await transport.get(Request(site.url("/page"), CAP_BYTES, 5.0, method="HEAD"))
    assert isinstance(response, Response)
    assert (response.status, response.body) == (200, b"")
    assert site.hits[0].method == "HEAD"


async def test_a_header_sent_twice_is_there_twice(transport: HttpTransport, site: Site) -> None:
    headers = (await answer(transport, site, "/robots-tags")).headers
    assert headers["X-ROBOTS-TAG"] == "noindex"
    assert headers.all("X-Robots-Tag") == ("noindex", "other: nofollow")
    assert headers.all("X-Other") == ()


@pytest.mark.parametrize("path", ["/unasked", "/unasked/late"])
async def test_an_answer_that_nobody_asked_for_is_never_taken(transport: HttpTransport, site: Site, path: str) -> None:
    assert (await answer(transport, site, path)).body == b"page"
    await asyncio.sleep(0.05)
    assert (await answer(transport, site, "/page")).body == PAGE
    assert site.connections == 2


# ---- what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind", "is_site_wide"),
    [
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
    ],
)
async def test_each_failure_has_its_kind(
    transport: HttpTransport, site: Site, path: str, kind: FailureKind, is_site_wide: bool
) -> None:
    failed = await transport.get(request(site.url(path)))
    assert isinstance(failed, Failed), failed
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why
    assert "127.0.0.1" not in failed.why
    assert len(site.hits) == 1, "a new connection that breaks is not tried again"
    assert (await answer(transport, site, "/page")).body == PAGE, "the transport goes on"


@pytest.mark.parametrize("path", ["/silent", "/drip", "/drip/chunked", "/headers-endless"])
async def test_the_total_deadline_ends_everything(transport: HttpTransport, site: Site, path: str) -> None:
    began = time.monotonic()
    failed = await transport.get(request(site.url(path), seconds=0.2))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_TOTAL, False)
    assert time.monotonic() - began < 1.5
    assert (await answer(transport, site, "/page")).body == PAGE


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/silent", FailureKind.TIMEOUT_HEADERS),
        ("/headers-endless", FailureKind.TIMEOUT_HEADERS),
        ("/large/silent", FailureKind.TIMEOUT_BODY),
    ],
)
async def test_each_wait_has_its_own_limit(transport: HttpTransport, site: Site, path: str, kind: FailureKind) -> None:
    limits = Request(site.url(path), CAP_BYTES, 5.0, headers_timeout_seconds=0.2, body_timeout_seconds=0.2)
    began = time.monotonic()
    failed = await transport.get(limits)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (kind, False)
    assert time.monotonic() - began < 1.5


async def test_a_slow_body_that_keeps_coming_is_not_silent(transport: HttpTransport, site: Site) -> None:
    limits = Request(site.url("/drip"), CAP_BYTES, 0.6, body_timeout_seconds=0.2)
    failed = await transport.get(limits)
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TIMEOUT_TOTAL


@pytest.fixture
def memory_stays_flat() -> Iterator[None]:
    before_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    yield
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kilobytes
    assert peak_bytes < 50 * 1024 * 1024
    assert grown_kilobytes < 50 * 1024


@pytest.mark.parametrize("path", [path + suffix for path in BOMBS for suffix in ("", "/chunked")])
@pytest.mark.usefixtures("memory_stays_flat")
async def test_a_bomb_stops_at_the_cap(transport: HttpTransport, site: Site, path: str) -> None:
    failed = await transport.get(request(site.url(path)))
    assert isinstance(failed, Failed), failed
    assert failed.kind is FailureKind.TOO_LARGE


async def test_an_idle_connection_closed_by_the_peer_is_replaced_once(transport: HttpTransport, site: Site) -> None:
    await answer(transport, site, "/once-per-connection")
    await answer(transport, site, "/once-per-connection")
    assert [hit.connection for hit in site.hits] == [1, 1, 2]


async def test_a_caller_that_gives_up_leaves_nothing_behind(transport: HttpTransport, site: Site) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await transport.get(request(site.url("/silent")))
    assert (await answer(transport, site, "/page")).body == PAGE


# ---- no connection ----------------------------------------------------------------------------------------


def transport_to(origin: str, connect_seconds: float = 5.0) -> HttpTransport:
    clock = SteadyClock()
    fetch = FetchConfig(connect_timeout_seconds=connect_seconds)
    return HttpTransport(fetch, Guard(GuardConfig(), clock, [origin]), clock)


async def outcome_at(origin: str, connect_seconds: float = 5.0) -> Response | Failed | Refused | Deferred:
    transport = transport_to(origin, connect_seconds)
    try:
        return await transport.get(request(f"{origin}/"))
    finally:
        await transport.close()


async def test_connection_refused() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        failed = await outcome_at(f"http://127.0.0.1:{unused.getsockname()[1]}")
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
        failed = await outcome_at(f"http://127.0.0.1:{full.getsockname()[1]}", connect_seconds=0.2)
        for sock in waiting:
            sock.close()
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_CONNECT, True)


async def test_tls_that_nobody_vouches_for() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parents[1] / "site" / "self_signed.pem")
    async with Site(MANNERS, tls=context) as site:
        failed = await outcome_at(site.origin)
        assert failed == Failed("TLS: self-signed certificate", FailureKind.TLS, is_site_wide=True)
        assert site.hits == []


async def test_tls_to_a_plain_port(site: Site) -> None:
    failed = await outcome_at(site.origin.replace("http:", "https:"))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/",
        "http://good.example\\@127.0.0.1/",
        "http://127.0.0.1\t/",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/a\r\nX-Injected: 1",
        "http://127.0.0.1/é",
        "http://127.0.0.1:99999/",
        "http://",
        "",
        "//127.0.0.1/",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
    ],
)
async def test_a_url_with_two_readings_is_not_asked_for(transport: HttpTransport, site: Site, url: str) -> None:
    assert isinstance(await transport.get(request(url)), (Refused, Failed))
    assert site.connections == 0
