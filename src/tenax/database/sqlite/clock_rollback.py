"""Shift future timestamps after the wall clock was set back between two runs.

Within a process the clock cannot jump. Between two runs it can, and all stored times are wall clock times: tasks would
not be due, hosts would back off and robots.txt copies would count as fresh until the clock has caught up. Backoffs keep
their length: a host with an hour left has an hour left from now.
"""

from __future__ import annotations

import sqlite3

from tenax import logs
from tenax.database import rows
from tenax.database.clock_rollback import shift_host_times
from tenax.database.sqlite.schema import queries, transaction

LAST_TIME_KEY = "seen_at"
"""The meta key of the latest time seen by a run."""
SAVE_TIME_INTERVAL_SECONDS = 60.0
CLOCK_TOLERANCE_SECONDS = 2 * SAVE_TIME_INTERVAL_SECONDS
"""Smaller corrections are ignored: the shift scans the whole queue."""
HOST_BATCH_SIZE = 5000

_log = logs.logger(__name__)


def correct_clock_rollback(db: sqlite3.Connection, now: float) -> None:
    """Shift future times if `now` is before the last time seen; store `now`."""
    sql = queries()
    seen = db.execute(sql["meta_get"], (LAST_TIME_KEY,)).fetchone()
    ahead = float(seen[0]) - now if seen else 0.0
    with transaction(db):
        if ahead > CLOCK_TOLERANCE_SECONDS:
            _log.warning("clock set back since last run, shifting stored times", seconds=int(ahead))
            db.execute(sql["queue_shift_due"], {"now_ms": rows.milliseconds(now), "ahead_ms": rows.milliseconds(ahead)})
            db.execute(sql["hosts_shift_ready"], {"now": now, "ahead": ahead})
            _shift_hosts(db, ahead, now)
        db.execute(sql["meta_put"], (LAST_TIME_KEY, repr(now).encode()))


def _shift_hosts(db: sqlite3.Connection, offset_seconds: float, now: float) -> None:
    sql, last = queries(), 0
    while found := db.execute(sql["hosts_after"], (last, HOST_BATCH_SIZE)).fetchall():
        last = found[-1][0]
        shifted = []
        for host_id, origin, state, robots in found:
            record = shift_host_times(rows.decode_host_record(origin, state, robots), offset_seconds, now)
            copy = rows.encode(record.robots) if record.robots is not None else None
            shifted.append((rows.encode_host_state(record), copy, host_id))
        db.executemany(sql["host_replace_state"], shifted)
