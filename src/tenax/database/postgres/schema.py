"""The schema: named statements, creation and migration of the tables, and checks.

Checked are its version, rows that contradict each other, and whether a server's clock was set back while no worker was
running.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib import resources

from tenax import logs
from tenax.clock import Clock
from tenax.database import rows, statements
from tenax.database.corrections import CLOCK_TOLERANCE_SECONDS, HOST_BATCH_SIZE, shift_host_times
from tenax.database.postgres.connection import (
    Address,
    Connection,
    ConnectionLost,
    PostgresConnection,
    TransactionConflict,
    connect,
    translate_error,
)
from tenax.database.statements import load_statements
from tenax.errors import DatabaseNotFound, DatabaseUnusable

log = logs.logger(__name__)

VERSION_KEY = "version"
"""The meta key of the schema version."""
CLOCK_SAMPLES = 8


@cache
def queries() -> dict[str, str]:
    """The statements by name."""
    return load_statements("tenax.database.postgres", "$")


async def write_rows(db: Connection, name: str, values: Sequence[tuple[object, ...]]) -> None:
    """Write many rows by one statement that takes an array per column."""
    if values:
        await db.execute(queries()[name], *zip(*values, strict=True))


@cache
def migrations() -> dict[int, str]:
    """The migrations from an empty schema to the latest, by the version they lead to."""
    files = resources.files(__package__).joinpath("migrations").iterdir()
    steps = {int(file.name[:4]): file.read_text(encoding="utf-8") for file in files if file.name.endswith(".sql")}
    return dict(sorted(steps.items()))


def latest_version() -> int:
    return max(migrations())


async def read_version(db: Connection) -> int | None:
    """The version of the schema; None if it has no Tenax tables."""
    if await db.fetchval("SELECT to_regclass('meta')") is None:
        return None
    value = await db.fetchval(queries()["meta_get"], VERSION_KEY)
    return int(value) if value is not None else None


def check_version(version: int | None, address: Address) -> None:
    """Raises an error if the schema cannot be used as it is."""
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
    """Migrate the tables to the latest version, each step in one transaction. Returns the old and the new version.

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

    Workers with different clocks would request hosts too early. The quickest of several samples is the most exact.
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
    # A session lock, because each step may be a transaction of its own. The steps of another process may take long.
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
        # A new database is created in one transaction, because half of one would be taken for an older version.
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


CHECKS = statements.CHECKS | {
    "hosts with waiting tasks that are not marked as having work":
        "SELECT count(*) FROM host h WHERE NOT has_work AND EXISTS (SELECT FROM queue q WHERE q.host_id = h.id)",
    "hosts leased by a worker that has ended":
        "SELECT count(*) FROM host h WHERE holder IS NOT NULL AND NOT EXISTS "
        "(SELECT FROM worker w WHERE w.id = h.holder AND w.ended_at IS NULL)",
    "events without their content":
        "SELECT count(*) FROM outbox o WHERE NOT EXISTS (SELECT FROM content c WHERE c.id = o.content_id)",
    "events with numbers beyond the last":
        "SELECT count(*) FROM outbox WHERE seq > (SELECT seq FROM outbox_end)",
}  # fmt: skip

COUNT_QUERIES = statements.COUNT_QUERIES | {
    "admitted": "SELECT count(*) FROM seen",
    "hosts": "SELECT count(*) FROM host",
}


async def find_problems(db: Connection) -> list[str]:
    """All problems in words. Reads one consistent snapshot, also while workers write."""
    found = []
    await db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    for description, sql in CHECKS.items():
        if count := await db.fetchval(sql):
            found.append(f"{count} {description}")
    for name, sql in COUNT_QUERIES.items():
        recorded = await db.fetchval("SELECT coalesce(sum(count), 0)::bigint FROM tally WHERE name = $1", name)
        if recorded != (counted := await db.fetchval(sql)):
            found.append(statements.describe_miscount(name, recorded, counted))
    await db.execute("COMMIT")
    return found


async def correct_clock_rollback(connection: PostgresConnection, now: float) -> None:
    """If workers have recorded a later time than `now` and none of them is alive, shift times in the future.

    Workers use the time of the server. A worker whose lease ends later than any lease could is from before the clock
    was set back.
    """

    async def rollback_seconds(db: Connection) -> float:
        seen = await db.fetchval(queries()["last_worker_time"], now, CLOCK_TOLERANCE_SECONDS)
        return seen - now if seen is not None and seen - now > CLOCK_TOLERANCE_SECONDS else 0.0

    if not await connection.run_idempotent(rollback_seconds):
        return
    # On a connection without a timeout, because scanning the whole queue may take long.
    own = PostgresConnection(connection.address, {}, should_wait=False)
    try:
        async with own.use() as db:
            await db.execute("BEGIN")
            await db.execute("LOCK TABLE worker IN EXCLUSIVE MODE")  # no other worker joins or shifts times meanwhile
            if seconds := await rollback_seconds(db):
                await _shift_all(db, seconds, now)
            await db.execute("COMMIT")
    except (ConnectionLost, TransactionConflict) as error:
        raise DatabaseUnusable(
            f"PostgreSQL at {connection.address} does not answer: {error}; run the same command again"
        ) from None
    finally:
        await own.close()


async def _shift_all(db: Connection, offset_seconds: float, now: float) -> None:
    sql = queries()
    log.warning("clock set back since the last worker ended, shifting stored times", seconds=int(offset_seconds))
    await db.execute(sql["queue_shift_due"], rows.milliseconds(now), rows.milliseconds(offset_seconds))
    await db.execute(sql["hosts_shift_ready"], now, offset_seconds)
    await db.execute(sql["workers_shift_times"], now)
    await _shift_hosts(db, offset_seconds, now)


async def _shift_hosts(db: Connection, offset_seconds: float, now: float) -> None:
    last = 0
    while found := await db.fetch(queries()["hosts_after"], last, HOST_BATCH_SIZE):
        last = found[-1]["id"]
        records = [
            (
                row["id"],
                shift_host_times(
                    rows.decode_host_record(row["origin"], row["state"], row["copy"]), offset_seconds, now
                ),
            )
            for row in found
        ]
        await write_rows(db, "hosts_update", [(host_id, rows.encode_host_state(record)) for host_id, record in records])
        copies = [(host_id, rows.encode(record.robots)) for host_id, record in records if record.robots is not None]
        await write_rows(db, "robots_put", copies)
