"""What comes back to the queue: dead letters that a person replays, and settled pages to be visited again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from tenax.ledger import rows
from tenax.ledger.postgres.link import Connection, Row
from tenax.ledger.postgres.schema import queries
from tenax.ledger.postgres.settle import insert
from tenax.ledger.postgres.write import add_to_tally
from tenax.ledger.rows import milliseconds
from tenax.model import Source

AT_ONCE = 5000
"""Records looked at in one transaction: others get their turn in between, and memory stays small."""
ROUND = "round_began"
"""The name under which the time is kept since when pages count as visited anew, in milliseconds."""


class Part:
    """One part of a replay or a revisit, within a transaction."""

    def __init__(self, worker_id: int, ours: Collection[int], now: float) -> None:
        self._worker_id = worker_id
        self._ours = ours
        self._now = now

    async def replay(self, db: Connection, above: int, urls: Sequence[str] | None) -> tuple[int, int | None]:
        """The next dead letters wait again, with their attempts forgotten; how many, and the last of them."""
        back = await db.fetch(
            queries()["replay"], above, urls, AT_ONCE, milliseconds(self._now), rows.SOURCE_NUMBER[Source.REPLAY]
        )
        await self._enqueue(db, back, {"waiting": len(back), "dead": -len(back)})
        return len(back), max((row["id"] for row in back), default=None)

    async def revisit(self, db: Connection, above: int) -> tuple[int, int | None]:
        """The next records: those settled with something to ask for again wait; how many, and the last record seen."""
        last: int | None = await db.fetchval(queries()["revisit_part"], above, AT_ONCE)
        if last is None:
            return 0, None
        back = await db.fetch(queries()["revisit"], above, last, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "settled": -len(back)})
        return len(back), last

    async def _enqueue(self, db: Connection, back: Sequence[Row], counts: dict[str, int]) -> None:
        others = sorted({row["host_id"] for row in back}.difference(self._ours))
        await db.fetch(queries()["hosts_keep"], others)
        await insert(db, "queue_add", [tuple(row) for row in back])
        await insert(db, "hosts_wake", [(host_id, self._now) for host_id in others])
        await add_to_tally(db, self._worker_id, Counter(counts))


async def begin_round(db: Connection, now: float) -> None:
    """From now on pages count as visited anew."""
    await db.execute(queries()["meta_put"], ROUND, str(milliseconds(now)).encode())
    await db.execute(queries()["round_begin"])
