"""Writes visits: records, pages, queue rows and hosts, and pages made due because their site announces a change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from tenax.database import Similarity, rows
from tenax.database.duplicates import MAX_PAGES_PER_KEY, DuplicateSearch, Original
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries, write_rows
from tenax.database.rows import StoredRobotsHashes, milliseconds
from tenax.database.schedule import Entry
from tenax.database.visit_rows import (
    Effects,
    NewIds,
    PendingVisit,
    StoredPage,
    build_duplicate_keys,
    compute_effects,
    iter_change_notices,
    known_record_ids,
    record_rows,
)
from tenax.model import RobotsCopy

ID_BLOCK_SIZE = 4096
"""Number of ids per value of the sequence, as in its migration."""
IDS_PER_VISIT = 3
"""For the record, the visit and the content."""


class VisitWriter:
    """Writes visits in the transaction of `Writer`."""

    def __init__(self, similarity: Similarity | None) -> None:
        self._sql = queries()
        self._similarity = similarity
        self._free_ids: deque[int] = deque()
        self._stored_robots = StoredRobotsHashes()

    async def write_visits(self, db: Connection, visits: Sequence[PendingVisit]) -> Effects:
        if not visits:
            return Effects()
        await self._reserve_ids(db, len(visits) * IDS_PER_VISIT)
        stored = await self._load_stored_pages(db, known_record_ids(visits))
        duplicates = DuplicateSearch(self._similarity, build_duplicate_keys(visits, stored, self._similarity))
        await self._load_duplicates(db, duplicates)
        found = compute_effects(visits, stored, NewIds(*(self._free_ids.popleft,) * IDS_PER_VISIT), duplicates)
        for statement, values in record_rows(found):
            await write_rows(db, statement, values)
        await write_rows(db, "duplicate_index_remove", found.index_removals)
        await write_rows(db, "duplicate_index_add", found.index_additions)
        await write_rows(db, "queue_remove", found.removed_from_queue)
        await write_rows(db, "queue_reschedule", found.rescheduled)
        await write_rows(
            db, "hosts_update", [(host, rows.encode_host_state(found.hosts[host])) for host in sorted(found.hosts)]
        )
        robots = sorted(self._stored_robots.find_changed(found.hosts).items())
        await write_rows(db, "robots_put", [(host, rows.encode(copy)) for host, copy in robots])
        found.arrivals = await self._attach_stored_copies(db, found)
        return found

    def on_commit(self, effects: Effects) -> None:
        """Remember the robots.txt copies of a committed transaction."""
        for host_id, copy in self._stored_robots.find_changed(effects.hosts).items():
            self._stored_robots.mark_stored(host_id, copy)

    def mark_robots_stored(self, host_id: int, copy: RobotsCopy | None) -> None:
        """Remember the copy that is stored."""
        if copy is not None:
            self._stored_robots.mark_stored(host_id, copy)

    async def _reserve_ids(self, db: Connection, count: int) -> None:
        blocks = -((len(self._free_ids) - count) // ID_BLOCK_SIZE)
        if blocks > 0:
            for row in await db.fetch(self._sql["ids_reserve"], blocks):
                self._free_ids.extend(range(row[0], row[0] + ID_BLOCK_SIZE))

    async def _load_stored_pages(self, db: Connection, ids: list[int]) -> dict[int, StoredPage]:
        if not ids:
            return {}
        found = await db.fetch(self._sql["stored_pages"], ids)
        return {
            row[0]: StoredPage(
                row[1],
                row[2] > (row[3] or 0),
                row[6],
                version=tuple(row)[6:],
                content_hash=row[7],
                fingerprint=row[4],
                duplicate_of=row[5],
            )
            for row in found
        }

    async def _load_duplicates(self, db: Connection, duplicates: DuplicateSearch) -> None:
        keys = duplicates.keys
        if not keys:
            return
        index_rows = await db.fetch(self._sql["duplicate_index_find"], keys, MAX_PAGES_PER_KEY)
        wanted = duplicates.load_index_rows((row[0], row[1]) for row in index_rows)
        if wanted:
            duplicates.load_originals(Original(*row) for row in await db.fetch(self._sql["originals"], wanted))

    async def _attach_stored_copies(self, db: Connection, effects: Effects) -> list[tuple[int, Entry]]:
        """The rescheduled tasks, with their stored copies."""
        ids = [entry.record_id for _, entry in effects.arrivals]
        if not ids:
            return []
        stored_copies = {
            row[0]: rows.stored_copy_from_row(tuple(row)[1:]) for row in await db.fetch(self._sql["stored_copy"], ids)
        }
        return [
            (host_id, entry._replace(stored_copy=stored_copies.get(entry.record_id or 0)))
            for host_id, entry in effects.arrivals
        ]


async def expedite_changed_pages(
    db: Connection, visits: Sequence[PendingVisit], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Make pages due whose site announces a change. Call inside of a transaction. Returns the tasks that are due now,
    all at hosts that this worker leases."""
    announced: dict[tuple[int, int], int] = {}
    for one, change_notice in iter_change_notices(visits):
        row_key = (one.host_id, url_key(change_notice.url))
        announced[row_key] = max(milliseconds(change_notice.at), announced.get(row_key, 0))
    if not announced:
        return []
    sql, now_ms = queries(), milliseconds(now)
    hosts, keys = zip(*sorted(announced), strict=True)
    found = await db.fetch(
        sql["expedite_find"], hosts, keys, [announced[row_key] for row_key in sorted(announced)], now_ms
    )
    trusted = [row for row in found if rows.is_sitemap_trusted(row["change_history"])]
    if not trusted:
        return []
    queue_keys = zip(*((row["host_id"], row["next_visit_at"], row["key"]) for row in trusted), strict=True)
    moved = await db.fetch(sql["expedite_queue"], *queue_keys, now_ms)
    await db.execute(sql["expedite_record"], [row["record_id"] for row in moved], now_ms)
    stored_copies = {
        row[0]: rows.stored_copy_from_row(tuple(row)[1:])
        for row in await db.fetch(sql["stored_copy"], [row["id"] for row in trusted])
    }
    return [
        (row["host_id"], Entry(*tuple(row)[1:])._replace(stored_copy=stored_copies.get(row["record_id"])))
        for row in moved
    ]
