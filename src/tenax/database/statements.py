"""Named SQL statements of a backend, and what every backend does with its own: batches of rows, integrity checks."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pkgutil import get_data
from typing import Protocol, TypeVar

from tenax.database import PriorityFunction, rows
from tenax.model import NEEDS_BROWSER, Priority

ROW_BATCH_SIZE = 500
"""Number of rows with links that are read at a time."""
STATE_BATCH_SIZE = 1000
"""Number of URLs whose states are looked up at a time."""
RECORD_BATCH_SIZE = 5000
"""Number of records that are queued again in one transaction. It is limited so that others can write in between, and to
bound memory."""
TASK_BATCH_SIZE = 5000
"""Number of waiting tasks that are read in one transaction."""
ROUND_KEY = "round_began"
"""The meta key of the time when the current round of visits began, in milliseconds."""

QueueKey = tuple[int, int, int, int]
"""The primary key of the queue: host, rank, due time and key."""
FIRST_KEY: QueueKey = (-1, 0, 0, 0)


class OfRecord(Protocol):
    """A row that belongs to a record."""

    @property
    def record_id(self) -> int: ...


R = TypeVar("R", bound=OfRecord)


def load_statements(backend: str, parameter_mark: str) -> dict[str, str]:
    """The statements of a backend by name: its own, and those that are the same in every backend.

    `parameter_mark` is written before the number of a parameter. `{name}` stands for a part that each backend has of
    its own, because they take many rows in different ways.
    """
    own, shared = _read_statements(backend), _read_statements("tenax.database")
    assert not own.keys() & shared.keys(), "a statement stands twice"
    for name, statement in shared.items():
        own[name] = re.sub(r"\{(\w+)\}", lambda part: own[part[1]], re.sub(r"\$(?=\d)", parameter_mark, statement))
    return own


def _read_statements(package: str) -> dict[str, str]:
    """The statements of the package's `queries.sql`. Each begins with a line `-- name: …`."""
    text = get_data(package, "queries.sql")
    assert text is not None, "it comes with the package"
    blocks = re.split(r"^-- name: (\w+)\n", text.decode(), flags=re.MULTILINE)[1:]
    return dict(zip(blocks[::2], (block.strip() for block in blocks[1::2]), strict=True))


async def iterate_records(read_after: Callable[[int], Awaitable[Sequence[R]]]) -> AsyncIterator[R]:
    """Every row, in the order of the records. `read_after` reads the next rows after a record id."""
    last = 0
    while found := await read_after(last):
        for one in found:
            yield one
        last = found[-1].record_id


async def change_all_ranks(change_part: Callable[[QueueKey], Awaitable[tuple[QueueKey, int] | None]]) -> int:
    """Go through the queue. Returns how many ranks changed.

    `change_part` changes the ranks of the next waiting tasks after a key. It returns the last key and how many ranks
    changed, or None at the end.
    """
    changed, last = 0, FIRST_KEY
    while (part := await change_part(last)) is not None:
        last, count = part
        changed += count
    return changed


def rank_changes(
    tasks: Iterable[tuple[int, int, int, int, str, int]], choose_priority: PriorityFunction
) -> list[tuple[int, int, int, int, int]]:
    """The queue keys of the tasks that get another rank, each with that rank. A task is its key, its URL and its
    source."""
    return [
        (host_id, rank, due, key, better)
        for host_id, rank, due, key, url, source in tasks
        if (better := 3 - choose_priority(url, rows.SOURCES[source], Priority(3 - rank))) != rank
    ]


# The index of `queue` begins with host and rank. So looking up a key would read the whole queue of its host each time.
# EXCEPT compares sorted keys instead.
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
        "SELECT count(*) FROM (SELECT host_id, key FROM record WHERE state = 'waiting' "
        "EXCEPT SELECT host_id, key FROM queue) missing",
    "admitted URLs that are neither waiting nor recorded":
        "SELECT count(*) FROM (SELECT host_id, key FROM seen EXCEPT SELECT host_id, key FROM queue "
        "EXCEPT SELECT host_id, key FROM record) missing",
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
"""The value that each counter of the tally must have."""


def describe_miscount(name: str, recorded: int, counted: int) -> str:
    return f"the tally says {name}: {recorded}, there are {counted}"
