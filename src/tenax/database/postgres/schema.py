"""The schema: named statements, creation and migration of the tables, version checks."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib import resources

from tenax.clock import Clock
from tenax.database.postgres.connection import Address, Connection, connect, translate_error
from tenax.database.statements import load_statements
from tenax.errors import DatabaseNotFound, DatabaseUnusable

VERSION_KEY = "version"
"""The meta key of the schema version."""
CLOCK_SAMPLES = 8


@cache
def queries() -> dict[str, str]:
    """The statements of `queries.sql` by name."""
    return load_statements("tenax.database.postgres")


@cache
def migrations() -> dict[int, str]:
    """The migrations from an empty schema to the latest, by the version they lead to."""
    files = resources.files(__package__).joinpath("migrations").iterdir()
    steps = {int(file.name[:4]): file.read_text(encoding="utf-8") for file in files if file.name.endswith(".sql")}
    return dict(sorted(steps.items()))


def latest_version() -> int:
    return max(migrations())


async def read_version(db: Connection) -> int | None:
    """The version of the schema; None when it has no Tenax tables."""
    if await db.fetchval("SELECT to_regclass('meta')") is None:
        return None
    value = await db.fetchval(queries()["meta_get"], VERSION_KEY)
    return int(value) if value is not None else None


def check_version(version: int | None, address: Address) -> None:
    """Raises when the schema cannot be used as it is."""
    if version is None:
        raise DatabaseNotFound(
            f"there is no crawl in {address}, schema {address.schema!r}; start one with: tenax crawl URL"
        )
    if version > latest_version():
        raise DatabaseUnusable(
            f"the database in {address} was written by a newer Tenax (it has version {version}, this one knows "
            f"{latest_version()}); upgrade Tenax to open it"
        )
    if version < latest_version():
        raise DatabaseUnusable(
            f"the database in {address} was written by an older Tenax (it has version {version}, this one wants "
            f"{latest_version()}); stop its workers and run: tenax db migrate"
        )


async def ensure_tables(db: Connection, address: Address) -> None:
    """Create the tables if there are none. Safe with any number of workers at the same time."""
    version = await read_version(db)
    if version is None:
        await _run_migrations(db, address, only_new=True)
        version = await read_version(db)
    check_version(version, address)


async def migrate(url: str, schema: str) -> tuple[int, int]:
    """Migrate the tables to the latest version, each step in one transaction; returns old and new version.

    Refuses a newer version. Stop workers of the older version first.
    """
    address = Address(url, schema)
    try:
        db = await connect(address, {})
        try:
            before = await read_version(db) or 0
            if before > latest_version():
                check_version(before, address)
            await _run_migrations(db, address, only_new=False)
            return before, latest_version()
        finally:
            await db.close()
    except Exception as error:
        raise translate_error(error, address) from None


async def server_clock_offset(url: str, schema: str, clock: Clock) -> float:
    """How far the server's clock is ahead of ours, in seconds."""
    address = Address(url, schema)
    try:
        db = await connect(address, {})
        try:
            return await clock_offset_seconds(db, clock)
        finally:
            await db.close()
    except Exception as error:
        raise translate_error(error, address) from None


async def clock_offset_seconds(db: Connection, clock: Clock) -> float:
    """The same, on an open connection.

    Workers with different clocks would request hosts too early: of several samples the quickest is the most exact.
    """
    samples: list[tuple[float, float]] = []
    for _ in range(CLOCK_SAMPLES):
        before = clock.now()
        server_time: float = await db.fetchval(queries()["now"])
        after = clock.now()
        samples.append((after - before, server_time - (before + after) / 2))
    return min(samples)[1]


def _versioned_step(number: int, step: str) -> str:
    """A migration step that also stores its version."""
    return (
        f"{step}; DELETE FROM meta WHERE name = '{VERSION_KEY}'; INSERT INTO meta VALUES ('{VERSION_KEY}', '{number}')"
    )


async def _run_migrations(db: Connection, address: Address, *, only_new: bool) -> None:
    lock = int.from_bytes(blake2b(f"tenax {address.schema}".encode(), digest_size=8).digest(), signed=True)
    # A session lock, because each step may be its own transaction. Another process's steps may take long.
    await db.execute(f"SET lock_timeout = 0; SELECT pg_advisory_lock({lock}); RESET lock_timeout")
    try:
        version = await read_version(db)
        if version is not None and only_new:
            return
        if not await db.fetchval("SELECT to_regnamespace($1) IS NOT NULL", address.quoted_schema):
            await db.execute(f"CREATE SCHEMA {address.quoted_schema}")
        if version is None and await _has_foreign_tables(db, address):
            raise DatabaseUnusable(
                f"the schema {address.schema!r} in {address} holds other tables; give another database.schema"
            )
        steps = [_versioned_step(number, step) for number, step in migrations().items() if number > (version or 0)]
        # A new database is created in one transaction: half of one would be taken for an older version.
        for transaction in ["; ".join(steps)] if version is None else steps:
            await db.execute(f"BEGIN; {transaction}; COMMIT")
    finally:
        if db.is_in_transaction():
            await db.execute("ROLLBACK")
        await db.execute(f"SELECT pg_advisory_unlock({lock})")


async def _has_foreign_tables(db: Connection, address: Address) -> bool:
    """Whether the schema contains tables of another application."""
    return bool(await db.fetchval("SELECT count(*) > 0 FROM pg_tables WHERE schemaname = $1", address.schema))


async def key_secret(db: Connection) -> bytes:
    """The secret salt of this database's URL keys; never leaves the process."""
    secret: bytes = await db.fetchval(queries()["meta_get"], "key_secret")
    return secret
