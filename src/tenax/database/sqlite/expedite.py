"""Makes pages due at once when their site announces a change."""

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
    """Call within a transaction; returns the tasks that are due now."""
    sql, now_ms = queries(), milliseconds(now)
    arrivals: list[tuple[int, Entry]] = []
    for one, change_notice in iter_change_notices(visits):
        row_key = (one.host_id, url_key(change_notice.url))
        found = db.execute(sql["expedite_find"], (*row_key, now_ms, milliseconds(change_notice.at))).fetchone()
        if found is None or not rows.is_sitemap_trusted(found[2]):
            continue
        record_id, due, _ = found
        moved = db.execute(sql["expedite_queue"], (now_ms, row_key[0], due, row_key[1])).fetchone()
        if moved is not None:
            db.execute(sql["expedite_record"], (now_ms, record_id))
            stored_copy = rows.stored_copy_from_row(db.execute(sql["stored_copy"], {"id": record_id}).fetchone())
            arrivals.append((row_key[0], Entry(*moved)._replace(stored_copy=stored_copy)))
    return arrivals
