"""Puts tasks back into the queue: failed ones, parked ones, and what a limit cut off."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tenax.database import CutOffPage, EndedTask, ParkedRedirect, rows
from tenax.database.admission import remaining_cut_off_rows
from tenax.database.report_rows import cut_off_page_from_row, ended_task_from_row, redirect_from_row
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite.read import RunInThread
from tenax.database.sqlite.schema import queries, transaction, write_rows
from tenax.database.statements import RECORD_BATCH_SIZE, ROUND_KEY, ROW_BATCH_SIZE, iterate_records
from tenax.model import Candidate, Source


def replay(db: sqlite3.Connection, urls: Sequence[str] | None, needs_browser: bool, now: float) -> Counter[str]:
    """Queue dead letters again, with their attempts reset."""
    sql = queries()
    wanted = set(urls) if urls is not None else None
    tally: Counter[str] = Counter()
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for row in cursor.execute(sql["dead_letters"], (0, -1)).fetchall():
            if wanted is not None and row["origin"] + row["path"] not in wanted:
                continue
            if needs_browser and not rows.is_waiting_for_browser(row):
                continue
            entry = Entry(
                3 - row["priority"], milliseconds(now), row["key"], path=row["path"], depth=row["depth"],
                source=rows.SOURCE_NUMBER[Source.REPLAY], found=row["discovered_at"], via=row["via"], attempt=0,
                record_id=row["id"], chain=row["chain"],
                hint=rows.HINT_URL_LIST if row["url_list"] is not None else None,
            )  # fmt: skip
            db.execute(sql["queue_add"], (row["host_id"], *entry.columns))
            db.execute(sql["replay"], (row["id"],))
            db.execute(sql["host_add_waiting"], (1, now, row["host_id"]))
            rows.count_requeued(row, tally)
        db.executemany(sql["tally_add"], list(tally.items()))
    return tally


def requeue(
    db: sqlite3.Connection, url_key: Callable[[str], int], candidates: Sequence[Candidate], now: float
) -> Counter[str]:
    """Queue URLs again that a user names, unless they have a page or already wait."""
    sql, due = queries(), milliseconds(now)
    tally: Counter[str] = Counter()
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for candidate in candidates:
            row = cursor.execute(sql["requeue_find"], (candidate.origin, url_key(candidate.url))).fetchone()
            if row is None:
                continue
            source = rows.SOURCE_NUMBER[candidate.source]
            entry = Entry(
                3 - candidate.priority, due, row["key"], path=row["path"], depth=candidate.depth, source=source,
                found=row["discovered_at"], via=row["via"], attempt=0, record_id=row["id"], chain=row["chain"],
                hint=rows.HINT_UNCONDITIONAL,
            )  # fmt: skip
            db.execute(sql["queue_add"], (row["host_id"], *entry.columns))
            db.execute(sql["requeue"], (due, candidate.depth, candidate.priority, source, row["id"]))
            db.execute(sql["host_add_waiting"], (1, now, row["host_id"]))
            rows.count_requeued(row, tally)
        db.executemany(sql["tally_add"], list(tally.items()))
    return tally


def unpark(db: sqlite3.Connection, causes: Sequence[str], now: float) -> Counter[str]:
    """Queue the next batch of parked tasks."""
    part = {"causes": rows.encode(causes).decode(), "most": RECORD_BATCH_SIZE, "now_ms": milliseconds(now)}
    with transaction(db):
        queue_rows = db.execute(queries()["unpark"], part).fetchall()
        return _enqueue(db, queue_rows, "parked", now)


def refetch(db: sqlite3.Connection, record_ids: Sequence[int], now: float) -> Counter[str]:
    """Queue settled records for another visit."""
    part = {"ids": rows.encode(record_ids).decode(), "now_ms": milliseconds(now)}
    with transaction(db):
        queue_rows = db.execute(queries()["refetch"], part).fetchall()
        return _enqueue(db, queue_rows, "settled", now)


def requeue_ended(db: sqlite3.Connection, record_ids: Sequence[int], now: float) -> Counter[str]:
    """Queue dead letters and parked tasks for another visit."""
    ids = rows.encode(record_ids).decode()
    tally: Counter[str] = Counter()
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for row in cursor.execute(queries()["ended_get"], (ids,)).fetchall():
            rows.count_requeued(row, tally)
        queue_rows = db.execute(queries()["requeue_ended"], {"ids": ids, "now_ms": milliseconds(now)}).fetchall()
        _add_to_queue(db, queue_rows, now)
        db.executemany(queries()["tally_add"], list(tally.items()))
    return tally


def _enqueue(db: sqlite3.Connection, queue_rows: Sequence[tuple[Any, ...]], state: str, now: float) -> Counter[str]:
    """Add queue rows of tasks that were in this state."""
    _add_to_queue(db, queue_rows, now)
    tally = Counter({"waiting": len(queue_rows), state: -len(queue_rows)})
    db.executemany(queries()["tally_add"], list(tally.items()))
    return tally


def _add_to_queue(db: sqlite3.Connection, queue_rows: Sequence[tuple[Any, ...]], now: float) -> None:
    write_rows(db, "queue_add", queue_rows)
    hosts = Counter(row[0] for row in queue_rows)
    db.executemany(queries()["host_add_waiting"], [(count, now, host_id) for host_id, count in hosts.items()])


def begin_round(db: sqlite3.Connection, now: float) -> int:
    """Begin a new round of visits. Returns the highest record id to requeue."""
    sql = queries()
    with transaction(db):
        db.execute(sql["meta_put"], (ROUND_KEY, str(milliseconds(now)).encode()))
        db.execute(sql["round_begin"])
        highest: int = db.execute(sql["highest_ids"]).fetchone()[0]
    return highest


def requeue_settled(db: sqlite3.Connection, above: int, now: float) -> Counter[str]:
    """Queue the next batch of settled records that are worth another visit."""
    sql = queries()
    part = {"above": above, "up_to": above + RECORD_BATCH_SIZE, "now_ms": milliseconds(now)}
    with transaction(db):
        waiting = db.execute(sql["requeue_settled"], part).fetchall()
        return _enqueue(db, waiting, "settled", now)


REFUSAL_PREFIX = "refusal:"
"""Prefix of refusal counters in the tally."""


class SqliteCutOffs:
    """Implements `tenax.database.CutOffs`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        run_in_thread: RunInThread,
        tally: Counter[str],
        requeue_tasks: Callable[[Callable[[float], Counter[str]]], Awaitable[int]],
    ) -> None:
        self._db = connection
        self._run_in_thread = run_in_thread
        self._tally = tally
        self._requeue_tasks = requeue_tasks
        self._sql = queries()

    def pages(self) -> AsyncIterator[CutOffPage]:
        return iterate_records(lambda last: self._run_in_thread(partial(self._pages_after, last)))

    def _pages_after(self, last: int) -> list[CutOffPage]:
        found = self._db.execute(self._sql["cut_off_after"], (last, ROW_BATCH_SIZE))
        return [cut_off_page_from_row(row) for row in found]

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        if remaining:
            await self._run_in_thread(partial(self._replace_rows, remaining))

    def _replace_rows(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        with transaction(self._db):
            self._db.executemany(self._sql["cut_off_clear"], [(record, True) for record in remaining])
            write_rows(self._db, "cut_off_add", remaining_cut_off_rows(remaining))

    def redirects(self) -> AsyncIterator[ParkedRedirect]:
        return iterate_records(lambda last: self._run_in_thread(partial(self._redirects_after, last)))

    def _redirects_after(self, last: int) -> list[ParkedRedirect]:
        return [
            redirect_from_row(row) for row in self._db.execute(self._sql["redirects_after"], (last, ROW_BATCH_SIZE))
        ]

    async def settle_redirects(self, record_ids: Sequence[int]) -> None:
        settled = await self._run_in_thread(partial(self._settle_rows, record_ids)) if record_ids else 0
        self._tally.update({"parked": -settled, "settled": settled})

    def _settle_rows(self, record_ids: Sequence[int]) -> int:
        with transaction(self._db):
            count = self._db.execute(self._sql["redirects_settle"], (rows.encode(record_ids).decode(),)).rowcount
            self._db.executemany(self._sql["tally_add"], [("parked", -count), ("settled", count)])
        return count

    async def replace_refusals(self, refusals: Mapping[str, int]) -> None:
        await self._run_in_thread(partial(self._replace_refusal_rows, refusals))
        for name in [name for name in self._tally if name.startswith(REFUSAL_PREFIX)]:
            del self._tally[name]
        self._tally.update({REFUSAL_PREFIX + name: count for name, count in refusals.items()})

    def _replace_refusal_rows(self, refusals: Mapping[str, int]) -> None:
        with transaction(self._db):
            self._db.execute(self._sql["refusals_clear"])
            self._db.executemany(
                self._sql["tally_add"], [(REFUSAL_PREFIX + name, count) for name, count in refusals.items()]
            )

    async def refetch(self, record_ids: Sequence[int]) -> int:
        return await self._requeue_tasks(partial(refetch, self._db, record_ids)) if record_ids else 0

    def ended_by_settings(self) -> AsyncIterator[EndedTask]:
        return iterate_records(lambda last: self._run_in_thread(partial(self._ended_after, last)))

    def _ended_after(self, last: int) -> list[EndedTask]:
        found = self._db.execute(self._sql["ended_by_settings_after"], (last, ROW_BATCH_SIZE))
        return [ended_task_from_row(row) for row in found]

    async def requeue_ended(self, record_ids: Sequence[int]) -> int:
        return await self._requeue_tasks(partial(requeue_ended, self._db, record_ids)) if record_ids else 0
