"""The SQLite database: the contract, and what is specific to it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import DatabaseConfig
from tenax.database import Database
from tenax.database.admission import WriteRules
from tenax.database.sqlite import SqliteDatabase
from tenax.database.sqlite.schema import queries, select_many, write_rows
from tenax.errors import DatabaseBusy, DatabaseNotFound, DatabaseUnusable, StorageFull
from tests.contracts.cut_offs import CutOffsContract
from tests.contracts.database import DatabaseContract, FixedPace, Opened, candidate, claimed, visit_of
from tests.contracts.in_links import InLinksContract
from tests.contracts.links import LinksContract
from tests.contracts.records import Crawled, RecordsContract
from tests.contracts.recrawl import RecrawlContract
from tests.contracts.stored_copies import StoredCopiesContract
from tests.contracts.url_lists import UrlListsContract
from tests.loops import outlasted, rounds, turn

CONFIG = DatabaseConfig(group_seconds=0.0, window_hosts=20, tasks_per_host=4)


@pytest.fixture
async def databases() -> AsyncIterator[list[SqliteDatabase]]:
    opened: list[SqliteDatabase] = []
    yield opened
    for database in opened:
        problems = [] if database._is_closed or database._failure else await database.find_problems()
        await database.close()
        assert problems == []


@pytest.fixture
def opened(tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, databases: list[SqliteDatabase]) -> Opened:
    async def open_it() -> SqliteDatabase:
        database = await SqliteDatabase.open(tmp_path / "tenax.db", CONFIG, clock, pace_rules)
        databases.append(database)
        return database

    return open_it


@pytest.fixture
def crawled() -> Crawled:
    async def row_of(database: Database, url: str) -> dict[str, object]:
        assert isinstance(database, SqliteDatabase)
        cursor = database._db.execute("SELECT * FROM crawled_pages WHERE url = ?", (url,))
        return dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))

    return row_of


class TestSqliteDatabase(
    DatabaseContract,
    StoredCopiesContract,
    LinksContract,
    InLinksContract,
    UrlListsContract,
    RecrawlContract,
    CutOffsContract,
    RecordsContract,
):
    async def test_only_one_process_writes(self, opened: Opened) -> None:
        await opened()
        with pytest.raises(DatabaseBusy, match="in use by another process"):
            await opened()

    async def test_a_reader_looks_in_while_another_writes(
        self, opened: Opened, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace
    ) -> None:
        writer = await opened()
        await writer.admit([candidate("https://a.test/")])
        reader = await SqliteDatabase.open(tmp_path / "tenax.db", CONFIG, clock, pace_rules, read_only=True)
        status = await reader.status()
        assert (status.waiting, status.is_running) == (1, True)
        await writer.commit(visit_of(await claimed(writer), clock))
        assert (await reader.status()).pages == 1
        await reader.close()

    async def test_new_urls_of_one_source_become_due_one_after_the_other(
        self, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, databases: list[SqliteDatabase]
    ) -> None:
        database = await SqliteDatabase.open(
            tmp_path / "tenax.db", CONFIG, clock, pace_rules, write_rules=WriteRules(links_per_second=10)
        )
        databases.append(database)
        await database.admit([candidate("https://a.test/")])
        links = tuple(candidate(f"https://a.test/{n}") for n in range(30))
        assert (await database.commit(visit_of(await claimed(database), clock, candidates=links))).admitted == 30
        dues = sorted(
            [
                history.due
                for n in range(30)
                if (history := await database.url_history(f"https://a.test/{n}")) and history.due
            ]
        )
        assert dues[9] == pytest.approx(clock.now(), abs=0.01)
        assert dues[-1] == pytest.approx(clock.now() + 2, abs=0.11)

    async def test_what_nothing_waits_for_is_written_with_what_comes_later(
        self, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, databases: list[SqliteDatabase]
    ) -> None:
        slow = DatabaseConfig(group_seconds=20.0)  # and up to 200 s when nothing waits
        database = await SqliteDatabase.open(tmp_path / "tenax.db", slow, clock, pace_rules)
        databases.append(database)
        admitting = database.admit([candidate(f"https://{name}.test/") for name in "abc"])
        await outlasted(admitting, 20.0, lambda: True)
        waits = (60.0, 60.0, 0.0)  # how soon each host may be requested again
        backing_off, backing_off_too, free = [
            visit_of(await claimed(database), clock, next_at=clock.now() + seconds) for seconds in waits
        ]
        async with asyncio.timeout(60):
            await database.commit(backing_off)  # no caller waits for work: a host may wait for this

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(database.wait_for_work(600))
            patient = tasks.create_task(database.commit(backing_off_too))
            for _ in range(3):
                await rounds()
                assert not patient.done()
                turn(20.0)
            await outlasted(database.commit(free), 20.0, lambda: True)
            assert patient.done()

    async def test_what_a_host_waits_for_is_written_at_once_when_few_others_could_join(
        self, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, databases: list[SqliteDatabase]
    ) -> None:
        slow = DatabaseConfig(group_seconds=20.0)
        database = await SqliteDatabase.open(tmp_path / "tenax.db", slow, clock, pace_rules)
        databases.append(database)
        admitting = database.admit([candidate(f"https://{name}.test/") for name in "abcdefghijkl"])
        await outlasted(admitting, 20.0, lambda: True)
        visits = [visit_of(await claimed(database), clock, next_at=clock.now()) for _ in range(12)]
        gathered = asyncio.gather(*(database.commit(visit) for visit in visits[:5]))
        await rounds()
        assert not gathered.done()
        turn(20.0)
        await gathered
        async with asyncio.timeout(60):
            for visit in visits[5:]:
                await database.commit(visit)

    async def test_the_disk_is_full(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        visit = visit_of(
            await claimed(database),
            clock,
            candidates=tuple(candidate(f"https://a.test/{n}/" + "x" * 500) for n in range(4000)),
        )
        assert isinstance(database, SqliteDatabase)
        pages = database._db.execute("PRAGMA page_count").fetchone()[0]
        database._db.execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(StorageFull, match="everything committed is safe"):
            await database.commit(visit)
        with pytest.raises(StorageFull):
            await database.claim()
        await database.close()
        database = await opened()
        assert database.counts().waiting == 1
        clock.advance(1.0)
        assert (await claimed(database)).task.url == "https://a.test/1"


async def read(file: Path) -> SqliteDatabase:
    return await SqliteDatabase.open(file, CONFIG, ManualClock(), FixedPace(), read_only=True)


async def write(file: Path) -> SqliteDatabase:
    return await SqliteDatabase.open(file, CONFIG, ManualClock(), FixedPace())


async def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound, match="there is no crawl"):
        await read(tmp_path / "tenax.db")


@pytest.mark.parametrize("opening", [read, write])
async def test_not_a_database(tmp_path: Path, opening: Callable[[Path], Awaitable[SqliteDatabase]]) -> None:
    file = tmp_path / "tenax.db"
    file.write_bytes(b"this is a diary, not a database; " * 200)
    before = file.read_bytes()
    with pytest.raises(DatabaseUnusable, match="damaged or not a database"):
        await opening(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("opening", [read, write])
async def test_another_programs_database(tmp_path: Path, opening: Callable[[Path], Awaitable[SqliteDatabase]]) -> None:
    file = tmp_path / "tenax.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE diary (day)")
    other.close()
    with pytest.raises(DatabaseUnusable, match="not a Tenax database"):
        await opening(file)


@pytest.mark.parametrize("opening", [read, write])
@pytest.mark.parametrize(("version", "words"), [(99, "newer Tenax.*upgrade"), (0, "older Tenax.*another --dir")])
async def test_another_version(
    tmp_path: Path, version: int, words: str, opening: Callable[[Path], Awaitable[SqliteDatabase]]
) -> None:
    file = tmp_path / "tenax.db"
    await (await write(file)).close()
    with sqlite3.connect(file) as other:
        other.execute(f"PRAGMA user_version = {version}")
    other.close()
    with pytest.raises(DatabaseUnusable, match=words):
        await opening(file)


async def test_each_database_makes_its_own_keys(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "one", "two"):
        database = await write(tmp_path / name / "tenax.db")
        await database.admit([candidate("https://a.test/")])
        keys.append(database._db.execute("SELECT key FROM seen").fetchall())
        await database.close()
    assert len(keys[0]) == 1
    assert keys[0] == keys[1] != keys[2]


TABLES_WITH_A_ROW_PER_URL = ("seen", "queue", "record", "visit", "content", "duplicate_index")


@pytest.mark.parametrize(
    "name",
    ["queue_remove", "queue_due", "queue_next_due", "queue_next_due_after", "queue_find", "seen_forget", "visit_add",
     "visits_get", "record_get", "record_url", "events_after", "content_get", "highest_ids", "pages", "dead_letters",
     "duplicate_index_find", "duplicate_index_remove", "originals", "stored_pages", "stored_copy", "record_url_list",
     "record_missing_url_list", "record_change_history", "expedite_find", "expedite_queue", "expedite_record",
     "hosts_due", "hosts_next_claim", "link_get", "links_after", "states_get", "waiting_after", "requeue_find",
     "canonical_get"],
)  # fmt: skip
async def test_no_statement_looks_at_every_url(tmp_path: Path, name: str) -> None:
    database = await write(tmp_path / "tenax.db")
    statement = queries()[name]
    named: dict[str, None] = dict.fromkeys(re.findall(r":([a-z_]+)", statement))
    blanks: dict[str, None] | tuple[str, ...] = named or ("[]",) * statement.count("?")
    steps = [row[3] for row in database._db.execute("EXPLAIN QUERY PLAN " + statement, blanks)]
    await database.close()
    assert not [
        step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in TABLES_WITH_A_ROW_PER_URL))
    ]


async def test_the_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(DatabaseUnusable, match="not a directory"):
        await write(tmp_path / "out" / "tenax.db")


@pytest.mark.parametrize("count", [0, 1, 2, 17, 18, 256, 257, 512, 513, 1024, 1025, 2100])
def test_many_rows_are_written_and_found_by_few_statements(count: int) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE duplicate_index (key INTEGER, record_id INTEGER, PRIMARY KEY (key, record_id))")
    write_rows(database, "duplicate_index_add", [(key, key + 1) for key in range(-5, 3000)])
    wanted = [key * 7919 % 3000 for key in range(count)]
    assert sorted(select_many(database, "duplicate_index_find", wanted)) == sorted((key, key + 1) for key in wanted)
    database.close()
