"""What a worker does every second: signs of life, a look at the others, and word of how it is doing itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tenax.clock import Clock
from tenax.config import LedgerConfig
from tenax.database.postgres.connection import Connection, Link
from tenax.database.postgres.frontier import Frontier
from tenax.database.postgres.schema import queries
from tenax.database.postgres.window import Window
from tenax.database.postgres.worker import Ended, Worker
from tenax.model import Company

PULSE_SECONDS = 1.0
RECOVER_SECONDS = 60.0
PLAN_SECONDS = 5.0
"""Plans are made anew this often: what was a small table when they were made may have grown."""


class Pulse:
    """Of one worker, on the connection for what must follow one after the other."""

    def __init__(
        self, worker: Worker, window: Window, frontier: Frontier, hands: Link, config: LedgerConfig, clock: Clock
    ) -> None:
        self._worker = worker
        self._window = window
        self._frontier = frontier
        self._hands = hands
        self._config = config
        self._clock = clock
        self._told_at: float | None = None
        self.is_cut_off: Callable[[], bool] = lambda: False
        """Whether this worker reaches no Redis; the others are told when it changes."""
        self.company = Company(workers=1, cut_off=0, heard_at=0.0)

    async def run(self, recover: Callable[[], Awaitable[int]], count: Callable[[], Awaitable[None]]) -> None:
        """Until it is cancelled: `recover` looks for the dead, `count` keeps up with what others count."""
        loop = asyncio.get_running_loop()
        # Sooner where a worker is dead sooner, or its hosts would wait for much longer than that.
        pause_seconds = min(RECOVER_SECONDS, self._config.dead_after_seconds / 2)
        beat_at, recover_at = loop.time() + self._config.heartbeat_seconds, loop.time() + pause_seconds
        plan_at = loop.time() + PLAN_SECONDS
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            if loop.time() >= beat_at:
                await self._beat()
                beat_at = loop.time() + self._config.heartbeat_seconds
            if loop.time() >= recover_at:
                await recover()
                await self._hands.ask(self._window.reconcile)
                recover_at = loop.time() + pause_seconds
            if loop.time() >= plan_at:
                await self._hands.ask(lambda db: db.execute("DISCARD PLANS"))
                plan_at = loop.time() + PLAN_SECONDS
            await count()
            await self.meet()
            self._frontier.tend_if_due()

    async def meet(self) -> None:
        """Hear of the others, and tell them whether we are cut off."""
        await self._hands.ask(self._meet)

    async def _beat(self) -> None:
        try:
            await self._hands.ask(self._worker.beat)
        except Ended as error:
            await self._frontier.start_over(error.worker_id)

    async def _meet(self, db: Connection) -> None:
        me, asked_at, is_cut_off = self._worker.id, self._clock.now(), self.is_cut_off()
        row = await db.fetchrow(queries()["company"], me, asked_at)
        assert row is not None
        if not is_cut_off or not row["says_so"]:
            self._told_at = None
        elif self._told_at is None:
            self._told_at = self._clock.now()  # it was told before, but the answer was lost
        # Before anything is changed: from here on nobody may rely on what will not be said any more.
        self.company = Company(row["workers"], row["cut_off"], asked_at, self._told_at)
        if row["says_so"] not in (None, is_cut_off):
            await db.execute(queries()["worker_cut_off"], me, is_cut_off)
            self._told_at = self._clock.now() if is_cut_off else None
            self.company = Company(row["workers"], row["cut_off"], asked_at, self._told_at)
