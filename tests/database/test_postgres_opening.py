"""Opening a PostgreSQL database: created once by any number of workers, with a clear error if it cannot be opened."""

from __future__ import annotations

import asyncio
import re
import socket
import sys

import asyncpg
import msgspec
import pytest

from tenax.clock import ManualClock, SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.postgres import PostgresDatabase, migrate, server_clock_offset
from tenax.database.postgres.connection import Address, translate_error
from tenax.database.postgres.schema import latest_version, migrations
from tenax.errors import ConfigError, DatabaseNotFound, DatabaseUnavailable, DatabaseUnusable, TenaxError
from tests.contracts.database import FixedPace, candidate
from tests.database.postgres_databases import Databases
from tests.servers.postgres import PASSWORD, PostgresServer
from tests.servers.processes import free_port


async def refusal(url: str, config: DatabaseConfig, *, read_only: bool) -> TenaxError:
    """The error when it cannot be opened: one line, without the password."""
    with pytest.raises(TenaxError) as error:
        await PostgresDatabase.open(url, config, ManualClock(), FixedPace(), read_only=read_only)
    text = str(error.value)
    assert "\n" not in text
    for secret in (PASSWORD, "a%20secret", "wrong"):
        assert secret not in text
    return error.value


@pytest.fixture(params=[False, True], ids=["write", "read"])
def read_only(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# ---- the address ------------------------------------------------------------------------------------------


async def test_a_wrong_password(postgres_server: PostgresServer, config: DatabaseConfig, read_only: bool) -> None:
    error = await refusal(postgres_server.url(password="wrong"), config, read_only=read_only)
    assert isinstance(error, DatabaseUnusable)
    assert re.search(r"PostgreSQL at 127\.0\.0\.1:\d+ does not let 'tenax' in: check the user and the pass", str(error))


async def test_a_missing_database(postgres_server: PostgresServer, config: DatabaseConfig, read_only: bool) -> None:
    error = await refusal(postgres_server.url("nowhere"), config, read_only=read_only)
    assert re.search(r"there is no database 'nowhere' at .*create it: createdb nowhere", str(error))


async def test_nobody_listens(config: DatabaseConfig, read_only: bool) -> None:
    url = f"postgresql://tenax:wrong@127.0.0.1:{free_port()}/database"
    error = await refusal(url, config, read_only=read_only)
    assert re.search(r"PostgreSQL at 127\.0\.0\.1:\d+ does not answer: connection refused; is it running\?", str(error))


async def test_no_such_server(config: DatabaseConfig) -> None:
    error = await refusal("postgresql://tenax:wrong@nowhere.invalid/database", config, read_only=False)
    assert "there is no server 'nowhere.invalid'" in str(error)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://tenax:wrong@127.0.0.1:many/database",
        "postgresql://tenax:wrong@127.0.0.1:5432/",
        "mysql://tenax:wrong@127.0.0.1/database",
        "postgresql://tenax:wrong@127.0.0.1/database?sslmode=wrong",
        "tenax:wrong@127.0.0.1",
    ],
)
async def test_not_a_url(url: str, config: DatabaseConfig) -> None:
    error = await refusal(url, config, read_only=False)
    assert isinstance(error, ConfigError)
    assert str(error) == "database.url is not a PostgreSQL URL; it looks like postgresql://host:5432/database"


