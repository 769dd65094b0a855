"""Writes visits: records, pages, queue rows and hosts, and pages made due because their site announces a change."""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count

from tenax.database import Similarity, rows
from tenax.database.duplicates import DuplicateSearch, Original
from tenax.database.rows import StoredRobotsHashes, milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite.schema import queries, select_many, write_rows
from tenax.database.statements import ROUND_KEY
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
from tenax.model import HostRecord, Reschedule, StoredCopy

MAX_BUFFERED_ROWS = 8192
"""Number of rows of `duplicate_index` that are buffered before they are written: those of about 500 pages."""


class DuplicateIndex:
    """The table `duplicate_index`, with a write buffer.

    Its keys are random, so nearly each of a page's 17 rows changes a different block of the file, and more is written
    for them than for the page itself. Rows that are written together share blocks, so new rows are buffered in memory.
    A copy of them is stored in `meta` in the transaction of their pages. After a crash the next process restores it.
    Call every method inside of a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._sql = queries()
        self._buffered: list[tuple[int, int]] = []
        self._buffered_keys: set[int] = set()
        self._backup_count = 0
        for (copy,) in connection.execute(self._sql["duplicate_index_backups"]).fetchall():
            self._buffer([(key, record_id) for key, record_id in _ROW.iter_unpack(copy)])

    def find(self, keys: Sequence[int]) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = select_many(self._db, "duplicate_index_find", keys)
        if self._buffered_keys.isdisjoint(keys):
            return found
        wanted = set(keys)
        return found + [row for row in self._buffered if row[0] in wanted]

    def update(self, removed: Sequence[tuple[int, int]], added: Sequence[tuple[int, int]]) -> None:
        """Call this last in a transaction, because the buffer is not rolled back."""
        if any(key in self._buffered_keys for key, _ in removed):
            self.flush()
        self._db.executemany(self._sql["duplicate_index_remove"], removed)
        if not added:
            return
        copy = struct.pack(f"<{2 * len(added)}q", *chain.from_iterable(added))
        self._db.execute(self._sql["meta_put"], (f"duplicate_index buffer {self._backup_count}", copy))
        self._backup_count += 1
        self._buffer(added)
        if len(self._buffered) >= MAX_BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows to the table."""
        write_rows(self._db, "duplicate_index_add", self._buffered)
        self._db.execute(self._sql["duplicate_index_clear_backups"])
        self._buffered.clear()
        self._buffered_keys.clear()
        self._backup_count = 0

    def _buffer(self, added: Sequence[tuple[int, int]]) -> None:
        self._buffered += added
        self._buffered_keys.update(key for key, _ in added)


_ROW = struct.Struct("<qq")


