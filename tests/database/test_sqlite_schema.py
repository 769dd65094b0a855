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
