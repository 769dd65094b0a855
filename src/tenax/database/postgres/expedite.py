"""Pages that their site says have changed are due at once, instead of when their own pace would have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenax.database import rows
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Settling, tidings_in


async def hasten(
    db: Connection, settlings: Sequence[Settling], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Within a transaction; gives the tasks that are due now. All of them are at hosts that are ours."""
    told: dict[tuple[int, int], int] = {}
    for one, tiding in tidings_in(settlings):
        place = (one.host_id, url_key(tiding.url))
        told[place] = max(milliseconds(tiding.at), told.get(place, 0))
    if not told:
        return []
    sql, now_ms = queries(), milliseconds(now)
    hosts, keys = zip(*sorted(told), strict=True)
    found = await db.fetch(sql["hasten_find"], hosts, keys, [told[place] for place in sorted(told)], now_ms)
    heard = [row for row in found if rows.is_heard(row["freshness"])]
    if not heard:
        return []
    places = zip(*((row["host_id"], row["next_visit_at"], row["key"]) for row in heard), strict=True)
    moved = await db.fetch(sql["hasten_queue"], *places, now_ms)
    await db.execute(sql["hasten_record"], [row["record_id"] for row in moved], now_ms)
    held = {row[0]: rows.held_of(tuple(row)[1:]) for row in await db.fetch(sql["held"], [row["id"] for row in heard])}
    return [(row["host_id"], Entry(*tuple(row)[1:])._replace(held=held.get(row["record_id"]))) for row in moved]
