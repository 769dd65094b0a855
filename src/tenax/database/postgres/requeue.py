"""What comes back to the queue: dead letters that a person replays, and settled pages to be visited again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from tenax.database import rows
from tenax.database.postgres.connection import Connection, Row
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import write_rows
from tenax.database.postgres.write import add_to_tally
from tenax.database.rows import milliseconds
from tenax.model import NEEDS_BROWSER, Candidate, Source

RECORD_BATCH_SIZE = 5000
"""Records looked at in one transaction: others get their turn in between, and memory stays small."""
URL_BATCH_SIZE = 500
"""URLs looked up in one transaction: each is compared with the others."""
QUEUE_COLUMNS = 13
"""Of a row of the queue; what was before may stand behind them."""
ROUND_KEY = "round_began"
"""The name under which the time is kept since when pages count as visited anew, in milliseconds."""


class RequeueStep:
    """One part of a replay or a revisit, within a transaction."""

    def __init__(self, worker_id: int, own_hosts: Collection[int], now: float) -> None:
        self._worker_id = worker_id
        self._own_hosts = own_hosts
        self._now = now

    async def replay(
        self, db: Connection, above: int, urls: Sequence[str] | None, needs_browser: bool
    ) -> tuple[int, int | None]:
        """The next dead letters wait again, with their attempts forgotten; how many, and the last of them."""
        back = await db.fetch(
            queries()["replay"], above, urls, RECORD_BATCH_SIZE, milliseconds(self._now), rows.SOURCE_NUMBER[Source.REPLAY],
            NEEDS_BROWSER if needs_browser else None,
        )  # fmt: skip
        await self._enqueue(db, back, _count_requeued(back))
        return len(back), max((row["id"] for row in back), default=None)

    async def unpark(self, db: Connection, above: int, causes: Sequence[str]) -> tuple[int, int | None]:
        """The next tasks that are parked for one of these causes wait again; how many, and the last of them."""
        back = await db.fetch(queries()["unpark"], above, causes, RECORD_BATCH_SIZE, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "parked": -len(back)})
        return len(back), max((row["id"] for row in back), default=None)

    async def refetch(self, db: Connection, record_ids: Sequence[int]) -> tuple[int, int | None]:
        """Settled records wait for another visit; how many. It is done at once."""
        back = await db.fetch(queries()["refetch"], record_ids, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "settled": -len(back)})
        return len(back), None

    async def requeue(
        self, db: Connection, above: int, candidates: Sequence[Candidate], url_key: Callable[[str], int]
    ) -> tuple[int, int | None]:
        """The offers from this place on: those that have no page and do not wait; how many, and the next place."""
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
        back = await db.fetch(queries()["requeue"], *zip(*named, strict=True), milliseconds(self._now))
        await self._enqueue(db, back, _count_requeued(back))
        return len(back), above + len(part)

    async def requeue_settled(self, db: Connection, above: int) -> tuple[int, int | None]:
        """The next records: those settled with something to ask for again wait; how many, and the last record seen."""
        last: int | None = await db.fetchval(queries()["requeue_settled_range"], above, RECORD_BATCH_SIZE)
        if last is None:
            return 0, None
        back = await db.fetch(queries()["requeue_settled"], above, last, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "settled": -len(back)})
        return len(back), last

    async def _enqueue(self, db: Connection, queue_rows: Sequence[Row], counts: Mapping[str, int]) -> None:
        others = sorted({row["host_id"] for row in queue_rows}.difference(self._own_hosts))
        await db.fetch(queries()["hosts_lock_shared"], others)
        await write_rows(db, "queue_add", [tuple(row)[:QUEUE_COLUMNS] for row in queue_rows])
        await write_rows(db, "hosts_mark_ready", [(host_id, self._now) for host_id in others])
        await add_to_tally(db, self._worker_id, Counter(counts))


RunStep = Callable[[RequeueStep, Connection, int], Awaitable[tuple[int, int | None]]]
"""How many came back, and the last record or place; None when that was all. It is given the last one before."""
RunInTransaction = Callable[
    [Callable[[Connection], Awaitable[tuple[int, int | None]]]], Awaitable[tuple[int, int | None]]
]


async def run_steps(
    run_in_transaction: RunInTransaction, make_step: Callable[[], RequeueStep], run_step: RunStep
) -> int:
    """Part after part, each in a transaction of its own; how many came back."""
    back = 0
    last: int | None = 0

    async def work(db: Connection) -> tuple[int, int | None]:
        return await run_step(make_step(), db, last or 0)

    while last is not None:
        count, last = await run_in_transaction(work)
        back += count
    return back


def _count_requeued(queue_rows: Sequence[Row]) -> Counter[str]:
    tally: Counter[str] = Counter()
    for row in queue_rows:
        rows.count_requeued(row, tally)
    return tally


async def begin_round(db: Connection, now: float) -> None:
    """From now on pages count as visited anew."""
    await db.execute(queries()["meta_put"], ROUND_KEY, str(milliseconds(now)).encode())
    await db.execute(queries()["round_begin"])
