"""The contract of every HTTP `Transport` of our own, a suite that each must pass.

A transport's test file subclasses `TransportContract` and says how one is made; the `site` fixture is that of
`tests/fetch`. For proxies see `proxied_transport`.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Protocol

import pytest

from tenax.clock import Clock, ManualClock, SteadyClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch import Request, Response, Transport
from tenax.fetch.answer import fetch_record
from tenax.fetch.dns import LookupResult, UnknownHost
from tenax.fetch.guard import Guard
from tenax.fetch.proxies import ProxyPools
from tenax.model import Deferred, Failed, FailureKind, Refused
from tests.loops import FAULT_SECONDS, ROUNDS, outlasted, reached, rounds
from tests.site.behaviours import BEHAVIOURS, BOMBS, ENCODED, LARGE, LINES, PAGE
from tests.site.server import Exchange, Site

CAP_BYTES = 1024 * 1024
SELF_SIGNED = Path(__file__).parents[1] / "site" / "self_signed.pem"
OPEN = GuardConfig(allow_networks=("127.0.0.0/8",), ports=tuple(range(1, 65_536)))


class Made(Protocol):
    """Creates a transport."""

    def __call__(
        self, fetch: FetchConfig, guard: Guard, clock: Clock, pools: ProxyPools | None = None
    ) -> Transport: ...


class Names:
    """A resolver with answers set by the test, which can change or never come."""

    def __init__(self, **known: tuple[str, ...]) -> None:
        self.known = {name.replace("_", "."): addresses for name, addresses in known.items()}

    async def resolve(self, host: str) -> LookupResult:
        if host == "silent.example":
            await asyncio.Event().wait()
        if host not in self.known:
            raise UnknownHost(None, "no such name")
        return LookupResult(self.known[host])

    def close(self) -> None: ...


class Rig:
    """A transport, with a guard that lets it go anywhere on loopback unless configured otherwise."""

    def __init__(
        self,
        made: Made,
        fetch: FetchConfig | None = None,
        names: Names | None = None,
        guard: GuardConfig | None = None,
        clock: Clock | None = None,
        pools: ProxyPools | None = None,
    ) -> None:
        clock = clock or SteadyClock()
        self.guard = Guard(guard or OPEN, clock, resolver=names or Names(localhost=("127.0.0.1",)))
        self.transport = made(fetch or FetchConfig(), self.guard, clock, pools)

    async def __aenter__(self) -> Rig:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()
        await self.guard.close()

    async def get(
        self, url: str, seconds: float = FAULT_SECONDS, *, verify: bool = False
    ) -> Response | Failed | Refused | Deferred:
        return await self.transport.get(Request(url, CAP_BYTES, seconds, verify_tls=verify))

    async def page(self, url: str) -> Response:
        response = await self.get(url)
        assert isinstance(response, Response), response
        return response

    async def failure(self, url: str, seconds: float = FAULT_SECONDS, *, verify: bool = False) -> Failed:
        failed = await self.get(url, seconds, verify=verify)
        assert isinstance(failed, Failed), failed
        assert "127.0.0" not in failed.why
        return failed


async def _not_sent(exchange: Exchange) -> None:
    """The length is that of the body that is not sent."""
    status = exchange.path.rpartition("/")[2]
    await exchange.send(f"HTTP/1.1 {status} So it is\r\nContent-Length: 90000000\r\n\r\n".encode())


async def _endless_trailer(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nX-Sum: ")
    while True:
        await exchange.send(b"a" * 65_536)


@contextmanager
def memory_grows_by_less_than(megabytes: int) -> Iterator[None]:
    """At any moment, not only in the end."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the high-water mark
    before = _memory_kilobytes("VmRSS")
    yield
    assert _memory_kilobytes("VmHWM") - before < megabytes * 1024


