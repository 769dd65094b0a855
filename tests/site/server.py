"""A local website with bad manners: raw sockets, so that it can break every rule of HTTP."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

Manner = Callable[["Exchange"], Awaitable[None]]


class Hit:
    """A request as the site saw it."""

    def __init__(self, method: str, path: str, headers: dict[str, str], connection: int, at: float) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.connection = connection
        self.at = at


class Exchange:
    """One request and the means to answer it, properly or not."""

    def __init__(self, hit: Hit, nth_on_connection: int, writer: asyncio.StreamWriter) -> None:
        self.method = hit.method
        self.path = hit.path
        self.headers = hit.headers
        self.nth_on_connection = nth_on_connection
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes = b"", status: str = "200 OK", headers: dict[str, str] | None = None) -> None:
        """A proper answer, with a Content-Length."""
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


class Site:
    """Serves the manners by path on a port of its own, and remembers what it was asked."""

    def __init__(
        self,
        manners: dict[str, Manner],
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hits: list[Hit] = []
        self.connections = 0
        self._manners = manners
        self._host = host
        self._port = port
        self._tls = tls
        self._now = now

    async def __aenter__(self) -> Site:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, self._host, self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        return self._port

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://{self._host}:{self._port}"

    def url(self, path: str) -> str:
        return self.origin + path

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side left, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        nth = 0
        while not writer.is_closing():
            first = await reader.readexactly(1)
            if first == b"\x16":  # a TLS hello on a plain port
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request_line, *lines = head.rstrip().split("\r\n")
            nth += 1
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            method, path, *_ = request_line.split(" ")
            hit = Hit(method, path, headers, connection, self._now())
            self.hits.append(hit)
            manner = self._manners.get(hit.path.partition("?")[0])
            exchange = Exchange(hit, nth, writer)
            if manner is None:
                await exchange.answer(b"no such page", "404 Not Found")
            else:
                await manner(exchange)
