"""The part of the frontier in memory, for backends that claim in process. It chooses the next host and task.

A *slot* is a host in the window, with its next few tasks in order. Slots are in a heap, ordered by the time of their
next request. So a claim costs the logarithm of the window, however many hosts or URLs are known. Rate limits are times
in this heap: nothing sleeps. No I/O here; the backend fills slots on request.

If more hosts have work than fit into the window, `evict_hosts` removes those that do not need a slot now. So memory is
bounded by the window, and no host gets more than its share of tasks before others get a slot.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tenax.database import PaceRules
from tenax.model import HostRecord, StoredCopy

MAX_IDLE_SECONDS = 5.0
"""A host whose next request is later than this is evicted from a full window."""
ROBOTS_CHARS_PER_UNIT = 16 * 1024
"""A host takes one unit of the window for each part of this size of its robots.txt, because the robots.txt is in memory
too."""
SPARE_HEAP_ENTRIES = 64
RANKS = 4
"""The number of priority levels, 0 to 3, the best one first."""
OLDEST_TASK_EVERY = 10
"""One claim in this many takes the task of a host that has waited longest, whatever its level, so that no task waits
for ever."""


class Entry(NamedTuple):
    """A waiting task as stored. The first three fields are its position within its host."""

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
    """How to visit the task; None for a normal visit."""
    via_url: str | None = None
    """The URL of the page on which it was found. It is looked up, not stored in the queue."""
    stored_copy: StoredCopy | None = None
    """The result of an earlier visit. It is looked up, not stored in the queue."""

    @property
    def columns(self) -> tuple[object, ...]:
        return self[:-2]


QueueKey = tuple[int, int, int]
"""The position of a task within its host: rank, due time and key."""


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
        """Keys loaded from the backend and not yet committed: in `entries` or in flight."""
        self.in_flight = 0
        self.served = 0
        """Number of tasks claimed since the host entered the window."""
        self.served_at_fill = 0
        """The value of `served` when the backend last loaded tasks."""
        self.next_at = record.next_at
        self.has_more = True
        """The backend may have due tasks that are not in `entries`."""
        self.unloaded_from: QueueKey | None = None
        """The first position at which such a task may be; None: none is known."""
        self.next_due_at: float | None = None
        """When the earliest task that is not due yet becomes due."""
        self.ready_at: float | None = None
        """Its key in the heap; None when it is not in the heap."""

    @property
    def waiting(self) -> int | None:
        """The number of due tasks that are not claimed yet; None if the backend may have more than are loaded."""
        return None if self.has_more else len(self.entries)

    @property
    def ordered_count(self) -> int:
        """How many of `entries` are known to be the host's next tasks. The others are the oldest of their levels."""
        if not self.has_more or self.unloaded_from is None:
            return len(self.entries)
        return _count_before(self.entries, self.unloaded_from)

    def is_before_unloaded(self, entry: Entry) -> bool:
        """Whether no task that is only in the backend comes before this entry."""
        if not self.has_more:
            return True
        if self.unloaded_from is None:
            return bool(self.entries) and entry < self.entries[-1]
        return entry[:3] < self.unloaded_from

    def mark_unloaded(self, entry: Entry) -> None:
        """Note a due task that is only in the backend."""
        self.has_more = True
        if self.unloaded_from is None or entry[:3] < self.unloaded_from:
            self.unloaded_from = entry[:3]


