"""A worker's loop of every second: heartbeats, the state of its peers, and its own cut-off status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database.postgres.connection import Connection, PostgresConnection
from tenax.database.postgres.frontier import Frontier
from tenax.database.postgres.host_window import Window
from tenax.database.postgres.schema import queries
from tenax.database.postgres.worker import Worker, WorkerEnded
from tenax.model import Peers

HEARTBEAT_LOOP_SECONDS = 1.0
RECOVER_INTERVAL_SECONDS = 60.0
DISCARD_PLANS_INTERVAL_SECONDS = 5.0
"""Query plans are discarded this often: a table that was small when they were made may have grown."""


class Heartbeat:
    """The heartbeat of one worker, on the connection for statements that must run in order."""

    def __init__(
        self,
        worker: Worker,
        window: Window,
        frontier: Frontier,
        write_connection: PostgresConnection,
        config: DatabaseConfig,
        clock: Clock,
    ) -> None:
        self._worker = worker
        self._window = window
        self._frontier = frontier
        self._write_connection = write_connection
        self._config = config
        self._clock = clock
        self._announced_at: float | None = None
        self.is_cut_off: Callable[[], bool] = lambda: False
        """Whether this worker cannot reach Redis; changes are announced to the others."""
        self.peers = Peers(workers=1, without_redis=0, checked_at=0.0)

    async def run(self, recover: Callable[[], Awaitable[int]], update_counts: Callable[[], Awaitable[None]]) -> None:
        """Run until cancelled: `recover` finds dead workers, `update_counts` reads the counts of all workers."""
        loop = asyncio.get_running_loop()
        # More often where workers count as dead sooner, so that their hosts do not wait much longer than that.
        pause_seconds = min(RECOVER_INTERVAL_SECONDS, self._config.dead_after_seconds / 2)
        beat_at, recover_at = loop.time() + self._config.heartbeat_seconds, loop.time() + pause_seconds
        plan_at = loop.time() + DISCARD_PLANS_INTERVAL_SECONDS
        while True:
            await asyncio.sleep(HEARTBEAT_LOOP_SECONDS)
            if loop.time() >= beat_at:
                await self._send_heartbeat()
                beat_at = loop.time() + self._config.heartbeat_seconds
            if loop.time() >= recover_at:
                await recover()
                await self._write_connection.run_idempotent(self._window.reconcile)
                recover_at = loop.time() + pause_seconds
            if loop.time() >= plan_at:
                await self._write_connection.run_idempotent(lambda db: db.execute("DISCARD PLANS"))
                plan_at = loop.time() + DISCARD_PLANS_INTERVAL_SECONDS
            await update_counts()
            await self.update_peers()
            self._frontier.refill_if_due()

    async def update_peers(self) -> None:
        """Read the state of the peers, and announce whether we are cut off."""
        await self._write_connection.run_idempotent(self._exchange_cut_off_status)

    async def _send_heartbeat(self) -> None:
        try:
            await self._write_connection.run_idempotent(self._worker.send_heartbeat)
        except WorkerEnded as error:
            await self._frontier.rejoin(error.worker_id)

    async def _exchange_cut_off_status(self, db: Connection) -> None:
        worker_id, checked_at, is_cut_off = self._worker.id, self._clock.now(), self.is_cut_off()
        row = await db.fetchrow(queries()["peers"], worker_id, checked_at)
        assert row is not None
        if not is_cut_off or not row["is_announced"]:
            self._announced_at = None
        elif self._announced_at is None:
            self._announced_at = self._clock.now()  # announced before, but the answer was lost
        # Before any change: from here on nobody may rely on an announcement that is about to end.
        self.peers = Peers(row["workers"], row["cut_off"], checked_at, self._announced_at)
        if row["is_announced"] not in (None, is_cut_off):
            await db.execute(queries()["worker_cut_off"], worker_id, is_cut_off)
            self._announced_at = self._clock.now() if is_cut_off else None
            self.peers = Peers(row["workers"], row["cut_off"], checked_at, self._announced_at)
