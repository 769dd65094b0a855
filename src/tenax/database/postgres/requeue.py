"""What comes back to the queue: dead letters that a person replays, and settled pages to be visited again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from tenax.database import rows
from tenax.database.postgres.connection import Connection, Row
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import insert
from tenax.database.postgres.write import add_to_tally
from tenax.database.rows import milliseconds
from tenax.model import NEEDS_BROWSER, Offer, Source

AT_ONCE = 5000
"""Records looked at in one transaction: others get their turn in between, and memory stays small."""
NAMED_AT_ONCE = 500
"""URLs looked up in one transaction: each is compared with the others."""
QUEUE_COLUMNS = 13
"""Of a row of the queue; what was before may stand behind them."""
ROUND = "round_began"
"""The name under which the time is kept since when pages count as visited anew, in milliseconds."""


class Part:
    """One part of a replay or a revisit, within a transaction."""

    def __init__(self, worker_id: int, ours: Collection[int], now: float) -> None:
        self._worker_id = worker_id
        self._ours = ours
        self._now = now

    async def replay(
        self, db: Connection, above: int, urls: Sequence[str] | None, needs_browser: bool
    ) -> tuple[int, int | None]:
        """The next dead letters wait again, with their attempts forgotten; how many, and the last of them."""
        back = await db.fetch(
            queries()["replay"], above, urls, AT_ONCE, milliseconds(self._now), rows.SOURCE_NUMBER[Source.REPLAY],
            NEEDS_BROWSER if needs_browser else None,
        )  # fmt: skip
        await self._enqueue(db, back, _tally_of(back))
        return len(back), max((row["id"] for row in back), default=None)

    async def unpark(self, db: Connection, above: int, causes: Sequence[str]) -> tuple[int, int | None]:
        """The next tasks that are parked for one of these causes wait again; how many, and the last of them."""
        back = await db.fetch(queries()["unpark"], above, causes, AT_ONCE, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "parked": -len(back)})
        return len(back), max((row["id"] for row in back), default=None)

    async def ask_again(self, db: Connection, record_ids: Sequence[int]) -> tuple[int, int | None]:
        """Settled records wait for another visit; how many. It is done at once."""
        back = await db.fetch(queries()["ask_again"], record_ids, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "settled": -len(back)})
        return len(back), None

    async def requeue(
        self, db: Connection, above: int, offers: Sequence[Offer], url_key: Callable[[str], int]
    ) -> tuple[int, int | None]:
        """The offers from this place on: those that have no page and do not wait; how many, and the next place."""
        part = offers[above : above + NAMED_AT_ONCE]
        if not part:
            return 0, None
        named = [
            (offer.origin, url_key(offer.url), offer.depth, offer.priority, rows.SOURCE_NUMBER[offer.source])
            for offer in part
        ]
        back = await db.fetch(queries()["requeue"], *zip(*named, strict=True), milliseconds(self._now))
        await self._enqueue(db, back, _tally_of(back))
        return len(back), above + len(part)

    async def revisit(self, db: Connection, above: int) -> tuple[int, int | None]:
        """The next records: those settled with something to ask for again wait; how many, and the last record seen."""
        last: int | None = await db.fetchval(queries()["revisit_part"], above, AT_ONCE)
        if last is None:
            return 0, None
        back = await db.fetch(queries()["revisit"], above, last, milliseconds(self._now))
        await self._enqueue(db, back, {"waiting": len(back), "settled": -len(back)})
        return len(back), last

    async def _enqueue(self, db: Connection, back: Sequence[Row], counts: Mapping[str, int]) -> None:
        others = sorted({row["host_id"] for row in back}.difference(self._ours))
        await db.fetch(queries()["hosts_keep"], others)
        await insert(db, "queue_add", [tuple(row)[:QUEUE_COLUMNS] for row in back])
        await insert(db, "hosts_wake", [(host_id, self._now) for host_id in others])
        await add_to_tally(db, self._worker_id, Counter(counts))


NextPart = Callable[[Part, Connection, int], Awaitable[tuple[int, int | None]]]
"""How many came back, and the last record or place; None when that was all. It is given the last one before."""
InTransaction = Callable[[Callable[[Connection], Awaitable[tuple[int, int | None]]]], Awaitable[tuple[int, int | None]]]


async def part_by_part(in_transaction: InTransaction, part: Callable[[], Part], next_part: NextPart) -> int:
    """Part after part, each in a transaction of its own; how many came back."""
    back = 0
    last: int | None = 0

    async def work(db: Connection) -> tuple[int, int | None]:
        return await next_part(part(), db, last or 0)

    while last is not None:
        count, last = await in_transaction(work)
        back += count
    return back


def _tally_of(back: Sequence[Row]) -> Counter[str]:
    tally: Counter[str] = Counter()
    for row in back:
        rows.count_back(row, tally)
    return tally


async def begin_round(db: Connection, now: float) -> None:
    """From now on pages count as visited anew."""
    await db.execute(queries()["meta_put"], ROUND, str(milliseconds(now)).encode())
    await db.execute(queries()["round_begin"])
