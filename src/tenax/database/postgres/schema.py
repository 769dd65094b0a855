"""The tables: their statements by name, how they are made, and how older ones become today's."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib import resources

from tenax.clock import Clock
from tenax.database.postgres.connection import Address, Connection, connect, translate_error
from tenax.database.statements import load_statements
from tenax.errors import DatabaseNotFound, DatabaseUnusable

VERSION_KEY = "version"
"""The name under which a database keeps the number of its schema."""
CLOCK_SAMPLES = 8


@cache
def queries() -> dict[str, str]:
    """The statements of `queries.sql` by name."""
    return load_statements("tenax.database.postgres")


@cache
def migrations() -> dict[int, str]:
    """The steps from an empty schema to today's, by the version they lead to."""
    files = resources.files(__package__).joinpath("migrations").iterdir()
    steps = {int(file.name[:4]): file.read_text(encoding="utf-8") for file in files if file.name.endswith(".sql")}
    return dict(sorted(steps.items()))


def latest_version() -> int:
    return max(migrations())


async def read_version(db: Connection) -> int | None:
    """The version of the schema; None when there is no database in it."""
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
    """Create the tables when there are none. Any number of workers may try it at the same time."""
    version = await read_version(db)
    if version is None:
        await _run_migrations(db, address, only_new=True)
        version = await read_version(db)
    check_version(version, address)


async def migrate(url: str, schema: str) -> tuple[int, int]:
    """Bring the tables to today's version, step by step, each in one transaction; from which to which.

    Refuses a newer one. Workers of the older version must be stopped before.
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
    """The same, on a connection that there is.

    Workers that were told different times would ask hosts too early: of several answers the quickest is right.
    """
    samples: list[tuple[float, float]] = []
    for _ in range(CLOCK_SAMPLES):
        before = clock.now()
        told: float = await db.fetchval(queries()["now"])
        after = clock.now()
        samples.append((after - before, told - (before + after) / 2))
    return min(samples)[1]


def _versioned_step(number: int, step: str) -> str:
    """A step, and the note that it was taken."""
    return (
        f"{step}; DELETE FROM meta WHERE name = '{VERSION_KEY}'; INSERT INTO meta VALUES ('{VERSION_KEY}', '{number}')"
    )


async def _run_migrations(db: Connection, address: Address, *, only_new: bool) -> None:
    lock = int.from_bytes(blake2b(f"tenax {address.schema}".encode(), digest_size=8).digest(), signed=True)
    # The lock belongs to the session: each step may be a transaction of its own. Another's steps may take long.
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
        # A new database is there whole or not at all: whoever met one half made would take it for an old one.
        for transaction in ["; ".join(steps)] if version is None else steps:
            await db.execute(f"BEGIN; {transaction}; COMMIT")
    finally:
        if db.is_in_transaction():
            await db.execute("ROLLBACK")
        await db.execute(f"SELECT pg_advisory_unlock({lock})")


async def _has_foreign_tables(db: Connection, address: Address) -> bool:
    """Whether someone else's tables stand where ours would."""
    return bool(await db.fetchval("SELECT count(*) > 0 FROM pg_tables WHERE schemaname = $1", address.schema))


async def key_secret(db: Connection) -> bytes:
    """What the keys of this database's URLs are salted with; never leaves the process."""
    secret: bytes = await db.fetchval(queries()["meta_get"], "key_secret")
    return secret
