"""PostgreSQL databases for the tests: one database for all of them, a schema for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.config import DatabaseConfig
from tests.contracts.database import FixedPace
from tests.database.postgres_databases import CONFIG, Databases
from tests.servers.postgres import PostgresServer

_numbers = count(1)


@pytest.fixture(scope="session")
def database_url(postgres_server: PostgresServer) -> str:
    """The URL of the shared database: a schema is created faster than a database. Removed with its server."""
    return postgres_server.create("databases")


@pytest.fixture
def config() -> DatabaseConfig:
    return msgspec.structs.replace(CONFIG, schema=f"a test {next(_numbers)}")


@pytest.fixture
async def databases(database_url: str, config: DatabaseConfig) -> AsyncIterator[Databases]:
    """Opens as many as a test needs. At its end they are closed, and an integrity check must pass."""
    databases = Databases(database_url, config, ManualClock(), FixedPace())
    yield databases
    await databases.close()
