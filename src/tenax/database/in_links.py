"""Counts in-links of waiting tasks: at certain counts a task moves ahead in the queue of its host.

Counted in memory, for tasks that this process found recently. The effect of a count is stored as the task's due time;
the count itself is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from tenax.database.rows import milliseconds, url_origin
from tenax.database.schedule import Entry
from tenax.model import LINK_STEPS, SECONDS_PER_POINT, in_link_points

MAX_COUNTED_TASKS = 50_000
"""Tasks whose links are counted, in up to two generations."""

LinkCounts = dict[str, int]
"""URLs, and how many more links to them one transaction found."""
LoadedKeys = Mapping[int, Collection[int]]
"""Hosts whose tasks may be moved, with the keys of tasks that may not: their queue rows are in use."""


class QueuedTask:
    """A task in the queue, with its in-links."""

    __slots__ = ("due", "in_links", "lead_ms", "rank")

    def __init__(self, rank: int, due: int, in_links: int) -> None:
        self.rank = rank
        self.due = due
        """Milliseconds since the epoch, including the lead of its links."""
        self.in_links = in_links
        self.lead_ms = link_lead_ms(in_links)
        """The lead already included in `due`."""


class Move(NamedTuple):
    """A change of a task's due time."""

    due: int
    host_id: int
    rank: int
    was_due: int
    key: int
    url: str


class InLinks:
    """The counts. Only `on_commit` changes them, after the transaction is committed."""

    def __init__(self, max_tasks: int = MAX_COUNTED_TASKS) -> None:
        self._max_tasks = max_tasks
        self._tasks: dict[str, QueuedTask] = {}
        self._older_tasks: dict[str, QueuedTask] = {}

    def __contains__(self, url: str) -> bool:
        return url in self._tasks or url in self._older_tasks

    def sum_link_counts(self, link_counts: Iterable[Mapping[str, int]]) -> LinkCounts:
        """The sum of the link counts of several visits, for waiting tasks."""
        found: LinkCounts = {}
        for url, more in chain.from_iterable(map(Mapping.items, link_counts)):
            if url in self:
                found[url] = found.get(url, 0) + more
        return found

    def plan_moves(
        self,
        link_counts: LinkCounts,
        host_ids: Mapping[str, int],
        url_key: Callable[[str], int],
        loaded_keys: LoadedKeys,
        now: float,
    ) -> list[Move]:
        """The tasks that these links move ahead, of those that may be moved."""
        found: list[Move] = []
        now_ms = milliseconds(now)
        for url, more in link_counts.items():
            waits = self._get_task(url)
            if waits is None or (lead_ms := link_lead_ms(waits.in_links + more)) == waits.lead_ms or waits.due > now_ms:
                continue
            host_id = host_ids.get(url_origin(url))
            if host_id is not None and host_id in loaded_keys and (key := url_key(url)) not in loaded_keys[host_id]:
                due = waits.due + waits.lead_ms - lead_ms
                found.append(Move(due, host_id, waits.rank, waits.due, key, url))
        return found

    def on_commit(
        self,
        link_counts: LinkCounts,
        moves: Iterable[Move],
        moved: Collection[tuple[int, int]],
        new_entries: Iterable[tuple[str, Entry]],
    ) -> None:
        """Apply a committed transaction. `moved`: host and key of each task that was still in the queue."""
        for url, more in link_counts.items():
            if (waits := self._get_task(url)) is not None:
                waits.in_links += more
        for move in moves:
            waits = self._get_task(move.url)
            if (move.host_id, move.key) not in moved:
                self.forget(move.url)
            elif waits is not None:
                waits.lead_ms += waits.due - move.due
                waits.due = move.due
        if len(self._tasks) > self._max_tasks:
            self._older_tasks, self._tasks = self._tasks, {}
        for url, entry in new_entries:
            self._tasks[url] = QueuedTask(entry.rank, entry.due, link_counts.get(url, 0))

    def forget(self, url: str) -> None:
        """Stop counting: the task no longer waits."""
        self._tasks.pop(url, None)
        self._older_tasks.pop(url, None)

    def _get_task(self, url: str) -> QueuedTask | None:
        return self._tasks.get(url) or self._older_tasks.get(url)


_MAX_LINKS = max(LINK_STEPS)
_LEADS_MS = tuple(milliseconds(in_link_points(number) * SECONDS_PER_POINT) for number in range(_MAX_LINKS + 1))


def link_lead_ms(in_links: int) -> int:
    """How far this many links move a task ahead, in milliseconds."""
    return _LEADS_MS[in_links if in_links < _MAX_LINKS else _MAX_LINKS]
