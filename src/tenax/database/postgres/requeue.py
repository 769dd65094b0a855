"""Puts tasks back into the queue: failed ones, parked ones, and what a limit cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

from tenax.clock import Clock
from tenax.database import CutOffPage, EndedTask, ParkedRedirect, rows
from tenax.database.admission import remaining_cut_off_rows
from tenax.database.postgres.connection import Connection, PostgresConnection, Row
from tenax.database.postgres.read import RunInTransaction
from tenax.database.postgres.schema import queries, write_rows
from tenax.database.postgres.transactions import add_to_tally
from tenax.database.report_rows import cut_off_page_from_row, ended_task_from_row, redirect_from_row
from tenax.database.rows import milliseconds
from tenax.database.statements import RECORD_BATCH_SIZE, ROUND_KEY, ROW_BATCH_SIZE, iterate_records
from tenax.model import NEEDS_BROWSER, Candidate, Source

URL_BATCH_SIZE = 500
"""Number of URLs per transaction."""
QUEUE_COLUMNS = 13
"""Number of columns of a returned row that are its queue row. They come first; the previous state may follow."""


class RequeueStep:
    """One batch of a replay or recrawl, inside of a transaction."""

    def __init__(self, worker_id: int, own_hosts: Collection[int], now: float) -> None:
        self._worker_id = worker_id
        self._own_hosts = own_hosts
        self._now = now

    async def replay(
        self, db: Connection, above: int, urls: Sequence[str] | None, needs_browser: bool
    ) -> tuple[int, int | None]:
        """Queue the next dead letters, with their attempts reset. Returns how many, and the last id."""
        queue_rows = await db.fetch(
            queries()["replay"], above, urls, RECORD_BATCH_SIZE, milliseconds(self._now),
            rows.SOURCE_NUMBER[Source.REPLAY],
            NEEDS_BROWSER if needs_browser else None,
        )  # fmt: skip
        await self._enqueue(db, queue_rows, _count_requeued(queue_rows))
        return len(queue_rows), max((row["id"] for row in queue_rows), default=None)

    async def unpark(self, db: Connection, above: int, causes: Sequence[str]) -> tuple[int, int | None]:
        """Queue the next tasks that are parked for one of these causes. Returns how many, and the last id."""
        queue_rows = await db.fetch(queries()["unpark"], above, causes, RECORD_BATCH_SIZE, milliseconds(self._now))
        await self._enqueue(db, queue_rows, {"waiting": len(queue_rows), "parked": -len(queue_rows)})
        return len(queue_rows), max((row["id"] for row in queue_rows), default=None)

    async def refetch(self, db: Connection, record_ids: Sequence[int]) -> tuple[int, int | None]:
        """Queue settled records for another visit, in one step. Returns how many."""
        queue_rows = await db.fetch(queries()["refetch"], record_ids, milliseconds(self._now))
        await self._enqueue(db, queue_rows, {"waiting": len(queue_rows), "settled": -len(queue_rows)})
        return len(queue_rows), None

    async def requeue_ended(self, db: Connection, record_ids: Sequence[int]) -> tuple[int, int | None]:
        """Queue dead letters and parked tasks for another visit, in one step. Returns how many."""
        queue_rows = await db.fetch(queries()["requeue_ended"], record_ids, milliseconds(self._now))
        await self._enqueue(db, queue_rows, _count_requeued(queue_rows))
        return len(queue_rows), None

    async def requeue(
        self, db: Connection, above: int, candidates: Sequence[Candidate], url_key: Callable[[str], int]
    ) -> tuple[int, int | None]:
        """Queue candidates, from this index on, that have no page and do not wait. Returns how many, and the next
        index."""
        part = candidates[above : above + URL_BATCH_SIZE]
        if not part:
            return 0, None
        named = [
            (
                candidate.origin,
                url_key(candidate.url),
                candidate.depth,
                candidate.priority,
                rows.SOURCE_NUMBER[candidate.source],
            )
            for candidate in part
        ]
        queue_rows = await db.fetch(queries()["requeue"], *zip(*named, strict=True), milliseconds(self._now))
        await self._enqueue(db, queue_rows, _count_requeued(queue_rows))
        return len(queue_rows), above + len(part)

    async def requeue_settled(self, db: Connection, above: int) -> tuple[int, int | None]:
        """Queue the next settled records that are worth another visit. Returns how many, and the last id that was
        read."""
        last: int | None = await db.fetchval(queries()["requeue_settled_range"], above, RECORD_BATCH_SIZE)
        if last is None:
            return 0, None
        queue_rows = await db.fetch(queries()["requeue_settled"], above, last, milliseconds(self._now))
        await self._enqueue(db, queue_rows, {"waiting": len(queue_rows), "settled": -len(queue_rows)})
        return len(queue_rows), last

    async def _enqueue(self, db: Connection, queue_rows: Sequence[Row], counts: Mapping[str, int]) -> None:
        others = sorted({row["host_id"] for row in queue_rows}.difference(self._own_hosts))
        await db.fetch(queries()["hosts_lock_shared"], others)
        await write_rows(db, "queue_add", [tuple(row)[:QUEUE_COLUMNS] for row in queue_rows])
        await write_rows(db, "hosts_mark_ready", [(host_id, self._now) for host_id in others])
        await add_to_tally(db, self._worker_id, Counter(counts))


RunStep = Callable[[RequeueStep, Connection, int], Awaitable[tuple[int, int | None]]]
"""Gets the previous position, 0 at first. Returns how many were queued, and where to continue; None at the end."""
RunRequeue = Callable[[Callable[[Connection], Awaitable[tuple[int, int | None]]]], Awaitable[tuple[int, int | None]]]


async def run_steps(run_in_transaction: RunRequeue, make_step: Callable[[], RequeueStep], run_step: RunStep) -> int:
    """Run all steps, each in its own transaction. Returns how many tasks were queued."""
    requeued = 0
    last: int | None = 0

    async def work(db: Connection) -> tuple[int, int | None]:
        return await run_step(make_step(), db, last or 0)

    while last is not None:
        count, last = await run_in_transaction(work)
        requeued += count
    return requeued


def _count_requeued(queue_rows: Sequence[Row]) -> Counter[str]:
    tally: Counter[str] = Counter()
    for row in queue_rows:
        rows.count_requeued(row, tally)
    return tally


async def begin_round(db: Connection, now: float) -> None:
    """Begin a new round of visits."""
    await db.execute(queries()["meta_put"], ROUND_KEY, str(milliseconds(now)).encode())
    await db.execute(queries()["round_begin"])


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

    def pages(self) -> AsyncIterator[CutOffPage]:
        return iterate_records(lambda last: self._connection.run_idempotent(partial(self._pages_after, last)))

    async def _pages_after(self, last: int, db: Connection) -> list[CutOffPage]:
        found = await db.fetch(self._sql["cut_off_after"], last, ROW_BATCH_SIZE)
        return [cut_off_page_from_row(row) for row in found]

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        if remaining:
            await self._run_in_transaction(partial(self._replace_rows, remaining))

    async def _replace_rows(self, remaining: Mapping[int, Mapping[str, int]], db: Connection) -> None:
        await write_rows(db, "cut_off_clear", [(record, True) for record in sorted(remaining)])
        await write_rows(db, "cut_off_add", remaining_cut_off_rows(remaining))

    def redirects(self) -> AsyncIterator[ParkedRedirect]:
        return iterate_records(lambda last: self._connection.run_idempotent(partial(self._redirects_after, last)))

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

    def ended_by_settings(self) -> AsyncIterator[EndedTask]:
        return iterate_records(lambda last: self._connection.run_idempotent(partial(self._ended_after, last)))

    async def _ended_after(self, last: int, db: Connection) -> list[EndedTask]:
        found = await db.fetch(self._sql["ended_by_settings_after"], last, ROW_BATCH_SIZE)
        return [ended_task_from_row(tuple(row)) for row in found]

    async def requeue_ended(self, record_ids: Sequence[int]) -> int:
        ids = list(record_ids)
        return await self._run_requeue(self._clock.now(), lambda part, db, _: part.requeue_ended(db, ids)) if ids else 0
