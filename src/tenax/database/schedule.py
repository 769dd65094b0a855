"""Whose turn it is: the part of the frontier held in memory, for any backend that claims in process.

A *slot* is a host in the window, with its next few tasks in the order it serves them. Slots stand in a heap by the
time of their next turn, so taking a turn costs the logarithm of the window, however many hosts or URLs are known.
Politeness is a place in this queue: nobody sleeps. Nothing here does I/O; the backend fills slots when asked to.

When more hosts have work than the window has places, `evict_hosts` lets those leave that need none just now. So memory is
bounded by the window, however many hosts are known, and no host has more than its share of tasks before others come in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tenax.database import PaceRules
from tenax.model import HostRecord, StoredCopy

MAX_IDLE_SECONDS = 5.0
"""Who has its next turn later than this needs no place in a crowded window until then."""
ROBOTS_CHARS_PER_UNIT = 16 * 1024
"""A host takes one place in the window for each such part of its robots.txt, which is held with it."""
SPARE_HEAP_ENTRIES = 64
RANKS = 4
"""Levels of priority, the best first: 0 to 3."""
OLDEST_TASK_EVERY = 10
"""One turn in so many goes to the task of a host that waits longest, whatever its level: none waits for ever."""


class Entry(NamedTuple):
    """A waiting task as the backend stores it; the first three fields are its place within its host."""

    rank: int
    due: int
    """Milliseconds since the epoch."""
    key: int
    path: str
    depth: int
    source: int
    found: int
    via: int | None
    attempt: int
    record_id: int | None
    chain: bytes | None
    hint: int | None = None
    """How it is to be visited, if not as usual."""
    via_url: str | None = None
    """Of the page it was found on; looked up, not stored."""
    stored_copy: StoredCopy | None = None
    """What came of an earlier visit; looked up too."""

    @property
    def columns(self) -> tuple[object, ...]:
        return self[:-2]


QueueKey = tuple[int, int, int]
"""Of a task within its host: rank, due time and key."""


class Slot:
    """A host in the window."""

    __slots__ = (
        "entries",
        "has_more",
        "host_id",
        "in_flight",
        "loaded_keys",
        "next_at",
        "next_due_at",
        "ready_at",
        "record",
        "served",
        "served_at_fill",
        "unloaded_from",
    )  # fmt: skip

    def __init__(self, host_id: int, record: HostRecord) -> None:
        self.host_id = host_id
        self.record = record
        self.entries: list[Entry] = []
        self.loaded_keys: set[int] = set()
        """Keys taken from the backend and not yet committed: in `entries` or in flight."""
        self.in_flight = 0
        self.served = 0
        """Tasks taken since the host entered the window."""
        self.served_at_fill = 0
        """How many of them were taken when the backend last brought tasks."""
        self.next_at = record.next_at
        self.has_more = True
        """The backend may hold tasks that are due and not in `entries`."""
        self.unloaded_from: QueueKey | None = None
        """From this place on some of them may come before those in `entries`; None: nobody knows of any."""
        self.next_due_at: float | None = None
        """When the earliest task that is not due yet becomes due."""
        self.ready_at: float | None = None
        """Its place in the heap; None when it stands in no queue."""

    @property
    def waiting(self) -> int | None:
        """How many tasks are due besides those taken; None when there may be more than are held here."""
        return None if self.has_more else len(self.entries)

    @property
    def ordered_count(self) -> int:
        """How many of `entries` are the next ones of the host, as far as known: the others only wait for patience."""
        if not self.has_more or self.unloaded_from is None:
            return len(self.entries)
        return _count_before(self.entries, self.unloaded_from)

    def is_before_unloaded(self, entry: Entry) -> bool:
        """Whether nothing that only the backend holds comes before it."""
        if not self.has_more:
            return True
        if self.unloaded_from is None:
            return bool(self.entries) and entry < self.entries[-1]
        return entry[:3] < self.unloaded_from

    def mark_unloaded(self, entry: Entry) -> None:
        """It is due and waits in the backend."""
        self.has_more = True
        if self.unloaded_from is None or entry[:3] < self.unloaded_from:
            self.unloaded_from = entry[:3]


def window_cost(record: HostRecord) -> int:
    """How many places of the window a host takes: a few with huge robots.txts must not fill the memory."""
    return 1 + (len(record.robots.text) // ROBOTS_CHARS_PER_UNIT if record.robots is not None else 0)


class Schedule:
    """The window of hosts and their turns."""

    def __init__(self, pace_rules: PaceRules, window_hosts: int, look_ahead: int) -> None:
        self._pace_rules = pace_rules
        self._window_hosts = window_hosts
        self._look_ahead = look_ahead
        self._slots: dict[int, Slot] = {}
        self._used_capacity = 0
        self._heap: list[tuple[float, int, Slot]] = []
        self._refill_slots: dict[int, Slot] = {}
        self._sequence = 0
        self.unknown_until = 0.0
        """Before this time a process that died may have sent requests of which nothing is written down."""

    @property
    def host_ids(self) -> Collection[int]:
        """The hosts in the window."""
        return self._slots.keys()

    def __contains__(self, host_id: int) -> bool:
        return host_id in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def free_capacity(self) -> int:
        """How many more hosts the window takes; below 0 when some of them have grown in it."""
        return self._window_hosts - self._used_capacity

    @property
    def should_refill(self) -> bool:
        return bool(self._refill_slots)

    def add_host(self, host_id: int, record: HostRecord) -> None:
        """A host joins the window; it asks to be filled at once."""
        slot = Slot(host_id, record)
        slot.next_at = max(slot.next_at, self.unknown_until + self._pace_rules.pace_seconds(record))
        self._slots[host_id] = slot
        self._used_capacity += window_cost(record)
        self._refill_slots[host_id] = slot

    def refill_requests(self) -> list[tuple[int, int]]:
        """Hosts that ask for tasks, with how many rows to read (tasks already held come back too)."""
        return [(slot.host_id, len(slot.loaded_keys) + self._task_quota(slot)) for slot in self._refill_slots.values()]

    def fill_host(self, host_id: int, rows: list[Entry], requested: int, next_due: float | None) -> None:
        """The backend's answer: what is due now, and when the next one would be. There may be more rows than were asked
        for: behind the best ones, the first of each other level."""
        slot = self._slots.get(host_id)
        self._refill_slots.pop(host_id, None)
        if slot is None:
            return
        fresh = [row for row in rows if row.key not in slot.loaded_keys]
        slot.loaded_keys.update(row.key for row in fresh)
        slot.entries = sorted(slot.entries + fresh)
        slot.has_more = len(rows) >= requested
        slot.unloaded_from = _next_key(sorted(rows)[requested - 1]) if slot.has_more else None
        slot.next_due_at = next_due
        slot.served_at_fill = slot.served
        self._unload_excess(slot)
        self._reschedule(slot)

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        """A task was admitted or put back: take it into the slot when it belongs before what is held there."""
        slot = self._slots.get(host_id)
        if slot is None or entry.key in slot.loaded_keys:
            return
        due = entry.due / 1000
        if due > now:
            slot.next_due_at = due if slot.next_due_at is None else min(slot.next_due_at, due)
        elif slot.is_before_unloaded(entry):
            insort(slot.entries, entry)
            slot.loaded_keys.add(entry.key)
            self._unload_excess(slot)
        else:
            slot.mark_unloaded(entry)
        self._reschedule(slot)

    def reload(self) -> None:
        """Tasks came to many hosts at once: what is in hand goes back, and each host asks for its best ones anew."""
        for slot in self._slots.values():
            slot.loaded_keys.difference_update(entry.key for entry in slot.entries)
            slot.entries = []
            slot.has_more, slot.unloaded_from = True, None
            self._reschedule(slot)

    def loaded_keys(self, host_ids: Iterable[int]) -> dict[int, frozenset[int]]:
        """The keys of the tasks that are held, or in flight, of those hosts that are in the window."""
        found = ((host_id, self._slots.get(host_id)) for host_id in host_ids)
        return {host_id: frozenset(slot.loaded_keys) for host_id, slot in found if slot is not None}

    def take(self, now: float) -> tuple[Slot, Entry] | None:
        """The next turn that has come, with the task to visit."""
        while self._heap and self._heap[0][0] <= now:
            ready_at, _, slot = heappop(self._heap)
            if slot.ready_at != ready_at:
                continue
            slot.ready_at = None
            if slot.next_due_at is not None and slot.next_due_at <= now:
                self._request_refill(slot)
            is_patient = (slot.served + 1) % OLDEST_TASK_EVERY == 0
            if not (slot.entries if is_patient else slot.ordered_count):
                self._request_refill(slot)
                continue
            if slot.in_flight >= self._pace_rules.connections(slot.record, now):
                continue
            slot.in_flight += 1
            slot.served += 1
            place = _find_oldest_position(slot.entries) if is_patient else 0
            entry = slot.entries.pop(place)
            slot.next_at = max(slot.next_at, now + self._pace_rules.pace_seconds(slot.record))
            if slot.has_more and self._needs_more_tasks(slot, entry, place if is_patient else None):
                self._refill_slots[slot.host_id] = slot
            self._reschedule(slot)
            return slot, entry
        return None

    def complete_visit(self, slot: Slot, key: int, record: HostRecord) -> None:
        """A visit of this host was committed; its task is no longer here."""
        slot.loaded_keys.discard(key)
        slot.in_flight -= 1
        self._used_capacity += window_cost(record) - window_cost(slot.record)
        slot.record = record
        slot.next_at = max(slot.next_at, record.next_at) if slot.in_flight else record.next_at
        self._reschedule(slot)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        """A claim was given up: the task is the first of its host again.

        A request may have been sent until then of which nothing is written down: a whole pace before the next one.
        """
        slot.in_flight -= 1
        slot.next_at = max(slot.next_at, at + self._pace_rules.pace_seconds(slot.record))
        insort(slot.entries, entry)
        self._reschedule(slot)

    def next_claim_at(self) -> float | None:
        """When the next turn comes, as far as the window knows."""
        while self._heap and self._heap[0][2].ready_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def evict_hosts(self, now: float) -> None:
        """Hosts leave that have nothing in hand, rest for a while, or had their share: they wait in the backend.

        Whoever has just come in and was not served yet stays.
        """
        for slot in list(self._slots.values()):
            is_fresh = not slot.served and slot.host_id in self._refill_slots
            if slot.in_flight or is_fresh:
                continue
            if not slot.entries or slot.next_at > now + MAX_IDLE_SECONDS or slot.served >= self._task_quota(slot):
                slot.ready_at = None
                self._refill_slots.pop(slot.host_id, None)
                self._used_capacity -= window_cost(slot.record)
                del self._slots[slot.host_id]

    def _needs_more_tasks(self, slot: Slot, taken: Entry, oldest_position: int | None) -> bool:
        """Whether the slot needs more tasks. `oldest_position`: where the one was that was taken for its patience."""
        half, in_order = self._task_quota(slot) / 2, slot.ordered_count
        if in_order < half:
            return True
        if oldest_position is None:
            return False
        # The one that waits longest by now may not be in hand; it is if it is the next one of the same level, and if
        # not too much may have come since that only the backend knows.
        is_next_known = oldest_position < in_order and slot.entries[oldest_position].rank == taken.rank
        return not is_next_known or slot.served - slot.served_at_fill >= half

    def _task_quota(self, slot: Slot) -> int:
        return max(self._look_ahead, 2 * self._pace_rules.connections(slot.record, slot.next_at))

    def _unload_excess(self, slot: Slot) -> None:
        """Of more than twice its share the last ones wait in the backend, besides the first of each level."""
        most = 2 * self._task_quota(slot)
        if len(slot.entries) <= most:
            return
        spare = slot.entries[most:]
        del slot.entries[most:]
        for entry in spare:
            # They are sorted: if its level is in hand at all, then the last one in hand is of it.
            if entry.rank == slot.entries[-1].rank:
                slot.loaded_keys.discard(entry.key)
                slot.mark_unloaded(entry)
            else:
                slot.entries.append(entry)

    def _request_refill(self, slot: Slot) -> None:
        if slot.has_more or slot.next_due_at is not None:
            slot.has_more = True
            self._refill_slots[slot.host_id] = slot

    def _reschedule(self, slot: Slot) -> None:
        """Put the slot where its next turn is."""
        if slot.entries:
            ready_at = slot.next_at
        elif slot.has_more:
            self._refill_slots[slot.host_id] = slot
            slot.ready_at = None
            return
        elif slot.next_due_at is not None:
            ready_at = max(slot.next_at, slot.next_due_at)
        else:
            slot.ready_at = None
            return
        if slot.ready_at != ready_at:
            slot.ready_at = ready_at
            self._sequence += 1
            heappush(self._heap, (ready_at, self._sequence, slot))
            if len(self._heap) > 2 * len(self._slots) + SPARE_HEAP_ENTRIES:
                self._prune_heap()

    def _prune_heap(self) -> None:
        """A turn that was moved, or whose host left, may lie a day ahead: it must not be kept until then."""
        self._heap = [one for one in self._heap if one[2].ready_at == one[0]]
        heapify(self._heap)


def _count_before(entries: Sequence[tuple[object, ...]], queue_key: QueueKey | tuple[int]) -> int:
    """How many of them come before a place; a level alone is the place of its beginning."""
    return bisect_left(entries, queue_key)


def _next_key(entry: Entry) -> QueueKey:
    return entry.rank, entry.due, entry.key + 1


def _find_oldest_position(entries: list[Entry]) -> int:
    """The place of the one that has been due for longest, of all levels: the first of one of them."""
    firsts = {_count_before(entries, (rank,)) for rank in range(RANKS)} - {len(entries)}
    return min(firsts, key=lambda place: (entries[place].due, place))
