"""What people ask the ledger: status, the life of a URL, pages, dead letters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from tenax.ledger import HostLine, LetterRecord, Life, PageFilter, Status, TaskState, rows
from tenax.ledger.postgres.link import Connection, Link, Row
from tenax.ledger.postgres.schema import queries
from tenax.ledger.schedule import Entry
from tenax.model import Cursor, Event, HostRecord, Page, Priority

PAGES_AT_ONCE = 200
BUSIEST = 20
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
        return [Event(seq=seq, at=at, page=rows.event_page(page, body)) for seq, at, page, body in found]

    async def host(self, origin: str) -> HostRecord | None:
        row = await self._one("host_by_origin", origin)
        return rows.host_record(row["origin"], row["state"], row["copy"]) if row else None

    async def status(self, now: float, me: int) -> Status:
        """As of about now; `me` is the worker that does not count as another."""
        tally = await self._link.ask(tallies)
        load = await self._load(now)
        created = await self.meta("created_at")
        workers = await self._value("workers_alive", now, me)
        return Status(
            created_at=float(created) if created else now,
            now=now,
            waiting=tally.get("waiting", 0),
            settled=tally.get("settled", 0),
            dead=tally.get("dead", 0),
            pages=tally.get("pages", 0),
            articles=tally.get("articles", 0),
            hosts=tally.get("hosts", 0),
            body_bytes=tally.get("body_bytes", 0),
            wire_bytes=tally.get("wire_bytes", 0),
            saved_bytes=tally.get("saved_bytes", 0),
            events=await self._value("events_told"),
            outcomes=rows.with_prefix(tally, "outcome:"),
            refusals=rows.with_prefix(tally, "refusal:"),
            busiest=tuple(
                HostLine(
                    host=rows.host_record(row["origin"], row["state"], row["copy"]),
                    waiting=row["waiting"],
                    next_due=row["due"] / 1000 if row["due"] is not None else None,
                )
                for row in load
            ),
            due_now=load[0]["due_now"] if load else 0,
            next_due=await self._value("hosts_next_turn"),
            cursors={row["sink"]: Cursor(row["seq"], row["position"]) for row in await self._all("cursors")},
            is_running=workers > 0,
            workers=workers,
        )

    async def _load(self, now: float) -> list[Row]:
        size = await self._value("queue_size")
        percent = min(100.0, 100.0 * COUNTED_EXACTLY / max(size, 1))
        sample = f"TABLESAMPLE SYSTEM ({percent:f})" if percent < 100 else ""
        sql = self._sql["hosts_load"].replace("{sample}", f"{percent:f}").replace("{tablesample}", sample)
        return await self._link.ask(lambda db: db.fetch(sql, BUSIEST, now))

    # -- one URL --------------------------------------------------------------------------------------------

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
        return await self._life_of_task(url, entry, host) if entry is not None else None

    async def _life_of_task(self, url: str, entry: Entry, host: HostRecord) -> Life:
        return Life(
            url=url,
            state=TaskState.WAITING,
            discovered_at=entry.found / 1000,
            source=rows.SOURCES[entry.source],
            depth=entry.depth,
            priority=Priority(3 - entry.rank),
            via=await self._url_of(entry.via),
            chain=rows.chain_of(entry.chain),
            due=entry.due / 1000,
            attempt=entry.attempt,
            host=host,
        )

    async def _life_of_record(self, row: Row, entry: Entry | None, host: HostRecord) -> Life:
        via = await self._url_of(row["via"])
        visits = await self._all("visits_of", row["last_visit"])
        has_page = row["content_id"] is not None
        text = rows.unpack(await self._value("content_of", row["content_id"])) if has_page else ""
        return Life(
            url=row["origin"] + row["path"],
            state=TaskState(row["state"]),
            discovered_at=row["discovered_at"] / 1000,
            source=rows.SOURCES[row["source"]],
            depth=row["depth"],
            priority=Priority(row["priority"]),
            via=via,
            chain=rows.chain_of(row["chain"]),
            due=entry.due / 1000 if entry else None,
            attempt=row["attempt"],
            cause=row["error_message"] if row["state"] == "dead" else None,
            page=rows.page_of(row, text, via) if has_page else None,
            visits=tuple(rows.visit_record(visit["detail"]) for visit in visits),
            host=host,
        )

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
                yield rows.page_of(row, rows.unpack(row["body"]), row["via_url"])
            after = found[-1]["id"]

    async def dead_letters(self) -> AsyncIterator[LetterRecord]:
        after = 0
        while found := await self._all("dead_letters", after, PAGES_AT_ONCE):
            for row in found:
                yield LetterRecord(
                    url=row["origin"] + row["path"],
                    cause=row["error_message"] or "",
                    at=row["last_visit_at"] / 1000,
                    attempt=row["attempt"],
                    depth=row["depth"],
                    via=row["via_url"],
                )
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
