"""The relay: carries the outbox to a sink, in order, and remembers how far it came."""

from __future__ import annotations

import asyncio

from tenax.events import Outbox, Sink

EVENTS_AT_ONCE = 500


class Relay:
    """One sink's way out of the ledger."""

    def __init__(self, outbox: Outbox, sink: Sink, pause_seconds: float = 0.5) -> None:
        self._outbox = outbox
        self._sink = sink
        self._pause_seconds = pause_seconds
        self._ending = asyncio.Event()

    async def open(self) -> None:
        self._cursor = await self._outbox.subscribe(self._sink.name)
        is_behind = bool(await self._outbox.events(self._cursor.seq, 1))
        await self._sink.open(self._cursor, is_behind)

    async def run(self) -> None:
        """Carry events until told to end; what is committed by then is carried too."""
        is_last = False
        while not is_last:
            is_last = self._ending.is_set()
            while events := await self._outbox.events(self._cursor.seq, EVENTS_AT_ONCE):
                self._cursor = await self._sink.write(events)
                await self._outbox.advance(self._sink.name, self._cursor)
                if len(events) < EVENTS_AT_ONCE:
                    break
            if not is_last:
                await self._pause()

    def end(self) -> None:
        self._ending.set()

    async def close(self) -> None:
        await self._sink.close()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_seconds):
                await self._ending.wait()
        except TimeoutError:
            return
