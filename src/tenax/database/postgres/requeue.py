"""Puts dead letters, parked tasks and settled pages back into the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from tenax.database import rows
from tenax.database.postgres.connection import Connection, Row
from tenax.database.postgres.schema import queries
from tenax.database.postgres.transactions import add_to_tally
from tenax.database.postgres.write_visits import write_rows
from tenax.database.rows import milliseconds
from tenax.model import NEEDS_BROWSER, Candidate, Source

RECORD_BATCH_SIZE = 5000
"""Records per transaction: lets others write in between, and bounds memory."""
URL_BATCH_SIZE = 500
"""URLs per transaction."""
QUEUE_COLUMNS = 13
"""Leading columns of a returned row that are its queue row; the previous state may follow."""
ROUND_KEY = "round_began"
"""The meta key of the time when the current round of visits began, in milliseconds."""


class RequeueStep:
    """One batch of a replay or recrawl, within a transaction."""

    def __init__(self, worker_id: int, own_hosts: Collection[int], now: float) -> None:
        self._worker_id = worker_id
        self._own_hosts = own_hosts
        self._now = now

    async def replay(
        self, db: Connection, above: int, urls: Sequence[str] | None, needs_browser: bool
    ) -> tuple[int, int | None]:
        """Queue the next dead letters, with their attempts reset; returns how many, and the last id."""
        queue_rows = await db.fetch(
            queries()["replay"], above, urls, RECORD_BATCH_SIZE, milliseconds(self._now),
            rows.SOURCE_NUMBER[Source.REPLAY],
            NEEDS_BROWSER if needs_browser else None,
        )  # fmt: skip
        await self._enqueue(db, queue_rows, _count_requeued(queue_rows))
        return len(queue_rows), max((row["id"] for row in queue_rows), default=None)

    async def unpark(self, db: Connection, above: int, causes: Sequence[str]) -> tuple[int, int | None]:
        """Queue the next tasks parked for one of these causes; returns how many, and the last id."""
        queue_rows = await db.fetch(queries()["unpark"], above, causes, RECORD_BATCH_SIZE, milliseconds(self._now))
        await self._enqueue(db, queue_rows, {"waiting": len(queue_rows), "parked": -len(queue_rows)})
        return len(queue_rows), max((row["id"] for row in queue_rows), default=None)

    async def refetch(self, db: Connection, record_ids: Sequence[int]) -> tuple[int, int | None]:
        """Queue settled records for another visit, in one step; returns how many."""
        queue_rows = await db.fetch(queries()["refetch"], record_ids, milliseconds(self._now))
        await self._enqueue(db, queue_rows, {"waiting": len(queue_rows), "settled": -len(queue_rows)})
        return len(queue_rows), None

    async def requeue(
        self, db: Connection, above: int, candidates: Sequence[Candidate], url_key: Callable[[str], int]
    ) -> tuple[int, int | None]:
        """Queue candidates from this index on that have no page and do not wait; returns how many, and the next one."""
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
        """Queue the next settled records worth another visit; returns how many, and the last id read."""
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
"""Returns how many were queued, and where to continue; None at the end. Gets the previous position, 0 at first."""
RunInTransaction = Callable[
    [Callable[[Connection], Awaitable[tuple[int, int | None]]]], Awaitable[tuple[int, int | None]]
]


async def run_steps(
    run_in_transaction: RunInTransaction, make_step: Callable[[], RequeueStep], run_step: RunStep
) -> int:
    """Run all steps, each in its own transaction; returns how many tasks were queued."""
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
