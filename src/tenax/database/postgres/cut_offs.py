"""What limits cut off, on the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from tenax.clock import Clock
from tenax.database import CutPage, ParkedRedirect
from tenax.database.postgres.connection import Connection, Link
from tenax.database.postgres.links import ROWS_AT_ONCE, InTransaction
from tenax.database.postgres.requeue import NextPart
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import insert
from tenax.database.postgres.write import add_to_tally
from tenax.database.report_rows import cut_page_of, redirect_of


class PostgresCutOffs:
    """See `tenax.database.CutOffs` for what it promises."""

    def __init__(
        self,
        link: Link,
        in_transaction: InTransaction,
        clock: Clock,
        requeue: Callable[[float, NextPart], Awaitable[int]],
    ) -> None:
        self._link = link
        self._in_transaction = in_transaction
        self._clock = clock
        self._requeue = requeue
        self._sql = queries()

    async def pages(self) -> AsyncIterator[CutPage]:
        last = 0
        while found := await self._link.ask(partial(self._after, last)):
            for page in found:
                yield page
            last = found[-1].record_id

    async def _after(self, last: int, db: Connection) -> list[CutPage]:
        found = await db.fetch(self._sql["cut_off_after"], last, ROWS_AT_ONCE)
        return [cut_page_of(row) for row in found]

    async def put(self, left: Mapping[int, Mapping[str, int]]) -> None:
        if left:
            await self._in_transaction(partial(self._put, left))

    async def _put(self, left: Mapping[int, Mapping[str, int]], db: Connection) -> None:
        added = [(record, name, count) for record, counts in left.items() for name, count in counts.items() if count]
        await insert(db, "cut_off_clear", [(record, True) for record in sorted(left)])
        await insert(db, "cut_off_add", sorted(added))

    async def redirects(self) -> AsyncIterator[ParkedRedirect]:
        last = 0
        while found := await self._link.ask(partial(self._redirects_after, last)):
            for one in found:
                yield one
            last = found[-1].record_id

    async def _redirects_after(self, last: int, db: Connection) -> list[ParkedRedirect]:
        return [redirect_of(tuple(row)) for row in await db.fetch(self._sql["redirects_after"], last, ROWS_AT_ONCE)]

    async def followed(self, record_ids: Sequence[int]) -> None:
        if record_ids:
            await self._in_transaction(partial(self._followed, list(record_ids)))

    async def _followed(self, record_ids: list[int], db: Connection) -> None:
        count = len(await db.fetch(self._sql["redirects_followed"], record_ids))
        await add_to_tally(db, 0, Counter({"parked": -count, "settled": count}))

    async def restate(self, refusals: Mapping[str, int]) -> None:
        await self._in_transaction(partial(self._restate, refusals))

    async def _restate(self, refusals: Mapping[str, int], db: Connection) -> None:
        await db.execute(self._sql["refusals_clear"])
        await add_to_tally(db, 0, Counter({f"refusal:{name}": count for name, count in refusals.items()}))

    async def ask_again(self, record_ids: Sequence[int]) -> int:
        ids = list(record_ids)
        return await self._requeue(self._clock.now(), lambda part, db, _: part.ask_again(db, ids)) if ids else 0
