"""The wall clock was set back between two runs: what lies ahead by the old clock is brought back by as much.

While a process lives its clock cannot jump. Between two runs it can, and every time in the database is one of that clock:
tasks would not be due, hosts would rest and robots.txts would count as fresh until it has caught up, in a year perhaps.
No rest is shortened by this: a host that had an hour left has an hour left, counted from now.
"""

from __future__ import annotations

import sqlite3

from tenax import logs
from tenax.database import rows
from tenax.database.clock_rollback import shift_host_times
from tenax.database.sqlite.schema import queries, transaction

LAST_TIME_KEY = "seen_at"
"""The name under which the time is kept that the last run has seen."""
SAVE_TIME_INTERVAL_SECONDS = 60.0
CLOCK_TOLERANCE_SECONDS = 2 * SAVE_TIME_INTERVAL_SECONDS
"""A clock that is corrected by less is not worth looking through the whole queue for."""
HOST_BATCH_SIZE = 5000

_log = logs.logger(__name__)


def correct_clock_rollback(db: sqlite3.Connection, now: float) -> None:
    """If this time lies before what the last run has seen, bring back what lies ahead; and note the time."""
    sql = queries()
    seen = db.execute(sql["meta_get"], (LAST_TIME_KEY,)).fetchone()
    ahead = float(seen[0]) - now if seen else 0.0
    with transaction(db):
        if ahead > CLOCK_TOLERANCE_SECONDS:
            _log.warning(
                "the clock was set back since the last run; rests and due times go with it", seconds=int(ahead)
            )
            db.execute(sql["queue_shift_due"], {"now_ms": rows.milliseconds(now), "ahead_ms": rows.milliseconds(ahead)})
            db.execute(sql["hosts_shift_ready"], {"now": now, "ahead": ahead})
            _shift_hosts(db, ahead, now)
        db.execute(sql["meta_put"], (LAST_TIME_KEY, repr(now).encode()))


def _shift_hosts(db: sqlite3.Connection, offset_seconds: float, now: float) -> None:
    sql, last = queries(), 0
    while found := db.execute(sql["hosts_after"], (last, HOST_BATCH_SIZE)).fetchall():
        last = found[-1][0]
        learned = []
        for host_id, origin, state, robots in found:
            record = shift_host_times(rows.decode_host_record(origin, state, robots), offset_seconds, now)
            copy = rows.encode(record.robots) if record.robots is not None else None
            learned.append((rows.encode_host_state(record), copy, host_id))
        db.executemany(sql["host_replace_state"], learned)
