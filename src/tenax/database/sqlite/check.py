"""Integrity check of the file: damage, and contradicting rows."""

from __future__ import annotations

import sqlite3

from tenax.database import integrity

CHECKS = integrity.CHECKS | {
    "hosts whose count of waiting tasks is wrong":
        "SELECT count(*) FROM host h WHERE waiting <> (SELECT count(*) FROM queue q WHERE q.host_id = h.id)",
}  # fmt: skip
MAX_REPORTED_DAMAGES = 10
"""Limit on reported damages of a file."""


def find_problems(db: sqlite3.Connection) -> list[str]:
    """All problems in words; reads one consistent snapshot, also while a crawl writes."""
    try:
        found = [
            f"the file is damaged: {line}" for (line,) in db.execute(f"PRAGMA integrity_check({MAX_REPORTED_DAMAGES})")
        ]
    except sqlite3.DatabaseError as error:  # too damaged to continue
        return [f"the file is damaged: {error}"]
    if found != ["the file is damaged: ok"]:
        return found
    found = []
    db.execute("BEGIN")
    try:
        for description, sql in CHECKS.items():
            if count := db.execute(sql).fetchone()[0]:
                found.append(f"{count} {description}")
        tallies = dict(db.execute("SELECT name, count FROM tally").fetchall())
        for name, sql in integrity.COUNT_QUERIES.items():
            recorded, counted = tallies.get(name, 0), db.execute(sql).fetchone()[0]
            if recorded != counted:
                found.append(integrity.describe_miscount(name, recorded, counted))
    finally:
        db.execute("ROLLBACK")
    return found
