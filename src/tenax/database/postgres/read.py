"""Queries for reports: status, URL history, pages, links, dead letters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

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
from tenax.database.page_codec import decode_events, page_from_row
from tenax.database.postgres.connection import Connection, PostgresConnection, Row
from tenax.database.postgres.schema import queries
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
from tenax.database.schedule import Entry
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

EXACT_COUNT_LIMIT = 2_000_000
"""Of a larger queue only a sample is counted to find the hosts with the most tasks."""


class Reader:
    """Reads over one connection."""

    def __init__(self, connection: PostgresConnection, secret: bytes) -> None:
        self._connection = connection
        self._sql = queries()
        self._url_key = rows.make_url_key(secret)

    async def get_meta(self, name: str) -> bytes | None:
        value: bytes | None = await self._fetch_value("meta_get", name)
        return value

    async def events(self, after: int, limit: int) -> list[Event]:
        found = await self._fetch_all("events_after", after, limit)
        return decode_events((seq, at, page, body) for seq, at, page, body in found)

    async def host(self, origin: str) -> HostRecord | None:
        row = await self._fetch_one("host_by_origin", origin)
        return rows.decode_host_record(row["origin"], row["state"], row["copy"]) if row else None

    async def due_tasks(self, now: float, limit: int) -> DueTasks:
        counts = await self._fetch_one("due_task_counts", *horizon_ends(now))
        tasks = [tuple(row) for row in await self._fetch_all("due_tasks", limit)]
        return build_due_tasks(now, tuple(counts or ()), tasks)

    async def status(self, now: float, worker_id: int) -> Status:
        """The approximate status at this time. `worker_id` is our own, which is not counted as another worker."""
        tally = await self._connection.run_idempotent(read_tally)
        load = await self._read_load(now)
        created = await self.get_meta("created_at")
        workers = await self._fetch_value("workers_alive", now, worker_id)
        found = StatusRows(
            created=created,
            hosts=tally.get("hosts", 0),
            events=await self._fetch_value("events_last_seq"),
            busiest=[
                HostStatus(
                    host=rows.decode_host_record(row["origin"], row["state"], row["copy"]),
                    waiting=row["waiting"],
                    next_due=row["due"] / 1000 if row["due"] is not None else None,
                )
                for row in load
            ],
            due_now=load[0]["due_now"] if load else 0,
            next_due=await self._fetch_value("hosts_next_claim"),
            cursors={row["sink"]: Cursor(row["seq"], row["position"]) for row in await self._fetch_all("cursors")},
            workers=workers,
            cut_off=[(row[0], row[1], row[2]) for row in await self._fetch_all("cut_off_counts")],
            parked=[(row[0], row[1]) for row in await self._fetch_all("parked_counts")],
        )
        return build_status(tally, found, now)

    async def _read_load(self, now: float) -> list[Row]:
        size = await self._fetch_value("queue_size")
        percent = min(100.0, 100.0 * EXACT_COUNT_LIMIT / max(size, 1))
        sample = f"TABLESAMPLE SYSTEM ({percent:f})" if percent < 100 else ""
        sql = self._sql["hosts_load"].replace("{sample}", f"{percent:f}").replace("{tablesample}", sample)
        return await self._connection.run_idempotent(lambda db: db.fetch(sql, BUSIEST_HOSTS, now))

    # -- one URL --------------------------------------------------------------------------------------------

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        row = await self._fetch_one("canonical_get", rows.canonical_url_key(url), url)
        found = await self._fetch_one("stored_copy", [row["id"]]) if row is not None else None
        stored_copy = rows.stored_copy_from_row(tuple(found)[1:]) if found is not None else None
        return CanonicalCopy(row["url"], stored_copy) if row is not None and stored_copy is not None else None

    async def url_history(self, url: str, origin: str) -> UrlHistory | None:
        found = await self._fetch_one("host_by_origin", origin)
        if found is None:
            return None
        key = self._url_key(url)
        row = await self._fetch_one("record_get", found["id"], key)
        waiting = await self._fetch_one("queue_find", found["id"], key)
        entry = Entry(*waiting) if waiting else None
        host = rows.decode_host_record(origin, found["state"], found["copy"])
        if row is not None:
            return await self._read_history(row, entry, host)
        return history_from_entry(url, entry, host, await self._record_url(entry.via)) if entry is not None else None

    async def _read_history(self, row: Row, entry: Entry | None, host: HostRecord) -> UrlHistory:
        via = await self._record_url(row["via"])
        visits = await self._fetch_all("visits_get", row["last_visit"])
        page = None
        if row["content_id"] is not None:
            content = await self._fetch_one("content_get", row["content_id"])
            original = await self._record_url(row["duplicate_of"])
            page = page_from_row(
                row, (content["page"], content["body"]) if content is not None else None, via, original
            )
        return history_from_record(row, entry, host, via=via, page=page, visits=[visit["detail"] for visit in visits])

    async def _record_url(self, record_id: int | None) -> str | None:
        url: str | None = await self._fetch_value("record_url", record_id) if record_id else None
        return url

    # -- many -----------------------------------------------------------------------------------------------

    async def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        after = 0
        while found := await self._fetch_all(
            "pages",
            after,
            _host_pattern(page_filter.host),
            page_filter.status,
            page_filter.kind,
            page_filter.language,
            _glob_pattern(page_filter.url_glob),
            page_filter.since * 1000 if page_filter.since is not None else None,
            PAGE_BATCH_SIZE,
        ):
            for row in found:
                content = (row["about"], row["body"]) if row["about"] is not None else None
                yield page_from_row(row, content, row["via_url"], row["duplicate_url"])
            after = found[-1]["id"]

    async def dead_letters(self) -> AsyncIterator[DeadLetterRecord]:
        after = 0
        while found := await self._fetch_all("dead_letters", after, PAGE_BATCH_SIZE):
            for row in found:
                yield dead_letter_from_row(row)
            after = found[-1]["id"]

    # -- queries --------------------------------------------------------------------------------------------

    async def _fetch_all(self, name: str, *args: object) -> list[Row]:
        return await self._connection.run_idempotent(lambda db: db.fetch(self._sql[name], *args))

    async def _fetch_one(self, name: str, *args: object) -> Row | None:
        return await self._connection.run_idempotent(lambda db: db.fetchrow(self._sql[name], *args))

    async def _fetch_value(self, name: str, *args: object) -> Any:
        return await self._connection.run_idempotent(lambda db: db.fetchval(self._sql[name], *args))


async def read_tally(db: Connection) -> dict[str, int]:
    """The sums of all workers' counters."""
    return {row[0]: row[1] for row in await db.fetch(queries()["tallies"])}


