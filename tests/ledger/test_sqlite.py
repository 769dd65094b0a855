"""The SQLite ledger: the contract, and what is its own."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import LedgerConfig
from tenax.errors import LedgerBusy, LedgerMissing, LedgerUnusable, StorageFull
from tenax.ledger.sqlite import SqliteLedger
from tests.contracts.ledger import LedgerContract, Manners, Opened, claimed, offer, visit_of

CONFIG = LedgerConfig(group_seconds=0.0, window_hosts=20, look_ahead=4)


@pytest.fixture
async def ledgers() -> AsyncIterator[list[SqliteLedger]]:
    opened: list[SqliteLedger] = []
    yield opened
    for ledger in opened:
        await ledger.close()


@pytest.fixture
def opened(tmp_path: Path, clock: ManualClock, manners: Manners, ledgers: list[SqliteLedger]) -> Opened:
    async def open_it() -> SqliteLedger:
        ledger = await SqliteLedger.open(tmp_path / "tenax.db", CONFIG, clock, manners)
        ledgers.append(ledger)
        return ledger

    return open_it


class TestSqliteLedger(LedgerContract):
    async def test_only_one_process_writes(self, opened: Opened) -> None:
        await opened()
        with pytest.raises(LedgerBusy, match="in use by another process"):
            await opened()

    async def test_a_reader_looks_in_while_another_writes(
        self, opened: Opened, tmp_path: Path, clock: ManualClock, manners: Manners
    ) -> None:
        writer = await opened()
        await writer.admit([offer("https://a.test/")])
        reader = await SqliteLedger.open(tmp_path / "tenax.db", CONFIG, clock, manners, read_only=True)
        status = await reader.status()
        assert (status.waiting, status.is_running) == (1, True)
        await writer.commit(visit_of(await claimed(writer), clock))
        assert (await reader.status()).pages == 1
        await reader.close()

    async def test_new_urls_of_one_source_become_due_one_after_the_other(
        self, tmp_path: Path, clock: ManualClock, manners: Manners, ledgers: list[SqliteLedger]
    ) -> None:
        ledger = await SqliteLedger.open(tmp_path / "tenax.db", CONFIG, clock, manners, links_per_second=10)
        ledgers.append(ledger)
        await ledger.admit([offer("https://a.test/")])
        links = tuple(offer(f"https://a.test/{n}") for n in range(30))
        assert (await ledger.commit(visit_of(await claimed(ledger), clock, offers=links))).admitted == 30
        dues = sorted([life.due for n in range(30) if (life := await ledger.life(f"https://a.test/{n}")) and life.due])
        assert dues[9] == pytest.approx(clock.now(), abs=0.01)
        assert dues[-1] == pytest.approx(clock.now() + 2, abs=0.11)

    async def test_the_disk_is_full(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        visit = visit_of(
            await claimed(ledger), clock, offers=tuple(offer(f"https://a.test/{n}/" + "x" * 500) for n in range(4000))
        )
        assert isinstance(ledger, SqliteLedger)
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(StorageFull, match="everything committed is safe"):
            await ledger.commit(visit)
        with pytest.raises(StorageFull):
            await ledger.claim()
        await ledger.close()
        ledger = await opened()
        assert ledger.counts().waiting == 1
        clock.advance(1.0)
        assert (await claimed(ledger)).task.url == "https://a.test/1"


async def read(file: Path) -> SqliteLedger:
    return await SqliteLedger.open(file, CONFIG, ManualClock(), Manners(), read_only=True)


async def write(file: Path) -> SqliteLedger:
    return await SqliteLedger.open(file, CONFIG, ManualClock(), Manners())


async def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerMissing, match="there is no crawl"):
        await read(tmp_path / "tenax.db")


@pytest.mark.parametrize("opening", [read, write])
async def test_not_a_database(tmp_path: Path, opening: Callable[[Path], Awaitable[SqliteLedger]]) -> None:
    file = tmp_path / "tenax.db"
    file.write_bytes(b"this is a diary, not a database; " * 200)
    before = file.read_bytes()
    with pytest.raises(LedgerUnusable, match="damaged or not a database"):
        await opening(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("opening", [read, write])
async def test_another_programs_database(tmp_path: Path, opening: Callable[[Path], Awaitable[SqliteLedger]]) -> None:
    file = tmp_path / "tenax.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE diary (day)")
    other.close()
    with pytest.raises(LedgerUnusable, match="not a Tenax ledger"):
        await opening(file)


async def test_a_newer_version(tmp_path: Path) -> None:
    file = tmp_path / "tenax.db"
    await (await write(file)).close()
    with sqlite3.connect(file) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(LedgerUnusable, match="newer Tenax"):
        await write(file)


async def test_the_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(LedgerUnusable, match="not a directory"):
        await write(tmp_path / "out" / "tenax.db")
