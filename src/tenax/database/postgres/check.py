"""Integrity check: counts contradicting rows."""

from __future__ import annotations

from tenax.database import integrity
from tenax.database.postgres.connection import Connection

CHECKS = integrity.CHECKS | {
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

COUNT_QUERIES = integrity.COUNT_QUERIES | {
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
            found.append(integrity.describe_miscount(name, recorded, counted))
    await db.execute("COMMIT")
    return found
