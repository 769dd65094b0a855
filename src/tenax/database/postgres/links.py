"""The link graph in PostgreSQL: packed links per page, and task priorities computed from them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tenax.database import PageLinks, PriorityFunction, TaskState, rows
from tenax.database.postgres.connection import Connection, PostgresConnection, Row
from tenax.database.postgres.schema import queries
from tenax.model import Priority

T = TypeVar("T")
QueueKey = tuple[int, int, int, int]
"""Primary key of the queue: host, rank, due time and key."""

ROW_BATCH_SIZE = 500
STATE_BATCH_SIZE = 1000
TASK_BATCH_SIZE = 5000
"""Waiting tasks read in one transaction."""
FIRST_KEY: QueueKey = (-1, 0, 0, 0)


class RunInTransaction(Protocol):
    """Runs work in a transaction of its own, again after a conflict."""

    async def __call__(self, work: Callable[[Connection], Awaitable[T]]) -> T: ...


class PostgresLinks:
    """Implements `tenax.database.Links`."""

    def __init__(self, connection: PostgresConnection, secret: bytes, run_in_transaction: RunInTransaction) -> None:
        self._connection = connection
        self._run_in_transaction = run_in_transaction
        self._sql = queries()
        self._url_key = rows.make_url_key(secret)

    async def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        last = 0
        while found := await self._connection.run_idempotent(partial(self._links_after, last, with_url_lists)):
            for page in found:
                yield page
            last = found[-1].record_id

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
        changed, last = 0, FIRST_KEY
        while True:
            part = await self._run_in_transaction(partial(self._update_ranks, last, choose_priority))
            if part is None:
                return changed
            last, count = part
            changed += count

    async def _update_ranks(
        self, last: QueueKey, choose_priority: PriorityFunction, db: Connection
    ) -> tuple[QueueKey, int] | None:
        """Update the next batch of waiting tasks; returns the last of them, and how many ranks changed."""
        found = await db.fetch(self._sql["waiting_after"], *last, TASK_BATCH_SIZE)
        if not found:
            return None
        changes = [
            (host_id, rank, due, key, better)
            for host_id, rank, due, key, url, source in found
            if (better := 3 - choose_priority(url, rows.SOURCES[source], Priority(3 - rank))) != rank
        ]
        # A worker that leases a host identifies its tasks by rank; changing it would lose them.
        hosts = sorted({change[0] for change in changes})
        unleased = {row["id"] for row in await db.fetch(self._sql["hosts_lock_unleased"], hosts)}
        changes = [change for change in changes if change[0] in unleased]
        moved = await db.fetch(self._sql["queue_rank"], *zip(*changes, strict=True)) if changes else []
        host_id, rank, due, key, *_ = found[-1]
        return (host_id, rank, due, key), len(moved)
