"""What visits themselves change in the tables: their records and pages, their places in the queue, their hosts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tenax.database import Likeness, rows
from tenax.database.duplicates import MOST_HOLDERS, Duplicates, Original
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries
from tenax.database.robots_cache import RobotsWritten
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Effects, Numbers, Settling, Stored, Values, effects_of, prints_of, to_look_up
from tenax.model import RobotsCopy

BLOCK = 4096
"""How many numbers the sequence gives at once; as in its migration."""
NUMBERS_PER_VISIT = 3
"""Of its record, of itself, of its page."""


async def insert(db: Connection, name: str, values: Sequence[Values]) -> None:
    """Many rows by one statement, which takes a column at a time."""
    if values:
        await db.execute(queries()[name], *zip(*values, strict=True))


class Settler:
    """Writes visits, within the transaction of the writer."""

    def __init__(self, likeness: Likeness | None) -> None:
        self._sql = queries()
        self._likeness = likeness
        self._numbers: deque[int] = deque()
        self._robots = RobotsWritten()

    async def settle(self, db: Connection, settlings: Sequence[Settling]) -> Effects:
        if not settlings:
            return Effects()
        await self._fetch_numbers(db, len(settlings) * NUMBERS_PER_VISIT)
        stored = await self._stored(db, to_look_up(settlings))
        duplicates = Duplicates(self._likeness, prints_of(settlings, stored, self._likeness))
        await self._look_up(db, duplicates)
        found = effects_of(settlings, stored, Numbers(*(self._numbers.popleft,) * NUMBERS_PER_VISIT), duplicates)
        await insert(db, "visit_add", found.visits)
        await insert(db, "record_put", found.bare)
        await insert(db, "record_put_page", found.pages)
        await insert(db, "content_add", found.contents)
        await insert(db, "link_put", found.links)
        await insert(db, "cut_off_clear", found.read_again)
        await insert(db, "cut_off_add", sorted(found.cut))
        await insert(db, "record_catalogue", found.catalogues)
        await insert(db, "record_awaited", found.awaited)
        await insert(db, "record_freshness", found.freshness)
        await insert(db, "likeness_remove", found.left)
        await insert(db, "likeness_add", found.entered)
        await insert(db, "record_confirm", found.confirmed)
        await insert(db, "queue_remove", found.removed)
        await insert(db, "queue_again", found.again)
        await insert(db, "hosts_learn", [(host, rows.host_state(found.hosts[host])) for host in sorted(found.hosts)])
        robots = sorted(self._robots.new(found.hosts).items())
        await insert(db, "robots_put", [(host, rows.encode(copy)) for host, copy in robots])
        found.arrivals = await self._with_held(db, found)
        return found

    def written(self, found: Effects) -> None:
        """The transaction is committed: what was written need not be written again."""
        for host_id, copy in self._robots.new(found.hosts).items():
            self._robots.written(host_id, copy)

    def knows_robots(self, host_id: int, copy: RobotsCopy | None) -> None:
        """This is what is written there."""
        if copy is not None:
            self._robots.written(host_id, copy)

    async def _fetch_numbers(self, db: Connection, count: int) -> None:
        blocks = -((len(self._numbers) - count) // BLOCK)
        if blocks > 0:
            for row in await db.fetch(self._sql["numbers"], blocks):
                self._numbers.extend(range(row[0], row[0] + BLOCK))

    async def _stored(self, db: Connection, ids: list[int]) -> dict[int, Stored]:
        if not ids:
            return {}
        found = await db.fetch(self._sql["stored_pages"], ids)
        return {
            row[0]: Stored(row[1], row[2] > (row[3] or 0), row[6], tuple(row)[6:], row[7], row[4], row[5])
            for row in found
        }

    async def _look_up(self, db: Connection, duplicates: Duplicates) -> None:
        keys = duplicates.keys
        if not keys:
            return
        holders = await db.fetch(self._sql["likeness_find"], keys, MOST_HOLDERS)
        wanted = duplicates.found((row[0], row[1]) for row in holders)
        if wanted:
            duplicates.fetched(Original(*row) for row in await db.fetch(self._sql["originals"], wanted))

    async def _with_held(self, db: Connection, found: Effects) -> list[tuple[int, Entry]]:
        """Tasks that wait again, with what is held of them by now."""
        ids = [entry.record_id for _, entry in found.arrivals]
        if not ids:
            return []
        held = {row[0]: rows.held_of(tuple(row)[1:]) for row in await db.fetch(self._sql["held"], ids)}
        return [(host_id, entry._replace(held=held.get(entry.record_id or 0))) for host_id, entry in found.arrivals]
