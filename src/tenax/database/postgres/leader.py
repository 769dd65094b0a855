"""Leader election per sink: one of all processes that share the database sends its events, while its session lasts."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from tenax.database.postgres.connection import Address, Connection, PostgresConnection
from tenax.database.postgres.schema import queries
from tenax.errors import DatabaseError

SESSION_TRUST_SECONDS = 1.0
"""How long a session that answered is assumed to exist."""
ANSWER_TIMEOUT_SECONDS = 5.0
"""After this the session may be gone and another process may lead, so we do not."""


class Leader:
    """Advisory locks, one per sink, on a connection of their own that exists only while we hold any."""

    def __init__(self, address: Address, query_connection: PostgresConnection) -> None:
        self._address = address
        self._query_connection = query_connection
        self._lock = asyncio.Lock()
        self._connection: PostgresConnection | None = None
        self._session: Connection | None = None
        self._led_sinks: set[str] = set()
        self._lost_sinks: set[str] = set()
        """Lost sinks whose caller was not informed yet."""
        self._answered_at = 0.0
        self._is_closed = False

    async def acquire(self, sink: str) -> bool:
        """Whether we lead. After a loss, returns False at least once before leading again."""
        if sink not in self._led_sinks and sink not in self._lost_sinks:
            key = self._lock_key(sink)
            # Outside the lock: waits while the server is unavailable.
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
        """Release leadership at once."""
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
        """Check that the session still exists: a new one holds no locks."""
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
