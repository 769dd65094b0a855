"""The relay: carries the outbox to a sink, in order, and remembers how far it came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenax.events import Outbox, Sink
from tenax.logs import logger
from tenax.model import Cursor, Event
from tenax.runtime.cancellation import ended

log = logger(__name__)

EVENTS_AT_ONCE = 500
LAST_SECONDS = 10.0
"""How long a sink that takes nothing is waited for at the end; what it did not take stays in the ledger."""
LOOK_SECONDS = 2.0
"""How often someone who does not lead looks whether it may, and someone who waits for a sink whether it still does."""


class Relay:
    """One sink's way out of the ledger."""

    def __init__(
        self,
        outbox: Outbox,
        sink: Sink,
        pause_seconds: float = 0.5,
        last_seconds: float = LAST_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        *,
        is_shared: bool = False,
    ) -> None:
        """`is_shared`: others have the same sink, so what is left at the end may be left to them."""
        self._outbox = outbox
        self._sink = sink
        self._pause_seconds = pause_seconds
        self._last_seconds = last_seconds
        self._look_seconds = look_seconds
        self.is_shared = is_shared
        self._cursor = Cursor()
        self._leads = False
        self._steps = 0
        self._ending = asyncio.Event()

    @property
    def name(self) -> str:
        """Of its sink, in the ledger."""
        return self._sink.name

    async def open(self) -> None:
        """From now on events are kept for this sink. Raises `SinkError` when we lead and it cannot be used."""
        await self._outbox.subscribe(self._sink.name)
        await self._look()

    async def run(self) -> None:
        """Carry events until told to end; what is committed by then is carried too, unless the sink is away."""
        working = asyncio.ensure_future(self._work())
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            while not working.done():
                before = self._steps
                await asyncio.wait((working,), timeout=self._last_seconds)
                if not working.done() and (self.is_shared or self._steps == before):
                    log.warning("events wait in the ledger, the sink does not take them", sink=self._sink.name)
                    return
            working.result()
        finally:
            await ended(working, ending)

    def end(self) -> None:
        self._ending.set()

    async def close(self) -> None:
        await self._sink.close()

    async def _work(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ending.is_set()
            if await self._look():
                await self._carry_all()
            if not is_last:
                await self._pause(self._pause_seconds if self._leads else self._look_seconds)

    async def _look(self) -> bool:
        """Whether we lead. Who begins to lead goes on where the last one was; who no longer does lets the sink go."""
        leads = await self._outbox.lead(self._sink.name)
        if leads and not self._leads:
            self._cursor = await self._outbox.subscribe(self._sink.name)
            is_behind = bool(await self._outbox.events(self._cursor.seq, 1))
            await self._sink.open(self._cursor, is_behind)
            self._leads = True
        elif self._leads and not leads:
            await self._let_go()
        return leads

    async def _let_go(self) -> None:
        log.info("another may carry the events from here on", sink=self._sink.name)
        self._leads = False
        await self._sink.close()

    async def _carry_all(self) -> None:
        """Everything there is by now, as long as we lead."""
        while events := await self._outbox.events(self._cursor.seq, EVENTS_AT_ONCE):
            if not await self._carry(events):
                return
            self._steps += 1
            if not await self._look():
                return

    async def _carry(self, events: Sequence[Event]) -> bool:
        """False when another leads before the sink has taken them: ours must not come after newer ones of theirs."""
        writing = asyncio.ensure_future(self._sink.write(events))
        try:
            while not (await asyncio.wait((writing,), timeout=self._look_seconds))[0]:
                if not await self._outbox.lead(self._sink.name):
                    await ended(writing)
                    await self._let_go()
                    return False
            self._cursor = writing.result()
            await self._outbox.advance(self._sink.name, self._cursor)
            return True
        finally:
            await ended(writing)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()