async def test_without_the_extra(config: DatabaseConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.setattr("tenax.database.postgres.connection.find_spec", lambda name: None)
    error = await refusal("postgresql://tenax:wrong@127.0.0.1/database", config, read_only=False)
    assert str(error) == 'PostgreSQL needs an extra: pip install "tenax[postgres]"'


@pytest.mark.parametrize(
    ("error", "is_away"),
    [
        (ConnectionRefusedError(111, "Connection refused"), True),
        (TimeoutError(), True),
        (socket.gaierror(-2, "Name or service not known"), True),
        (asyncpg.CannotConnectNowError("the database system is starting up"), True),
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), True),
        (asyncpg.AdminShutdownError("terminating connection"), True),
        (asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"), True),
        (asyncpg.InvalidPasswordError("no"), False),
        (asyncpg.InvalidCatalogNameError("no"), False),
        (asyncpg.InsufficientPrivilegeError("no"), False),
        (asyncpg.ProtocolViolationError("unsupported startup parameter: jit"), False),
        (ConnectionError('PostgreSQL server at "db:5432" rejected SSL upgrade'), False),
        (DatabaseUnusable("it was written by a newer Tenax"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_what_may_be_cured_by_waiting(error: Exception, is_away: bool) -> None:
    translated = translate_error(error, Address("postgresql://me:secret@db/crawl", "tenax"))
    assert isinstance(translated, DatabaseUnavailable) is is_away
    assert isinstance(translated, DatabaseUnusable), "the exit code is the same"
    assert "secret" not in str(translated)


def test_a_pooler_in_front_of_the_server() -> None:
    error = asyncpg.ProtocolViolationError("unsupported startup parameter: jit")
    translated = str(translate_error(error, Address("postgresql://me:secret@127.0.0.1:6432/crawl", "tenax")))
    assert translated == (
        "what answers at 127.0.0.1:6432 is a pooler of connections, such as PgBouncer; "
        "database.url must name the PostgreSQL server itself"
    )


async def test_the_user_may_not_create_tables(
    postgres_server: PostgresServer, database_url: str, config: DatabaseConfig
) -> None:
    postgres_server.psql("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'wrong'")
    url = database_url.replace(database_url.split("//")[1].split("@")[0], "guest:wrong")
    error = await refusal(url, config, read_only=False)
    assert re.search(r"permission denied for database databases; grant it to 'guest'", str(error))


async def test_to_look_needs_only_the_right_to_look(postgres_server: PostgresServer, databases: Databases) -> None:
    writer = await databases.open()
    await writer.admit([candidate("https://a.test/")])
    schema = f'"{databases.config.schema}"'
    postgres_server.psql("DROP ROLE IF EXISTS looker; CREATE ROLE looker LOGIN PASSWORD 'looks'")
    postgres_server.psql(
        f"GRANT USAGE ON SCHEMA {schema} TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO looker",
        "databases",
    )
    reader = await databases.open(
        databases.url.replace(databases.url.split("//")[1].split("@")[0], "looker:looks"), read_only=True
    )
    assert (await reader.status()).waiting == 1
    history = await reader.url_history("https://a.test/")
    assert history is not None
    await reader.close()
    postgres_server.psql("DROP OWNED BY looker", "databases")


# ---- the tables -------------------------------------------------------------------------------------------


async def test_nothing_there_to_look_at(database_url: str, config: DatabaseConfig) -> None:
    error = await refusal(database_url, config, read_only=True)
    assert isinstance(error, DatabaseNotFound)
    assert "there is no crawl in" in str(error)


@pytest.mark.parametrize(
    ("version", "words"),
    [(99, "newer Tenax .*version 99.*upgrade Tenax"), (0, "older Tenax .*version 0.*run: tenax db migrate")],
)
async def test_another_version(databases: Databases, read_only: bool, version: int, words: str) -> None:
    database = await databases.open()
    await set_version(database, version)
    error = await refusal(databases.url, databases.config, read_only=read_only)
    assert re.search(words, str(error))
    if version:
        with pytest.raises(DatabaseUnusable, match="newer Tenax"):
            await migrate(databases.url, databases.config.schema)
    await set_version(database, latest_version())


async def set_version(database: PostgresDatabase, version: int) -> None:
    change = "UPDATE meta SET value = $1 WHERE name = 'version'"
    await database._query_connection.run_idempotent(lambda db: db.execute(change, str(version).encode()))


async def test_someone_elses_tables_are_left_alone(
    postgres_server: PostgresServer, database_url: str, config: DatabaseConfig
) -> None:
    schema = f'"{config.schema}"'
    postgres_server.psql(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.diary (day date)", "databases")
    error = await refusal(database_url, config, read_only=False)
    assert "holds other tables; give another database.schema" in str(error)
    tables = f"SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = '{config.schema}'"
    assert postgres_server.psql(tables, "databases") == "diary"


async def test_many_workers_may_make_it_at_once(databases: Databases) -> None:
    opened = await asyncio.gather(*(databases.open() for _ in range(8)))
    for number, database in enumerate(opened):
        assert (
            await database.admit([candidate("https://a.test/"), candidate(f"https://h{number}.test/")])
        ).admitted >= 1
    assert (await opened[0].status()).waiting == 9
    assert len({database._worker.id for database in opened}) == 8


async def test_migrations_go_step_by_step_and_only_once(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the latest version to a future one."""
    database = await databases.open()
    await database.admit([candidate("https://a.test/")])
    await database.close()
    before = latest_version()
    steps = migrations() | {before + 1: "ALTER TABLE host ADD colour text", before + 2: "CREATE TABLE added (a int)"}
    monkeypatch.setattr("tenax.database.postgres.schema.migrations", lambda: steps)
    with pytest.raises(DatabaseUnusable, match="run: tenax db migrate"):
        await databases.open()
    done = await asyncio.gather(*(migrate(databases.url, databases.config.schema) for _ in range(4)))
    assert (before, before + 2) in done
    database = await databases.open()
    assert database.counts().waiting == 1
    assert (
        await database._query_connection.run_idempotent(lambda db: db.fetchval("SELECT count(colour) FROM host, added"))
        == 0
    )
    await set_version(database, before)


async def test_a_new_database_is_made_whole_or_not_at_all(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-created one would be taken for an older version."""
    steps = migrations() | {latest_version() + 1: "SELECT 1 / 0"}
    with monkeypatch.context() as patched:
        patched.setattr("tenax.database.postgres.schema.migrations", lambda: steps)
        with pytest.raises(TenaxError):
            await databases.open()
    with pytest.raises(DatabaseNotFound):
        await databases.open(read_only=True)
    await databases.open()


async def test_a_migration_that_fails_changes_nothing(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    await (await databases.open()).close()
    before = latest_version()
    steps = migrations() | {before + 1: "CREATE TABLE added (a int); SELECT no_such_function()"}
    with monkeypatch.context() as patched:
        patched.setattr("tenax.database.postgres.schema.migrations", lambda: steps)
        with pytest.raises(DatabaseUnusable, match="no_such_function"):
            await migrate(databases.url, databases.config.schema)
    database = await databases.open()
    assert (
        await database._query_connection.run_idempotent(lambda db: db.fetchval("SELECT to_regclass('added')")) is None
    )


MIGRATING = """
import asyncio, sys
from tenax.database.postgres import migrate, schema
steps = schema.migrations() | {
    schema.latest_version() + 1: "CREATE TABLE added (a int)",
    schema.latest_version() + 2: "ALTER TABLE added ADD b int; CREATE TABLE more (a int); SELECT pg_sleep(60)",
}
schema.migrations = lambda: steps
asyncio.run(migrate(*sys.argv[1:]))
"""


async def test_a_migration_that_is_killed_leaves_the_last_whole_version(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of its second step, by kill -9; the process that waits for the lock continues from there."""
    database = await databases.open()
    before = latest_version()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", MIGRATING, databases.url, databases.config.schema
    )  # fmt: skip
    is_there = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')"
    async with asyncio.timeout(60):
        while not await database._query_connection.run_idempotent(lambda db: db.fetchval(is_there)):
            await database.wait_for_work(0.05)
    steps = migrations() | {
        before + 1: "CREATE TABLE added (a int)",
        before + 2: "ALTER TABLE added ADD b int; CREATE TABLE more (a int)",
    }
    monkeypatch.setattr("tenax.database.postgres.schema.migrations", lambda: steps)
    other = asyncio.ensure_future(migrate(databases.url, databases.config.schema))
    process.kill()
    await process.wait()
    # The server notices the lost connection only when it answers, which takes too long here.
    sleeping = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    await database._query_connection.run_idempotent(lambda db: db.fetchval(sleeping))
    assert await other == (before + 1, before + 2)
    tables = await database._query_connection.run_idempotent(lambda db: db.fetchval("SELECT count(b) FROM added, more"))
    assert tables == 0
    await set_version(database, before)


async def test_two_crawls_in_one_database_know_nothing_of_each_other(databases: Databases) -> None:
    one = await databases.open()
    databases.config = msgspec.structs.replace(databases.config, schema=databases.config.schema + ' "b"')
    two = await databases.open()
    await one.admit([candidate("https://a.test/")])
    assert (await two.status()).waiting == 0
    assert (await two.admit([candidate("https://a.test/")])).admitted == 1


async def test_the_servers_clock_is_compared_with_ours(databases: Databases) -> None:
    offset = await server_clock_offset(databases.url, databases.config.schema, ManualClock(1000.0))
    assert offset == pytest.approx(SteadyClock().now() - 1000.0, abs=30)


async def test_a_slow_answer_does_not_shift_our_clock(databases: Databases) -> None:
    class SlowOnce(SteadyClock):
        """Makes the first answer seem to take ten seconds; the others are quick, and ten seconds later."""

        readings = 0

        def now(self) -> float:
            self.readings += 1
            return super().now() + (10.0 if self.readings > 1 else 0.0)

    offset = await server_clock_offset(databases.url, databases.config.schema, SlowOnce())
    assert offset == pytest.approx(-10.0, abs=0.5)
