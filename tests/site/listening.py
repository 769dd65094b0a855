"""A server on its own port for the duration of a test: it counts its connections and closes them at the end."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self


class Listening:
    """Override `serve`. A client that leaves early, or is disconnected at the end, is no failure."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.connections = 0
        self.host = host
        self.port = port
        """0 until it listens, unless a port was given."""
        self.tls = tls

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        """Handle one connection; `connection` is its number."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, self.host, self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # an aborted transport is closed in the next iteration of the loop

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self.serve(reader, writer, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side closed, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
