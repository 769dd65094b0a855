"""Every inconsistency that a database can find: how a test damages the tables, and the reported problem."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tenax.clock import ManualClock
from tenax.database import Database
from tenax.model import DeadLetter, Failed, FailureKind, PageKind
from tests.contracts.database import Opened, candidate, claimed, page_of, visit_of

Ruin = Callable[[Database, str], Awaitable[None]]
"""Runs a statement on the tables directly."""

RUINS = {
    "DELETE FROM seen WHERE (host_id, key) IN (SELECT host_id, key FROM queue)":
        "1 waiting tasks that were never admitted",
    "INSERT INTO queue (host_id, rank, due, key, found, depth, attempt, source, path) "
    "SELECT host_id, rank, due + 1, key, found, depth, attempt, source, path FROM queue":
        "1 tasks that wait more than once",
    "UPDATE record SET key = (SELECT key FROM queue), host_id = (SELECT host_id FROM queue) WHERE state = 'dead'":
        "1 waiting tasks whose record says that they are settled, dead or parked",
    "UPDATE record SET state = 'waiting' WHERE state = 'dead'":
        "1 records that say they wait, and are not in the queue",
    "DELETE FROM queue": "1 admitted URLs that are neither waiting nor recorded",
    "DELETE FROM content": "1 pages without their content",
    "UPDATE tally SET count = count + 7 WHERE name = 'waiting'": "the tally says waiting: 8, there are 1",
    "UPDATE tally SET count = count - 1 WHERE name = 'settled'": "the tally says settled: 0, there are 1",
    "UPDATE record SET state = 'settled' WHERE state = 'dead'": "the tally says dead: 1, there are 0",
    "UPDATE record SET content_id = NULL": "the tally says pages: 1, there are 0",
    "DELETE FROM tally WHERE name = 'articles'": "the tally says articles: 0, there are 1",
    "UPDATE record SET duplicate_of = id WHERE content_id IS NOT NULL": "the tally says duplicates: 0, there are 1",
    "UPDATE record SET duplicate_of = 999": "2 duplicates of pages that are not there",
    "INSERT INTO duplicate_index VALUES (5, 999)":
        "1 rows of the duplicate index that refer to a duplicate or to no page",
}  # fmt: skip


class IntegrityContract:
    @pytest.mark.parametrize("sql", RUINS)
    async def test_each_problem_is_reported(self, opened: Opened, clock: ManualClock, ruin: Ruin, sql: str) -> None:
        database = await opened()
        await self.fill(database, clock)
        assert await database.find_problems() == []
        await ruin(database, sql)
        assert RUINS[sql] in await database.find_problems()

    async def fill(self, database: Database, clock: ManualClock) -> None:
        """One page, one dead letter, one task that waits."""
        await database.admit([candidate(f"https://{name}.test/") for name in ("a", "b", "c")])
        first, second = await claimed(database), await claimed(database)
        await database.commit(visit_of(first, clock, page=page_of(first, clock, kind=PageKind.ARTICLE)))
        await database.commit(
            visit_of(second, clock, Failed("no such name", FailureKind.DNS), DeadLetter("it is gone"))
        )
