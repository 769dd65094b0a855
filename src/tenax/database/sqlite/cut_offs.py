"""What limits cut off, in the file."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from tenax.database import CutPage, ParkedRedirect, rows
from tenax.database.report_rows import cut_page_of, redirect_of
from tenax.database.sqlite.links import ROWS_AT_ONCE, InThread
from tenax.database.sqlite.requeue import ask_again
from tenax.database.sqlite.schema import queries, transaction, write_rows

REFUSAL = "refusal:"
"""What the names of refusals begin with in the tally."""


class SqliteCutOffs:
    """See `tenax.database.CutOffs` for what it promises."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        in_thread: InThread,
        tally: Counter[str],
        come_back: Callable[[Callable[[float], Counter[str]]], Awaitable[int]],
    ) -> None:
        self._db = connection
        self._in_thread = in_thread
        self._tally = tally
        self._come_back = come_back
        self._sql = queries()

    async def pages(self) -> AsyncIterator[CutPage]:
        last = 0
        while found := await self._in_thread(partial(self._after, last)):
            for page in found:
                yield page
            last = found[-1].record_id

    def _after(self, last: int) -> list[CutPage]:
        found = self._db.execute(self._sql["cut_off_after"], (last, ROWS_AT_ONCE))
        return [cut_page_of(row) for row in found]

    async def put(self, left: Mapping[int, Mapping[str, int]]) -> None:
        if left:
            await self._in_thread(partial(self._put, left))

    def _put(self, left: Mapping[int, Mapping[str, int]]) -> None:
        added = [(record, name, count) for record, counts in left.items() for name, count in counts.items() if count]
        with transaction(self._db):
            self._db.executemany(self._sql["cut_off_clear"], [(record, True) for record in left])
            write_rows(self._db, "cut_off_add", added)

    async def redirects(self) -> AsyncIterator[ParkedRedirect]:
        last = 0
        while found := await self._in_thread(partial(self._redirects_after, last)):
            for one in found:
                yield one
            last = found[-1].record_id

    def _redirects_after(self, last: int) -> list[ParkedRedirect]:
        return [redirect_of(row) for row in self._db.execute(self._sql["redirects_after"], (last, ROWS_AT_ONCE))]

    async def followed(self, record_ids: Sequence[int]) -> None:
        settled = await self._in_thread(partial(self._followed, record_ids)) if record_ids else 0
        self._tally.update({"parked": -settled, "settled": settled})

    def _followed(self, record_ids: Sequence[int]) -> int:
        with transaction(self._db):
            count = self._db.execute(self._sql["redirects_followed"], (rows.encode(record_ids).decode(),)).rowcount
            self._db.executemany(self._sql["tally_add"], [("parked", -count), ("settled", count)])
        return count

    async def restate(self, refusals: Mapping[str, int]) -> None:
        await self._in_thread(partial(self._restate, refusals))
        for name in [name for name in self._tally if name.startswith(REFUSAL)]:
            del self._tally[name]
        self._tally.update({REFUSAL + name: count for name, count in refusals.items()})

    def _restate(self, refusals: Mapping[str, int]) -> None:
        with transaction(self._db):
            self._db.execute(self._sql["refusals_clear"])
            self._db.executemany(self._sql["tally_add"], [(REFUSAL + name, count) for name, count in refusals.items()])

    async def ask_again(self, record_ids: Sequence[int]) -> int:
        return await self._come_back(partial(ask_again, self._db, record_ids)) if record_ids else 0
