"""Queries for reports: status, URL history, pages, links, dead letters."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Protocol, TypeVar

from tenax.database import (
    DeadLetterRecord,
    DueTasks,
    HostStatus,
    PageFilter,
    PageLinks,
    PriorityFunction,
    Status,
    TaskState,
    UrlHistory,
    rows,
)
from tenax.database.page_codec import MAX_EVENT_BYTES, decode_events, page_from_row, page_text_bytes
from tenax.database.report_rows import (
    BUSIEST_HOSTS,
    PAGE_BATCH_SIZE,
    StatusRows,
    build_due_tasks,
    build_status,
    dead_letter_from_row,
    history_from_entry,
    history_from_record,
    horizon_ends,
)
from tenax.database.schedule import RANKS, Entry, Schedule
from tenax.database.sqlite.schema import key_secret, queries, transaction
from tenax.database.statements import (
    ROW_BATCH_SIZE,
    STATE_BATCH_SIZE,
    TASK_BATCH_SIZE,
    QueueKey,
    change_all_ranks,
    iterate_records,
    rank_changes,
)
from tenax.model import CanonicalCopy, Cursor, Event, HostRecord, Page


class Reader:
    """Reads from one connection, in one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._sql = queries()
        self._url_key = rows.make_url_key(key_secret(connection))

    def get_meta(self, name: str) -> bytes | None:
        row = self._db.execute(self._sql["meta_get"], (name,)).fetchone()
        return row[0] if row else None

    def counts(self) -> dict[str, int]:
        return dict(self._db.execute(self._sql["tallies"]).fetchall())

    def events(self, after: int, limit: int) -> list[Event]:
        with closing(self._db.execute(self._sql["events_after"], (after, limit))) as found:
            return decode_events(found)

    def host(self, origin: str) -> HostRecord | None:
        row = self._db.execute(self._sql["host_by_origin"], (origin,)).fetchone()
        return rows.decode_host_record(row[1], row[4], row[5]) if row else None

    def due_tasks(self, now: float, limit: int) -> DueTasks:
        counts = self._db.execute(self._sql["due_task_counts"], horizon_ends(now)).fetchone()
        return build_due_tasks(now, counts, self._db.execute(self._sql["due_tasks"], (limit,)).fetchall())

    def status(self, now: float, is_running: bool) -> Status:
        tally = self.counts()
        busiest = [
            HostStatus(
                host=rows.decode_host_record(origin, state, robots), waiting=waiting, next_due=self._next_due(host_id)
            )
            for host_id, origin, waiting, _, state, robots in self._db.execute(
                self._sql["hosts_busiest"], (BUSIEST_HOSTS,)
            )
        ]
        _, due_now = self._db.execute(self._sql["hosts_due"], {"now": now, "now_ms": int(now * 1000)}).fetchone()
        found = StatusRows(
            created=self.get_meta("created_at"),
            hosts=self._db.execute(self._sql["hosts_count"]).fetchone()[0],
            events=self._db.execute(self._sql["highest_ids"]).fetchone()[2],
            busiest=busiest,
            due_now=due_now,
            next_due=self._db.execute(self._sql["hosts_next_claim"]).fetchone()[0],
            cursors={
                sink: Cursor(seq=seq, position=position)
                for sink, seq, position in self._db.execute(self._sql["cursors"])
            },
            workers=int(is_running),
            cut_off=self._db.execute(self._sql["cut_off_counts"]).fetchall(),
            parked=self._db.execute(self._sql["parked_counts"]).fetchall(),
        )
        return build_status(tally, found, now)

    def canonical_copy(self, url: str) -> CanonicalCopy | None:
        row = self._db.execute(self._sql["canonical_get"], (rows.canonical_url_key(url), url)).fetchone()
        stored_copy = (
            rows.stored_copy_from_row(self._db.execute(self._sql["stored_copy"], {"id": row[0]}).fetchone())
            if row
            else None
        )
        return CanonicalCopy(row[1], stored_copy) if stored_copy is not None else None

    def url_history(self, url: str, origin: str) -> UrlHistory | None:
        found = self._db.execute(self._sql["host_by_origin"], (origin,)).fetchone()
        if found is None:
            return None
        host_id, _, _, _, state, robots = found
        key = self._url_key(url)
        row = self._fetch_row(self._sql["record_get"], (host_id, key))
        waiting = self._db.execute(self._sql["queue_find"], (host_id, key)).fetchone()
        entry = Entry(*waiting) if waiting else None
        host = rows.decode_host_record(origin, state, robots)
        if row is not None:
            return self._read_history(row, entry, host)
        return history_from_entry(url, entry, host, self._record_url(entry.via)) if entry is not None else None

    def _read_history(self, row: sqlite3.Row, entry: Entry | None, host: HostRecord) -> UrlHistory:
        visits = self._db.execute(self._sql["visits_get"], (row["last_visit"],)).fetchall()
        via, page = self._record_url(row["via"]), None
        if row["content_id"] is not None:
            content = self._db.execute(self._sql["content_get"], (row["content_id"],)).fetchone()
            page = page_from_row(row, content, via, self._record_url(row["duplicate_of"]))
        return history_from_record(row, entry, host, via=via, page=page, visits=[detail for _, detail in visits])

    def pages(self, page_filter: PageFilter) -> Iterator[list[Page]]:
        """Matching pages in batches."""
        after, text_bytes = 0, 0
        pages: list[Page] = []
        while found := self._fetch_rows(
            self._sql["pages"],
            {
                "after": after,
                "host": page_filter.host,
                "status": page_filter.status,
                "kind": page_filter.kind,
                "language": page_filter.language,
                "url_glob": page_filter.url_glob,
                "since": page_filter.since * 1000 if page_filter.since is not None else None,
                "limit": PAGE_BATCH_SIZE,
            },
        ):
            for row in found:
                pages.append(page_from_row(row, _content_columns(row), row["via_url"], row["duplicate_url"]))
                text_bytes += page_text_bytes(pages[-1])
                if text_bytes > MAX_EVENT_BYTES:
                    yield pages
                    pages, text_bytes = [], 0
            if pages:
                yield pages
                pages, text_bytes = [], 0
            after = found[-1]["id"]

    def dead_letters(self) -> Iterator[list[DeadLetterRecord]]:
        after = 0
        while found := self._fetch_rows(self._sql["dead_letters"], (after, PAGE_BATCH_SIZE)):
            yield [dead_letter_from_row(row) for row in found]
            after = found[-1]["id"]

    def _next_due(self, host_id: int) -> float | None:
        firsts = (self._db.execute(self._sql["queue_next_due"], (host_id, rank)).fetchone() for rank in range(RANKS))
        due = [row[0] for row in firsts if row]
        return min(due) / 1000 if due else None

    def _record_url(self, record_id: int | None) -> str | None:
        row = self._db.execute(self._sql["record_url"], (record_id,)).fetchone() if record_id else None
        return row[0] if row else None

    def _fetch_row(self, sql: str, parameters: tuple[object, ...]) -> sqlite3.Row | None:
        found = self._fetch_rows(sql, parameters)
        return found[0] if found else None

    def _fetch_rows(self, sql: str, parameters: tuple[object, ...] | dict[str, object]) -> list[sqlite3.Row]:
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(sql, parameters).fetchall()


