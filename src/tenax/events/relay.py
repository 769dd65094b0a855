"""The relay: moves events from the outbox to a sink, in order, and stores its cursor."""

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
EVENTS_PER_ROUND = EVENT_BATCH_SIZE // 2
"""About how many events may collect during a pause. The newest events are in memory; older ones must be read and
unpacked from the database again."""
DRAIN_SECONDS = 10.0
"""How long the relay waits at the end for a sink that accepts nothing. The other events stay in the database."""
LEADER_CHECK_SECONDS = 2.0
"""How often a follower checks whether it has become the leader, and a leader that waits for its sink whether it still
is."""


class Relay:
    """Moves events to one sink."""

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
        """`is_shared`: other processes have the same sink, so remaining events may be left to them at the end."""
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
        """The name of the sink in the database."""
        return self._sink.name

    async def open(self) -> None:
        """Register the cursor of this sink. A new cursor begins with the first event.

        Raises `SinkError` if this process is the leader and cannot use the sink.
        """
        await self._outbox.subscribe(self._sink.name)
        await self._check_leadership()

    async def run(self) -> None:
        """Write events until stopped. Events that were committed by then are written too, unless the sink is
        unavailable."""
        working = asyncio.ensure_future(self._relay_events())
        ending = asyncio.ensure_future(self._stop_requested.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            while not working.done():
                before = self._batches_sent
                await asyncio.wait((working,), timeout=self._drain_seconds)
                if not working.done() and (self.is_shared or self._batches_sent == before):
                    log.warning("sink unavailable, events queued", sink=self._sink.name)
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
        loop = asyncio.get_running_loop()
        last_round_at = loop.time()
        while not is_last:
            is_last = self._stop_requested.is_set()
            pause_seconds = self._leader_check_seconds
            if await self._check_leadership():
                before, since = self._cursor.seq, last_round_at
                await self._send_all()
                last_round_at = loop.time()
                pause_seconds = round_pause(self._pause_seconds, self._cursor.seq - before, last_round_at - since)
            if not is_last:
                await self._pause(pause_seconds)

    async def _check_leadership(self) -> bool:
        """Whether this process is the leader. A new leader continues at the cursor. A process that has lost the lead
        closes the sink."""
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
        log.info("sink released to another process", sink=self._sink.name)
        self._is_leader = False
        await self._sink.close()

    async def _send_all(self) -> None:
        """Write all events so far, while this process is the leader."""
        while events := await self._outbox.events(self._cursor.seq, EVENT_BATCH_SIZE):
            if not await self._send_batch(events):
                return
            self._batches_sent += 1
            if not await self._check_leadership():
                return

    async def _send_batch(self, events: Sequence[Event]) -> bool:
        """False if another process became the leader before the sink accepted the events: they must not come after
        newer ones of that process."""
        writing = asyncio.ensure_future(self._sink.write(events))
        try:
            while not (await asyncio.wait((writing,), timeout=self._leader_check_seconds))[0]:
                if not await self._outbox.is_leader(self._sink.name):
                    await cancel_and_wait(writing)
                    await self._release_sink()
                    return False
        except BaseException:
            await cancel_and_wait(writing)
            raise
        self._cursor = writing.result()
        await self._outbox.advance(self._sink.name, self._cursor)
        return True

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop_requested.wait()


def round_pause(max_seconds: float, sent: int, seconds: float) -> float:
    """The pause until the next round. `sent` events were written in this round, `seconds` after the round before."""
    return min(max_seconds, seconds * EVENTS_PER_ROUND / sent) if sent > 0 else max_seconds
