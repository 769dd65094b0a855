"""Pages that their site says have changed are due at once, instead of when their own pace would have it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from tenax.database import rows
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite.schema import queries
from tenax.database.visit_rows import PendingVisit, iter_change_notices


def expedite_changed_pages(
    db: sqlite3.Connection, visits: Sequence[PendingVisit], url_key: Callable[[str], int], now: float
) -> list[tuple[int, Entry]]:
    """Within a transaction; gives the tasks that are due now."""
    sql, now_ms = queries(), milliseconds(now)
    arrivals: list[tuple[int, Entry]] = []
    for one, change_notice in iter_change_notices(visits):
        place = (one.host_id, url_key(change_notice.url))
        found = db.execute(sql["expedite_find"], (*place, now_ms, milliseconds(change_notice.at))).fetchone()
        if found is None or not rows.is_sitemap_trusted(found[2]):
            continue
        record_id, due, _ = found
        moved = db.execute(sql["expedite_queue"], (now_ms, place[0], due, place[1])).fetchone()
        if moved is not None:
            db.execute(sql["expedite_record"], (now_ms, record_id))
            stored_copy = rows.stored_copy_from_row(db.execute(sql["stored_copy"], {"id": record_id}).fetchone())
            arrivals.append((place[0], Entry(*moved)._replace(stored_copy=stored_copy)))
    return arrivals
