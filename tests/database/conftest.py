"""Ledgers on PostgreSQL for the tests: one database for all of them, a schema for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import LedgerConfig
from tests.contracts.ledger import Manners
from tests.database.postgres_ledgers import CONFIG, Ledgers
from tests.servers.postgres import PostgresServer

_numbers = count(1)


@pytest.fixture(scope="session")
def ledger_database(postgres_server: PostgresServer) -> str:
    """Its URL. A schema is made faster than a database. It goes with its server."""
    return postgres_server.create("ledgers")


@pytest.fixture
def config() -> LedgerConfig:
    return msgspec.structs.replace(CONFIG, schema=f"a test {next(_numbers)}")


@pytest.fixture
async def ledgers(ledger_database: str, config: LedgerConfig) -> AsyncIterator[Ledgers]:
    """Opens as many as a test needs. At its end they are closed, and their tables must not contradict each other."""
    ledgers = Ledgers(ledger_database, config, ManualClock(), Manners())
    yield ledgers
    await ledgers.close()
