"""The link graph in the file: rows of packed links, and the levels of waiting tasks that follow from it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tenax.database import LevelOf, PageLinks, TaskState, rows
from tenax.database.schedule import Schedule
from tenax.database.sqlite.schema import key_secret, queries, transaction
from tenax.model import Priority

T = TypeVar("T")
Place = tuple[int, int, int, int]
"""Of a waiting task in the queue: host, rank, due time and key."""

ROWS_AT_ONCE = 500
STATES_AT_ONCE = 1000
TASKS_AT_ONCE = 5000
"""Waiting tasks looked at in one transaction."""
BEGINNING: Place = (-1, 0, 0, 0)


class InThread(Protocol):
    """Runs work in the one thread that touches the database."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


class SqliteLinks:
    """See `tenax.database.Links` for what it promises."""

    def __init__(self, connection: sqlite3.Connection, schedule: Schedule, in_thread: InThread) -> None:
        self._db = connection
        self._schedule = schedule
        self._in_thread = in_thread
        self._sql = queries()
        self._url_key = rows.keys_by(key_secret(connection))

    async def all(self, *, with_lists: bool = False) -> AsyncIterator[PageLinks]:
        last = 0
        while found := await self._in_thread(partial(self._after, last, with_lists)):
            for page in found:
                yield page
            last = found[-1].record_id

    def _after(self, last: int, with_lists: bool) -> list[PageLinks]:
        found = self._db.execute(self._sql["links_after"], (last, with_lists, ROWS_AT_ONCE))
        return [PageLinks(*row) for row in found]

    async def of(self, url: str) -> PageLinks | None:
        origin, key = rows.origin_of(url), self._url_key(url)
        row = await self._in_thread(lambda: self._db.execute(self._sql["link_of"], (origin, key)).fetchone())
        return PageLinks(url, origin, row[0]) if row else None

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for at in range(0, len(urls), STATES_AT_ONCE):
            part = urls[at : at + STATES_AT_ONCE]
            states |= {part[place]: TaskState(state) for place, state in await self._in_thread(partial(self._of, part))}
        return states

    def _of(self, urls: Sequence[str]) -> list[tuple[int, str]]:
        asked = rows.encode([(rows.origin_of(url), self._url_key(url)) for url in urls]).decode()
        return self._db.execute(self._sql["states_of"], (asked,)).fetchall()

    async def prioritize(self, level_of: LevelOf) -> int:
        changed, last = 0, BEGINNING
        while True:
            # Tasks in the window are known in memory by their rank, and would be left behind in the file.
            part = await self._in_thread(partial(self._rank, last, level_of, frozenset(self._schedule.ids)))
            if part is None:
                return changed
            last, count = part
            changed += count

    def _rank(self, last: Place, level_of: LevelOf, in_window: Collection[int]) -> tuple[Place, int] | None:
        """The next part of the waiting tasks; the last of them, and how many have another rank now."""
        with transaction(self._db):
            found = self._db.execute(self._sql["waiting_after"], (*last, TASKS_AT_ONCE)).fetchall()
            if not found:
                return None
            changes = [
                (host_id, rank, due, key, better)
                for host_id, rank, due, key, url, source in found
                if host_id not in in_window
                and (better := 3 - level_of(url, rows.SOURCES[source], Priority(3 - rank))) != rank
            ]
            self._db.execute(self._sql["queue_rank"], (rows.encode(changes).decode(),))
        return found[-1][:4], len(changes)
