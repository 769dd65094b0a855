"""Pages that their site says have changed are due at once, instead of when their own pace would have it."""

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
    """Within a transaction; gives the tasks that are due now. All of them are at hosts that are ours."""
    told: dict[tuple[int, int], int] = {}
    for one, change_notice in iter_change_notices(visits):
        place = (one.host_id, url_key(change_notice.url))
        told[place] = max(milliseconds(change_notice.at), told.get(place, 0))
    if not told:
        return []
    sql, now_ms = queries(), milliseconds(now)
    hosts, keys = zip(*sorted(told), strict=True)
    found = await db.fetch(sql["expedite_find"], hosts, keys, [told[place] for place in sorted(told)], now_ms)
    heard = [row for row in found if rows.is_sitemap_trusted(row["change_history"])]
    if not heard:
        return []
    places = zip(*((row["host_id"], row["next_visit_at"], row["key"]) for row in heard), strict=True)
    moved = await db.fetch(sql["expedite_queue"], *places, now_ms)
    await db.execute(sql["expedite_record"], [row["record_id"] for row in moved], now_ms)
    held = {
        row[0]: rows.stored_copy_from_row(tuple(row)[1:])
        for row in await db.fetch(sql["stored_copy"], [row["id"] for row in heard])
    }
    return [(row["host_id"], Entry(*tuple(row)[1:])._replace(stored_copy=held.get(row["record_id"]))) for row in moved]
