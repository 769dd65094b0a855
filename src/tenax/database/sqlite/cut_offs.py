"""Links cut off by limits, in SQLite."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from tenax.database import CutOffPage, ParkedRedirect, rows
from tenax.database.report_rows import cut_off_page_from_row, redirect_from_row
from tenax.database.sqlite.links import ROW_BATCH_SIZE, RunInThread
from tenax.database.sqlite.requeue import refetch
from tenax.database.sqlite.schema import queries, transaction, write_rows

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

    async def pages(self) -> AsyncIterator[CutOffPage]:
        last = 0
        while found := await self._run_in_thread(partial(self._pages_after, last)):
            for page in found:
                yield page
            last = found[-1].record_id

    def _pages_after(self, last: int) -> list[CutOffPage]:
        found = self._db.execute(self._sql["cut_off_after"], (last, ROW_BATCH_SIZE))
        return [cut_off_page_from_row(row) for row in found]

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        if remaining:
            await self._run_in_thread(partial(self._replace_rows, remaining))

    def _replace_rows(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        added = [
            (record, name, count) for record, counts in remaining.items() for name, count in counts.items() if count
        ]
        with transaction(self._db):
            self._db.executemany(self._sql["cut_off_clear"], [(record, True) for record in remaining])
            write_rows(self._db, "cut_off_add", added)

    async def redirects(self) -> AsyncIterator[ParkedRedirect]:
        last = 0
        while found := await self._run_in_thread(partial(self._redirects_after, last)):
            for one in found:
                yield one
            last = found[-1].record_id

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
