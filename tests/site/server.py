"""A badly behaved local website: raw sockets, so that it can break every rule of HTTP."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import ssl
import struct
import sys
import termios
import time
from collections.abc import Awaitable, Callable

from tests.site.listening import Listening

Behaviour = Callable[["Exchange"], Awaitable[None]]


class Hit:
    """A request as the site saw it."""

    def __init__(self, method: str, path: str, headers: dict[str, str], connection: int, at: float) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.connection = connection
        self.at = at


def headers_of(lines: list[str]) -> dict[str, str]:
    """By their names in lower case."""
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


class Exchange:
    """One request and the means to respond, properly or not."""

    def __init__(self, hit: Hit, nth_on_connection: int, writer: asyncio.StreamWriter) -> None:
        self.method = hit.method
        self.path = hit.path
        self.headers = hit.headers
        self.nth_on_connection = nth_on_connection
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def arrived(self) -> None:
        """Wait until everything sent has reached the other side's system."""
        sock = self._writer.get_extra_info("socket")
        for _ in range(10_000):
            if self._writer.is_closing() or not _unacknowledged_bytes(sock):
                return
            await asyncio.sleep(0.001)

    async def answer(self, body: bytes = b"", status: str = "200 OK", headers: dict[str, str] | None = None) -> None:
        """A valid response with a Content-Length."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        await self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def hang_up(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """Close with a RST, as a firewall or a crash does."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.close()


def _unacknowledged_bytes(sock: socket.socket) -> int:
    buffer = bytearray(4)
    fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, buffer)
    return int.from_bytes(buffer, sys.byteorder)


class Site(Listening):
    """Serves the behaviours by path on its own port, and records the requests."""

    def __init__(
        self,
        behaviours: dict[str, Behaviour],
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(host, port, tls)
        self.hits: list[Hit] = []
        self._behaviours = behaviours
        self._now = now

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return self.origin + path

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        nth = 0
        while not writer.is_closing():
            first = await reader.readexactly(1)
            if first == b"\x16":  # a TLS hello on a plain port
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request_line, *lines = head.rstrip().split("\r\n")
            nth += 1
            headers = headers_of(lines)
            method, path, *_ = request_line.split(" ")
            hit = Hit(method, path, headers, connection, self._now())
            self.hits.append(hit)
            behaviour = self._behaviours.get(hit.path.partition("?")[0])
            exchange = Exchange(hit, nth, writer)
            if behaviour is None:
                await exchange.answer(b"no such page", "404 Not Found")
            else:
                await behaviour(exchange)
