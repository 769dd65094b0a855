"""What visits change in the tables: their records and pages, their places in the queue, their hosts."""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, count

from tenax.database import Likeness, rows
from tenax.database.duplicates import Duplicates, Original
from tenax.database.robots_cache import RobotsWritten
from tenax.database.schedule import Entry
from tenax.database.sqlite.schema import one_of_many, queries, write_rows
from tenax.database.visit_rows import Effects, Numbers, Settling, Stored, effects_of, prints_of, to_look_up
from tenax.model import Again, Held, HostRecord

ROUND = "round_began"
"""The name under which the time is kept since when pages count as visited anew, in milliseconds."""
MOST_WAITING = 8192
"""Rows of `likeness` that wait to be written together: those of about 500 pages."""


class LikenessRows:
    """The table `likeness`. Its keys lie all over it, so that nearly each of a page's 17 rows changes a block of the
    file that nothing else changes: more is written for them than for the page itself. Many together share blocks, so
    new rows wait in memory until there are many. A copy of them waits in `meta`, written with the pages that they are
    of: if the process dies, the next one puts them in their place. All calls are made within a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._sql = queries()
        self._waiting: list[tuple[int, int]] = []
        self._waiting_keys: set[int] = set()
        self._copies = 0
        for (copy,) in connection.execute(self._sql["likeness_kept"]).fetchall():
            self._wait([(key, record_id) for key, record_id in _ROW.iter_unpack(copy)])

    def find(self, keys: Sequence[int]) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = one_of_many(self._db, "likeness_find", keys)
        if self._waiting_keys.isdisjoint(keys):
            return found
        wanted = set(keys)
        return found + [row for row in self._waiting if row[0] in wanted]

    def change(self, left: Sequence[tuple[int, int]], entered: Sequence[tuple[int, int]]) -> None:
        """The last act of a transaction: what waits in memory is not rolled back."""
        if any(key in self._waiting_keys for key, _ in left):
            self.place()
        self._db.executemany(self._sql["likeness_remove"], left)
        if not entered:
            return
        copy = struct.pack(f"<{2 * len(entered)}q", *chain.from_iterable(entered))
        self._db.execute(self._sql["meta_put"], (f"likeness waits {self._copies}", copy))
        self._copies += 1
        self._wait(entered)
        if len(self._waiting) >= MOST_WAITING:
            self.place()

    def place(self) -> None:
        """Write what waits."""
        write_rows(self._db, "likeness_add", self._waiting)
        self._db.execute(self._sql["likeness_placed"])
        self._waiting.clear()
        self._waiting_keys.clear()
        self._copies = 0

    def _wait(self, entered: Sequence[tuple[int, int]]) -> None:
        self._waiting += entered
        self._waiting_keys.update(key for key, _ in entered)


_ROW = struct.Struct("<qq")


class Settler:
    """Writes visits, within the transaction of the ledger's writer."""

    def __init__(self, connection: sqlite3.Connection, likeness: Likeness | None) -> None:
        self._db = connection
        self._likeness = likeness
        self._sql = queries()
        self._robots = RobotsWritten()
        self.likeness_rows = LikenessRows(connection)
        highest = connection.execute(self._sql["highest_ids"]).fetchone()
        self._numbers = Numbers(*(count(number + 1).__next__ for number in highest))
        began = connection.execute(self._sql["meta_get"], (ROUND,)).fetchone()
        self.round_began = int(began[0]) if began else 0

    def settle(self, settlings: Sequence[Settling]) -> Effects:
        """Write what the visits themselves changed."""
        stored = self._stored(to_look_up(settlings))
        duplicates = Duplicates(self._likeness, prints_of(settlings, stored, self._likeness))
        self._look_up(duplicates)
        found = effects_of(settlings, stored, self._numbers, duplicates)
        write_rows(self._db, "visit_add", found.visits)
        write_rows(self._db, "record_put", found.bare)
        write_rows(self._db, "record_put_page", found.pages)
        write_rows(self._db, "content_add", found.contents)
        write_rows(self._db, "link_put", found.links)
        self._db.executemany(self._sql["cut_off_clear"], found.read_again)
        write_rows(self._db, "cut_off_add", found.cut)
        self._db.executemany(self._sql["record_catalogue"], found.catalogues)
        self._db.executemany(self._sql["record_awaited"], found.awaited)
        self._db.executemany(self._sql["record_freshness"], found.freshness)
        self._db.executemany(self._sql["record_confirm"], found.confirmed)
        places = [(one.host_id, *one.entry[:3]) for one in settlings]
        self._db.execute(self._sql["queue_remove"], (rows.encode(places).decode(),))
        found.arrivals = self._with_held(settlings, found)
        write_rows(self._db, "queue_add", [(host_id, *entry.columns) for host_id, entry in found.arrivals])
        return found

    def forget_robots(self) -> None:
        """What was written last may not have been kept: write it again."""
        self._robots.forget()

    def _stored(self, ids: list[int]) -> dict[int, Stored]:
        if not ids:
            return {}
        found = self._db.execute(self._sql["stored_pages"], (rows.encode(ids).decode(),)).fetchall()
        return {
            row[0]: Stored(row[1], row[2] > self.round_began, row[5], row[5:], row[6], row[3], row[4]) for row in found
        }

    def _look_up(self, duplicates: Duplicates) -> None:
        keys = duplicates.keys
        if not keys:
            return
        wanted = duplicates.found(self.likeness_rows.find(keys))
        if wanted:
            rows_found = self._db.execute(self._sql["originals"], (rows.encode(wanted).decode(),))
            duplicates.fetched(Original(*row) for row in rows_found)

    def _with_held(self, settlings: Sequence[Settling], found: Effects) -> list[tuple[int, Entry]]:
        """Tasks that wait again, with what is held of them by now."""
        planned = [one for one in settlings if isinstance(one.visit.plan, Again)]
        return [
            (host_id, entry._replace(held=self._held(one, entry)))
            for one, (host_id, entry) in zip(planned, found.arrivals, strict=True)
        ]

    def _held(self, one: Settling, entry: Entry) -> Held | None:
        if entry.held is None and rows.http_status_of(one.visit.outcome) is None:
            return None  # nothing came of it yet
        return rows.held_of(self._db.execute(self._sql["held"], {"id": entry.record_id}).fetchone())

    def learn(self, hosts: Mapping[int, HostRecord], waiting: Counter[int]) -> None:
        """Write the newest records of hosts, and how many more tasks wait there.

        A robots.txt only when it is another than the one written last.
        """
        new = self._robots.new(hosts)
        copies = {host_id: rows.encode(copy) for host_id, copy in new.items()}
        self._db.executemany(
            self._sql["host_learn"],
            [
                (waiting[host_id], record.next_at, rows.host_state(record), copies.get(host_id), host_id)
                for host_id, record in hosts.items()
            ],
        )
        for host_id, copy in new.items():
            self._robots.written(host_id, copy)
