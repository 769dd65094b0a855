"""The gate: the one way out of the browser, a proxy on loopback where every connection passes the guard.

Chromium is started with no network but this. Whatever a page does (redirect, frame, script, WebSocket), the bytes go
through here, and only to addresses the guard gave. A secure connection passes as it is: the handshake is Chromium's.

Each page has a `Passage` of its own, with a secret that only its Chromium is told; who does not know one is not served.
The passage counts, limits, remembers what was refused, and takes every connection with it when it is closed.

A target that is refused looks to Chromium like a proxy that says no: 403 to a CONNECT, and no answer at all to a plain
request, because an answer would be taken for the page.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from base64 import b64encode
from typing import NamedTuple

from tenax.fetch.dial import connected
from tenax.fetch.failures import connect_timeout, failure_of
from tenax.fetch.guard import Guard
from tenax.fetch.target import Origin, target_of
from tenax.model import Failed, Refused

CONNECTIONS_AT_ONCE = 64
"""Of one page; Chromium itself uses half of that."""
CONNECTIONS_IN_ALL = 1000
"""Of one page: more is no page any more."""
STRANGERS_AT_ONCE = 64
"""Connections that have not shown a secret yet."""
HEAD_SECONDS = 10.0
HEAD_BYTES = 64 * 1024
PIECE_BYTES = 64 * 1024

# What is between Chromium and the gate, and not for the site.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade", "host"}
)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Asked(NamedTuple):
    """The head of one request to the gate."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


class Passage:
    """One page's right to pass: what it used, what it was refused, and its end."""

    def __init__(self, max_bytes: int) -> None:
        self.user = "page"
        self.password = secrets.token_urlsafe(24)
        self.received_bytes = 0
        """From the sites, as they came over the wire."""
        self.is_too_large = False
        self._max_bytes = max_bytes
        self._connections = 0
        self._open: set[asyncio.Task[None]] = set()
        self._ends: dict[tuple[str, int], str | Refused | Failed] = {}
        self._is_closed = False

    def denial(self, origin: Origin) -> Refused | Failed | None:
        """Why the last connection to this origin did not come about, if it did not."""
        end = self._ends.get((origin.host, origin.port))
        return None if isinstance(end, str) else end

    def address(self, origin: Origin) -> str:
        """Where the last connection to this origin leads; empty when there was none."""
        end = self._ends.get((origin.host, origin.port))
        return end if isinstance(end, str) else ""

    def close(self) -> None:
        """End every connection of the page, at once."""
        self._is_closed = True
        for task in self._open:
            task.cancel()

    def enter(self, task: asyncio.Task[None]) -> bool:
        """Whether one more connection may begin."""
        if self._is_closed or len(self._open) >= CONNECTIONS_AT_ONCE or self._connections >= CONNECTIONS_IN_ALL:
            return False
        self._connections += 1
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return True

    def note(self, origin: Origin, end: str | Refused | Failed) -> None:
        """What a connection came to: the address, or why there is none."""
        self._ends[(origin.host, origin.port)] = end

    def let_in(self, byte_count: int) -> None:
        self.received_bytes += byte_count
        if self.received_bytes > self._max_bytes:
            self.is_too_large = True
            self.close()


