"""A worker among others: its place in the table of workers, and transactions that are written exactly once.

Every write begins by touching the worker's own row. When that row was ended, because no sign of life came in time, the
write is refused: whatever the worker held is someone else's by now. The row also keeps the number of the last write, so
when the connection is lost while a COMMIT is on its way, the next connection tells whether it was made.
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
from tenax.config import LedgerConfig
from tenax.database import Turns, rows
from tenax.database.postgres.clock_rollback import TOLERATED_SECONDS
from tenax.database.postgres.connection import Collided, Connection, Link, Lost
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import insert
from tenax.database.postgres.slots import GivenUp, given_up

T = TypeVar("T")

log = logs.logger(__name__)

ENDED_KEPT_SECONDS = 86_400.0
"""How long an ended worker's row is kept: it may still ask whether its last write was made."""


class Ended(Exception):
    """Others found this worker dead: nothing was written, and nothing is held any more."""

    def __init__(self, worker_id: int) -> None:
        super().__init__(worker_id)
        self.worker_id = worker_id


class Worker:
    """This ledger's row in the table of workers."""

    def __init__(self, link: Link, config: LedgerConfig, clock: Clock, turns: Turns) -> None:
        self._link = link
        self._config = config
        self._clock = clock
        self._turns = turns
        self._sql = queries()
        self._writing = asyncio.Lock()
        self._writes = 0
        self.id = 0
        self.alive_until = 0.0
        """As far as others know."""

    async def begin(self, db: Connection) -> None:
        """Join; also after having been found dead."""
        name = f"{socket.gethostname()}:{os.getpid()}"
        alive_until = self._next_beat()
        self.id = await db.fetchval(
            self._sql["worker_begin"], name, self._clock.now(), alive_until, self._config.dead_after_seconds
        )
        self.alive_until = alive_until

    async def beat(self, db: Connection) -> None:
        """Give a sign of life. Raises `Ended`."""
        me, alive_until = self.id, self._next_beat()
        if await db.fetchval(self._sql["worker_beat"], me, alive_until) is None:
            raise Ended(me)
        self.alive_until = alive_until

    def _next_beat(self) -> float:
        return self._clock.now() + self._config.dead_after_seconds

    # -- writing --------------------------------------------------------------------------------------------

    async def write(
        self, work: Callable[[Connection], Awaitable[tuple[T, str]]], done: Callable[[T], None] | None = None
    ) -> T:
        """Run a transaction to its end, exactly once, however often the connection is lost; `Ended` if it may not be.

        `work` gives its result and the statements that go with the COMMIT. It may run again after a failure. `done`
        is called with the result once it is committed, before anyone else uses the connection.
        """
        async with self._writing:
            self._writes += 1
            sent: list[tuple[int, T]] = []
            """Who sent a COMMIT of what, as long as no answer came."""
            while True:
                try:
                    async with self._link.use() as db:
                        if not sent or not await self._is_written(db, sent[0][0]):
                            sent.clear()
                            await self._begin(db)
                            result, last = await work(db)
                            sent.append((self.id, result))
                            await db.execute(f"{last} COMMIT")
                        _, result = sent[0]
                        if done is not None:
                            done(result)
                        return result
                except Lost:
                    continue
                except Collided as error:
                    log.info("a write collided with another, trying again", why=str(error))
                    await asyncio.sleep(random.uniform(0.0, 0.05))

    async def between_writes(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Ask something whose answer must not hold a write of ours of which we do not know yet that it was made."""
        async with self._writing:
            return await self._link.ask(work)

    async def _begin(self, db: Connection) -> None:
        touched = await db.execute(
            f"BEGIN; UPDATE worker SET last_write = {self._writes} WHERE id = {self.id} AND ended_at IS NULL"
        )
        if touched != "UPDATE 1":
            raise Ended(self.id)

    async def _is_written(self, db: Connection, me: int) -> bool:
        return bool(await db.fetchval(self._sql["worker_last_write"], me) == self._writes)

    async def outlast(self, db: Connection) -> None:
        """Wait until the server has done what it was asked through connections that are lost."""
        await db.fetchval(self._sql["worker_last_write"], self.id)

    # -- the dead -------------------------------------------------------------------------------------------

    async def recover(self, db: Connection) -> int:
        """Find workers that gave no sign of life in time, and set free what they held; how many. In a transaction.

        A request may have been sent of which nothing is written down: their hosts have no turn before a pace is over.
        """
        await self.beat(db)  # who finds the dead is not one of them
        now = self._clock.now()
        dead = await db.fetch(self._sql["workers_dead"], now, TOLERATED_SECONDS)
        if dead:
            freed = await self._end(db, [row["id"] for row in dead], now)
            names = ", ".join(row["name"] for row in dead)
            log.warning("found dead workers", workers=names, hosts=freed)
        await db.execute(self._sql["workers_forget"], now - ENDED_KEPT_SECONDS)
        return len(dead)

    def rested(self, host_id: int, origin: str, state: bytes | None, now: float) -> GivenUp:
        record = rows.host_record(origin, state, None)
        return given_up(host_id, record, now + self._turns.pace_seconds(record))

    async def leave(self, db: Connection) -> None:
        """The end of this worker, by its own will; in a transaction."""
        await self._end(db, [self.id], self._clock.now())

    async def _end(self, db: Connection, ids: list[int], now: float) -> int:
        """From here on they hold nothing; how many hosts they did."""
        freed = [
            self.rested(row["id"], row["origin"], row["state"], now)
            for row in await db.fetch(self._sql["hosts_of"], ids)
        ]
        await insert(db, "hosts_recover", freed)
        await db.execute(self._sql["workers_end"], ids, now)
        await db.execute(self._sql["tally_fold"], ids)
        return len(freed)


def alone(work: Callable[[Connection], Awaitable[T]]) -> Callable[[Connection], Awaitable[tuple[T, str]]]:
    """Work whose COMMIT goes alone."""

    async def with_nothing(db: Connection) -> tuple[T, str]:
        return await work(db), ""

    return with_nothing
