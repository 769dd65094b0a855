"""What people ask the ledger: status, the life of a URL, pages, dead letters."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from tenax.database import Agenda, HostLine, LetterRecord, Life, PageFilter, Status, rows
from tenax.database.page_codec import EVENTS_BYTES, events_of, page_of
from tenax.database.report_rows import (
    BUSIEST,
    PAGES_AT_ONCE,
    agenda_of,
    horizons,
    letter_of,
    life_of_record,
    life_of_task,
    status_of,
)
from tenax.database.schedule import RANKS, Entry
from tenax.database.sqlite.schema import key_secret, queries
from tenax.model import CanonicalCopy, Cursor, Event, HostRecord, Page


class Reader:
    """Reads from one connection; lives in one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._sql = queries()
        self._url_key = rows.keys_by(key_secret(connection))

    def meta(self, name: str) -> bytes | None:
        row = self._db.execute(self._sql["meta_get"], (name,)).fetchone()
        return row[0] if row else None

    def counts(self) -> dict[str, int]:
        return dict(self._db.execute(self._sql["tallies"]).fetchall())

    def events(self, after: int, limit: int) -> list[Event]:
        with closing(self._db.execute(self._sql["events_after"], (after, limit))) as found:
            return events_of(found)

    def host(self, origin: str) -> HostRecord | None:
        row = self._db.execute(self._sql["host_by_origin"], (origin,)).fetchone()
        return rows.host_record(row[1], row[4], row[5]) if row else None

    def agenda(self, now: float, limit: int) -> Agenda:
        counts = self._db.execute(self._sql["agenda_counts"], horizons(now)).fetchone()
        return agenda_of(now, counts, self._db.execute(self._sql["agenda"], (limit,)).fetchall())

    def status(self, now: float, is_running: bool) -> Status:
        tally = self.counts()
        busiest = [
            HostLine(host=rows.host_record(origin, state, robots), waiting=waiting, next_due=self._next_due(host_id))
            for host_id, origin, waiting, _, state, robots in self._db.execute(self._sql["hosts_busiest"], (BUSIEST,))
        ]
        _, due_now = self._db.execute(self._sql["hosts_due"], {"now": now, "now_ms": int(now * 1000)}).fetchone()
        return status_of(
            tally,
            now,
            created=self.meta("created_at"),
            hosts=self._db.execute(self._sql["hosts_count"]).fetchone()[0],
            events=self._db.execute(self._sql["highest_ids"]).fetchone()[2],
            busiest=busiest,
            due_now=due_now,
            next_due=self._db.execute(self._sql["hosts_next_turn"]).fetchone()[0],
            cursors={
                sink: Cursor(seq=seq, position=position)
                for sink, seq, position in self._db.execute(self._sql["cursors"])
            },
            workers=int(is_running),
            cut_off=self._db.execute(self._sql["cut_off_counts"]),
            parked=self._db.execute(self._sql["parked_counts"]),
        )

    def canonical_copy(self, url: str) -> CanonicalCopy | None:
        row = self._db.execute(self._sql["canonical_of"], (rows.key_of_canonical(url), url)).fetchone()
        held = rows.held_of(self._db.execute(self._sql["held"], {"id": row[0]}).fetchone()) if row else None
        return CanonicalCopy(row[1], held) if held is not None else None

    def life(self, url: str, origin: str) -> Life | None:
        found = self._db.execute(self._sql["host_by_origin"], (origin,)).fetchone()
        if found is None:
            return None
        host_id, _, _, _, state, robots = found
        key = self._url_key(url)
        row = self._named(self._sql["record_of"], (host_id, key))
        waiting = self._db.execute(self._sql["queue_find"], (host_id, key)).fetchone()
        entry = Entry(*waiting) if waiting else None
        host = rows.host_record(origin, state, robots)
        if row is not None:
            return self._life_of_record(row, entry, host)
        return life_of_task(url, entry, host, self._url_of(entry.via)) if entry is not None else None

    def _life_of_record(self, row: sqlite3.Row, entry: Entry | None, host: HostRecord) -> Life:
        visits = self._db.execute(self._sql["visits_of"], (row["last_visit"],)).fetchall()
        via, page = self._url_of(row["via"]), None
        if row["content_id"] is not None:
            content = self._db.execute(self._sql["content_of"], (row["content_id"],)).fetchone()
            page = page_of(row, content, via, self._url_of(row["duplicate_of"]))
        return life_of_record(row, entry, host, via, page, [detail for _, detail in visits])

    def pages(self, where: PageFilter) -> Iterator[list[Page]]:
        """Pages that fit, some at a time."""
        after, text_bytes = 0, 0
        pages: list[Page] = []
        while found := self._named_all(
            self._sql["pages"],
            {
                "after": after,
                "host": where.host,
                "status": where.status,
                "kind": where.kind,
                "language": where.language,
                "url_glob": where.url_glob,
                "since": where.since * 1000 if where.since is not None else None,
                "limit": PAGES_AT_ONCE,
            },
        ):
            for row in found:
                pages.append(page_of(row, _content(row), row["via_url"], row["duplicate_url"]))
                text_bytes += pages[-1].text_bytes
                if text_bytes > EVENTS_BYTES:
                    yield pages
                    pages, text_bytes = [], 0
            if pages:
                yield pages
                pages, text_bytes = [], 0
            after = found[-1]["id"]

    def dead_letters(self) -> Iterator[list[LetterRecord]]:
        after = 0
        while found := self._named_all(self._sql["dead_letters"], (after, PAGES_AT_ONCE)):
            yield [letter_of(row) for row in found]
            after = found[-1]["id"]

    def _next_due(self, host_id: int) -> float | None:
        firsts = (self._db.execute(self._sql["queue_next_due"], (host_id, rank)).fetchone() for rank in range(RANKS))
        due = [row[0] for row in firsts if row]
        return min(due) / 1000 if due else None

    def _url_of(self, record_id: int | None) -> str | None:
        row = self._db.execute(self._sql["url_of_record"], (record_id,)).fetchone() if record_id else None
        return row[0] if row else None

    def _named(self, sql: str, parameters: tuple[object, ...]) -> sqlite3.Row | None:
        found = self._named_all(sql, parameters)
        return found[0] if found else None

    def _named_all(self, sql: str, parameters: tuple[object, ...] | dict[str, object]) -> list[sqlite3.Row]:
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(sql, parameters).fetchall()


def _content(row: sqlite3.Row) -> tuple[bytes, bytes] | None:
    return (row["about"], row["body"]) if row["about"] is not None else None
