"""PostgreSQL workers for tests: opened, made to vanish, and checked at the end."""

from __future__ import annotations

import asyncio

from tenax.clock import Clock, ManualClock
from tenax.config import DatabaseConfig
from tenax.database import PaceRules
from tenax.database.admission import DEFAULT_RULES, WriteRules
from tenax.database.postgres import PostgresDatabase
from tenax.errors import DatabaseNotFound
from tests.contracts.database import FixedPace

CONFIG = DatabaseConfig(group_seconds=0.0, window_hosts=20, tasks_per_host=4)


class Databases:
    """Opens databases in one schema."""

    def __init__(self, url: str, config: DatabaseConfig, clock: ManualClock, pace_rules: FixedPace) -> None:
        self.url = url
        self.config = config
        self.clock = clock
        self.pace_rules = pace_rules
        self._opened: list[PostgresDatabase] = []
        self.is_ruined = False
        """A test damaged its tables."""

    async def open(
        self,
        url: str | None = None,
        *,
        clock: Clock | None = None,
        pace_rules: PaceRules | None = None,
        write_rules: WriteRules = DEFAULT_RULES,
        read_only: bool = False,
    ) -> PostgresDatabase:
        database = await PostgresDatabase.open(
            url or self.url,
            self.config,
            clock or self.clock,
            pace_rules or self.pace_rules,
            write_rules=write_rules,
            read_only=read_only,
        )
        self._opened.append(database)
        return database

    async def close(self) -> None:
        for database in self._opened:
            await database.close()
        try:
            reader = await self.open(read_only=True)
        except DatabaseNotFound:
            return
        problems = await reader.find_problems()
        await reader.close()
        assert bool(problems) == self.is_ruined, problems


async def fall_asleep(database: PostgresDatabase) -> None:
    """Stop its heartbeats; work that had begun is finished."""
    for task in database._tasks:
        task.cancel()
    if (tending := database._frontier._refill_task) is not None:
        await asyncio.wait([tending])


def vanish(database: PostgresDatabase) -> None:
    """As by kill -9: its connections break, and nothing is released."""
    for task in database._tasks:
        task.cancel()
    for link in (database._write_connection, database._query_connection, database._leader._connection):
        if link is not None:
            link._is_closed.set()
            link._drop()
    database._is_closed = True
