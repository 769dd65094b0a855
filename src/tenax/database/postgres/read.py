"""What people ask the ledger: status, the life of a URL, pages, dead letters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from tenax.database import Agenda, HostLine, LetterRecord, Life, PageFilter, Status, rows
from tenax.database.page_codec import events_of, page_of
from tenax.database.postgres.connection import Connection, Link, Row
from tenax.database.postgres.schema import queries
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
from tenax.database.schedule import Entry
from tenax.model import CanonicalCopy, Cursor, Event, HostRecord, Page

COUNTED_EXACTLY = 2_000_000
"""Of a larger queue only a sample is counted, to say which hosts have the most tasks."""


class Reader:
    """Reads over one connection."""

    def __init__(self, link: Link, secret: bytes) -> None:
        self._link = link
        self._sql = queries()
        self._url_key = rows.keys_by(secret)

    async def meta(self, name: str) -> bytes | None:
        value: bytes | None = await self._value("meta_get", name)
        return value

    async def events(self, after: int, limit: int) -> list[Event]:
        found = await self._all("events_after", after, limit)
        return events_of((seq, at, page, body) for seq, at, page, body in found)

    async def host(self, origin: str) -> HostRecord | None:
        row = await self._one("host_by_origin", origin)
        return rows.host_record(row["origin"], row["state"], row["copy"]) if row else None

    async def agenda(self, now: float, limit: int) -> Agenda:
        counts = await self._one("agenda_counts", *horizons(now))
        tasks = [tuple(row) for row in await self._all("agenda", limit)]
        return agenda_of(now, tuple(counts or ()), tasks)

    async def status(self, now: float, me: int) -> Status:
        """As of about now; `me` is the worker that does not count as another."""
        tally = await self._link.ask(tallies)
        load = await self._load(now)
        created = await self.meta("created_at")
        workers = await self._value("workers_alive", now, me)
        return status_of(
            tally,
            now,
            created=created,
            hosts=tally.get("hosts", 0),
            events=await self._value("events_told"),
            busiest=[
                HostLine(
                    host=rows.host_record(row["origin"], row["state"], row["copy"]),
                    waiting=row["waiting"],
                    next_due=row["due"] / 1000 if row["due"] is not None else None,
                )
                for row in load
            ],
            due_now=load[0]["due_now"] if load else 0,
            next_due=await self._value("hosts_next_turn"),
            cursors={row["sink"]: Cursor(row["seq"], row["position"]) for row in await self._all("cursors")},
            workers=workers,
            cut_off=[(row[0], row[1], row[2]) for row in await self._all("cut_off_counts")],
            parked=[(row[0], row[1]) for row in await self._all("parked_counts")],
        )

    async def _load(self, now: float) -> list[Row]:
        size = await self._value("queue_size")
        percent = min(100.0, 100.0 * COUNTED_EXACTLY / max(size, 1))
        sample = f"TABLESAMPLE SYSTEM ({percent:f})" if percent < 100 else ""
        sql = self._sql["hosts_load"].replace("{sample}", f"{percent:f}").replace("{tablesample}", sample)
        return await self._link.ask(lambda db: db.fetch(sql, BUSIEST, now))

    # -- one URL --------------------------------------------------------------------------------------------

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        row = await self._one("canonical_of", rows.key_of_canonical(url), url)
        found = await self._one("held", [row["id"]]) if row is not None else None
        held = rows.held_of(tuple(found)[1:]) if found is not None else None
        return CanonicalCopy(row["url"], held) if row is not None and held is not None else None

    async def life(self, url: str, origin: str) -> Life | None:
        found = await self._one("host_by_origin", origin)
        if found is None:
            return None
        key = self._url_key(url)
        row = await self._one("record_of", found["id"], key)
        waiting = await self._one("queue_find", found["id"], key)
        entry = Entry(*waiting) if waiting else None
        host = rows.host_record(origin, found["state"], found["copy"])
        if row is not None:
            return await self._life_of_record(row, entry, host)
        return life_of_task(url, entry, host, await self._url_of(entry.via)) if entry is not None else None

    async def _life_of_record(self, row: Row, entry: Entry | None, host: HostRecord) -> Life:
        via = await self._url_of(row["via"])
        visits = await self._all("visits_of", row["last_visit"])
        page = None
        if row["content_id"] is not None:
            content = await self._one("content_of", row["content_id"])
            original = await self._url_of(row["duplicate_of"])
            page = page_of(row, (content["page"], content["body"]) if content is not None else None, via, original)
        return life_of_record(row, entry, host, via, page, [visit["detail"] for visit in visits])

    async def _url_of(self, record_id: int | None) -> str | None:
        url: str | None = await self._value("url_of_record", record_id) if record_id else None
        return url

    # -- many -----------------------------------------------------------------------------------------------

    async def pages(self, where: PageFilter) -> AsyncIterator[Page]:
        after = 0
        while found := await self._all(
            "pages",
            after,
            _host_pattern(where.host),
            where.status,
            where.kind,
            where.language,
            _pattern(where.url_glob),
            where.since * 1000 if where.since is not None else None,
            PAGES_AT_ONCE,
        ):
            for row in found:
                content = (row["about"], row["body"]) if row["about"] is not None else None
                yield page_of(row, content, row["via_url"], row["duplicate_url"])
            after = found[-1]["id"]

    async def dead_letters(self) -> AsyncIterator[LetterRecord]:
        after = 0
        while found := await self._all("dead_letters", after, PAGES_AT_ONCE):
            for row in found:
                yield letter_of(row)
            after = found[-1]["id"]

    # -- asking ---------------------------------------------------------------------------------------------

    async def _all(self, name: str, *args: object) -> list[Row]:
        return await self._link.ask(lambda db: db.fetch(self._sql[name], *args))

    async def _one(self, name: str, *args: object) -> Row | None:
        return await self._link.ask(lambda db: db.fetchrow(self._sql[name], *args))

    async def _value(self, name: str, *args: object) -> Any:
        return await self._link.ask(lambda db: db.fetchval(self._sql[name], *args))


async def tallies(db: Connection) -> dict[str, int]:
    """The running counts of all workers, added up."""
    return {row[0]: row[1] for row in await db.fetch(queries()["tallies"])}


def _host_pattern(host: str | None) -> str | None:
    """A host as people name it, with or without scheme and port."""
    if host is None:
        return None
    inner = _regex(host)
    return f"^(?:{inner}|.*://{inner}(?::.*)?)$"


def _pattern(glob: str | None) -> str | None:
    """`*` any text, `?` any character, `[a-z]` one of these; the whole URL must fit."""
    return None if glob is None else f"^{_regex(glob)}$"


def _regex(glob: str) -> str:
    """A glob as a regular expression of PostgreSQL."""
    parts = re.split(r"(\*|\?|\[\^?\]?[^\]]*\])", glob)
    return "".join(_piece(part) for part in parts)


def _piece(part: str) -> str:
    if part == "*":
        return ".*"
    if part == "?":
        return "."
    if part.startswith("[") and part.endswith("]"):
        return part.replace("\\", "\\\\")
    return re.sub(r"([^\w/:;,=&%@!~'\" <>-])", r"\\\1", part)
