"""Makes pages due at once when their site announces a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenax.database import rows
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.visit_rows import PendingVisit, iter_change_notices


async def expedite_changed_pages(
    db: Connection, visits: Sequence[PendingVisit], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Call within a transaction; returns the tasks that are due now, all at hosts leased by this worker."""
    announced: dict[tuple[int, int], int] = {}
    for one, change_notice in iter_change_notices(visits):
        row_key = (one.host_id, url_key(change_notice.url))
        announced[row_key] = max(milliseconds(change_notice.at), announced.get(row_key, 0))
    if not announced:
        return []
    sql, now_ms = queries(), milliseconds(now)
    hosts, keys = zip(*sorted(announced), strict=True)
    found = await db.fetch(
        sql["expedite_find"], hosts, keys, [announced[row_key] for row_key in sorted(announced)], now_ms
    )
    trusted = [row for row in found if rows.is_sitemap_trusted(row["change_history"])]
    if not trusted:
        return []
    queue_keys = zip(*((row["host_id"], row["next_visit_at"], row["key"]) for row in trusted), strict=True)
    moved = await db.fetch(sql["expedite_queue"], *queue_keys, now_ms)
    await db.execute(sql["expedite_record"], [row["record_id"] for row in moved], now_ms)
    stored_copies = {
        row[0]: rows.stored_copy_from_row(tuple(row)[1:])
        for row in await db.fetch(sql["stored_copy"], [row["id"] for row in trusted])
    }
    return [
        (row["host_id"], Entry(*tuple(row)[1:])._replace(stored_copy=stored_copies.get(row["record_id"])))
        for row in moved
    ]
