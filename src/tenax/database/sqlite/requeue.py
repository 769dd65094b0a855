"""Puts dead letters, parked tasks and settled pages back into the queue; each function returns its tally changes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tenax.database import rows
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite.schema import queries, transaction, write_rows
from tenax.database.sqlite.write_visits import ROUND_KEY
from tenax.model import Candidate, Source

RECORD_BATCH_SIZE = 5000
"""Records per transaction: lets others write in between, and bounds memory."""


def replay(db: sqlite3.Connection, urls: Sequence[str] | None, needs_browser: bool, now: float) -> Counter[str]:
    """Queue dead letters again, with their attempts reset."""
    sql = queries()
    wanted = set(urls) if urls is not None else None
    tally: Counter[str] = Counter()
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for row in cursor.execute(sql["dead_letters"], (0, -1)).fetchall():
            if wanted is not None and row["origin"] + row["path"] not in wanted:
                continue
            if needs_browser and not rows.is_waiting_for_browser(row):
                continue
            entry = Entry(
                3 - row["priority"], milliseconds(now), row["key"], row["path"], row["depth"],
                rows.SOURCE_NUMBER[Source.REPLAY], row["discovered_at"], row["via"], 0, row["id"], row["chain"],
                rows.HINT_URL_LIST if row["url_list"] is not None else None,
            )  # fmt: skip
            db.execute(sql["queue_add"], (row["host_id"], *entry.columns))
            db.execute(sql["replay"], (row["id"],))
            db.execute(sql["host_add_waiting"], (1, now, row["host_id"]))
            rows.count_requeued(row, tally)
        db.executemany(sql["tally_add"], list(tally.items()))
    return tally


def requeue(
    db: sqlite3.Connection, url_key: Callable[[str], int], candidates: Sequence[Candidate], now: float
) -> Counter[str]:
    """Queue URLs again that a user names, unless they have a page or wait already."""
    sql, due = queries(), milliseconds(now)
    tally: Counter[str] = Counter()
    with transaction(db):
        cursor = db.cursor()
        cursor.row_factory = sqlite3.Row
        for candidate in candidates:
            row = cursor.execute(sql["requeue_find"], (candidate.origin, url_key(candidate.url))).fetchone()
            if row is None:
                continue
            source = rows.SOURCE_NUMBER[candidate.source]
            entry = Entry(
                3 - candidate.priority, due, row["key"], row["path"], candidate.depth, source, row["discovered_at"],
                row["via"], 0, row["id"], row["chain"], rows.HINT_UNCONDITIONAL,
            )  # fmt: skip
            db.execute(sql["queue_add"], (row["host_id"], *entry.columns))
            db.execute(sql["requeue"], (due, candidate.depth, candidate.priority, source, row["id"]))
            db.execute(sql["host_add_waiting"], (1, now, row["host_id"]))
            rows.count_requeued(row, tally)
        db.executemany(sql["tally_add"], list(tally.items()))
    return tally


def unpark(db: sqlite3.Connection, causes: Sequence[str], now: float) -> Counter[str]:
    """Queue the next batch of parked tasks."""
    part = {"causes": rows.encode(causes).decode(), "most": RECORD_BATCH_SIZE, "now_ms": milliseconds(now)}
    with transaction(db):
        queue_rows = db.execute(queries()["unpark"], part).fetchall()
        return _enqueue(db, queue_rows, "parked", now)


def refetch(db: sqlite3.Connection, record_ids: Sequence[int], now: float) -> Counter[str]:
    """Queue settled records for another visit."""
    part = {"ids": rows.encode(record_ids).decode(), "now_ms": milliseconds(now)}
    with transaction(db):
        queue_rows = db.execute(queries()["refetch"], part).fetchall()
        return _enqueue(db, queue_rows, "settled", now)


def _enqueue(db: sqlite3.Connection, queue_rows: Sequence[tuple[Any, ...]], state: str, now: float) -> Counter[str]:
    """Add queue rows of tasks that were in this state."""
    write_rows(db, "queue_add", queue_rows)
    hosts = Counter(row[0] for row in queue_rows)
    db.executemany(queries()["host_add_waiting"], [(count, now, host_id) for host_id, count in hosts.items()])
    tally = Counter({"waiting": len(queue_rows), state: -len(queue_rows)})
    db.executemany(queries()["tally_add"], list(tally.items()))
    return tally


def begin_round(db: sqlite3.Connection, now: float) -> int:
    """Begin a new round of visits; returns the highest record id to requeue."""
    sql = queries()
    with transaction(db):
        db.execute(sql["meta_put"], (ROUND_KEY, str(milliseconds(now)).encode()))
        db.execute(sql["round_begin"])
        highest: int = db.execute(sql["highest_ids"]).fetchone()[0]
    return highest


def requeue_settled(db: sqlite3.Connection, above: int, now: float) -> Counter[str]:
    """Queue the next batch of settled records that are worth another visit."""
    sql = queries()
    part = {"above": above, "up_to": above + RECORD_BATCH_SIZE, "now_ms": milliseconds(now)}
    with transaction(db):
        waiting = db.execute(sql["requeue_settled"], part).fetchall()
        return _enqueue(db, waiting, "settled", now)
