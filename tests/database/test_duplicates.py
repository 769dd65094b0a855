"""Duplicates: the contract on both backends, and the bounds of the comparison."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from shutil import copy

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import DatabaseConfig, DuplicatesConfig
from tenax.database import Database
from tenax.database.admission import WriteRules
from tenax.database.duplicates import (
    MAX_COMPARED_PAGES,
    MAX_PAGES_PER_KEY,
    DuplicateKeys,
    DuplicateSearch,
    Original,
    index_keys,
    make_duplicate_keys,
)
from tenax.database.sqlite import SqliteDatabase, write_visits
from tenax.model import Page
from tenax.text import fingerprint
from tenax.text.fingerprint import BANDS
from tests.contracts.database import FixedPace, Opened
from tests.contracts.duplicates import A, Alike, B, C, DuplicatesContract, brought, edited, of_text, story
from tests.database.postgres_databases import Databases


@pytest.fixture
def alike() -> Alike:
    return Alike()


@pytest.fixture
def pace_rules() -> FixedPace:
    return FixedPace()


class TestSqliteDuplicates(DuplicatesContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    async def opened(
        self, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, alike: Alike
    ) -> AsyncIterator[Opened]:
        databases: list[SqliteDatabase] = []

        async def open_it() -> Database:
            config = DatabaseConfig(group_seconds=0.0)
            databases.append(
                await SqliteDatabase.open(
                    tmp_path / "tenax.db", config, clock, pace_rules, write_rules=WriteRules(similarity=alike)
                )
            )
            return databases[-1]

        yield open_it
        problems = await databases[-1].find_problems()
        for database in databases:
            await database.close()
        assert problems == []

    async def test_buffered_index_rows_survive_a_crash(
        self, opened: Opened, tmp_path: Path, clock: ManualClock, pace_rules: FixedPace, alike: Alike
    ) -> None:
        database = await opened()
        await brought(database, clock, A, story("a"))
        await brought(database, clock, B, story("b"))
        assert isinstance(database, SqliteDatabase)
        assert stored_and_buffered(database._db) == (0, 2)
        killed(tmp_path, tmp_path / "killed")
        next_one = await SqliteDatabase.open(
            tmp_path / "killed" / "tenax.db",
            DatabaseConfig(group_seconds=0.0),
            clock,
            pace_rules,
            write_rules=WriteRules(similarity=alike),
        )
        assert stored_and_buffered(next_one._db) == (2 * (BANDS + 1), 0)
        clock.advance(60)  # the dead process may have sent a request a moment ago
        assert (await brought(next_one, clock, C, edited(story("a")))).duplicate_of == A
        assert await next_one.find_problems() == []
        await next_one.close()

    @pytest.mark.parametrize("most", [1, 2 * (BANDS + 1), 8192])
    async def test_in_the_end_all_rows_are_in_the_table(
        self, opened: Opened, tmp_path: Path, clock: ManualClock, most: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(write_visits, "MAX_BUFFERED_ROWS", most)
        database = await opened()
        for name in "abc":
            await brought(database, clock, f"https://{name}.test/", story(name))
            assert (await brought(database, clock, f"https://{name}.test/2", story(name))).duplicate_of
        assert isinstance(database, SqliteDatabase)
        stored, waiting = stored_and_buffered(database._db)
        assert stored == {1: 3, 2 * (BANDS + 1): 2, 8192: 0}[most] * (BANDS + 1)
        assert waiting == {1: 0, 2 * (BANDS + 1): 1, 8192: 3}[most]
        assert await database.find_problems() == []
        await database.close()
        with closing(sqlite3.connect(tmp_path / "tenax.db")) as connection:
            assert stored_and_buffered(connection) == (3 * (BANDS + 1), 0)
        await opened()

    async def test_a_group_that_is_written_at_the_second_attempt_waits_once(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await brought(database, clock, A, story("a"), etag='"\udcff"')
        assert isinstance(database, SqliteDatabase)
        assert stored_and_buffered(database._db) == (0, 1)


def killed(here: Path, there: Path) -> None:
    """The files, as a killed process would leave them."""
    there.mkdir()
    for name in ("tenax.db", "tenax.db-wal"):
        copy(here / name, there)


def stored_and_buffered(database: sqlite3.Connection) -> tuple[int, int]:
    """The number of index rows, and of backups of buffered rows."""
    return (
        database.execute("SELECT count(*) FROM duplicate_index").fetchone()[0],
        database.execute("SELECT count(*) FROM meta WHERE name LIKE 'duplicate_index buffer%'").fetchone()[0],
    )


class TestPostgresDuplicates(DuplicatesContract):
    @pytest.fixture
    def clock(self, databases: Databases) -> ManualClock:
        return databases.clock

    @pytest.fixture
    def opened(self, databases: Databases, pace_rules: FixedPace, alike: Alike) -> Opened:
        async def open_it() -> Database:
            return await databases.open(pace_rules=pace_rules, write_rules=WriteRules(similarity=alike))

        return open_it


# ---- duplicate keys of a page -------------------------------------------------------------------------------

PAGE = msgspec.structs.replace(
    Page(
        url="https://a.test/", status=200, content_type="text/html", content_hash="", content_length=5, fetched_at=0.0
    ),
    **of_text(story("one")),
)


def test_a_page_stands_under_its_text_and_under_each_band() -> None:
    found = make_duplicate_keys(PAGE, "https://a.test", Alike())
    assert found is not None
    assert found.keys[1:] == fingerprint.fingerprint_bands(PAGE.fingerprint)
    assert found.keys[0] == int(PAGE.content_hash[:16], 16) - (2**64 if PAGE.content_hash[0] in "89abcdef" else 0)


@pytest.mark.parametrize(
    ("changes", "rules", "keys"),
    [
        ({}, {}, 17),
        ({"words": 30}, {}, 17),
        ({"words": 29}, {}, 1),
        ({"words": 0}, {"min_words": 0}, 17),
        ({"fingerprint": b""}, {}, 1),
        ({"text": ""}, {}, None),
        ({}, {"find": False}, None),
    ],
)
def test_how_much_of_a_page_is_compared(changes: dict[str, object], rules: dict[str, object], keys: int | None) -> None:
    alike = Alike()
    alike.wanted = msgspec.structs.replace(DuplicatesConfig(), **rules)
    found = make_duplicate_keys(msgspec.structs.replace(PAGE, **changes), "https://a.test", alike)
    assert (len(found.keys) if found is not None else None) == keys


def test_without_similarity_nothing_is_compared() -> None:
    assert make_duplicate_keys(PAGE, "https://a.test", None) is None


# ---- comparing ------------------------------------------------------------------------------------------------


def looked_up(alike: Alike, *prints: DuplicateKeys) -> DuplicateSearch:
    duplicates = DuplicateSearch(alike, prints)
    assert duplicates.load_index_rows([]) == []
    return duplicates


def printed(text: str) -> DuplicateKeys:
    page = msgspec.structs.replace(PAGE, **of_text(text))
    found = make_duplicate_keys(page, "https://a.test", Alike())
    assert found is not None
    return found


def test_no_more_than_so_many_are_compared_and_those_that_share_most() -> None:
    """Each of its 17 keys has other pages, and one page has two of the keys."""
    mine, alike = printed(story("one")), Alike()
    duplicates = DuplicateSearch(alike, [mine])
    holders = [
        (key, 1000 * index + number) for index, key in enumerate(mine.keys) for number in range(MAX_PAGES_PER_KEY)
    ]
    nearest = 99_999
    wanted = duplicates.load_index_rows([*holders, (mine.keys[3], nearest), (mine.keys[4], nearest)])
    assert len(wanted) == MAX_COMPARED_PAGES and nearest in wanted
    duplicates.load_originals(Original(one, "", b"another", b"\0" * 128) for one in wanted)
    assert duplicates.find_match(0, 7777) is None
    assert alike.compared == MAX_COMPARED_PAGES


def test_the_earliest_is_the_original() -> None:
    mine = printed(story("one"))
    duplicates = DuplicateSearch(Alike(), [mine])
    duplicates.load_index_rows([(key, record) for key in mine.keys for record in (9, 7, 8)])
    duplicates.load_originals(Original(one, f"https://{one}.test/", b"", mine.fingerprint) for one in (7, 8, 9))
    match = duplicates.find_match(0, 20)
    assert match is not None and (match.record_id, match.url, match.similarity) == (7, "https://7.test/", 1.0)
    assert duplicates.find_match(0, 7) == (8, "https://8.test/", 1.0), "itself does not count"


def test_a_page_that_is_no_original_any_more_is_not_compared() -> None:
    """Its index row may be older than its record."""
    mine = printed(story("one"))
    duplicates = DuplicateSearch(Alike(), [mine])
    assert duplicates.load_index_rows([(mine.keys[0], 7)]) == [7]
    assert duplicates.find_match(0, 20) is None


def test_a_crowded_key_takes_in_no_more() -> None:
    mine = printed(story("one"))
    duplicates = DuplicateSearch(Alike(), [mine])
    duplicates.load_index_rows([(mine.keys[5], record) for record in range(1, MAX_PAGES_PER_KEY + 1)])
    entered = duplicates.add_original(0, 50, "https://a.test/")
    assert entered == [(key, 50) for key in mine.keys if key != mine.keys[5]]


def test_who_leaves_makes_room() -> None:
    mine = printed(story("one"))
    duplicates = looked_up(Alike(), mine, mine)
    entered = duplicates.add_original(0, 50, "https://a.test/")
    match = duplicates.find_match(1, 51)
    assert match is not None and match.record_id == 50
    assert duplicates.remove_original(50, mine.content_hash, mine.fingerprint) == entered
    assert duplicates.find_match(1, 51) is None


def test_the_keys_of_a_text_without_words() -> None:
    assert index_keys(bytes(32), b"", Alike()) == (0,)
