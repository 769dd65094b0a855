"""The gate: the browser's only network connection, a proxy on loopback that checks and limits every connection.

Chromium is started with no other network access. Every connection of a page (redirect, frame, script, WebSocket) goes
through here, and only to addresses from the guard. TLS passes through unchanged: the handshake is Chromium's. For a
site with proxies the gate connects through one of them; Chromium learns neither the proxy nor its password.

Each page has its own `GateSession`, with a secret that only its Chromium knows; requests without one are refused.

To Chromium, a refused target looks like a refusal by a proxy: 403 to a CONNECT, and no answer to a plain request,
because an answer would be taken for the page.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import socket
import struct
from base64 import b64encode
from typing import NamedTuple, TypeAlias

from tenax.fetch.browser.upstream import PIECE_BYTES, Streams, Upstream, UpstreamConnection
from tenax.fetch.connect import ProxyError, credentials_error
from tenax.fetch.guard import Origin, Target, parse_target
from tenax.fetch.proxies import Proxy
from tenax.model import Deferred, Failed, Refused

MAX_OPEN_CONNECTIONS = 64
"""Maximum per page. Chromium itself uses half of that."""
MAX_SENT_BYTES = 4 * 1024 * 1024
"""Maximum per page, requests included. Sending more is no longer fetching a page."""

Denial: TypeAlias = Refused | Failed | Deferred


class Endpoint(NamedTuple):
    """Where a connection leads, and through which proxy."""

    address: str
    proxy: Proxy | None


class GateSession:
    """The session of one page at the gate: its traffic, its refusals, and its end."""

    def __init__(
        self,
        page_host: str,
        max_bytes: int,
        max_connections: int,
        connect_timeout_seconds: float,
        deadline: float = math.inf,
    ) -> None:
        """For a page of this host. `max_bytes` limits what it receives. From `deadline` on, in the time of the event
        loop, nothing is sent."""
        self.user = "page"
        self.password = secrets.token_urlsafe(24)
        self.page_host = page_host
        self.connect_timeout_seconds = connect_timeout_seconds
        self.received_bytes = 0
        """Bytes from the sites, as received on the wire."""
        self.is_too_large = False
        self._deadline = deadline
        self._max_bytes = max_bytes
        self._connections_left = max_connections
        self._sent_bytes = 0
        self._open: set[asyncio.Task[None]] = set()
        self._results: dict[tuple[str, int], Endpoint | Denial] = {}
        self._is_closed = False

    def denial(self, origin: Origin) -> Denial | None:
        """Why the last connection to this origin failed, if it did."""
        end = self._results.get((origin.host, origin.port))
        return None if isinstance(end, Endpoint) else end

    def endpoint(self, origin: Origin) -> Endpoint | None:
        """Where the last connection to this origin leads; None if there was none."""
        end = self._results.get((origin.host, origin.port))
        return end if isinstance(end, Endpoint) else None

    @property
    def is_expired(self) -> bool:
        """True when it is too late to send anything."""
        return asyncio.get_running_loop().time() >= self._deadline

    def close(self) -> None:
        """End every connection of the page at once."""
        self._is_closed = True
        for task in self._open:
            task.cancel()

    def admit_connection(self, task: asyncio.Task[None]) -> bool:
        """Whether one more connection may begin."""
        if self._is_closed or len(self._open) >= MAX_OPEN_CONNECTIONS or not self._connections_left:
            return False
        self._connections_left -= 1
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return True

    def record_result(self, origin: Origin, result: Endpoint | Denial) -> None:
        """Record the result of a connection."""
        self._results[(origin.host, origin.port)] = result

    def count_received(self, byte_count: int) -> None:
        self.received_bytes += byte_count
        if self.received_bytes > self._max_bytes:
            self.is_too_large = True
            self.close()

    def count_sent(self, byte_count: int) -> bool:
        """Count bytes to send; False when the limit is exceeded."""
        self._sent_bytes += byte_count
        if self._sent_bytes > MAX_SENT_BYTES or self.is_expired:
            self.close()
        return not self._is_closed


MAX_UNAUTHENTICATED = 64
"""Maximum connections that have not sent a secret yet."""
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024

# Headers between Chromium and the gate, not for the site.
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
        """The proxy URL for Chromium. Its port changes with every start."""
        assert self._server is not None, "the gate is not open"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def open_session(self, session: GateSession) -> GateSession:
        """Accept the connections of this session."""
        self._sessions[_credentials(session)] = session
        return session

    def close_session(self, session: GateSession) -> None:
        """End the page's connections and invalidate its secret."""
        self._sessions.pop(_credentials(session), None)
        session.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for session in list(self._sessions.values()):
            self.close_session(session)
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
            _reset(writer)  # Chromium closed the connection, or sent no HTTP, or the page has ended
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        request = await self._read_request(reader)
        session = self._sessions.get((request.header("proxy-authorization") or "").partition(" ")[2].strip())
        if session is None:
            return _send_status(
                writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="gate"\r\n'
            )
        if not session.admit_connection(task):
            return _send_status(writer, "503 Service Unavailable")
        if request.method == "CONNECT":
            return await self._tunnel(request, reader, writer, session)
        return await self._forward(request, reader, writer, session)

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
        """CONNECT: https, and WebSockets of both kinds. The data is not inspected."""
        target = parse_target(f"https://{request.target}/")
        if target is None:
            return _send_status(writer, "403 Forbidden")
        # CONNECT does not say which scheme follows. So a seed with either scheme allows its port.
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
        """Forward a plain http request. There is one per connection, so that no unread bytes can follow it to the
        site."""
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
    """The request for the site; with an http proxy, in absolute form (RFC 9112, 3.2.2)."""
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
    """Copy bytes both ways until one side ends. `body_bytes`: exactly this many go to the site.

    Raises `ProxyError` if the proxy itself responds, because it refuses our credentials.
    """
    try:
        await _relay_streams(client, upstream, session, body_bytes)
    finally:
        upstream.streams[1].close()  # may be called again, whichever side ends first


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
                return  # a second request is not allowed here: Chromium sends it again on a new connection
            left -= len(data)
        if not session.count_sent(len(data)):
            return
        writer.write(data)
        await writer.drain()


async def _relay_down(
    upstream: UpstreamConnection, writer: asyncio.StreamWriter, session: GateSession, *, is_plain: bool
) -> None:
    if is_plain:
        # Whatever headers the site sends, Chromium must not send a second request on this connection.
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
    """Close with a RST, because a truncated body must not look complete."""
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
