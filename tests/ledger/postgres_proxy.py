"""A way to PostgreSQL that can be cut: a proxy on loopback, which breaks connections when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

PIECE_BYTES = 65_536


class Proxy:
    """Carries bytes until it is told to cut. What was on its way then may or may not arrive."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._port = urlsplit(url).port or 5432
        self._writers: set[asyncio.StreamWriter] = set()
        self._pipes: set[asyncio.Task[None]] = set()
        self._left = 0
        self.lasting: Callable[[], int] | None = None
        """How many pieces of what is said pass before it cuts by itself; asked after each cut."""
        self.cuts = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut()
        for pipe in list(self._pipes):
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    @property
    def url(self) -> str:
        port = self._server.sockets[0].getsockname()[1]
        return self._url.replace(f":{self._port}/", f":{port}/")

    def cut(self) -> None:
        """Every connection breaks, at once and without a word."""
        self.cuts += 1
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.update((writer, back))
        loop = asyncio.get_running_loop()
        for source, target in ((reader, back), (there, writer)):
            pipe = loop.create_task(self._carry(source, target))
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(PIECE_BYTES):
                target.write(piece)
                await target.drain()
                self._count()
        except OSError:
            pass
        finally:
            target.close()
            self._writers.discard(target)

    def _count(self) -> None:
        if self.lasting is not None:
            self._left -= 1
            if self._left <= 0:
                self._left = self.lasting()
                self.cut()
