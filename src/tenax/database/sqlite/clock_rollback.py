"""The wall clock was set back between two runs: what lies ahead by the old clock is brought back by as much.

While a process lives its clock cannot jump. Between two runs it can, and every time in the ledger is one of that clock:
tasks would not be due, hosts would rest and robots.txts would count as fresh until it has caught up, in a year perhaps.
No rest is shortened by this: a host that had an hour left has an hour left, counted from now.
"""

from __future__ import annotations

import sqlite3

from tenax import logs
from tenax.database import rows
from tenax.database.clock_rollback import earlier
from tenax.database.sqlite.schema import queries, transaction

SEEN = "seen_at"
"""The name under which the time is kept that the last run has seen."""
SEEN_EVERY_SECONDS = 60.0
TOLERATED_SECONDS = 2 * SEEN_EVERY_SECONDS
"""A clock that is corrected by less is not worth looking through the whole queue for."""
HOSTS_AT_ONCE = 5000

_log = logs.logger(__name__)


def bring_back(db: sqlite3.Connection, now: float) -> None:
    """If this time lies before what the last run has seen, bring back what lies ahead; and note the time."""
    sql = queries()
    seen = db.execute(sql["meta_get"], (SEEN,)).fetchone()
    ahead = float(seen[0]) - now if seen else 0.0
    with transaction(db):
        if ahead > TOLERATED_SECONDS:
            _log.warning(
                "the clock was set back since the last run; rests and due times go with it", seconds=int(ahead)
            )
            db.execute(sql["queue_earlier"], {"now_ms": rows.milliseconds(now), "ahead_ms": rows.milliseconds(ahead)})
            db.execute(sql["turns_earlier"], {"now": now, "ahead": ahead})
            _bring_back_hosts(db, ahead, now)
        db.execute(sql["meta_put"], (SEEN, repr(now).encode()))


def _bring_back_hosts(db: sqlite3.Connection, ahead: float, now: float) -> None:
    sql, last = queries(), 0
    while found := db.execute(sql["hosts_after"], (last, HOSTS_AT_ONCE)).fetchall():
        last = found[-1][0]
        learned = []
        for host_id, origin, state, robots in found:
            record = earlier(rows.host_record(origin, state, robots), ahead, now)
            copy = rows.encode(record.robots) if record.robots is not None else None
            learned.append((rows.host_state(record), copy, host_id))
        db.executemany(sql["host_rewrite"], learned)
