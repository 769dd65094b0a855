"""Named SQL statements of a backend, and the integrity checks that are the same for every backend."""

from __future__ import annotations

import re
from pkgutil import get_data

from tenax.model import NEEDS_BROWSER


def load_statements(package: str) -> dict[str, str]:
    """The statements of the package's `queries.sql` by name; each begins with a line `-- name: …`."""
    text = get_data(package, "queries.sql")
    assert text is not None, "it comes with the package"
    blocks = re.split(r"^-- name: (\w+)\n", text.decode(), flags=re.MULTILINE)[1:]
    return dict(zip(blocks[::2], (block.strip() for block in blocks[1::2]), strict=True))


CHECKS = {
    "waiting tasks that were never admitted":
        "SELECT count(*) FROM queue q WHERE NOT EXISTS "
        "(SELECT 1 FROM seen s WHERE s.host_id = q.host_id AND s.key = q.key)",
    "tasks that wait more than once":
        "SELECT count(*) FROM (SELECT 1 FROM queue GROUP BY host_id, key HAVING count(*) > 1) twice",
    "waiting tasks whose record says that they are settled, dead or parked":
        "SELECT count(*) FROM queue q JOIN record r ON r.host_id = q.host_id AND r.key = q.key "
        "WHERE r.state <> 'waiting'",
    "records that say they wait, and are not in the queue":
        "SELECT count(*) FROM record r WHERE state = 'waiting' AND NOT EXISTS "
        "(SELECT 1 FROM queue q WHERE q.host_id = r.host_id AND q.key = r.key)",
    "admitted URLs that are neither waiting nor recorded":
        "SELECT count(*) FROM seen s "
        "WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE q.host_id = s.host_id AND q.key = s.key) "
        "AND NOT EXISTS (SELECT 1 FROM record r WHERE r.host_id = s.host_id AND r.key = s.key)",
    "pages without their content":
        "SELECT count(*) FROM record r WHERE content_id IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM content c WHERE c.id = r.content_id)",
    "duplicates of pages that are not there":
        "SELECT count(*) FROM record r WHERE duplicate_of IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM record o WHERE o.id = r.duplicate_of AND o.content_id IS NOT NULL)",
    "links of URLs that are not there":
        "SELECT count(*) FROM link l WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.id = l.record_id)",
    "rows of the duplicate index that refer to a duplicate or to no page":
        "SELECT count(*) FROM duplicate_index l WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.id = l.record_id "
        "AND r.content_id IS NOT NULL AND r.duplicate_of IS NULL)",
}  # fmt: skip
"""Description of a problem, and the query that counts its rows."""

COUNT_QUERIES = {
    "waiting": "SELECT count(*) FROM queue",
    "settled": "SELECT count(*) FROM record WHERE state = 'settled'",
    "dead": "SELECT count(*) FROM record WHERE state = 'dead'",
    "parked": "SELECT count(*) FROM record WHERE state = 'parked'",
    "needs_browser": f"SELECT count(*) FROM record WHERE state = 'dead' AND error_message LIKE '{NEEDS_BROWSER}%'",
    "pages": "SELECT count(*) FROM record WHERE content_id IS NOT NULL",
    "articles": "SELECT count(*) FROM record WHERE content_id IS NOT NULL AND kind = 'article'",
    "duplicates": "SELECT count(*) FROM record WHERE content_id IS NOT NULL AND duplicate_of IS NOT NULL",
}
"""What each counter of the tally must equal."""


def describe_miscount(name: str, recorded: int, counted: int) -> str:
    return f"the tally says {name}: {recorded}, there are {counted}"
