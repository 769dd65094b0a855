"""Checks of the database: contradicting rows, and a server's clock set back while no worker was running."""

from __future__ import annotations

from tenax import logs
from tenax.database import rows, statements
from tenax.database.host_rows import shift_host_times
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.schema import queries
from tenax.database.postgres.write_visits import write_rows
from tenax.errors import DatabaseUnusable

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
    """All problems in words; reads one consistent snapshot, also while workers write."""
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


CLOCK_TOLERANCE_SECONDS = 120.0
"""Smaller corrections are ignored: the shift scans the whole queue."""
HOST_BATCH_SIZE = 5000

log = logs.logger(__name__)


async def correct_clock_rollback(connection: PostgresConnection, now: float) -> None:
    """Shift future times if workers have recorded a later time than `now` and none of them is alive.

    Workers use the server's time. A worker whose lease ends later than any lease could is from before the rollback.
    """

    async def rollback_seconds(db: Connection) -> float:
        seen = await db.fetchval(queries()["last_worker_time"], now, CLOCK_TOLERANCE_SECONDS)
        return seen - now if seen is not None and seen - now > CLOCK_TOLERANCE_SECONDS else 0.0

    if not await connection.run_idempotent(rollback_seconds):
        return
    # On a connection without a timeout: scanning the whole queue may take long.
    own = PostgresConnection(connection.address, {}, should_wait=False)
    try:
        async with own.use() as db:
            await db.execute("BEGIN")
            await db.execute("LOCK TABLE worker IN EXCLUSIVE MODE")  # no worker joins or shifts at the same time
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
