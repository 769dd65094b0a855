"""Writes many visits in one transaction: the whole effect of each, or nothing of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from tenax.database import Admission, Similarity, rows
from tenax.database.admission_rate import AdmissionRate
from tenax.database.candidates import Batch
from tenax.database.in_links import LoadedKeys
from tenax.database.postgres.admit import AdmitResult, Admitter
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.expedite import expedite_changed_pages
from tenax.database.postgres.schema import queries
from tenax.database.postgres.visited import VisitedFilter
from tenax.database.postgres.write_visits import VisitWriter
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Effects, PendingVisit, mark_duplicates
from tenax.model import Candidate, RobotsCopy, Visit


class WriteResult(NamedTuple):
    """The result of a transaction, valid once it is committed."""

    effects: Effects
    admitted: AdmitResult
    tally: Counter[str]

    @property
    def admissions(self) -> list[Admission]:
        """One for each visit, then one for each batch of candidates outside of a visit."""
        return self.admitted.admissions

    @property
    def arrivals(self) -> list[tuple[int, Entry]]:
        """Tasks that now wait, by host."""
        return self.effects.arrivals + self.admitted.arrivals + self.admitted.moved


class Writer:
    """Writes groups of visits; its caches hold only committed data."""

    def __init__(
        self,
        secret: bytes,
        admission_rate: AdmissionRate,
        visited_filter: VisitedFilter | None = None,
        similarity: Similarity | None = None,
    ) -> None:
        self._visit_writer = VisitWriter(similarity)
        self._visited_filter = visited_filter
        self._url_key = rows.make_url_key(secret)
        self._admitter = Admitter(self._url_key, admission_rate)

    async def find_known_urls(self, candidates: Iterable[Candidate]) -> Set[str]:
        """The URLs that need no lookup; call before the transaction begins."""
        if self._visited_filter is None:
            return frozenset()
        return await self._visited_filter.known_urls(self._admitter.unknown_candidates(candidates))

    async def apply(
        self,
        db: Connection,
        worker_id: int,
        visits: Sequence[PendingVisit],
        other_batches: Sequence[Batch],
        own_hosts: Collection[int],
        loaded_keys: LoadedKeys,
        now: float,
        filter_hits: Set[str] = frozenset(),
    ) -> WriteResult:
        """Write visits, and batches of candidates outside of visits, within a transaction.

        `outbox_statements` must follow as its last step.
        """
        effects = await self._visit_writer.write_visits(db, visits)
        batches = [
            Batch(candidates, record, one.host_id, one.entry.record_id is None, linked)
            for one, candidates, record, linked in zip(
                visits, effects.candidates, effects.record_ids, effects.link_counts, strict=True
            )
        ]
        self._admitter.forget_visited(one.visit.claim.task.url for one in visits)
        batches.extend(other_batches)
        admitted = await self._admitter.admit(db, batches, own_hosts, loaded_keys, now, filter_hits)
        effects.arrivals += await expedite_changed_pages(db, visits, self._url_key, now)
        admitted = admitted._replace(admissions=mark_duplicates(admitted.admissions, effects, visits))
        tally = Counter(effects.tally)
        tally.update(admitted.tally)
        await add_to_tally(db, worker_id, tally)
        return WriteResult(effects, admitted, tally)

    def on_commit(self, result: WriteResult) -> None:
        """Update the caches after the commit."""
        self._visit_writer.on_commit(result.effects)
        self._admitter.on_commit(result.admitted)
        if self._visited_filter is not None:
            self._visited_filter.on_commit(result.admitted.known)

    def mark_robots_stored(self, host_id: int, copy: RobotsCopy | None) -> None:
        self._visit_writer.mark_robots_stored(host_id, copy)


async def add_to_tally(db: Connection, worker_id: int, tally: Counter[str]) -> None:
    changed = sorted((name, count) for name, count in tally.items() if count)
    if changed:
        await db.execute(queries()["tally_add"], worker_id, *zip(*changed, strict=True))


def outbox_statements(content_ids: Sequence[int]) -> str:
    """The statements that assign event numbers: the last before COMMIT and sent together with it, because every other
    commit with events waits from here on until it is done."""
    if not content_ids:
        return ""
    numbers = ",".join(map(str, content_ids))
    return (
        f"UPDATE outbox_end SET seq = seq + {len(content_ids)}; "
        f"INSERT INTO outbox SELECT e.seq - {len(content_ids)} + c.position, c.id FROM outbox_end e, "
        f"unnest('{{{numbers}}}'::bigint[]) WITH ORDINALITY AS c (id, position);"
    )


def make_storable(visit: Visit) -> Visit:
    """The visit with texts that PostgreSQL can store: valid Unicode without NUL."""
    return rows.map_texts(visit, lambda text: rows.replace_surrogates(text).replace("\0", "\ufffd"))