class VisitWriter:
    """Writes visits in the transaction of `Writer`."""

    def __init__(self, connection: sqlite3.Connection, similarity: Similarity | None) -> None:
        self._db = connection
        self._similarity = similarity
        self._sql = queries()
        self._stored_robots = StoredRobotsHashes()
        self.duplicate_index = DuplicateIndex(connection)
        highest = connection.execute(self._sql["highest_ids"]).fetchone()
        self._new_ids = NewIds(*(count(number + 1).__next__ for number in highest))
        began = connection.execute(self._sql["meta_get"], (ROUND_KEY,)).fetchone()
        self.round_started_ms = int(began[0]) if began else 0

    def write_visits(self, visits: Sequence[PendingVisit]) -> Effects:
        """Write the visits, without their candidates and hosts."""
        stored = self._load_stored_pages(known_record_ids(visits))
        duplicates = DuplicateSearch(self._similarity, build_duplicate_keys(visits, stored, self._similarity))
        self._load_duplicates(duplicates)
        found = compute_effects(visits, stored, self._new_ids, duplicates)
        for statement, values in record_rows(found):
            write_rows(self._db, statement, values)
        queue_keys = [(one.host_id, *one.entry[:3]) for one in visits]
        self._db.execute(self._sql["queue_remove"], (rows.encode(queue_keys).decode(),))
        found.arrivals = self._attach_stored_copies(visits, found)
        write_rows(self._db, "queue_add", [(host_id, *entry.columns) for host_id, entry in found.arrivals])
        return found

    def forget_robots(self) -> None:
        """Write robots.txt copies again, because the last writes may not have been committed."""
        self._stored_robots.forget()

    def _load_stored_pages(self, ids: list[int]) -> dict[int, StoredPage]:
        if not ids:
            return {}
        found = self._db.execute(self._sql["stored_pages"], (rows.encode(ids).decode(),)).fetchall()
        return {
            row[0]: StoredPage(
                row[1],
                row[2] > self.round_started_ms,
                row[5],
                version=row[5:],
                content_hash=row[6],
                fingerprint=row[3],
                duplicate_of=row[4],
            )
            for row in found
        }

    def _load_duplicates(self, duplicates: DuplicateSearch) -> None:
        keys = duplicates.keys
        if not keys:
            return
        wanted = duplicates.load_index_rows(self.duplicate_index.find(keys))
        if wanted:
            rows_found = self._db.execute(self._sql["originals"], (rows.encode(wanted).decode(),))
            duplicates.load_originals(Original(*row) for row in rows_found)

    def _attach_stored_copies(self, visits: Sequence[PendingVisit], effects: Effects) -> list[tuple[int, Entry]]:
        """The rescheduled tasks, with their stored copies."""
        planned = [one for one in visits if isinstance(one.visit.plan, Reschedule)]
        return [
            (host_id, entry._replace(stored_copy=self._read_stored_copy(one, entry)))
            for one, (host_id, entry) in zip(planned, effects.arrivals, strict=True)
        ]

    def _read_stored_copy(self, one: PendingVisit, entry: Entry) -> StoredCopy | None:
        if entry.stored_copy is None and rows.outcome_http_status(one.visit.outcome) is None:
            return None  # there is no response yet
        return rows.stored_copy_from_row(self._db.execute(self._sql["stored_copy"], {"id": entry.record_id}).fetchone())

    def write_hosts(self, hosts: Mapping[int, HostRecord], waiting: Counter[int]) -> None:
        """Write the newest host records, and the changes of their waiting counts. A robots.txt is written only if it
        has changed."""
        new = self._stored_robots.find_changed(hosts)
        copies = {host_id: rows.encode(copy) for host_id, copy in new.items()}
        self._db.executemany(
            self._sql["host_update"],
            [
                (waiting[host_id], record.next_at, rows.encode_host_state(record), copies.get(host_id), host_id)
                for host_id, record in hosts.items()
            ],
        )
        for host_id, copy in new.items():
            self._stored_robots.mark_stored(host_id, copy)


def expedite_changed_pages(
    db: sqlite3.Connection, visits: Sequence[PendingVisit], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Make pages due whose site announces a change. Call inside of a transaction. Returns the tasks that are due
    now."""
    sql, now_ms = queries(), milliseconds(now)
    arrivals: list[tuple[int, Entry]] = []
    for one, change_notice in iter_change_notices(visits):
        row_key = (one.host_id, url_key(change_notice.url))
        found = db.execute(sql["expedite_find"], (*row_key, now_ms, milliseconds(change_notice.at))).fetchone()
        if found is None or not rows.is_sitemap_trusted(found[2]):
            continue
        record_id, due, _ = found
        moved = db.execute(sql["expedite_queue"], (now_ms, row_key[0], due, row_key[1])).fetchone()
        if moved is not None:
            db.execute(sql["expedite_record"], (now_ms, record_id))
            stored_copy = rows.stored_copy_from_row(db.execute(sql["stored_copy"], {"id": record_id}).fetchone())
            arrivals.append((row_key[0], Entry(*moved)._replace(stored_copy=stored_copy)))
    return arrivals
