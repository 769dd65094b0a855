"""A proxy to PostgreSQL on loopback that breaks connections when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

PIECE_BYTES = 65_536


class Proxy:
    """Forwards bytes until `cut`. Bytes in transit then may or may not arrive."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._port = urlsplit(url).port or 5432
        self._writers: set[asyncio.StreamWriter] = set()
        self._pipes: set[asyncio.Task[None]] = set()
        self._left = 0
        self.lasting: Callable[[], int] | None = None
        """How many chunks pass before it cuts by itself; called after each cut."""
        self.cuts = 0
        self._last_words = b""
        self._are_heard = False
        self._is_down = False

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
        """Break every connection at once."""
        self.cuts += 1
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    def fall_at(self, words: bytes, *, are_heard: bool) -> None:
        """After these bytes, no connection works until `rise`. They may still arrive; no answer comes back."""
        self._last_words, self._are_heard = words, are_heard

    def rise(self) -> None:
        self._is_down = False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_down:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.update((writer, back))
        loop, answers_lost = asyncio.get_running_loop(), asyncio.Event()
        for passing in (
            self._carry(reader, back, lambda piece: self._is_said(piece, answers_lost)),
            self._carry(there, writer, lambda _: not answers_lost.is_set()),
        ):
            pipe = loop.create_task(passing)
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    def _is_said(self, piece: bytes, answers_lost: asyncio.Event) -> bool:
        """Whether this request may pass."""
        if not self._last_words or self._last_words not in piece:
            return True
        self._last_words = b""
        answers_lost.set()
        return self._are_heard

    async def _carry(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, may_pass: Callable[[bytes], bool]
    ) -> None:
        try:
            while piece := await source.read(PIECE_BYTES):
                if not may_pass(piece):
                    self._is_down = True
                    self.cut()
                    return
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
