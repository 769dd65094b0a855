"""The gate: the one way out of the browser, a proxy on loopback where every connection passes the guard.

Chromium is started with no network but this. Whatever a page does (redirect, frame, script, WebSocket), the bytes go
through here, and only to addresses the guard gave. A secure connection passes as it is: the handshake is Chromium's.
A page of a site with proxies goes on from here through one of them; Chromium hears neither of it nor of its password.

Each page has a `GateSession` of its own, with a secret that only its Chromium is told; who does not know one is not served.

A target that is refused looks to Chromium like a proxy that says no: 403 to a CONNECT, and no answer at all to a plain
request, because an answer would be taken for the page.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from base64 import b64encode
from typing import NamedTuple

from tenax.fetch.browser.passage import Denial, Endpoint, GateSession
from tenax.fetch.browser.upstream import PIECE_BYTES, Streams, Upstream, UpstreamConnection
from tenax.fetch.proxies import Proxy
from tenax.fetch.target import Origin, Target, parse_target
from tenax.fetch.tunnels import ProxyError, credentials_error
from tenax.model import Refused

MAX_UNAUTHENTICATED = 64
"""Connections that have not shown a secret yet."""
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024

# What is between Chromium and the gate, and not for the site.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade", "host"}
)


class GateRequest(NamedTuple):
    """The head of one request to the gate."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Gate:
    """Listens on loopback for the browsers of one process."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._sessions: dict[str, GateSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unauthenticated = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES)

    @property
    def url(self) -> str:
        """What Chromium is told. Its port changes with every start."""
        assert self._server is not None, "the gate is not open"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def open_session(
        self,
        page_host: str,
        max_bytes: int,
        max_connections: int,
        connect_timeout_seconds: float,
        deadline: float = math.inf,
    ) -> GateSession:
        """A passage for one page of this host, which may receive so much over the wire, and send until then."""
        passage = GateSession(page_host, max_bytes, max_connections, connect_timeout_seconds, deadline)
        self._sessions[_credentials(passage)] = passage
        return passage

    def close_session(self, session: GateSession) -> None:
        """The page is over: its connections end, and its secret opens nothing any more."""
        self._sessions.pop(_credentials(session), None)
        session.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for passage in list(self._sessions.values()):
            self.close_session(passage)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- one connection from Chromium -----------------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer, task)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, ValueError):
            _reset(writer)  # Chromium left, or spoke no HTTP, or the page is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        asked = await self._read_request(reader)
        passage = self._sessions.get((asked.header("proxy-authorization") or "").partition(" ")[2].strip())
        if passage is None:
            return _send_status(
                writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="gate"\r\n'
            )
        if not passage.admit_connection(task):
            return _send_status(writer, "503 Service Unavailable")
        if asked.method == "CONNECT":
            return await self._tunnel(asked, reader, writer, passage)
        return await self._forward(asked, reader, writer, passage)

    async def _read_request(self, reader: asyncio.StreamReader) -> GateRequest:
        if self._unauthenticated >= MAX_UNAUTHENTICATED:
            raise ConnectionAbortedError
        self._unauthenticated += 1
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                return _parse_request(await reader.readuntil(b"\r\n\r\n"))
        finally:
            self._unauthenticated -= 1

    async def _tunnel(
        self, request: GateRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: GateSession
    ) -> None:
        """CONNECT: https, and WebSockets of both kinds. What passes is not looked at."""
        target = parse_target(f"https://{request.target}/")
        if target is None:
            return _send_status(writer, "403 Forbidden")
        # It does not say what will be spoken; a person who typed either scheme as a seed meant this very port.
        spoken = "http" if target.origin.port == 80 else "https"
        line = await self._connect(target.origin._replace(scheme=spoken), session)
        if isinstance(line, Refused) and target.origin.port != 80:
            line = await self._connect(target.origin._replace(scheme="http"), session)
        if not isinstance(line, UpstreamConnection):
            return _send_status(writer, "403 Forbidden" if isinstance(line, Refused) else "502 Bad Gateway")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return await _relay((reader, writer), line, session)

    async def _forward(
        self, request: GateRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: GateSession
    ) -> None:
        """A plain http request: one for each connection, so that nothing unread can follow it to the site."""
        target = parse_target(request.target)
        length = request.header("content-length") or "0"
        if target is None or target.origin.scheme != "http" or not (length.isascii() and length.isdecimal()):
            return
        line = await self._connect(target.origin, session, is_plain=True)
        if not isinstance(line, UpstreamConnection):
            return
        head = _build_head(request, target, None if line.is_tunnelled else line.proxy)
        if not session.count_sent(len(head)):
            line.streams[1].close()
            return
        line.streams[1].write(head)
        try:
            await _relay((reader, writer), line, session, int(length))
        except ProxyError as error:
            if line.proxy is not None:
                self._upstream.record_failure(line.proxy, target.origin.host, session.page_host, error.why)
            session.record_result(target.origin, error.failure)

    async def _connect(
        self, origin: Origin, session: GateSession, *, is_plain: bool = False
    ) -> UpstreamConnection | Denial:
        seconds = session.connect_timeout_seconds
        line = await self._upstream.connect(origin, session.page_host, seconds, is_plain=is_plain)
        session.record_result(
            origin, Endpoint(line.address, line.proxy) if isinstance(line, UpstreamConnection) else line
        )
        return line


def _build_head(request: GateRequest, target: Target, proxy: Proxy | None) -> bytes:
    """The request as the site gets it; with a proxy, as one is asked for a page itself (RFC 9112, 3.2.2)."""
    origin = target.origin
    headers = [(name, value) for name, value in request.headers if name.lower() not in _HOP_BY_HOP]
    headers = [("Host", origin.authority), *headers, ("Connection", "close")]
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    path = target.path if proxy is None else f"http://{origin.authority}{target.path}"
    secret = "" if proxy is None else proxy.authorization
    return f"{request.method} {path} HTTP/1.1\r\n{lines}{secret}\r\n".encode("latin-1")


async def _relay(
    client: Streams, upstream: UpstreamConnection, session: GateSession, body_bytes: int | None = None
) -> None:
    """Carry bytes both ways until one side ends. `body_bytes`: so many go to the site, and nothing after them.

    Raises `ProxyError` when it is the proxy that answers, because it does not know us.
    """
    try:
        await _relay_streams(client, upstream, session, body_bytes)
    finally:
        upstream.streams[1].close()  # whatever ends it, and however often it is told to


async def _relay_streams(
    client: Streams, upstream: UpstreamConnection, session: GateSession, body_bytes: int | None
) -> None:
    upward = asyncio.ensure_future(_relay_up(client[0], upstream.streams[1], session, body_bytes))
    try:
        downward = asyncio.ensure_future(_relay_down(upstream, client[1], session, is_plain=body_bytes is not None))
        try:
            done, _ = await asyncio.wait({upward, downward}, return_when=asyncio.FIRST_COMPLETED)
            for end in done:
                end.result()
        finally:
            downward.cancel()
            await asyncio.gather(downward, return_exceptions=True)
    finally:
        upward.cancel()
        await asyncio.gather(upward, return_exceptions=True)


async def _relay_up(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: GateSession, body_bytes: int | None
) -> None:
    left = body_bytes
    while data := await reader.read(PIECE_BYTES):
        if left is not None:
            if len(data) > left:
                return  # a second request where none may be: Chromium sends it again on a connection of its own
            left -= len(data)
        if not session.count_sent(len(data)):
            return
        writer.write(data)
        await writer.drain()


async def _relay_down(
    upstream: UpstreamConnection, writer: asyncio.StreamWriter, session: GateSession, *, is_plain: bool
) -> None:
    if is_plain:
        # Whatever the site says: Chromium must not send a second request this way.
        status = await upstream.streams[0].readuntil(b"\n")
        if upstream.proxy is not None and not upstream.is_tunnelled and status.split()[1:2] == [b"407"]:
            raise credentials_error(upstream.proxy)
        session.count_received(len(status))
        writer.write(status + b"Connection: close\r\n")
    while data := await upstream.streams[0].read(PIECE_BYTES):
        session.count_received(len(data))
        writer.write(data)
        await writer.drain()


def _parse_request(head: bytes) -> GateRequest:
    line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    pairs = (line.partition(":") for line in lines)
    return GateRequest(method, target, tuple((name.strip(), value.strip()) for name, _, value in pairs))


def _credentials(session: GateSession) -> str:
    return b64encode(f"{session.user}:{session.password}".encode()).decode("ascii")


def _send_status(writer: asyncio.StreamWriter, status: str, header: str = "") -> None:
    writer.write(f"HTTP/1.1 {status}\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST: a body that was cut off must not look as if it had ended."""
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