def _memory_kilobytes(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name))


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Witness:
    """Accepts connections in a thread, answers nothing, and records when it received data."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self.port: int = self._listening.getsockname()[1]
        self.heard_at: list[float] = []

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Everything sent so far is received."""
        self._is_over.set()
        self._thread.join()

    def _listen(self) -> None:
        with self._listening, selectors.DefaultSelector() as waiting, ExitStack() as connections:
            waiting.register(self._listening, selectors.EVENT_READ)
            while (ready := waiting.select(0.02)) or not self._is_over.is_set():
                for key, _ in ready:
                    sock = key.fileobj
                    assert isinstance(sock, socket.socket)
                    if sock is self._listening:
                        connection = connections.enter_context(sock.accept()[0])
                        waiting.register(connection, selectors.EVENT_READ)
                    else:
                        waiting.unregister(sock)
                        with suppress(OSError):
                            if sock.recv(100):
                                self.heard_at.append(time.monotonic())


class ClosingTls:
    """Gives one answer over TLS and closes: with a close_notify, or by the TCP connection alone."""

    def __init__(self, answer: bytes, version: ssl.TLSVersion, *, says_so: bool) -> None:
        self._answer = answer
        self._says_so = says_so
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(SELF_SIGNED)
        self._context.minimum_version = self._context.maximum_version = version
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(FAULT_SECONDS)
        self._thread = threading.Thread(target=self._serve)
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> ClosingTls:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        bare, _ = self._listening.accept()
        bare.settimeout(FAULT_SECONDS)
        with self._context.wrap_socket(bare, server_side=True) as secure:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += secure.recv(4096)
            secure.sendall(self._answer)
            if self._says_so:
                with suppress(OSError):  # the peer need not close it as well
                    secure.unwrap()


