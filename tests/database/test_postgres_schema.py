"""The integrity check of a PostgreSQL database."""

from __future__ import annotations

import pytest

from tenax.clock import ManualClock
from tenax.database import Database
from tenax.database.postgres import PostgresDatabase
from tests.contracts.database import Opened
from tests.contracts.integrity import IntegrityContract, Ruin
from tests.database.postgres_databases import Databases

OWN_RUINS = {
    "UPDATE host SET has_work = false, holder = NULL": "1 hosts with waiting tasks that are not marked as having work",
    "UPDATE host SET holder = 77 WHERE has_work": "hosts leased by a worker that has ended",
    "UPDATE worker SET ended_at = 1": "hosts leased by a worker that has ended",
    "DELETE FROM content": "1 events without their content",
    "UPDATE outbox_end SET seq = 0": "1 events with numbers beyond the last",
    "DELETE FROM tally WHERE name = 'admitted'": "the tally says admitted: 0, there are 3",
    "DELETE FROM tally WHERE name = 'hosts'": "the tally says hosts: 0, there are 3",
}


@pytest.fixture
def clock(databases: Databases) -> ManualClock:
    return databases.clock


@pytest.fixture
def opened(databases: Databases) -> Opened:
    async def open_it() -> Database:
        return await databases.open()

    return open_it


@pytest.fixture
def ruin(databases: Databases) -> Ruin:
    async def run(database: Database, sql: str) -> None:
        assert isinstance(database, PostgresDatabase)
        databases.is_ruined = True
        await database._query_connection.run_idempotent(
            lambda db: db.execute("ALTER TABLE record DROP CONSTRAINT IF EXISTS record_host_id_key_key")
        )
        await database._query_connection.run_idempotent(lambda db: db.execute(sql))

    return run


class TestPostgresIntegrity(IntegrityContract):
    @pytest.mark.parametrize("sql", OWN_RUINS)
    async def test_what_only_it_can_get_wrong(
        self, opened: Opened, clock: ManualClock, ruin: Ruin, databases: Databases, sql: str
    ) -> None:
        database = await opened()
        await self.fill(database, clock)
        await ruin(database, sql)
        assert any(problem.endswith(OWN_RUINS[sql]) for problem in await database.find_problems())
        await ruin(database, "UPDATE host SET holder = 77; DELETE FROM tally")  # still wrong after any worker ends
