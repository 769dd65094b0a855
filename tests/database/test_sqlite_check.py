"""What a ledger in a file finds wrong with itself."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import LedgerConfig
from tenax.database import Ledger
from tenax.database.sqlite import SqliteLedger
from tests.contracts.contradictions import ContradictionsContract, Ruin
from tests.contracts.ledger import Manners, Opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def opened(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Opened]:
    ledgers: list[Ledger] = []

    async def open_it() -> Ledger:
        config = LedgerConfig(group_seconds=0.0)
        ledgers.append(await SqliteLedger.open(tmp_path / "tenax.db", config, clock, Manners()))
        return ledgers[-1]

    yield open_it
    for ledger in ledgers:
        await ledger.close()


@pytest.fixture
def ruin() -> Ruin:
    async def run(ledger: Ledger, sql: str) -> None:
        assert isinstance(ledger, SqliteLedger)
        await ledger._in_thread(lambda: ledger._db.execute(sql))

    return run


class TestSqliteContradictions(ContradictionsContract):
    async def test_a_wrong_count_of_waiting_tasks(self, opened: Opened, clock: ManualClock, ruin: Ruin) -> None:
        ledger = await opened()
        await self.fill(ledger, clock)
        await ruin(ledger, "UPDATE host SET waiting = 5 WHERE waiting = 1")
        assert await ledger.problems() == ["1 hosts whose count of waiting tasks is wrong"]

    async def test_a_damaged_file(self, opened: Opened, clock: ManualClock, tmp_path: Path) -> None:
        ledger = await opened()
        await self.fill(ledger, clock)
        await ledger.close()
        file = tmp_path / "tenax.db"
        with closing(sqlite3.connect(file)) as db:
            [root] = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'budget'").fetchone()
            [page_bytes] = db.execute("PRAGMA page_size").fetchone()
        with file.open("r+b") as damaged:
            damaged.seek((root - 1) * page_bytes)
            damaged.write(b"\xff" * 64)
        (first, *_) = await (await opened()).problems()
        assert first.startswith("the file is damaged: ")
