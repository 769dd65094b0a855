"""The link graph in SQLite: packed links per page, and task priorities computed from them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tenax.database import PageLinks, PriorityFunction, TaskState, rows
from tenax.database.schedule import Schedule
from tenax.database.sqlite.schema import key_secret, queries, transaction
from tenax.model import Priority

T = TypeVar("T")
QueueKey = tuple[int, int, int, int]
"""Primary key of the queue: host, rank, due time and key."""

ROW_BATCH_SIZE = 500
STATE_BATCH_SIZE = 1000
TASK_BATCH_SIZE = 5000
"""Waiting tasks read in one transaction."""
FIRST_KEY: QueueKey = (-1, 0, 0, 0)


class RunInThread(Protocol):
    """Runs work in the one thread that uses the connection."""

    async def __call__(self, work: Callable[[], T]) -> T: ...


class SqliteLinks:
    """Implements `tenax.database.Links`."""

    def __init__(self, connection: sqlite3.Connection, schedule: Schedule, run_in_thread: RunInThread) -> None:
        self._db = connection
        self._schedule = schedule
        self._run_in_thread = run_in_thread
        self._sql = queries()
        self._url_key = rows.make_url_key(key_secret(connection))

    async def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        last = 0
        while found := await self._run_in_thread(partial(self._links_after, last, with_url_lists)):
            for page in found:
                yield page
            last = found[-1].record_id

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
        changed, last = 0, FIRST_KEY
        while True:
            # Tasks in the window are identified by their rank; changing it in the file would lose them.
            part = await self._run_in_thread(
                partial(self._update_ranks, last, choose_priority, frozenset(self._schedule.host_ids))
            )
            if part is None:
                return changed
            last, count = part
            changed += count

    def _update_ranks(
        self, last: QueueKey, choose_priority: PriorityFunction, in_window: Collection[int]
    ) -> tuple[QueueKey, int] | None:
        """Update the next batch of waiting tasks; returns the last of them, and how many ranks changed."""
        with transaction(self._db):
            found = self._db.execute(self._sql["waiting_after"], (*last, TASK_BATCH_SIZE)).fetchall()
            if not found:
                return None
            changes = [
                (host_id, rank, due, key, better)
                for host_id, rank, due, key, url, source in found
                if host_id not in in_window
                and (better := 3 - choose_priority(url, rows.SOURCES[source], Priority(3 - rank))) != rank
            ]
            self._db.execute(self._sql["queue_rank"], (rows.encode(changes).decode(),))
        return found[-1][:4], len(changes)
