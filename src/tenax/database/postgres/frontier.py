"""The claims of one worker. They are served from memory, which is filled from the server and shared with other
workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database.claims import ActiveClaim, ActiveClaims
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.host_window import Window
from tenax.database.postgres.worker import LeasedSchedule, Worker, WorkerEnded
from tenax.database.schedule import Entry
from tenax.errors import DatabaseUnusable
from tenax.model import Claim
from tenax.runtime.cancellation import cancel_and_wait

log = logs.logger(__name__)

REFILL_WAIT_SECONDS = 1.0
"""How long a claim waits until the memory is filled from the server."""
MIN_WAIT_SECONDS = 0.001
NOTIFY_INTERVAL_SECONDS = 0.1
"""Minimum time between notifications about new work. Workers also look every second."""


class Connections(NamedTuple):
    """The connections of one worker."""

    query: PostgresConnection
    write: PostgresConnection
    """For statements that must run in order."""


class Frontier:
    """Serves claims from memory and keeps it filled."""

    def __init__(
        self,
        worker: Worker,
        window: Window,
        schedule: LeasedSchedule,
        connections: Connections,
        config: DatabaseConfig,
        *,
        clock: Clock,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._worker = worker
        self._window = window
        self._schedule = schedule
        self._write_connection = connections.write
        self._query_connection = connections.query
        self._config = config
        self._clock = clock
        self._on_failure = on_failure
        self._channel = f"tenax_{config.schema}"
        self._claims = ActiveClaims(schedule, config.lease_seconds)
        self._has_claimed = False
        self._refill_task: asyncio.Task[None] | None = None
        self._notify_task: asyncio.Task[None] | None = None
        self._notified_at = 0.0
        self._join_lock = asyncio.Lock()
        self._changed = asyncio.Event()

    # -- claims ---------------------------------------------------------------------------------------------

    async def claim(self) -> Claim | None:
        self._has_claimed = True
        self._claims.expire(self._clock.now())
        for _ in range(3):
            if self._write_connection.is_unavailable:
                return None
            now = self._clock.now()
            # After our lease has expired, other workers may have our hosts. So send a heartbeat first.
            is_alive = self._worker.alive_until > now
            taken = self._schedule.take(now) if is_alive else None
            is_due = not is_alive or self._window.is_due(now)
            if taken is not None:
                if is_due:
                    self.start_refill()
                return self._claims.begin(*taken, self._worker.id, now, self._worker.alive_until)
            if not is_due:
                return None
            await asyncio.wait({self.start_refill()}, timeout=REFILL_WAIT_SECONDS)
        return None

    async def wait_for_work(self, timeout_seconds: float) -> None:
        inside = self._schedule.next_claim_at()
        ready_at = self._window.next_scan_at if inside is None else min(inside, self._window.next_scan_at)
        if not self._write_connection.is_unavailable:
            timeout_seconds = min(timeout_seconds, max(ready_at - self._clock.now(), MIN_WAIT_SECONDS))
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._changed.wait()

    def end_claim(self, claim: Claim) -> ActiveClaim:
        """End a claim by a commit. Raises `LeaseLost`."""
        return self._claims.end(claim, self._worker.id)

    def release(self, claim: Claim) -> None:
        if self._claims.release(claim, self._worker.id, self._clock.now()):
            self._changed.set()

    def next_claim_at(self) -> float | None:
        return self._window.next_claim_at()

    def add_tasks(self, arrivals: list[tuple[int, Entry]]) -> None:
        """Add tasks that wait from now on, by host."""
        now = self._clock.now()
        for host_id, entry in arrivals:
            self._window.add_task(host_id, entry, now)
        self._changed.set()

    def reload(self) -> None:
        """Read everything again, after many hosts have got tasks."""
        self._schedule.reload()
        self._window.schedule_scan(self._clock.now())
        self._changed.set()

    def wake_waiters(self) -> None:
        """Make callers of `wait_for_work` look again."""
        self._changed.set()

    # -- refilling ------------------------------------------------------------------------------------------

    def start_refill(self) -> asyncio.Task[None]:
        if self._refill_task is None or self._refill_task.done():
            self._refill_task = asyncio.get_running_loop().create_task(self._refill())
        return self._refill_task

    def refill_if_due(self) -> None:
        """Refill, if it is time. A worker that claims nothing at the moment must also release hosts for others."""
        if self._has_claimed and self._window.is_due(self._clock.now()):
            self.start_refill()

    async def _refill(self) -> None:
        try:
            try:
                if self._worker.alive_until <= self._clock.now():
                    await self._write_connection.run_idempotent(self._worker.send_heartbeat)
                async with self._write_connection.use() as db:
                    await self._window.refill(db)
            except WorkerEnded as error:
                await self.rejoin(error.worker_id)
        except (ConnectionLost, TransactionConflict):
            pass  # the next refill tries again
        except Exception as error:
            self._on_failure(error)
        self._changed.set()

    async def rejoin(self, ended_worker_id: int) -> None:
        """Register again without hosts: the lease of the worker has expired, and other workers have its hosts."""
        async with self._join_lock:
            if self._worker.id != ended_worker_id:
                return
            log.warning("worker lease expired, re-registering", worker=ended_worker_id)
            self._worker.alive_until = 0.0
            self._claims.clear()
            self._window.reset()
            await self._write_connection.run_idempotent(self._worker.register)
        self._changed.set()

    # -- other workers --------------------------------------------------------------------------------------

    async def listen(self, db: Connection) -> None:
        await db.add_listener(self._channel, self._on_notification)

    def _on_notification(self, connection: object, pid: int, channel: str, payload: str) -> None:
        if payload != str(self._worker.id) and self._has_claimed:
            self._window.schedule_scan(self._clock.now())
            self._changed.set()

    def notify_workers(self) -> None:
        """Tell other workers that hosts which no worker leases have work."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._notified_at >= NOTIFY_INTERVAL_SECONDS:
            self._notified_at = loop.time()
            self._notify_task = loop.create_task(self._notify())

    async def _notify(self) -> None:
        # Outside of a transaction, because a NOTIFY in a transaction blocks every other one until the COMMIT.
        with suppress(ConnectionLost, TransactionConflict, DatabaseUnusable):  # the others poll anyway
            async with self._query_connection.use() as db:
                await db.fetchval("SELECT pg_notify($1, $2)", self._channel, str(self._worker.id))

    async def close(self) -> None:
        for task in (self._refill_task, self._notify_task):
            if task is not None:
                await asyncio.wait({task}, timeout=REFILL_WAIT_SECONDS)
                await cancel_and_wait(task)