def window_cost(record: HostRecord) -> int:
    """The units of the window that a host takes, so that a few huge robots.txt files cannot fill the memory."""
    return 1 + (len(record.robots.text) // ROBOTS_CHARS_PER_UNIT if record.robots is not None else 0)


class Schedule:
    """The window of hosts, ordered by the time of their next request."""

    def __init__(self, pace_rules: PaceRules, window_hosts: int, tasks_per_host: int) -> None:
        self._pace_rules = pace_rules
        self._window_hosts = window_hosts
        self._tasks_per_host = tasks_per_host
        self._slots: dict[int, Slot] = {}
        self._used_capacity = 0
        self._heap: list[tuple[float, int, Slot]] = []
        self._refill_slots: dict[int, Slot] = {}
        self._sequence = 0
        self.unknown_until = 0.0
        """Before this time, a process that died may have sent requests that were not recorded."""

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
        """How many more hosts fit into the window; negative if hosts have grown in it."""
        return self._window_hosts - self._used_capacity

    @property
    def should_refill(self) -> bool:
        return bool(self._refill_slots)

    def add_host(self, host_id: int, record: HostRecord) -> None:
        """Add a host to the window and request its tasks."""
        slot = Slot(host_id, record)
        slot.next_at = max(slot.next_at, self.unknown_until + self._pace_rules.pace_seconds(record))
        self._slots[host_id] = slot
        self._used_capacity += window_cost(record)
        self._refill_slots[host_id] = slot

    def refill_requests(self) -> list[tuple[int, int]]:
        """Hosts that need tasks, with the number of rows to read. Loaded tasks are returned again."""
        return [(slot.host_id, len(slot.loaded_keys) + self._task_quota(slot)) for slot in self._refill_slots.values()]

    def fill_host(self, host_id: int, rows: list[Entry], requested: int, next_due: float | None) -> None:
        """Load what the backend has read: the due tasks, and the time of the next one.

        There may be more rows than requested: first the best ones, then the first of each other level.
        """
        slot = self._slots.get(host_id)
        self._refill_slots.pop(host_id, None)
        if slot is None:
            return
        new = [row for row in rows if row.key not in slot.loaded_keys]
        slot.loaded_keys.update(row.key for row in new)
        slot.entries = sorted(slot.entries + new)
        slot.has_more = len(rows) >= requested
        slot.unloaded_from = _next_key(sorted(rows)[requested - 1]) if slot.has_more else None
        slot.next_due_at = next_due
        slot.served_at_fill = slot.served
        self._unload_excess(slot)
        self._reschedule(slot)

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        """Add a task that was admitted or rescheduled. It is loaded if it comes before those that are not loaded."""
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
        """Unload all tasks and request the best ones again, after many hosts have got tasks."""
        for slot in self._slots.values():
            slot.loaded_keys.difference_update(entry.key for entry in slot.entries)
            slot.entries = []
            slot.has_more, slot.unloaded_from = True, None
            self._reschedule(slot)

    def loaded_keys(self, host_ids: Iterable[int]) -> dict[int, frozenset[int]]:
        """The keys of the loaded and in-flight tasks of those hosts that are in the window."""
        found = ((host_id, self._slots.get(host_id)) for host_id in host_ids)
        return {host_id: frozenset(slot.loaded_keys) for host_id, slot in found if slot is not None}

    def take(self, now: float) -> tuple[Slot, Entry] | None:
        """Claim the first task of the host that has been ready longest."""
        while self._heap and self._heap[0][0] <= now:
            ready_at, _, slot = heappop(self._heap)
            if slot.ready_at != ready_at:
                continue
            slot.ready_at = None
            if slot.next_due_at is not None and slot.next_due_at <= now:
                self._request_refill(slot)
            takes_oldest = (slot.served + 1) % OLDEST_TASK_EVERY == 0
            if not (slot.entries if takes_oldest else slot.ordered_count):
                self._request_refill(slot)
                continue
            if slot.in_flight >= self._pace_rules.connections(slot.record, now):
                continue
            slot.in_flight += 1
            slot.served += 1
            position = _find_oldest_position(slot.entries) if takes_oldest else 0
            entry = slot.entries.pop(position)
            slot.next_at = max(slot.next_at, now + self._pace_rules.pace_seconds(slot.record))
            if slot.has_more and self._needs_more_tasks(slot, entry, position if takes_oldest else None):
                self._refill_slots[slot.host_id] = slot
            self._reschedule(slot)
            return slot, entry
        return None

    def complete_visit(self, slot: Slot, key: int, record: HostRecord) -> None:
        """Remove the task of a committed visit and update the host."""
        slot.loaded_keys.discard(key)
        slot.in_flight -= 1
        self._used_capacity += window_cost(record) - window_cost(slot.record)
        slot.record = record
        slot.next_at = max(slot.next_at, record.next_at) if slot.in_flight else record.next_at
        self._reschedule(slot)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        """Return the task of a released claim to its host.

        A request may have been sent without being recorded, so wait a whole pace before the next one.
        """
        slot.in_flight -= 1
        slot.next_at = max(slot.next_at, at + self._pace_rules.pace_seconds(slot.record))
        insort(slot.entries, entry)
        self._reschedule(slot)

    def next_claim_at(self) -> float | None:
        """When the next host is ready, as far as the window shows."""
        while self._heap and self._heap[0][2].ready_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def evict_hosts(self, now: float) -> None:
        """Remove hosts that have no loaded task, that back off for a while, or that have had their share.

        A host that was just added, and has not been served yet, stays.
        """
        for slot in list(self._slots.values()):
            is_new = not slot.served and slot.host_id in self._refill_slots
            if slot.in_flight or is_new:
                continue
            if not slot.entries or slot.next_at > now + MAX_IDLE_SECONDS or slot.served >= self._task_quota(slot):
                slot.ready_at = None
                self._refill_slots.pop(slot.host_id, None)
                self._used_capacity -= window_cost(slot.record)
                del self._slots[slot.host_id]

    def _needs_more_tasks(self, slot: Slot, taken: Entry, oldest_position: int | None) -> bool:
        """Whether the slot needs more tasks. `oldest_position` is the index of the claimed task if it was the
        oldest."""
        half, in_order = self._task_quota(slot) / 2, slot.ordered_count
        if in_order < half:
            return True
        if oldest_position is None:
            return False
        # The task that now waits longest may not be loaded. It is loaded if it is the next one of the same level, and
        # if not too many tasks may have been added since then that only the backend knows.
        is_next_known = oldest_position < in_order and slot.entries[oldest_position].rank == taken.rank
        return not is_next_known or slot.served - slot.served_at_fill >= half

    def _task_quota(self, slot: Slot) -> int:
        return max(self._tasks_per_host, 2 * self._pace_rules.connections(slot.record, slot.next_at))

    def _unload_excess(self, slot: Slot) -> None:
        """Unload the last tasks beyond twice the quota, except the first of each level."""
        most = 2 * self._task_quota(slot)
        if len(slot.entries) <= most:
            return
        spare = slot.entries[most:]
        del slot.entries[most:]
        for entry in spare:
            # Sorted, so if its level is loaded at all, the last loaded task has this level.
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
        """Move the slot to the time of its next request."""
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
        """Remove outdated entries of the heap. They may be a day in the future, and must not be kept until then."""
        self._heap = [one for one in self._heap if one[2].ready_at == one[0]]
        heapify(self._heap)


def _count_before(entries: Sequence[tuple[object, ...]], queue_key: QueueKey | tuple[int]) -> int:
    """How many entries come before a position. A rank alone is the position of its first task."""
    return bisect_left(entries, queue_key)


def _next_key(entry: Entry) -> QueueKey:
    return entry.rank, entry.due, entry.key + 1


def _find_oldest_position(entries: list[Entry]) -> int:
    """The index of the task that has been due longest. It is the first one of one of the levels."""
    firsts = {_count_before(entries, (rank,)) for rank in range(RANKS)} - {len(entries)}
    return min(firsts, key=lambda index: (entries[index].due, index))
