"""A local website over HTTP/2 and TLS, with good and bad behaviours."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RemoteSettingsChanged, RequestReceived, StreamReset
from h2.exceptions import ProtocolError, StreamClosedError

from tests.loops import rounds
from tests.site.behaviours import BOMBS, PAGE

CERTIFICATE = Path(__file__).with_name("self_signed.pem")
"""For `localhost` and 127.0.0.1."""

Http2Manner = Callable[["Stream"], Awaitable[None]]
BEHAVIOURS: dict[str, Http2Manner] = {}


class Http2Hit:
    """A request as the site saw it."""

    def __init__(self, pairs: list[tuple[str, str]], connection: int) -> None:
        self.names = [name for name, _ in pairs]
        """In the order they were sent."""
        self.headers = dict(pairs)
        self.path = self.headers[":path"]
        self.connection = connection


class Stream:
    """One request and the means to respond, properly or not."""

    def __init__(self, wire: _Wire, number: int, hit: Http2Hit) -> None:
        self.hit = hit
        self._wire = wire
        self._number = number

    async def head(self, status: int = 200, headers: dict[str, str] | None = None, *, is_all: bool = False) -> None:
        pairs = [(":status", str(status)), *(headers or {}).items()]
        self._wire.h2.send_headers(self._number, pairs, end_stream=is_all)
        self._wire.flush()

    async def body(self, data: bytes, *, is_all: bool = True) -> None:
        """As fast as the other side accepts it."""
        h2 = self._wire.h2
        while data:
            room = min(h2.local_flow_control_window(self._number), h2.max_outbound_frame_size)
            if room <= 0:
                await self._wire.more_room()
                continue
            piece, data = data[:room], data[room:]
            h2.send_data(self._number, piece, end_stream=is_all and not data)
            self._wire.flush()

    async def answer(self, body: bytes, headers: dict[str, str] | None = None, status: int = 200) -> None:
        await self.head(status, {"content-length": str(len(body)), **(headers or {})}, is_all=not body)
        await self.body(body)

    def trailers(self, headers: dict[str, str]) -> None:
        self._wire.h2.send_headers(self._number, list(headers.items()), end_stream=True)
        self._wire.flush()

    def reset(self, code: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        self._wire.h2.reset_stream(self._number, code)
        self._wire.flush()

    def go_away(self) -> None:
        self._wire.h2.close_connection()
        self._wire.flush()
        self._wire.hang_up()

    def hang_up(self) -> None:
        self._wire.hang_up()

    def raw(self, data: bytes) -> None:
        self._wire.write(data)


class Http2Site:
    """Serves the behaviours by path on its own port, and records the requests."""

    def __init__(self, host: str = "127.0.0.1", name: str = "localhost", port: int = 0) -> None:
        self.hits: list[Http2Hit] = []
        self.connections = 0
        self.name = name
        self._host = host
        self._port = port
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(CERTIFICATE)
        self._tls.set_alpn_protocols(["h2"])

    async def __aenter__(self) -> Http2Site:
        self._wires: set[_Wire] = set()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Wire(self), self._host, self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for wire in list(self._wires):
            await wire.close()

    @property
    def port(self) -> int:
        return self._port

    @property
    def origin(self) -> str:
        return f"https://{self.name}:{self._port}"

    def url(self, path: str) -> str:
        return self.origin + path

    def opened(self, wire: _Wire) -> int:
        self._wires.add(wire)
        self.connections += 1
        return self.connections

    def closed(self, wire: _Wire) -> None:
        self._wires.discard(wire)


class _Wire(asyncio.Protocol):
    """One connection."""

    def __init__(self, site: Http2Site) -> None:
        self._site = site
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._number = self._site.opened(self)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:
            self.hang_up()
            return
        for event in events:
            match event:
                case RequestReceived(stream_id=int(number), headers=headers):
                    pairs = [(str(name), str(value)) for name, value in headers or ()]
                    self._serve(number, Http2Hit(pairs, self._number))
                case DataReceived(flow_controlled_length=int(length), stream_id=int(number)):
                    self.h2.acknowledge_received_data(length, number)
                case ConnectionTerminated():
                    self.hang_up()
                case RemoteSettingsChanged() | StreamReset():
                    pass
        self._room.set()
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._site.closed(self)
        for task in self._tasks:
            task.cancel()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def flush(self) -> None:
        self.write(self.h2.data_to_send())

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._transport is not None:
            self._transport.abort()

    async def more_room(self) -> None:
        self._room.clear()
        await self._room.wait()

    def _serve(self, number: int, hit: Http2Hit) -> None:
        self._site.hits.append(hit)
        task = asyncio.get_running_loop().create_task(self._answered(Stream(self, number, hit)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answered(self, stream: Stream) -> None:
        behaviour = BEHAVIOURS.get(stream.hit.path.partition("?")[0])
        try:
            if behaviour is None:
                await stream.answer(b"no such page", status=404)
            else:
                await behaviour(stream)
        except (StreamClosedError, ProtocolError):
            pass  # the other side wants no more


def behaviour(path: str) -> Callable[[Http2Manner], Http2Manner]:
    def keep(function: Http2Manner) -> Http2Manner:
        BEHAVIOURS[path] = function
        return function

    return keep


@behaviour("/page")
async def page(stream: Stream) -> None:
    headers = {"content-type": "text/html; charset=utf-8", "content-encoding": "gzip", "set-cookie": "id=1; Path=/"}
    await stream.answer(gzip.compress(PAGE), headers)


@behaviour("/etag")
async def etag(stream: Stream) -> None:
    if stream.hit.headers.get("if-none-match") == '"1"':
        await stream.head(304, {"etag": '"1"'}, is_all=True)
    else:
        await stream.answer(PAGE, {"etag": '"1"'})


@behaviour("/redirect")
async def redirect(stream: Stream) -> None:
    await stream.answer(b"moved", {"location": "/page", "set-cookie": "seen=1"}, 302)


@behaviour("/elsewhere")
async def other_location(stream: Stream) -> None:
    """Advertises the same content on another port of another host."""
    await stream.answer(PAGE, {"alt-svc": 'h2="decoy.example:1"; ma=3600', "strict-transport-security": "max-age=9999"})


@behaviour("/early-hints")
async def early_hints(stream: Stream) -> None:
    await stream.head(103, {"link": "</a.css>"})
    await stream.answer(PAGE)


@behaviour("/trailers")
async def trailers(stream: Stream) -> None:
    await stream.head()
    await stream.body(PAGE, is_all=False)
    stream.trailers({"x-checksum": "1", "content-type": "image/png"})


@behaviour("/big")
async def big(stream: Stream) -> None:
    """More than one window of flow control."""
    await stream.answer(b"a" * 900_000)


@behaviour("/bomb")
async def bomb(stream: Stream) -> None:
    coding, data = BOMBS["/bomb/gzip"]
    await stream.head(200, {"content-encoding": coding})
    await stream.body(data)


@behaviour("/endless")
async def endless(stream: Stream) -> None:
    await stream.head()
    while True:
        await stream.body(b"a" * 65_536, is_all=False)
        await asyncio.sleep(0)


@behaviour("/large")
async def large(stream: Stream) -> None:
    await stream.head(200, {"content-length": "99999999999"})
    await asyncio.sleep(3600)


@behaviour("/silent")
async def silent(stream: Stream) -> None:
    await asyncio.sleep(3600)


@behaviour("/silent/in-the-body")
async def silent_in_the_body(stream: Stream) -> None:
    await stream.head()
    await stream.body(b"half", is_all=False)
    await asyncio.sleep(3600)


@behaviour("/drip")
async def drip(stream: Stream) -> None:
    await stream.head()
    while True:
        await stream.body(b"a", is_all=False)
        await asyncio.sleep(0.02)


@behaviour("/reset")
async def reset(stream: Stream) -> None:
    stream.reset()


@behaviour("/go-away")
async def go_away(stream: Stream) -> None:
    stream.go_away()


@behaviour("/hang-up")
async def hang_up(stream: Stream) -> None:
    stream.hang_up()


@behaviour("/truncated")
async def truncated(stream: Stream) -> None:
    await stream.head(200, {"content-length": "1000"})
    await stream.body(b"half", is_all=False)
    await rounds()
    stream.hang_up()


@behaviour("/truncated/reset")
async def truncated_by_reset(stream: Stream) -> None:
    await stream.head()
    await stream.body(b"half", is_all=False)
    await rounds()
    stream.reset()


@behaviour("/truncated/length")
async def shorter_than_announced(stream: Stream) -> None:
    await stream.head(200, {"content-length": "1000"})
    await stream.body(b"half")


@behaviour("/truncated/404")
async def truncated_error(stream: Stream) -> None:
    await stream.head(404)
    await stream.body(b"half", is_all=False)
    await rounds()
    stream.reset()


@behaviour("/garbage")
async def garbage(stream: Stream) -> None:
    stream.raw(b"\xff\xff\xff\0\0\0\0\0\1 a frame of 16 MB")


@behaviour("/headers-many")
async def many_headers(stream: Stream) -> None:
    await stream.answer(PAGE, {f"x-{number}": "a" for number in range(1000)})


@behaviour("/headers-huge")
async def huge_headers(stream: Stream) -> None:
    await stream.answer(PAGE, {f"x-{number}": "a" * 5000 for number in range(60)})
