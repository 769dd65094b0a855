"""The row of this worker in the table of workers, and transactions that are written exactly once.

Every write first updates the worker's own row. If that row was ended, because heartbeats stopped, the write is refused:
the worker's hosts belong to others by now. The row also stores the number of the last write, so when the connection is
lost during a COMMIT, the next connection can tell whether it was executed.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import PaceRules, rows
from tenax.database.postgres.clock_rollback import CLOCK_TOLERANCE_SECONDS
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.schema import queries
from tenax.database.postgres.slots import ReleasedHost, make_released_host
from tenax.database.postgres.write_visits import write_rows

T = TypeVar("T")

log = logs.logger(__name__)

ENDED_WORKER_TTL_SECONDS = 86_400.0
"""How long the row of an ended worker is kept: it may still check whether its last write was executed."""


class WorkerEnded(Exception):
    """The lease of this worker expired: nothing was written, and its hosts are released."""

    def __init__(self, worker_id: int) -> None:
        super().__init__(worker_id)
        self.worker_id = worker_id


class Worker:
    """This process's row in the table of workers."""

    def __init__(
        self, connection: PostgresConnection, config: DatabaseConfig, clock: Clock, pace_rules: PaceRules
    ) -> None:
        self._connection = connection
        self._config = config
        self._clock = clock
        self._pace_rules = pace_rules
        self._sql = queries()
        self._write_lock = asyncio.Lock()
        self._write_count = 0
        self.id = 0
        self.alive_until = 0.0
        """The end of the lease that others know."""

    async def register(self, db: Connection) -> None:
        """Insert the row; also after the lease expired."""
        name = f"{socket.gethostname()}:{os.getpid()}"
        alive_until = self._next_alive_until()
        self.id = await db.fetchval(
            self._sql["worker_insert"], name, self._clock.now(), alive_until, self._config.dead_after_seconds
        )
        self.alive_until = alive_until

    async def send_heartbeat(self, db: Connection) -> None:
        """Extend the lease. Raises `WorkerEnded`."""
        me, alive_until = self.id, self._next_alive_until()
        if await db.fetchval(self._sql["worker_heartbeat"], me, alive_until) is None:
            raise WorkerEnded(me)
        self.alive_until = alive_until

    def _next_alive_until(self) -> float:
        return self._clock.now() + self._config.dead_after_seconds

    # -- writing --------------------------------------------------------------------------------------------

    async def write(
        self, work: Callable[[Connection], Awaitable[tuple[T, str]]], on_commit: Callable[[T], None] | None = None
    ) -> T:
        """Run a transaction exactly once, however often the connection is lost. Raises `WorkerEnded`.

        `work` returns its result and the statements to send with the COMMIT. It may run again after a failure.
        `on_commit` is called with the result after the commit, before anyone else uses the connection.
        """
        async with self._write_lock:
            self._write_count += 1
            sent: list[tuple[int, T]] = []
            """The worker id and the result of a COMMIT that has no answer yet."""
            while True:
                try:
                    async with self._connection.use() as db:
                        if not sent or not await self._is_written(db, sent[0][0]):
                            sent.clear()
                            await self._begin_transaction(db)
                            result, last = await work(db)
                            sent.append((self.id, result))
                            await db.execute(f"{last} COMMIT")
                        _, result = sent[0]
                        if on_commit is not None:
                            on_commit(result)
                        return result
                except ConnectionLost:
                    continue
                except TransactionConflict as error:
                    log.info("write conflict, retrying", why=str(error))
                    await asyncio.sleep(random.uniform(0.0, 0.05))

    async def run_between_writes(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a query that must not see a write of ours whose COMMIT is not confirmed yet."""
        async with self._write_lock:
            return await self._connection.run_idempotent(work)

    async def _begin_transaction(self, db: Connection) -> None:
        touched = await db.execute(
            f"BEGIN; UPDATE worker SET last_write = {self._write_count} WHERE id = {self.id} AND ended_at IS NULL"
        )
        if touched != "UPDATE 1":
            raise WorkerEnded(self.id)

    async def _is_written(self, db: Connection, worker_id: int) -> bool:
        return bool(await db.fetchval(self._sql["worker_last_write"], worker_id) == self._write_count)

    async def wait_for_last_write(self, db: Connection) -> None:
        """Wait until the server has finished the statements of lost connections."""
        await db.fetchval(self._sql["worker_last_write"], self.id)

    # -- dead workers ---------------------------------------------------------------------------------------

    async def recover(self, db: Connection) -> int:
        """Find workers whose lease expired and release their hosts; returns how many. Call in a transaction.

        A request may have been sent without being recorded: their hosts wait a whole pace.
        """
        await self.send_heartbeat(db)  # so that we are not among the dead
        now = self._clock.now()
        dead = await db.fetch(self._sql["workers_dead"], now, CLOCK_TOLERANCE_SECONDS)
        if dead:
            freed = await self._end_workers(db, [row["id"] for row in dead], now)
            names = ", ".join(row["name"] for row in dead)
            log.warning("dead workers found", workers=names, hosts=freed)
        await db.execute(self._sql["workers_delete"], now - ENDED_WORKER_TTL_SECONDS)
        return len(dead)

    def release_after_pace(self, host_id: int, origin: str, state: bytes | None, now: float) -> ReleasedHost:
        record = rows.decode_host_record(origin, state, None)
        return make_released_host(host_id, record, now + self._pace_rules.pace_seconds(record))

    async def unregister(self, db: Connection) -> None:
        """End this worker; call in a transaction."""
        await self._end_workers(db, [self.id], self._clock.now())

    async def _end_workers(self, db: Connection, ids: list[int], now: float) -> int:
        """End workers and release their hosts; returns how many hosts."""
        freed = [
            self.release_after_pace(row["id"], row["origin"], row["state"], now)
            for row in await db.fetch(self._sql["hosts_lock_leased"], ids)
        ]
        await write_rows(db, "hosts_recover", freed)
        await db.execute(self._sql["workers_end"], ids, now)
        await db.execute(self._sql["tally_merge"], ids)
        return len(freed)


def wrap_plain_write(work: Callable[[Connection], Awaitable[T]]) -> Callable[[Connection], Awaitable[tuple[T, str]]]:
    """Work without statements to send with the COMMIT."""

    async def with_nothing(db: Connection) -> tuple[T, str]:
        return await work(db), ""

    return with_nothing
