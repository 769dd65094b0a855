"""The integrity check of a SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import DatabaseConfig
from tenax.database import Database
from tenax.database.sqlite import SqliteDatabase
from tests.contracts.database import FixedPace, Opened
from tests.contracts.integrity import IntegrityContract, Ruin


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def opened(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Opened]:
    databases: list[Database] = []

    async def open_it() -> Database:
        config = DatabaseConfig(group_seconds=0.0)
        databases.append(await SqliteDatabase.open(tmp_path / "tenax.db", config, clock, FixedPace()))
        return databases[-1]

    yield open_it
    for database in databases:
        await database.close()


@pytest.fixture
def ruin() -> Ruin:
    async def run(database: Database, sql: str) -> None:
        assert isinstance(database, SqliteDatabase)
        await database._run_in_thread(lambda: database._db.execute(sql))

    return run


class TestSqliteIntegrity(IntegrityContract):
    async def test_a_wrong_count_of_waiting_tasks(self, opened: Opened, clock: ManualClock, ruin: Ruin) -> None:
        database = await opened()
        await self.fill(database, clock)
        await ruin(database, "UPDATE host SET waiting = 5 WHERE waiting = 1")
        assert await database.find_problems() == ["1 hosts whose count of waiting tasks is wrong"]

    async def test_a_damaged_file(self, opened: Opened, clock: ManualClock, tmp_path: Path) -> None:
        database = await opened()
        await self.fill(database, clock)
        await database.close()
        file = tmp_path / "tenax.db"
        with closing(sqlite3.connect(file)) as db:
            [root] = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'budget'").fetchone()
            [page_bytes] = db.execute("PRAGMA page_size").fetchone()
        with file.open("r+b") as damaged:
            damaged.seek((root - 1) * page_bytes)
            damaged.write(b"\xff" * 64)
        (first, *_) = await (await opened()).find_problems()
        assert first.startswith("the file is damaged: ")

    @pytest.mark.parametrize("state", ["waiting", "lost"])
    async def test_its_work_grows_no_faster_than_the_queue_of_a_host(
        self, opened: Opened, clock: ManualClock, ruin: Ruin, state: str
    ) -> None:
        database = await opened()
        assert isinstance(database, SqliteDatabase)
        await self.fill(database, clock)
        steps = [await self.steps_after_adding(database, ruin, first, state) for first in (10, 1010)]
        assert steps[1] < 3 * steps[0], "the second check has twice the rows"

    async def steps_after_adding(self, database: SqliteDatabase, ruin: Ruin, first: int, state: str) -> int:
        """Thousands of steps of SQLite to check the database with 1,000 more waiting URLs."""
        numbers = f"WITH RECURSIVE n(k) AS (SELECT {first} UNION ALL SELECT k + 1 FROM n WHERE k < {first + 999})"
        columns = "due, key, found, depth, attempt, source, path"
        await ruin(database, f"INSERT INTO seen {numbers} SELECT (SELECT host_id FROM queue), k FROM n")
        await ruin(
            database,
            f"INSERT INTO queue (host_id, rank, {columns}) {numbers} "
            "SELECT (SELECT max(host_id) FROM queue), 1, k, k, 0, 0, 0, 0, '/' FROM n",
        )
        if state == "lost":
            await ruin(database, f"DELETE FROM queue WHERE key >= {first + 500}")
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        database._db.set_progress_handler(count, 1000)
        try:
            await database.find_problems()
        finally:
            database._db.set_progress_handler(None, 0)
        return counted
