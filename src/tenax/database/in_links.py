"""How many pages link to a task that waits: at each step it goes ahead in the queue of its host.

Counted in memory, for tasks that this process has found lately. What a count was worth is written down, as the time the
task is due; the count itself is not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from tenax.database.rows import milliseconds, origin_of
from tenax.database.schedule import Entry
from tenax.model import LINK_STEPS, SECONDS_PER_POINT, points_of_links

KEPT = 50_000
"""Tasks whose links are counted, twice at most."""

Linked = dict[str, int]
"""URLs, and how many more links they have by what one transaction tells."""
InHand = Mapping[int, Collection[int]]
"""Hosts whose tasks may be moved, each with the keys of those that may not: they are known by their place."""


class Waits:
    """A task in the queue, and its links."""

    __slots__ = ("due", "in_links", "lead_ms", "rank")

    def __init__(self, rank: int, due: int, in_links: int) -> None:
        self.rank = rank
        self.due = due
        """Milliseconds since the epoch, with what its links are worth so far."""
        self.in_links = in_links
        self.lead_ms = lead_of(in_links)
        """What they are worth so far."""


class Move(NamedTuple):
    """A task that is to stand elsewhere in the queue."""

    due: int
    host_id: int
    rank: int
    was_due: int
    key: int
    url: str


class InLinks:
    """The counts. What is asked in a transaction changes nothing: `written` does, when it is committed."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._waits: dict[str, Waits] = {}
        self._waits_before: dict[str, Waits] = {}

    def __contains__(self, url: str) -> bool:
        return url in self._waits or url in self._waits_before

    def told(self, told: Iterable[Mapping[str, int]]) -> Linked:
        """What visits tell of links to tasks that wait."""
        found: Linked = {}
        for url, more in chain.from_iterable(map(Mapping.items, told)):
            if url in self:
                found[url] = found.get(url, 0) + more
        return found

    def moves(
        self,
        linked: Linked,
        host_ids: Mapping[str, int],
        url_key: Callable[[str], int],
        in_hand: InHand,
        now: float,
    ) -> list[Move]:
        """Whom these links bring ahead, where nobody holds it."""
        found: list[Move] = []
        now_ms = milliseconds(now)
        for url, more in linked.items():
            waits = self._of(url)
            if waits is None or (lead_ms := lead_of(waits.in_links + more)) == waits.lead_ms or waits.due > now_ms:
                continue
            host_id = host_ids.get(origin_of(url))
            if host_id is not None and host_id in in_hand and (key := url_key(url)) not in in_hand[host_id]:
                due = waits.due + waits.lead_ms - lead_ms
                found.append(Move(due, host_id, waits.rank, waits.due, key, url))
        return found

    def written(
        self,
        linked: Linked,
        moves: Iterable[Move],
        moved: Collection[tuple[int, int]],
        new: Iterable[tuple[str, Entry]],
    ) -> None:
        """A transaction is committed. `moved`: hosts and keys of those that were still there to be moved."""
        for url, more in linked.items():
            if (waits := self._of(url)) is not None:
                waits.in_links += more
        for move in moves:
            waits = self._of(move.url)
            if (move.host_id, move.key) not in moved:
                self.forget(move.url)
            elif waits is not None:
                waits.lead_ms += waits.due - move.due
                waits.due = move.due
        if len(self._waits) > self._kept:
            self._waits_before, self._waits = self._waits, {}
        for url, entry in new:
            self._waits[url] = Waits(entry.rank, entry.due, linked.get(url, 0))

    def forget(self, url: str) -> None:
        """It waits no longer."""
        self._waits.pop(url, None)
        self._waits_before.pop(url, None)

    def _of(self, url: str) -> Waits | None:
        return self._waits.get(url) or self._waits_before.get(url)


_MOST_LINKS = max(LINK_STEPS)
_LEADS = tuple(milliseconds(points_of_links(number) * SECONDS_PER_POINT) for number in range(_MOST_LINKS + 1))


def lead_of(in_links: int) -> int:
    """How far ahead so many links bring a task, in milliseconds."""
    return _LEADS[in_links if in_links < _MOST_LINKS else _MOST_LINKS]
