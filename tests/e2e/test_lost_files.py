"""The database's file taken away under a running crawl: it notices, says so in one line, and stops."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, ended, start, stored, tenax, until
from tests.site.robots import page, rules
from tests.site.server import Exchange, Site


def delete_database(out: Path) -> None:
    (out / "tenax.db").unlink()


def delete_all(out: Path) -> None:
    shutil.rmtree(out)


def move_all(out: Path) -> None:
    out.rename(out.with_name("elsewhere"))


def delete_lock(out: Path) -> None:
    (out / "tenax.db.lock").unlink()


def delete_wal(out: Path) -> None:
    (out / "tenax.db-wal").unlink()


def replace_database(out: Path) -> None:
    """By one of another program, which has a WAL with something in it."""
    delete_database(out)
    (out / "tenax.db-wal").unlink()
    (out / "tenax.db-shm").unlink()
    shutil.copytree(out.with_name("other"), out, dirs_exist_ok=True)


def another_database(folder: Path) -> None:
    """As a process that was killed leaves it: half of it in its WAL."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "source.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE precious (value)")
        db.execute("INSERT INTO precious VALUES ('kept')")
        shutil.copy(folder / "source.db", folder / "tenax.db")
        shutil.copy(folder / "source.db-wal", folder / "tenax.db-wal")
    (folder / "source.db").unlink()


LOSSES: tuple[Callable[[Path], None], ...] = (
    delete_database, delete_all, move_all, delete_lock, delete_wal, replace_database,
)  # fmt: skip


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_a_crawl_whose_file_is_lost_stops_and_says_so(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    out = tmp_path / "out"
    another_database(tmp_path / "other")
    is_asked, is_over = asyncio.Event(), asyncio.Event()

    async def late(exchange: Exchange) -> None:
        is_asked.set()
        await is_over.wait()

    async with Site({"/robots.txt": rules(""), "/": page("/late"), "/late": late}) as site:
        options = ("--discover", "links", "--rate", "0", "--set", "fetch.total_timeout_seconds=3600", *INLINE)
        process = start("crawl", site.url("/"), *options, "--dir", out)
        async with asyncio.timeout(60):
            await is_asked.wait()
        await asyncio.to_thread(until, lambda: stored(out), "the first page to be stored")
        lose(out)
        code, printed, err = await asyncio.to_thread(ended, process)
        is_over.set()
    assert code == 13, err
    assert "Crawl complete" not in printed
    [line] = [line for line in err.splitlines() if line.startswith("tenax: ")]
    assert line.startswith(f"tenax: {out}/tenax.db")
    assert "was deleted, moved or replaced while the crawl ran" in line
    assert "Traceback" not in err
    if lose is replace_database:
        with closing(sqlite3.connect(out / "tenax.db")) as db:
            assert db.execute("SELECT value FROM precious").fetchall() == [("kept",)], "its WAL is not ours to delete"
    if lose is move_all:
        moved = out.with_name("elsewhere")
        assert stored(moved) == [site.url("/")]
        assert tenax("db", "check", "--dir", moved).code == 0


async def test_one_that_ends_before_it_was_looked_for_is_not_complete(tmp_path: Path) -> None:
    out = tmp_path / "out"

    async def last(exchange: Exchange) -> None:
        shutil.rmtree(out)
        await page("/")(exchange)

    async with Site({"/robots.txt": rules(""), "/": page("/last"), "/last": last}) as site:
        options = ("--discover", "links", "--rate", "0", *INLINE)
        code, printed, err = await asyncio.to_thread(tenax, "crawl", site.url("/"), *options, "--dir", out)
    assert code == 13, err
    assert "Crawl complete" not in printed
