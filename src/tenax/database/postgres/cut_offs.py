"""Links cut off by limits, in PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from tenax.clock import Clock
from tenax.database import CutOffPage, ParkedRedirect
from tenax.database.postgres.connection import Connection, PostgresConnection
from tenax.database.postgres.links import ROW_BATCH_SIZE, RunInTransaction
from tenax.database.postgres.requeue import RunStep
from tenax.database.postgres.schema import queries
from tenax.database.postgres.transactions import add_to_tally
from tenax.database.postgres.write_visits import write_rows
from tenax.database.report_rows import cut_off_page_from_row, redirect_from_row


class PostgresCutOffs:
    """Implements `tenax.database.CutOffs`."""

    def __init__(
        self,
        connection: PostgresConnection,
        run_in_transaction: RunInTransaction,
        clock: Clock,
        run_requeue: Callable[[float, RunStep], Awaitable[int]],
    ) -> None:
        self._connection = connection
        self._run_in_transaction = run_in_transaction
        self._clock = clock
        self._run_requeue = run_requeue
        self._sql = queries()

    async def pages(self) -> AsyncIterator[CutOffPage]:
        last = 0
        while found := await self._connection.run_idempotent(partial(self._pages_after, last)):
            for page in found:
                yield page
            last = found[-1].record_id

    async def _pages_after(self, last: int, db: Connection) -> list[CutOffPage]:
        found = await db.fetch(self._sql["cut_off_after"], last, ROW_BATCH_SIZE)
        return [cut_off_page_from_row(row) for row in found]

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        if remaining:
            await self._run_in_transaction(partial(self._replace_rows, remaining))

    async def _replace_rows(self, remaining: Mapping[int, Mapping[str, int]], db: Connection) -> None:
        added = [
            (record, name, count) for record, counts in remaining.items() for name, count in counts.items() if count
        ]
        await write_rows(db, "cut_off_clear", [(record, True) for record in sorted(remaining)])
        await write_rows(db, "cut_off_add", sorted(added))

    async def redirects(self) -> AsyncIterator[ParkedRedirect]:
        last = 0
        while found := await self._connection.run_idempotent(partial(self._redirects_after, last)):
            for one in found:
                yield one
            last = found[-1].record_id

    async def _redirects_after(self, last: int, db: Connection) -> list[ParkedRedirect]:
        return [
            redirect_from_row(tuple(row)) for row in await db.fetch(self._sql["redirects_after"], last, ROW_BATCH_SIZE)
        ]

    async def settle_redirects(self, record_ids: Sequence[int]) -> None:
        if record_ids:
            await self._run_in_transaction(partial(self._settle_rows, list(record_ids)))

    async def _settle_rows(self, record_ids: list[int], db: Connection) -> None:
        count = len(await db.fetch(self._sql["redirects_settle"], record_ids))
        await add_to_tally(db, 0, Counter({"parked": -count, "settled": count}))

    async def replace_refusals(self, refusals: Mapping[str, int]) -> None:
        await self._run_in_transaction(partial(self._replace_refusal_rows, refusals))

    async def _replace_refusal_rows(self, refusals: Mapping[str, int], db: Connection) -> None:
        await db.execute(self._sql["refusals_clear"])
        await add_to_tally(db, 0, Counter({f"refusal:{name}": count for name, count in refusals.items()}))

    async def refetch(self, record_ids: Sequence[int]) -> int:
        ids = list(record_ids)
        return await self._run_requeue(self._clock.now(), lambda part, db, _: part.refetch(db, ids)) if ids else 0