class TransportContract:
    made: ClassVar[Made]

    @pytest.fixture
    async def rig(self) -> AsyncIterator[Rig]:
        async with Rig(self.made) as rig:
            yield rig

    # -- too late -------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("steps", [2, 3, 4, 5])
    async def test_who_slept_past_the_deadline_sends_nothing_any_more(self, rig: Rig, steps: int) -> None:
        """As by SIGSTOP, a few steps into the request: its connection may exist when it continues, without a permit."""
        with Witness() as witness:
            asking = asyncio.ensure_future(rig.get(f"http://127.0.0.1:{witness.port}/", seconds=0.2))
            for _ in range(steps):
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_soon(time.sleep, 0.9)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            woken_at = time.monotonic()
            assert isinstance(await asking, (Failed, Deferred))
        assert [at for at in witness.heard_at if at > woken_at] == []

    async def test_nothing_is_sent_when_the_host_may_be_somebody_elses(self, site: Site) -> None:
        clock = ManualClock()
        async with Rig(self.made, clock=clock) as rig:
            request = Request(site.url("/page"), CAP_BYTES, FAULT_SECONDS, send_by=clock.now() + 1)
            assert isinstance(await rig.transport.get(request), Response)
            clock.advance(1)
            asked = len(site.hits)
            assert isinstance(await rig.transport.get(request), Deferred)
            assert len(site.hits) == asked

    # -- what goes well -------------------------------------------------------------------------------------

    async def test_a_page_comes_whole_with_its_measurements(self, rig: Rig, site: Site) -> None:
        response = await rig.page(site.url("/page"))
        assert (response.status, response.body, response.protocol) == (200, PAGE, "HTTP/1.1")
        assert response.headers["content-type"] == response.headers.content_type == "text/html; charset=utf-8"
        assert 0 < response.wire_bytes < len(PAGE)
        record = fetch_record(response, FetchConfig())
        assert response.started_at <= response.answered_at <= response.finished_at
        assert (record.body_bytes, record.proxy) == (len(PAGE), "")
        assert (response.address_class, response.is_unverified) == ("allowed", False)

    async def test_the_site_sees_who_we_are_and_no_cookie_of_its_own(self, rig: Rig, site: Site) -> None:
        await rig.page(site.url("/page"))
        await rig.page(site.url("/page?b=%7e&a=%C3%A9"))
        first, second = site.hits
        assert first.headers["user-agent"].startswith("Tenax/")
        assert first.headers["accept-encoding"] == "gzip, deflate, br, zstd"
        assert "cookie" not in second.headers
        assert second.path == "/page?b=%7e&a=%C3%A9", "the URL is sent as it was given"
        assert site.connections == 1, "the connection is used again"

    async def test_a_site_may_see_headers_of_its_own(self, rig: Rig, site: Site) -> None:
        await rig.transport.get(
            Request(site.url("/page"), CAP_BYTES, FAULT_SECONDS, default_headers=(("User-Agent", "Mine/1"),))
        )
        await rig.page(site.url("/page"))
        assert [hit.headers["user-agent"].partition("/")[0] for hit in site.hits] == ["Mine", "Tenax"]
        assert "accept-language" not in site.hits[0].headers

    @pytest.mark.parametrize("path", [path + suffix for path in ENCODED for suffix in ("", "/chunked")])
    async def test_every_encoding_gives_the_same_page(self, rig: Rig, site: Site, path: str) -> None:
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
            ("/brotli", 200, b"page"),
            ("/lengths", 200, b"page"),
            ("/bare-lines", 200, b"page"),
            ("/lines/encoding", 200, PAGE),
            ("/lines/encoding/chunked", 200, PAGE),
            ("/lines/length", 200, b"page"),
            ("/lines/length/three", 200, b"page"),
            ("/lines/length/pieces", 200, b"page"),
            ("/lines/length/bare", 200, b"page"),
            ("/lines/length/list", 200, b"page"),
            ("/lines/length/hints", 200, b"page"),
            ("/lines/length/chunked", 200, b"page"),
            ("/transfer/identity", 200, b"page"),
        ],
    )
    async def test_odd_but_complete(self, rig: Rig, site: Site, path: str, status: int, body: bytes) -> None:
        response = await rig.page(site.url(path))
        assert (response.status, response.body) == (status, body)

    async def test_a_conditional_request_gets_its_304(self, rig: Rig, site: Site) -> None:
        url = site.url("/etag")
        response = await rig.transport.get(Request(url, CAP_BYTES, FAULT_SECONDS, (("If-None-Match", '"1"'),)))
        assert isinstance(response, Response)
        assert (response.status, response.body) == (304, b"")
        assert (await rig.page(url)).status == 200, "what one request carried the next does not"

    @pytest.mark.parametrize("status", [204, 304])
    async def test_no_body_though_a_length_is_announced(self, rig: Rig, status: int) -> None:
        async with Site({f"/not-sent/{status}": _not_sent}) as site:
            for _ in range(2):
                response = await rig.page(site.url(f"/not-sent/{status}"))
                assert (response.status, response.body) == (status, b"")
            assert site.connections == 1

    async def test_head_asks_without_a_body_and_get_asks_with_one_again(self, rig: Rig, site: Site) -> None:
        response = await rig.transport.get(Request(site.url("/page"), CAP_BYTES, FAULT_SECONDS, method="HEAD"))
        assert isinstance(response, Response)
        assert (response.status, response.body) == (200, b"")
        assert (await rig.page(site.url("/page"))).body == PAGE
        assert [hit.method for hit in site.hits] == ["HEAD", "GET"]

    async def test_a_header_sent_twice_or_folded_is_there(self, rig: Rig, site: Site) -> None:
        headers = (await rig.page(site.url("/robots-tags"))).headers
        assert headers["X-ROBOTS-TAG"] == "noindex"
        assert headers.get_all("X-Robots-Tag") == ("noindex", "other: nofollow")
        assert headers.get_all("X-Other") == ()
        folded = (await rig.page(site.url("/folded"))).headers
        assert folded["x-long"].split() == ["first", "second"]
        assert folded["x-bytes"] == "\udce9\udcff"

    @pytest.mark.parametrize("path", ["/unasked", "/unasked/late"])
    async def test_an_answer_that_nobody_asked_for_is_never_taken(self, rig: Rig, site: Site, path: str) -> None:
        assert (await rig.page(site.url(path))).body == b"page"
        await rounds(3 * ROUNDS)  # until it has arrived and could be used
        assert (await rig.page(site.url("/page"))).body == PAGE
        assert site.connections == 2

    # -- what goes wrong ------------------------------------------------------------------------------------

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
            ("/lines/lengths", FailureKind.BAD_RESPONSE, False),
            ("/lines/lengths/list", FailureKind.BAD_RESPONSE, False),
            ("/lines/lengths/folded", FailureKind.BAD_RESPONSE, False),
            ("/transfer/gzip", FailureKind.BAD_RESPONSE, False),
            ("/transfer/gzip/lines", FailureKind.BAD_RESPONSE, False),
            ("/transfer/gzip/until-close", FailureKind.BAD_RESPONSE, False),
            ("/transfer/xchunked", FailureKind.BAD_RESPONSE, False),
            ("/transfer/chunkedx", FailureKind.BAD_RESPONSE, False),
            ("/transfer/not-last", FailureKind.BAD_RESPONSE, False),
            ("/transfer/not-last/gzip", FailureKind.BAD_RESPONSE, False),
            ("/transfer/not-last/lines", FailureKind.BAD_RESPONSE, False),
            ("/transfer/twice", FailureKind.BAD_RESPONSE, False),
            ("/transfer/twice/lines", FailureKind.BAD_RESPONSE, False),
            ("/transfer/unknown", FailureKind.BAD_RESPONSE, False),
            ("/transfer/parameter", FailureKind.BAD_RESPONSE, False),
            ("/transfer/comma", FailureKind.BAD_RESPONSE, False),
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
        self, rig: Rig, site: Site, path: str, kind: FailureKind, is_site_wide: bool
    ) -> None:
        failed = await rig.failure(site.url(path))
        assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide), failed.why
        assert len(site.hits) == 1, "a new connection that breaks is not tried again"
        assert (await rig.page(site.url("/page"))).body == PAGE, "the transport goes on"

    async def test_a_trailer_without_end_is_not_gathered(self, rig: Rig) -> None:
        async with Site({"/": _endless_trailer}) as site:
            with memory_grows_by_less_than(megabytes=20):
                assert (await rig.failure(site.url("/"))).kind is FailureKind.BAD_RESPONSE

    @pytest.mark.parametrize("path", ["/silent", "/drip", "/drip/chunked", "/headers-endless"])
    async def test_the_total_deadline_ends_everything(self, rig: Rig, site: Site, path: str) -> None:
        failed = await outlasted(rig.failure(site.url(path), seconds=10), 10, lambda: bool(site.hits))
        assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_TOTAL, False)
        assert (await rig.page(site.url("/page"))).body == PAGE

    async def test_the_total_deadline_holds_for_the_look_up_too(self, rig: Rig) -> None:
        failed = await outlasted(rig.failure("http://silent.example/", seconds=10), 10, lambda: True)
        assert failed.kind is FailureKind.DNS

    @pytest.mark.parametrize("is_kept", [False, True])
    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("/silent", FailureKind.TIMEOUT_HEADERS),
            ("/headers-endless", FailureKind.TIMEOUT_HEADERS),
            ("/large/silent", FailureKind.TIMEOUT_BODY),
        ],
    )
    async def test_each_wait_has_its_own_limit_and_is_not_repeated(
        self, rig: Rig, site: Site, path: str, kind: FailureKind, is_kept: bool
    ) -> None:
        if is_kept:
            await rig.page(site.url("/page"))
        limits = Request(site.url(path), CAP_BYTES, 100, headers_timeout_seconds=20, body_timeout_seconds=20)
        failed = await outlasted(rig.transport.get(limits), 20, lambda: len(site.hits) == 1 + is_kept)
        assert isinstance(failed, Failed)
        assert (failed.kind, failed.is_site_wide) == (kind, False)
        assert [hit.path for hit in site.hits] == ["/page", path][not is_kept :]

    async def test_a_slow_body_that_keeps_coming_is_not_silent(self, rig: Rig, site: Site) -> None:
        request = Request(site.url("/drip"), CAP_BYTES, 60, body_timeout_seconds=20)
        failed = await outlasted(rig.transport.get(request), 1, lambda: bool(site.hits), steps=60)
        assert isinstance(failed, Failed)
        assert failed.kind is FailureKind.TIMEOUT_TOTAL

    @pytest.mark.parametrize("path", [path + suffix for path in BOMBS for suffix in ("", "/chunked")])
    async def test_a_bomb_stops_at_the_cap(self, rig: Rig, site: Site, path: str) -> None:
        with memory_grows_by_less_than(megabytes=50):
            assert (await rig.failure(site.url(path))).kind is FailureKind.TOO_LARGE

    @pytest.mark.parametrize("path", [path + suffix for path in LARGE for suffix in ("", "/chunked")])
    async def test_of_a_large_body_the_beginning_is_taken_where_that_is_enough(
        self, rig: Rig, site: Site, path: str
    ) -> None:
        for cap_bytes in (10_000, CAP_BYTES, len(LINES) - 1, len(LINES), len(LINES) + 1):
            request = Request(site.url(path), cap_bytes, FAULT_SECONDS, may_truncate=True)
            response = await rig.transport.get(request)
            assert isinstance(response, Response), (cap_bytes, response)
            assert response.body == LINES[:cap_bytes]
        assert (await rig.failure(site.url(path))).kind is FailureKind.TOO_LARGE, "elsewhere it is no page"

    async def test_of_a_body_without_end_the_beginning_is_taken(self, rig: Rig, site: Site) -> None:
        response = await rig.transport.get(Request(site.url("/endless"), CAP_BYTES, FAULT_SECONDS, may_truncate=True))
        assert isinstance(response, Response)
        assert response.body == b"a" * CAP_BYTES

    @pytest.mark.parametrize("path", [path + suffix for path in BOMBS for suffix in ("", "/chunked")])
    async def test_a_bomb_has_no_beginning(self, rig: Rig, site: Site, path: str) -> None:
        request = Request(site.url(path), CAP_BYTES, FAULT_SECONDS, may_truncate=True)
        with memory_grows_by_less_than(megabytes=50):
            failed = await rig.transport.get(request)
        assert isinstance(failed, Failed) and failed.kind is FailureKind.TOO_LARGE

    async def test_an_idle_connection_closed_by_the_peer_is_replaced_once(self, rig: Rig, site: Site) -> None:
        await rig.page(site.url("/once-per-connection"))
        await rig.page(site.url("/once-per-connection"))
        assert [hit.connection for hit in site.hits] == [1, 1, 2]

    async def test_a_caller_that_gives_up_leaves_nothing_behind(self, rig: Rig, site: Site) -> None:
        asking = asyncio.ensure_future(rig.get(site.url("/silent")))
        await reached(lambda: bool(site.hits))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await rig.page(site.url("/page"))).body == PAGE

    # -- no connection --------------------------------------------------------------------------------------

    async def test_connection_refused(self, rig: Rig) -> None:
        failed = await rig.failure(f"http://127.0.0.1:{unused_port()}/")
        assert failed == Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)

    @pytest.mark.parametrize("is_the_sites_own", [False, True])
    async def test_connect_timeout(self, is_the_sites_own: bool) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            # A full queue drops the next connection silently.
            waiting = [socket.socket() for _ in range(3)]
            for sock in waiting:
                sock.setblocking(False)
                sock.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}/"
            everywhere, own = (30.0, 0.2) if is_the_sites_own else (0.2, None)
            async with Rig(self.made, FetchConfig(connect_timeout_seconds=everywhere)) as rig:
                failed = await rig.transport.get(Request(url, CAP_BYTES, FAULT_SECONDS, connect_timeout_seconds=own))
            for sock in waiting:
                sock.close()
        assert failed == Failed("no connection within 0.2 s", FailureKind.TIMEOUT_CONNECT, is_site_wide=True)

    async def test_tls_that_nobody_vouches_for(self, rig: Rig) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SELF_SIGNED)
        async with Site(BEHAVIOURS, tls=context) as site:
            failed = await rig.failure(site.url("/page"), verify=True)
            assert failed == Failed("TLS: self-signed certificate", FailureKind.TLS, is_site_wide=True)
            assert site.hits == []
            response = await rig.page(site.url("/page"))
            assert (response.body, response.protocol, response.is_unverified) == (PAGE, "HTTP/1.1", True)
            failed = await rig.failure(site.url("/page"), verify=True)
            assert failed.kind is FailureKind.TLS, "that connection is not for those who ask for a certificate"

    async def test_tls_to_a_plain_port(self, rig: Rig, site: Site) -> None:
        failed = await rig.failure(site.origin.replace("http:", "https:"))
        assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True)

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    @pytest.mark.parametrize("is_said", [True, False], ids=["close_notify", "cut"])
    @pytest.mark.parametrize("framing", ["none", "length", "chunked"])
    async def test_over_tls_only_the_host_can_say_that_a_body_without_length_is_whole(
        self, rig: Rig, version: ssl.TLSVersion, is_said: bool, framing: str
    ) -> None:
        head, body = {
            "none": (b"", PAGE),
            "length": (b"Content-Length: %d\r\n" % len(PAGE), PAGE),
            "chunked": (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)),
        }[framing]
        answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + head + b"\r\n" + body
        with ClosingTls(answer, version, says_so=is_said) as server:
            answered = await rig.get(f"https://127.0.0.1:{server.port}/")
        if framing != "none" or is_said:
            assert isinstance(answered, Response) and answered.body == PAGE, answered
        else:
            assert answered == Failed("the body ends too early", FailureKind.TRUNCATED)

    @pytest.mark.parametrize("is_reset", [False, True])
    async def test_a_connection_that_ends_within_the_handshake_is_a_reset(self, rig: Rig, is_reset: bool) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            if is_reset:
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
            failed = await rig.failure(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert (failed.kind, failed.is_site_wide) == (FailureKind.RESET, True)

    # -- the address is pinned ------------------------------------------------------------------------------

    @pytest.mark.parametrize("name", ["only-the-guard-knows.example", "only-the-guard-knows.example."])
    async def test_nobody_but_the_guard_looks_names_up(self, site: Site, name: str) -> None:
        names = Names()
        names.known[name] = ("127.0.0.1",)
        async with Rig(self.made, names=names) as rig:
            assert (await rig.page(f"http://{name}:{site.port}/page")).body == PAGE
        assert site.hits[0].headers["host"].startswith("only-the-guard-knows.example")

    async def test_a_name_that_the_system_knows_otherwise_leads_where_the_guard_said(self, site: Site) -> None:
        names = Names(localhost=("127.0.0.2",))
        async with Site(BEHAVIOURS, "127.0.0.2", site.port) as pinned, Rig(self.made, names=names) as rig:
            assert (await rig.page(f"http://localhost:{site.port}/page")).body == PAGE
            assert (len(pinned.hits), site.connections) == (1, 0)

    async def test_the_second_address_is_tried_when_the_first_is_not_there(self, site: Site) -> None:
        async with Rig(self.made, names=Names(two_example=("127.0.0.9", "127.0.0.1"))) as rig:
            assert (await rig.page(f"http://two.example:{site.port}/page")).body == PAGE

    async def test_a_request_that_was_received_is_not_repeated_at_another_address(self, site: Site) -> None:
        names = Names(two_example=("127.0.0.1", "127.0.0.2"))
        async with Site(BEHAVIOURS, "127.0.0.2", site.port) as second, Rig(self.made, names=names) as rig:
            assert (await rig.failure(f"http://two.example:{site.port}/hang-up")).kind is FailureKind.RESET
            assert second.connections == 0

    async def test_what_the_guard_refuses_is_not_connected_to(self, site: Site) -> None:
        closed = GuardConfig(ports=(site.port,))
        async with Rig(self.made, names=Names(in_example=("127.0.0.1",)), guard=closed) as rig:
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
    async def test_a_url_with_two_readings_is_not_asked_for(self, rig: Rig, url: str) -> None:
        assert isinstance(await rig.get(url), Refused)
