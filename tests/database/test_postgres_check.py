"""What a ledger on PostgreSQL finds wrong with itself."""

from __future__ import annotations

import pytest

from tenax.clock import ManualClock
from tenax.database import Ledger
from tenax.database.postgres import PostgresLedger
from tests.contracts.contradictions import ContradictionsContract, Ruin
from tests.contracts.ledger import Opened
from tests.database.postgres_ledgers import Ledgers

OWN_RUINS = {
    "UPDATE host SET has_work = false, holder = NULL": "1 hosts with waiting tasks that nobody would look at",
    "UPDATE host SET holder = 77 WHERE has_work": "hosts held by a worker that is no more",
    "UPDATE worker SET ended_at = 1": "hosts held by a worker that is no more",
    "DELETE FROM content": "1 events without their content",
    "UPDATE outbox_end SET seq = 0": "1 events with numbers beyond the last",
    "DELETE FROM tally WHERE name = 'admitted'": "the tally says admitted: 0, there are 3",
    "DELETE FROM tally WHERE name = 'hosts'": "the tally says hosts: 0, there are 3",
}


@pytest.fixture
def clock(ledgers: Ledgers) -> ManualClock:
    return ledgers.clock


@pytest.fixture
def opened(ledgers: Ledgers) -> Opened:
    async def open_it() -> Ledger:
        return await ledgers.open()

    return open_it


@pytest.fixture
def ruin(ledgers: Ledgers) -> Ruin:
    async def run(ledger: Ledger, sql: str) -> None:
        assert isinstance(ledger, PostgresLedger)
        ledgers.is_ruined = True
        await ledger._ears.ask(
            lambda db: db.execute("ALTER TABLE record DROP CONSTRAINT IF EXISTS record_host_id_key_key")
        )
        await ledger._ears.ask(lambda db: db.execute(sql))

    return run


class TestPostgresContradictions(ContradictionsContract):
    @pytest.mark.parametrize("sql", OWN_RUINS)
    async def test_what_only_it_can_get_wrong(
        self, opened: Opened, clock: ManualClock, ruin: Ruin, ledgers: Ledgers, sql: str
    ) -> None:
        ledger = await opened()
        await self.fill(ledger, clock)
        await ruin(ledger, sql)
        assert any(problem.endswith(OWN_RUINS[sql]) for problem in await ledger.problems())
        await ruin(ledger, "UPDATE host SET holder = 77; DELETE FROM tally")  # wrong for good, whoever leaves
