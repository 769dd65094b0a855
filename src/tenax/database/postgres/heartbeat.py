"""A worker among the other workers: heartbeats, the state of the others, and the choice of a leader for each sink."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b

from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database.postgres.connection import Address, Connection, PostgresConnection
from tenax.database.postgres.frontier import Frontier
from tenax.database.postgres.host_window import Window
from tenax.database.postgres.schema import queries
from tenax.database.postgres.worker import Worker, WorkerEnded
from tenax.errors import DatabaseError
from tenax.model import Peers

HEARTBEAT_LOOP_SECONDS = 1.0
RECOVER_INTERVAL_SECONDS = 60.0
DISCARD_PLANS_INTERVAL_SECONDS = 5.0
"""How often query plans are discarded. A table that was small when they were made may have grown."""


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
        """Whether this worker cannot reach Redis. Changes are announced to the others."""
        self.peers = Peers(workers=1, without_redis=0, checked_at=0.0)

    async def run(self, recover: Callable[[], Awaitable[int]], update_counts: Callable[[], Awaitable[None]]) -> None:
        """Run until cancelled: `recover` finds dead workers, `update_counts` reads the counts of all workers."""
        loop = asyncio.get_running_loop()
        # Workers look more often if workers count as dead sooner, so that the hosts of a dead one do not wait much
        # longer than that.
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
        """Read the state of the other workers, and announce whether this worker is cut off."""
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
            self._announced_at = self._clock.now()  # announced before, but the reply was lost
        # Before any change: from here on no worker may rely on an announcement that is about to end.
        self.peers = Peers(row["workers"], row["cut_off"], checked_at, self._announced_at)
        if row["is_announced"] not in (None, is_cut_off):
            await db.execute(queries()["worker_cut_off"], worker_id, is_cut_off)
            self._announced_at = self._clock.now() if is_cut_off else None
            self.peers = Peers(row["workers"], row["cut_off"], checked_at, self._announced_at)


SESSION_TRUST_SECONDS = 1.0
"""How long a session that has replied is assumed to exist."""
ANSWER_TIMEOUT_SECONDS = 5.0
"""After this time the session may have ended and another process may lead, so this process does not."""


class Leader:
    """Advisory locks, one per sink, on a connection of their own that exists only while this process holds any."""

    def __init__(self, address: Address, query_connection: PostgresConnection) -> None:
        self._address = address
        self._query_connection = query_connection
        self._lock = asyncio.Lock()
        self._connection: PostgresConnection | None = None
        self._session: Connection | None = None
        self._led_sinks: set[str] = set()
        self._lost_sinks: set[str] = set()
        """Sinks that were lost, and whose caller does not know this yet."""
        self._answered_at = 0.0
        self._is_closed = False

    async def acquire(self, sink: str) -> bool:
        """Whether this process leads. After the lead was lost, returns False at least once before it leads again."""
        if sink not in self._led_sinks and sink not in self._lost_sinks:
            key = self._lock_key(sink)
            # Outside of the lock, because this waits while the server is unavailable.
            if not await self._query_connection.run_idempotent(
                lambda db: db.fetchval(queries()["leader_lock_is_free"], key)
            ):
                return False
            async with self._lock:
                return await self._acquire_lock(sink, key)
        async with self._lock:
            if self._led_sinks:
                await self._check_session()
            self._lost_sinks.discard(sink)
            return sink in self._led_sinks

    async def close(self) -> None:
        """Give up the lead at once."""
        self._is_closed = True
        async with self._lock:
            await self._end_session()

    async def _end_session(self) -> None:
        self._lose_all()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def _acquire_lock(self, sink: str, key: int) -> bool:
        if self._is_closed:
            return False
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                connection = await self._open_session()
                if await connection.run_idempotent(lambda db: db.fetchval(queries()["leader_lock_take"], key)):
                    self._led_sinks.add(sink)
                    self._mark_answered()
        except (DatabaseError, TimeoutError):
            self._lose_all()
        if not self._led_sinks:
            await self._end_session()
        return sink in self._led_sinks

    async def _check_session(self) -> None:
        """Check that the session still exists, because a new session holds no locks."""
        assert self._connection is not None and self._session is not None
        is_fresh = asyncio.get_running_loop().time() - self._answered_at < SESSION_TRUST_SECONDS
        if is_fresh and not self._session.is_closed():
            return
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
                await self._connection.run_idempotent(lambda db: db.execute("SELECT"))
            self._mark_answered()
        except (DatabaseError, TimeoutError):
            await self._end_session()

    async def _open_session(self) -> PostgresConnection:
        if self._connection is None:
            self._connection = PostgresConnection(self._address, {}, should_wait=False)
            await self._connection.open()
            await self._connection.set_on_connect(self._on_session_start)
        return self._connection

    async def _on_session_start(self, db: Connection) -> None:
        self._lose_all()
        self._session = db

    def _lose_all(self) -> None:
        self._lost_sinks |= self._led_sinks
        self._led_sinks.clear()

    def _mark_answered(self) -> None:
        self._answered_at = asyncio.get_running_loop().time()

    def _lock_key(self, sink: str) -> int:
        name = f"tenax {self._address.schema} {sink}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)
