"""One transaction for many visits: the whole effect of each, or nothing of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from tenax.database import Admission, Likeness, rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import Batch
from tenax.database.in_links import InHand
from tenax.database.postgres.admit import Admitted, Admitter
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.expedite import hasten
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import Settler
from tenax.database.postgres.visited import Visited
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Effects, Settling, with_twins
from tenax.model import Offer, RobotsCopy, Visit


class Applied(NamedTuple):
    """What a transaction did, once it is committed."""

    effects: Effects
    admitted: Admitted
    tally: Counter[str]

    @property
    def admissions(self) -> list[Admission]:
        """One for each visit, then one for each batch of offers made outside of a visit."""
        return self.admitted.admissions

    @property
    def arrivals(self) -> list[tuple[int, Entry]]:
        """Tasks that now wait, by host."""
        return self.effects.arrivals + self.admitted.arrivals + self.admitted.moved


class Writer:
    """Writes groups of visits; what it remembers is what was committed."""

    def __init__(
        self, secret: bytes, inflow: Inflow, visited: Visited | None = None, likeness: Likeness | None = None
    ) -> None:
        self._settler = Settler(likeness)
        self._visited = visited
        self._url_key = rows.keys_by(secret)
        self._admitter = Admitter(self._url_key, inflow)

    async def hints(self, offers: Iterable[Offer]) -> Set[str]:
        """The URLs among these that need not be looked up; asked before the transaction begins."""
        if self._visited is None:
            return frozenset()
        return await self._visited.known(self._admitter.unsure(offers))

    async def apply(
        self,
        db: Connection,
        worker_id: int,
        settlings: Sequence[Settling],
        others: Sequence[Batch],
        ours: Collection[int],
        in_hand: InHand,
        now: float,
        hinted: Set[str] = frozenset(),
    ) -> Applied:
        """Write visits, and batches of offers made outside of any, within a transaction; `outbox` is its last step."""
        effects = await self._settler.settle(db, settlings)
        batches = [
            Batch(offers, record, one.host_id, one.entry.record_id is None, linked)
            for one, offers, record, linked in zip(
                settlings, effects.offers, effects.records, effects.linked, strict=True
            )
        ]
        self._admitter.visited(one.visit.claim.task.url for one in settlings)
        batches.extend(others)
        admitted = await self._admitter.admit(db, batches, ours, in_hand, now, hinted)
        effects.arrivals += await hasten(db, settlings, self._url_key, now)
        admitted = admitted._replace(admissions=with_twins(admitted.admissions, effects, settlings))
        tally = Counter(effects.tally)
        tally.update(admitted.tally)
        await add_to_tally(db, worker_id, tally)
        return Applied(effects, admitted, tally)

    def written(self, applied: Applied) -> None:
        """It is committed."""
        self._settler.written(applied.effects)
        self._admitter.written(applied.admitted)
        if self._visited is not None:
            self._visited.committed(applied.admitted.known)

    def knows_robots(self, host_id: int, copy: RobotsCopy | None) -> None:
        self._settler.knows_robots(host_id, copy)


async def add_to_tally(db: Connection, worker_id: int, tally: Counter[str]) -> None:
    changed = sorted((name, count) for name, count in tally.items() if count)
    if changed:
        await db.execute(queries()["tally_add"], worker_id, *zip(*changed, strict=True))


def outbox(content_ids: Sequence[int]) -> str:
    """The statements that number some events: the last before COMMIT and sent together with it, because everyone who
    commits events waits from here on until it is done."""
    if not content_ids:
        return ""
    numbers = ",".join(map(str, content_ids))
    return (
        f"UPDATE outbox_end SET seq = seq + {len(content_ids)}; "
        f"INSERT INTO outbox SELECT e.seq - {len(content_ids)} + c.place, c.id FROM outbox_end e, "
        f"unnest('{{{numbers}}}'::bigint[]) WITH ORDINALITY AS c (id, place);"
    )


def readable(visit: Visit) -> Visit:
    """The visit with every text made such that PostgreSQL can hold it: Unicode, and without NUL."""
    return rows.with_texts(visit, lambda text: rows.unicode(text).replace("\0", "\ufffd"))
