"""The relay: carries the outbox to a sink, in order, and remembers how far it came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenax.events import Outbox, Sink
from tenax.logs import logger
from tenax.model import Cursor, Event
from tenax.runtime.cancellation import cancel_and_wait

log = logger(__name__)

EVENT_BATCH_SIZE = 500
DRAIN_SECONDS = 10.0
"""How long a sink that takes nothing is waited for at the end; what it did not take stays in the database."""
LEADER_CHECK_SECONDS = 2.0
"""How often someone who does not lead looks whether it may, and someone who waits for a sink whether it still does."""


class Relay:
    """One sink's way out of the database."""

    def __init__(
        self,
        outbox: Outbox,
        sink: Sink,
        pause_seconds: float = 0.5,
        drain_seconds: float = DRAIN_SECONDS,
        leader_check_seconds: float = LEADER_CHECK_SECONDS,
        *,
        is_shared: bool = False,
    ) -> None:
        """`is_shared`: others have the same sink, so what is left at the end may be left to them."""
        self._outbox = outbox
        self._sink = sink
        self._pause_seconds = pause_seconds
        self._drain_seconds = drain_seconds
        self._leader_check_seconds = leader_check_seconds
        self.is_shared = is_shared
        self._cursor = Cursor()
        self._is_leader = False
        self._batches_sent = 0
        self._stop_requested = asyncio.Event()

    @property
    def name(self) -> str:
        """Of its sink, in the database."""
        return self._sink.name

    async def open(self) -> None:
        """From now on events are kept for this sink. Raises `SinkError` when we lead and it cannot be used."""
        await self._outbox.subscribe(self._sink.name)
        await self._check_leadership()

    async def run(self) -> None:
        """Carry events until told to end; what is committed by then is carried too, unless the sink is away."""
        working = asyncio.ensure_future(self._relay_events())
        ending = asyncio.ensure_future(self._stop_requested.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            while not working.done():
                before = self._batches_sent
                await asyncio.wait((working,), timeout=self._drain_seconds)
                if not working.done() and (self.is_shared or self._batches_sent == before):
                    log.warning("events wait in the database, the sink does not take them", sink=self._sink.name)
                    return
            working.result()
        finally:
            await cancel_and_wait(working, ending)

    def stop(self) -> None:
        self._stop_requested.set()

    async def close(self) -> None:
        await self._sink.close()

    async def _relay_events(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._stop_requested.is_set()
            if await self._check_leadership():
                await self._send_all()
            if not is_last:
                await self._pause(self._pause_seconds if self._is_leader else self._leader_check_seconds)

    async def _check_leadership(self) -> bool:
        """Whether we lead. Who begins to lead goes on where the last one was; who no longer does lets the sink go."""
        leads = await self._outbox.is_leader(self._sink.name)
        if leads and not self._is_leader:
            self._cursor = await self._outbox.subscribe(self._sink.name)
            is_behind = bool(await self._outbox.events(self._cursor.seq, 1))
            await self._sink.open(self._cursor, is_behind)
            self._is_leader = True
        elif self._is_leader and not leads:
            await self._release_sink()
        return leads

    async def _release_sink(self) -> None:
        log.info("another may carry the events from here on", sink=self._sink.name)
        self._is_leader = False
        await self._sink.close()

    async def _send_all(self) -> None:
        """Everything there is by now, as long as we lead."""
        while events := await self._outbox.events(self._cursor.seq, EVENT_BATCH_SIZE):
            if not await self._send_batch(events):
                return
            self._batches_sent += 1
            if not await self._check_leadership():
                return

    async def _send_batch(self, events: Sequence[Event]) -> bool:
        """False when another leads before the sink has taken them: ours must not come after newer ones of theirs."""
        writing = asyncio.ensure_future(self._sink.write(events))
        try:
            while not (await asyncio.wait((writing,), timeout=self._leader_check_seconds))[0]:
                if not await self._outbox.is_leader(self._sink.name):
                    await cancel_and_wait(writing)
                    await self._release_sink()
                    return False
            self._cursor = writing.result()
            await self._outbox.advance(self._sink.name, self._cursor)
            return True
        finally:
            await cancel_and_wait(writing)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop_requested.wait()