def _host_pattern(host: str | None) -> str | None:
    """A pattern that matches the host, with or without scheme and port."""
    if host is None:
        return None
    inner = _glob_regex(host)
    return f"^(?:{inner}|.*://{inner}(?::.*)?)$"


def _glob_pattern(glob: str | None) -> str | None:
    """A pattern for a glob that must match the whole URL: `*` is any text, `?` any character, `[a-z]` one of these."""
    return None if glob is None else f"^{_glob_regex(glob)}$"


def _glob_regex(glob: str) -> str:
    """A glob as a PostgreSQL regular expression."""
    parts = re.split(r"(\*|\?|\[\^?\]?[^\]]*\])", glob)
    return "".join(_glob_part_regex(part) for part in parts)


def _glob_part_regex(part: str) -> str:
    if part == "*":
        return ".*"
    if part == "?":
        return "."
    if part.startswith("[") and part.endswith("]"):
        return part.replace("\\", "\\\\")
    return re.sub(r"([^\w/:;,=&%@!~'\" <>-])", r"\\\1", part)


T = TypeVar("T")


class RunInTransaction(Protocol):
    """Runs work in a transaction of its own, and again after a conflict."""

    async def __call__(self, work: Callable[[Connection], Awaitable[T]]) -> T: ...


class PostgresLinks:
    """Implements `tenax.database.Links`."""

    def __init__(self, connection: PostgresConnection, secret: bytes, run_in_transaction: RunInTransaction) -> None:
        self._connection = connection
        self._run_in_transaction = run_in_transaction
        self._sql = queries()
        self._url_key = rows.make_url_key(secret)

    def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        run = self._connection.run_idempotent
        return iterate_records(lambda last: run(partial(self._links_after, last, with_url_lists)))

    async def _links_after(self, last: int, with_url_lists: bool, db: Connection) -> list[PageLinks]:
        return [
            PageLinks(*row) for row in await db.fetch(self._sql["links_after"], last, with_url_lists, ROW_BATCH_SIZE)
        ]

    async def get(self, url: str) -> PageLinks | None:
        origin, key = rows.url_origin(url), self._url_key(url)
        packed = await self._connection.run_idempotent(lambda db: db.fetchval(self._sql["link_get"], origin, key))
        return PageLinks(url, origin, packed) if packed is not None else None

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for at in range(0, len(urls), STATE_BATCH_SIZE):
            part = urls[at : at + STATE_BATCH_SIZE]
            found = await self._connection.run_idempotent(partial(self._read_states, part))
            states |= {part[row["position"] - 1]: TaskState(row["state"]) for row in found}
        return states

    async def _read_states(self, urls: Sequence[str], db: Connection) -> Sequence[Row]:
        origins, keys = [rows.url_origin(url) for url in urls], [self._url_key(url) for url in urls]
        return await db.fetch(self._sql["states_get"], origins, keys)

    async def prioritize(self, choose_priority: PriorityFunction) -> int:
        return await change_all_ranks(
            lambda last: self._run_in_transaction(partial(self._update_ranks, last, choose_priority))
        )

    async def _update_ranks(
        self, last: QueueKey, choose_priority: PriorityFunction, db: Connection
    ) -> tuple[QueueKey, int] | None:
        """Update the next batch of waiting tasks. Returns the last of them, and how many ranks changed."""
        found = await db.fetch(self._sql["waiting_after"], *last, TASK_BATCH_SIZE)
        if not found:
            return None
        changes = rank_changes((tuple(task) for task in found), choose_priority)
        # A worker that leases a host identifies its tasks by rank, so changing the rank would lose them.
        hosts = sorted({change[0] for change in changes})
        unleased = {row["id"] for row in await db.fetch(self._sql["hosts_lock_unleased"], hosts)}
        changes = [change for change in changes if change[0] in unleased]
        moved = await db.fetch(self._sql["queue_rank"], *zip(*changes, strict=True)) if changes else []
        host_id, rank, due, key, *_ = found[-1]
        return (host_id, rank, due, key), len(moved)
