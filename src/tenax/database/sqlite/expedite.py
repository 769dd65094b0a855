"""Pages that their site says have changed are due at once, instead of when their own pace would have it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from tenax.database import rows
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite.schema import queries
from tenax.database.visit_rows import Settling, tidings_in


def hasten(
    db: sqlite3.Connection, settlings: Sequence[Settling], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Within a transaction; gives the tasks that are due now."""
    sql, now_ms = queries(), milliseconds(now)
    arrivals: list[tuple[int, Entry]] = []
    for one, tiding in tidings_in(settlings):
        place = (one.host_id, url_key(tiding.url))
        found = db.execute(sql["hasten_find"], (*place, now_ms, milliseconds(tiding.at))).fetchone()
        if found is None or not rows.is_heard(found[2]):
            continue
        record_id, due, _ = found
        moved = db.execute(sql["hasten_queue"], (now_ms, place[0], due, place[1])).fetchone()
        if moved is not None:
            db.execute(sql["hasten_record"], (now_ms, record_id))
            held = rows.held_of(db.execute(sql["held"], {"id": record_id}).fetchone())
            arrivals.append((place[0], Entry(*moved)._replace(held=held)))
    return arrivals