class Gate:
    """Listens on loopback for the browsers of one process."""

    def __init__(self, guard: Guard, connect_timeout_seconds: float) -> None:
        self._guard = guard
        self._connect_timeout_seconds = connect_timeout_seconds
        self._server: asyncio.Server | None = None
        self._passages: dict[str, Passage] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._strangers = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES)

    @property
    def url(self) -> str:
        """What Chromium is told. Its port changes with every start."""
        assert self._server is not None, "the gate is not open"
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def admit(self, max_bytes: int) -> Passage:
        """A passage for one page that may receive so much over the wire."""
        passage = Passage(max_bytes)
        self._passages[_credentials(passage)] = passage
        return passage

    def dismiss(self, passage: Passage) -> None:
        """The page is over: its connections end, and its secret opens nothing any more."""
        self._passages.pop(_credentials(passage), None)
        passage.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for passage in list(self._passages.values()):
            self.dismiss(passage)
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
        asked = await self._asked(reader)
        passage = self._passages.get((asked.header("proxy-authorization") or "").partition(" ")[2].strip())
        if passage is None:
            return _say(writer, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="gate"\r\n')
        if not passage.enter(task):
            return _say(writer, "503 Service Unavailable")
        if asked.method == "CONNECT":
            return await self._tunnel(asked, reader, writer, passage)
        return await self._forward(asked, reader, writer, passage)

    async def _asked(self, reader: asyncio.StreamReader) -> Asked:
        if self._strangers >= STRANGERS_AT_ONCE:
            raise ConnectionAbortedError
        self._strangers += 1
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                return _read(await reader.readuntil(b"\r\n\r\n"))
        finally:
            self._strangers -= 1

    async def _tunnel(
        self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passage: Passage
    ) -> None:
        """CONNECT: https, and WebSockets of both kinds. What passes is not looked at."""
        target = target_of(f"https://{asked.target}/")
        if target is None:
            return _say(writer, "403 Forbidden")
        # It does not say what will be spoken; a person who typed either scheme as a seed meant this very port.
        spoken = "http" if target.origin.port == 80 else "https"
        upstream = await self._connected(target.origin._replace(scheme=spoken), passage)
        if isinstance(upstream, Refused) and target.origin.port != 80:
            upstream = await self._connected(target.origin._replace(scheme="http"), passage)
        if not isinstance(upstream, tuple):
            return _say(writer, "403 Forbidden" if isinstance(upstream, Refused) else "502 Bad Gateway")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return await _joined((reader, writer), upstream, passage)

    async def _forward(
        self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passage: Passage
    ) -> None:
        """A plain http request: one for each connection, so that nothing unread can follow it to the site."""
        target = target_of(asked.target)
        length = asked.header("content-length") or "0"
        if target is None or target.origin.scheme != "http" or not (length.isascii() and length.isdecimal()):
            return
        upstream = await self._connected(target.origin, passage)
        if not isinstance(upstream, tuple):
            return
        headers = [(name, value) for name, value in asked.headers if name.lower() not in _HOP_BY_HOP]
        headers = [("Host", target.origin.authority), *headers, ("Connection", "close")]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        upstream[1].write(f"{asked.method} {target.path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
        await _joined((reader, writer), upstream, passage, int(length))

    async def _connected(self, origin: Origin, passage: Passage) -> Streams | Refused | Failed:
        addresses = await self._guard.check(origin, self._connect_timeout_seconds)
        if not isinstance(addresses, tuple):
            passage.note(origin, addresses)
            return addresses
        try:
            async with asyncio.timeout(self._connect_timeout_seconds):
                sock = await connected(addresses, origin.port)
            passage.note(origin, sock.getpeername()[0])
            return await asyncio.open_connection(sock=sock, limit=PIECE_BYTES)
        except TimeoutError as error:
            failed = failure_of(error) if error.errno else connect_timeout(self._connect_timeout_seconds)
        except OSError as error:
            failed = failure_of(error)
        passage.note(origin, failed)
        return failed


async def _joined(client: Streams, site: Streams, passage: Passage, body_bytes: int | None = None) -> None:
    """Carry bytes both ways until one side ends. `body_bytes`: so many go to the site, and nothing after them."""
    upward = asyncio.ensure_future(_sent(client[0], site[1], body_bytes))
    try:
        downward = asyncio.ensure_future(_received(site[0], client[1], passage, is_plain=body_bytes is not None))
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
        site[1].close()


async def _sent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body_bytes: int | None) -> None:
    left = body_bytes
    while data := await reader.read(PIECE_BYTES):
        if left is not None:
            if len(data) > left:
                return  # a second request where none may be: Chromium sends it again on a connection of its own
            left -= len(data)
        writer.write(data)
        await writer.drain()


async def _received(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passage: Passage, *, is_plain: bool
) -> None:
    if is_plain:
        # Whatever the site says: Chromium must not send a second request this way.
        status = await reader.readuntil(b"\n")
        passage.let_in(len(status))
        writer.write(status + b"Connection: close\r\n")
    while data := await reader.read(PIECE_BYTES):
        passage.let_in(len(data))
        writer.write(data)
        await writer.drain()


def _read(head: bytes) -> Asked:
    line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    pairs = (line.partition(":") for line in lines)
    return Asked(method, target, tuple((name.strip(), value.strip()) for name, _, value in pairs))


def _credentials(passage: Passage) -> str:
    return b64encode(f"{passage.user}:{passage.password}".encode()).decode("ascii")


def _say(writer: asyncio.StreamWriter, status: str, header: str = "") -> None:
    writer.write(f"HTTP/1.1 {status}\r\n{header}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST: a body that was cut off must not look as if it had ended."""
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