def _content_columns(row: sqlite3.Row) -> tuple[bytes, bytes] | None:
    return (row["about"], row["body"]) if row["about"] is not None else None


T = TypeVar("T")


class RunInThread(Protocol):
    """Runs work in the only thread that uses the connection."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


class SqliteLinks:
    """Implements `tenax.database.Links`."""

    def __init__(self, connection: sqlite3.Connection, schedule: Schedule, run_in_thread: RunInThread) -> None:
        self._db = connection
        self._schedule = schedule
        self._run_in_thread = run_in_thread
        self._sql = queries()
        self._url_key = rows.make_url_key(key_secret(connection))

    def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        return iterate_records(lambda last: self._run_in_thread(partial(self._links_after, last, with_url_lists)))

    def _links_after(self, last: int, with_url_lists: bool) -> list[PageLinks]:
        found = self._db.execute(self._sql["links_after"], (last, with_url_lists, ROW_BATCH_SIZE))
        return [PageLinks(*row) for row in found]

    async def get(self, url: str) -> PageLinks | None:
        origin, key = rows.url_origin(url), self._url_key(url)
        row = await self._run_in_thread(lambda: self._db.execute(self._sql["link_get"], (origin, key)).fetchone())
        return PageLinks(url, origin, row[0]) if row else None

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for at in range(0, len(urls), STATE_BATCH_SIZE):
            part = urls[at : at + STATE_BATCH_SIZE]
            states |= {
                part[index]: TaskState(state)
                for index, state in await self._run_in_thread(partial(self._read_states, part))
            }
        return states

    def _read_states(self, urls: Sequence[str]) -> list[tuple[int, str]]:
        requested = rows.encode([(rows.url_origin(url), self._url_key(url)) for url in urls]).decode()
        return self._db.execute(self._sql["states_get"], (requested,)).fetchall()

    async def prioritize(self, choose_priority: PriorityFunction) -> int:
        async def change_part(last: QueueKey) -> tuple[QueueKey, int] | None:
            # Tasks in the window are identified by their rank, so changing the rank in the file would lose them.
            in_window = frozenset(self._schedule.host_ids)
            return await self._run_in_thread(partial(self._update_ranks, last, choose_priority, in_window))

        return await change_all_ranks(change_part)

    def _update_ranks(
        self, last: QueueKey, choose_priority: PriorityFunction, in_window: Collection[int]
    ) -> tuple[QueueKey, int] | None:
        """Update the next batch of waiting tasks. Returns the last of them, and how many ranks changed."""
        with transaction(self._db):
            found = self._db.execute(self._sql["waiting_after"], (*last, TASK_BATCH_SIZE)).fetchall()
            if not found:
                return None
            changes = rank_changes((task for task in found if task[0] not in in_window), choose_priority)
            self._db.execute(self._sql["queue_rank"], (rows.encode(changes).decode(),))
        return found[-1][:4], len(changes)
