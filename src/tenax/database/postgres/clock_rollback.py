"""The server's clock was set back while no worker was there: what lies ahead by the old clock is brought back."""

from __future__ import annotations

from tenax import logs
from tenax.database import rows
from tenax.database.clock_rollback import shift_host_times
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import write_rows
from tenax.errors import DatabaseUnusable

CLOCK_TOLERANCE_SECONDS = 120.0
"""A clock that is corrected by less is not worth looking through the whole queue for."""
HOST_BATCH_SIZE = 5000

log = logs.logger(__name__)


async def correct_clock_rollback(connection: PostgresConnection, now: float) -> None:
    """If workers have seen a later time than this, and none of them can be alive, bring back what lies ahead.

    Workers live in the server's time. One whose sign of life lies further ahead than any could be is not of this time.
    """

    async def ahead(db: Connection) -> float:
        seen = await db.fetchval(queries()["last_worker_time"], now, CLOCK_TOLERANCE_SECONDS)
        return seen - now if seen is not None and seen - now > CLOCK_TOLERANCE_SECONDS else 0.0

    if not await connection.run_idempotent(ahead):
        return
    # On a connection without a limit: the whole queue is gone through, which may take longer than any other answer.
    own = PostgresConnection(connection.address, {}, should_wait=False)
    try:
        async with own.use() as db:
            await db.execute("BEGIN")
            await db.execute("LOCK TABLE worker IN EXCLUSIVE MODE")  # nobody joins, or brings it back too
            if seconds := await ahead(db):
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
    log.warning(
        "the clock was set back since the last worker left; rests and due times go with it", seconds=int(offset_seconds)
    )
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
