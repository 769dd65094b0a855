"""What comes back to the queue: dead letters that a person replays, and settled pages to be visited again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence

from tenax.ledger import rows
from tenax.ledger.rows import milliseconds
from tenax.ledger.schedule import Entry
from tenax.ledger.sqlite.schema import queries, transaction, write_rows
from tenax.ledger.sqlite.settle import ROUND
from tenax.model import Source

REVISITED_AT_ONCE = 5000
"""Records looked at in one transaction: others get their turn in between, and memory stays small."""


def replay(db: sqlite3.Connection, urls: Sequence[str] | None, now: float) -> list[tuple[int, Entry]]:
    """Dead letters wait again, with their attempts forgotten."""
    sql = queries()
    wanted = set(urls) if urls is not None else None
    arrivals = []
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for row in cursor.execute(sql["dead_letters"], (0, -1)).fetchall():
            if wanted is not None and row["origin"] + row["path"] not in wanted:
                continue
            entry = Entry(
                3 - row["priority"], milliseconds(now), row["key"], row["path"], row["depth"],
                rows.SOURCE_NUMBER[Source.REPLAY], row["discovered_at"], row["via"], 0, row["id"], row["chain"],
                rows.CATALOGUE if row["catalogue"] is not None else None,
                held=rows.held_of(db.execute(sql["held"], {"id": row["id"]}).fetchone()),
            )  # fmt: skip
            db.execute(sql["queue_add"], (row["host_id"], *entry.columns))
            db.execute(sql["replay"], (row["id"],))
            db.execute(sql["host_waiting"], (1, now, row["host_id"]))
            arrivals.append((row["host_id"], entry))
        back = len(arrivals)
        db.executemany(sql["tally_add"], [("waiting", back), ("dead", -back)])
    return arrivals


def begin_round(db: sqlite3.Connection, now: float) -> int:
    """From now on pages count as visited anew; gives the highest record to look at."""
    sql = queries()
    with transaction(db):
        db.execute(sql["meta_put"], (ROUND, str(milliseconds(now)).encode()))
        db.execute(sql["round_begin"])
        highest: int = db.execute(sql["highest_ids"]).fetchone()[0]
    return highest


def revisit(db: sqlite3.Connection, above: int, now: float) -> int:
    """The next part of the records: those settled with something to ask for again wait; how many."""
    sql = queries()
    part = {"above": above, "up_to": above + REVISITED_AT_ONCE, "now_ms": milliseconds(now)}
    with transaction(db):
        waiting = db.execute(sql["revisit"], part).fetchall()
        write_rows(db, "queue_add", waiting)
        hosts = Counter(row[0] for row in waiting)
        db.executemany(sql["host_waiting"], [(count, now, host_id) for host_id, count in hosts.items()])
        db.executemany(sql["tally_add"], [("waiting", len(waiting)), ("settled", -len(waiting))])
    return len(waiting)
