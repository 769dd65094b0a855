"""The relay: carries the outbox to a sink, in order, and remembers how far it came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenax.events import Outbox, Sink
from tenax.logs import logger
from tenax.model import Event

log = logger(__name__)

EVENTS_AT_ONCE = 500
LAST_SECONDS = 10.0
"""How long a sink that takes nothing is waited for at the end; what it did not take stays in the ledger."""


class Relay:
    """One sink's way out of the ledger."""

    def __init__(
        self, outbox: Outbox, sink: Sink, pause_seconds: float = 0.5, last_seconds: float = LAST_SECONDS
    ) -> None:
        self._outbox = outbox
        self._sink = sink
        self._pause_seconds = pause_seconds
        self._last_seconds = last_seconds
        self._ending = asyncio.Event()

    async def open(self) -> None:
        self._cursor = await self._outbox.subscribe(self._sink.name)
        is_behind = bool(await self._outbox.events(self._cursor.seq, 1))
        await self._sink.open(self._cursor, is_behind)

    async def run(self) -> None:
        """Carry events until told to end; what is committed by then is carried too, unless the sink is away."""
        is_last = False
        while not is_last:
            is_last = self._ending.is_set()
            while events := await self._outbox.events(self._cursor.seq, EVENTS_AT_ONCE):
                if not await self._carry(events):
                    log.warning("events wait in the ledger, the sink does not take them", sink=self._sink.name)
                    return
                if len(events) < EVENTS_AT_ONCE:
                    break
            if not is_last:
                await self._pause()

    def end(self) -> None:
        self._ending.set()

    async def close(self) -> None:
        await self._sink.close()

    async def _carry(self, events: Sequence[Event]) -> bool:
        """False when we are to end and the sink has not taken them in time."""
        writing = asyncio.ensure_future(self._sink.write(events))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((writing, ending), return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                await asyncio.wait((writing,), timeout=self._last_seconds)
            if not writing.done():
                return False
            self._cursor = writing.result()
            await self._outbox.advance(self._sink.name, self._cursor)
            return True
        finally:
            for task in (writing, ending):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await ending

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._pause_seconds):
                await self._ending.wait()
        except TimeoutError:
            return
