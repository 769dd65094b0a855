"""The server's clock was set back while no worker was there: what lies ahead by the old clock is brought back."""

from __future__ import annotations

from tenax import logs
from tenax.database import rows
from tenax.database.clock_rollback import earlier
from tenax.database.postgres.connection import Collided, Connection, Link, Lost
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import insert
from tenax.errors import LedgerUnusable

TOLERATED_SECONDS = 120.0
"""A clock that is corrected by less is not worth looking through the whole queue for."""
HOSTS_AT_ONCE = 5000

log = logs.logger(__name__)


async def bring_back(link: Link, now: float) -> None:
    """If workers have seen a later time than this, and none of them can be alive, bring back what lies ahead.

    Workers live in the server's time. One whose sign of life lies further ahead than any could be is not of this time.
    """

    async def ahead(db: Connection) -> float:
        seen = await db.fetchval(queries()["time_seen"], now, TOLERATED_SECONDS)
        return seen - now if seen is not None and seen - now > TOLERATED_SECONDS else 0.0

    if not await link.ask(ahead):
        return
    # On a connection without a limit: the whole queue is gone through, which may take longer than any other answer.
    own = Link(link.address, {}, is_patient=False)
    try:
        async with own.use() as db:
            await db.execute("BEGIN")
            await db.execute("LOCK TABLE worker IN EXCLUSIVE MODE")  # nobody joins, or brings it back too
            if seconds := await ahead(db):
                await _bring_back_all(db, seconds, now)
            await db.execute("COMMIT")
    except (Lost, Collided) as error:
        raise LedgerUnusable(
            f"PostgreSQL at {link.address} does not answer: {error}; run the same command again"
        ) from None
    finally:
        await own.close()


async def _bring_back_all(db: Connection, ahead: float, now: float) -> None:
    sql = queries()
    log.warning("the clock was set back since the last worker left; rests and due times go with it", seconds=int(ahead))
    await db.execute(sql["queue_earlier"], rows.milliseconds(now), rows.milliseconds(ahead))
    await db.execute(sql["turns_earlier"], now, ahead)
    await db.execute(sql["workers_earlier"], now)
    await _bring_back_hosts(db, ahead, now)


async def _bring_back_hosts(db: Connection, ahead: float, now: float) -> None:
    last = 0
    while found := await db.fetch(queries()["hosts_after"], last, HOSTS_AT_ONCE):
        last = found[-1]["id"]
        records = [
            (row["id"], earlier(rows.host_record(row["origin"], row["state"], row["copy"]), ahead, now))
            for row in found
        ]
        await insert(db, "hosts_learn", [(host_id, rows.host_state(record)) for host_id, record in records])
        copies = [(host_id, rows.encode(record.robots)) for host_id, record in records if record.robots is not None]
        await insert(db, "robots_put", copies)
