"""The SQLite ledger: the contract, and what is its own."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import LedgerConfig
from tenax.database import Ledger
from tenax.database.sqlite import SqliteLedger
from tenax.database.sqlite.schema import one_of_many, queries, write_rows
from tenax.errors import LedgerBusy, LedgerMissing, LedgerUnusable, StorageFull
from tests.contracts.catalogues import CataloguesContract
from tests.contracts.cut_offs import CutOffsContract
from tests.contracts.freshness import FreshnessContract
from tests.contracts.held_pages import HeldPagesContract
from tests.contracts.in_links import InLinksContract
from tests.contracts.ledger import LedgerContract, Manners, Opened, claimed, offer, visit_of
from tests.contracts.links import LinksContract
from tests.contracts.records import Crawled, RecordsContract
from tests.loops import outlasted, rounds, turn

CONFIG = LedgerConfig(group_seconds=0.0, window_hosts=20, look_ahead=4)


@pytest.fixture
async def ledgers() -> AsyncIterator[list[SqliteLedger]]:
    opened: list[SqliteLedger] = []
    yield opened
    for ledger in opened:
        problems = [] if ledger._is_closed or ledger._broken else await ledger.problems()
        await ledger.close()
        assert problems == []


@pytest.fixture
def opened(tmp_path: Path, clock: ManualClock, manners: Manners, ledgers: list[SqliteLedger]) -> Opened:
    async def open_it() -> SqliteLedger:
        ledger = await SqliteLedger.open(tmp_path / "tenax.db", CONFIG, clock, manners)
        ledgers.append(ledger)
        return ledger

    return open_it


@pytest.fixture
def crawled() -> Crawled:
    async def row_of(ledger: Ledger, url: str) -> dict[str, object]:
        assert isinstance(ledger, SqliteLedger)
        cursor = ledger._db.execute("SELECT * FROM crawled_pages WHERE url = ?", (url,))
        return dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))

    return row_of


class TestSqliteLedger(
    LedgerContract,
    HeldPagesContract,
    LinksContract,
    InLinksContract,
    CataloguesContract,
    FreshnessContract,
    CutOffsContract,
    RecordsContract,
):
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

    async def test_what_nothing_waits_for_is_written_with_what_comes_later(
        self, tmp_path: Path, clock: ManualClock, manners: Manners, ledgers: list[SqliteLedger]
    ) -> None:
        slow = LedgerConfig(group_seconds=20.0)  # and up to 200 s when nothing waits
        ledger = await SqliteLedger.open(tmp_path / "tenax.db", slow, clock, manners)
        ledgers.append(ledger)
        admitting = ledger.admit([offer(f"https://{name}.test/") for name in "abc"])
        await outlasted(admitting, 20.0, lambda: True)
        turns = (60.0, 60.0, 0.0)  # how soon each host may be asked again
        resting, resting_too, free = [
            visit_of(await claimed(ledger), clock, next_at=clock.now() + seconds) for seconds in turns
        ]
        async with asyncio.timeout(60):
            await ledger.commit(resting)  # every hand is busy: one may wait for this

        async with asyncio.TaskGroup() as hands:
            hands.create_task(ledger.wait_for_work(600))
            patient = hands.create_task(ledger.commit(resting_too))
            for _ in range(3):
                await rounds()
                assert not patient.done()
                turn(20.0)
            await outlasted(ledger.commit(free), 20.0, lambda: True)
            assert patient.done()

    async def test_what_a_host_waits_for_is_written_at_once_when_few_others_could_join(
        self, tmp_path: Path, clock: ManualClock, manners: Manners, ledgers: list[SqliteLedger]
    ) -> None:
        slow = LedgerConfig(group_seconds=20.0)
        ledger = await SqliteLedger.open(tmp_path / "tenax.db", slow, clock, manners)
        ledgers.append(ledger)
        admitting = ledger.admit([offer(f"https://{name}.test/") for name in "abcdefghijkl"])
        await outlasted(admitting, 20.0, lambda: True)
        visits = [visit_of(await claimed(ledger), clock, next_at=clock.now()) for _ in range(12)]
        gathered = asyncio.gather(*(ledger.commit(visit) for visit in visits[:5]))
        await rounds()
        assert not gathered.done()
        turn(20.0)
        await gathered
        async with asyncio.timeout(60):
            for visit in visits[5:]:
                await ledger.commit(visit)

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


@pytest.mark.parametrize("opening", [read, write])
@pytest.mark.parametrize(("version", "words"), [(99, "newer Tenax.*upgrade"), (1, "older Tenax.*another --out")])
async def test_another_version(
    tmp_path: Path, version: int, words: str, opening: Callable[[Path], Awaitable[SqliteLedger]]
) -> None:
    file = tmp_path / "tenax.db"
    await (await write(file)).close()
    with sqlite3.connect(file) as other:
        other.execute(f"PRAGMA user_version = {version}")
    other.close()
    with pytest.raises(LedgerUnusable, match=words):
        await opening(file)


async def test_each_ledger_makes_its_own_keys(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "one", "two"):
        ledger = await write(tmp_path / name / "tenax.db")
        await ledger.admit([offer("https://a.test/")])
        keys.append(ledger._db.execute("SELECT key FROM seen").fetchall())
        await ledger.close()
    assert len(keys[0]) == 1
    assert keys[0] == keys[1] != keys[2]


TABLES_WITH_A_ROW_PER_URL = ("seen", "queue", "record", "visit", "content", "likeness")


@pytest.mark.parametrize(
    "name",
    ["queue_remove", "queue_due", "queue_next_due", "queue_next_due_after", "queue_find", "seen_forget", "visit_add",
     "visits_of", "record_of", "url_of_record", "events_after", "content_of", "highest_ids", "pages", "dead_letters",
     "likeness_find", "likeness_remove", "originals", "stored_pages", "held", "record_catalogue", "record_awaited",
     "record_freshness", "hasten_find", "hasten_queue", "hasten_record", "hosts_due", "hosts_next_turn", "link_of",
     "links_after", "states_of", "waiting_after", "requeue_find", "canonical_of"],
)  # fmt: skip
async def test_no_statement_looks_at_every_url(tmp_path: Path, name: str) -> None:
    ledger = await write(tmp_path / "tenax.db")
    statement = queries()[name]
    named: dict[str, None] = dict.fromkeys(re.findall(r":([a-z_]+)", statement))
    blanks: dict[str, None] | tuple[str, ...] = named or ("[]",) * statement.count("?")
    steps = [row[3] for row in ledger._db.execute("EXPLAIN QUERY PLAN " + statement, blanks)]
    await ledger.close()
    assert not [
        step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in TABLES_WITH_A_ROW_PER_URL))
    ]


async def test_the_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(LedgerUnusable, match="not a directory"):
        await write(tmp_path / "out" / "tenax.db")


@pytest.mark.parametrize("count", [0, 1, 2, 17, 18, 256, 257, 512, 513, 1024, 1025, 2100])
def test_many_rows_are_written_and_found_by_few_statements(count: int) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE likeness (key INTEGER, record_id INTEGER, PRIMARY KEY (key, record_id))")
    write_rows(database, "likeness_add", [(key, key + 1) for key in range(-5, 3000)])
    wanted = [key * 7919 % 3000 for key in range(count)]
    assert sorted(one_of_many(database, "likeness_find", wanted)) == sorted((key, key + 1) for key in wanted)
    database.close()
