"""The link graph on the server: rows of packed links, and the levels of waiting tasks that follow from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from tenax.database import LevelOf, PageLinks, TaskState, rows
from tenax.database.postgres.connection import Connection, Link, Row
from tenax.database.postgres.schema import queries
from tenax.model import Priority

T = TypeVar("T")
Place = tuple[int, int, int, int]
"""Of a waiting task in the queue: host, rank, due time and key."""

ROWS_AT_ONCE = 500
STATES_AT_ONCE = 1000
TASKS_AT_ONCE = 5000
"""Waiting tasks looked at in one transaction."""
BEGINNING: Place = (-1, 0, 0, 0)


class InTransaction(Protocol):
    """Runs work in a transaction of its own, again if it collides with another's."""

    async def __call__(self, work: Callable[[Connection], Awaitable[T]]) -> T: ...


class PostgresLinks:
    """See `tenax.database.Links` for what it promises."""

    def __init__(self, link: Link, secret: bytes, in_transaction: InTransaction) -> None:
        self._link = link
        self._in_transaction = in_transaction
        self._sql = queries()
        self._url_key = rows.keys_by(secret)

    async def all(self, *, with_lists: bool = False) -> AsyncIterator[PageLinks]:
        last = 0
        while found := await self._link.ask(partial(self._after, last, with_lists)):
            for page in found:
                yield page
            last = found[-1].record_id

    async def _after(self, last: int, with_lists: bool, db: Connection) -> list[PageLinks]:
        return [PageLinks(*row) for row in await db.fetch(self._sql["links_after"], last, with_lists, ROWS_AT_ONCE)]

    async def of(self, url: str) -> PageLinks | None:
        origin, key = rows.origin_of(url), self._url_key(url)
        packed = await self._link.ask(lambda db: db.fetchval(self._sql["link_of"], origin, key))
        return PageLinks(url, origin, packed) if packed is not None else None

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        states: dict[str, TaskState] = {}
        for at in range(0, len(urls), STATES_AT_ONCE):
            part = urls[at : at + STATES_AT_ONCE]
            found = await self._link.ask(partial(self._states_of, part))
            states |= {part[row["place"] - 1]: TaskState(row["state"]) for row in found}
        return states

    async def _states_of(self, urls: Sequence[str], db: Connection) -> Sequence[Row]:
        origins, keys = [rows.origin_of(url) for url in urls], [self._url_key(url) for url in urls]
        return await db.fetch(self._sql["states_of"], origins, keys)

    async def prioritize(self, level_of: LevelOf) -> int:
        changed, last = 0, BEGINNING
        while True:
            part = await self._in_transaction(partial(self._rank, last, level_of))
            if part is None:
                return changed
            last, count = part
            changed += count

    async def _rank(self, last: Place, level_of: LevelOf, db: Connection) -> tuple[Place, int] | None:
        """The next part of the waiting tasks; the last of them, and how many have another rank now."""
        found = await db.fetch(self._sql["waiting_after"], *last, TASKS_AT_ONCE)
        if not found:
            return None
        changes = [
            (host_id, rank, due, key, better)
            for host_id, rank, due, key, url, source in found
            if (better := 3 - level_of(url, rows.SOURCES[source], Priority(3 - rank))) != rank
        ]
        # Who holds a host knows its tasks by their rank, and would leave them behind.
        hosts = sorted({change[0] for change in changes})
        at_rest = {row["id"] for row in await db.fetch(self._sql["hosts_at_rest"], hosts)}
        changes = [change for change in changes if change[0] in at_rest]
        moved = await db.fetch(self._sql["queue_rank"], *zip(*changes, strict=True)) if changes else []
        host_id, rank, due, key, *_ = found[-1]
        return (host_id, rank, due, key), len(moved)
