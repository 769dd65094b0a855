"""Whose turn it is: the part of the frontier held in memory, for any backend that claims in process.

A *slot* is a host in the window, with its next few tasks in the order it serves them. Slots stand in a heap by the
time of their next turn, so taking a turn costs the logarithm of the window, however many hosts or URLs are known.
Politeness is a place in this queue: nobody sleeps. Nothing here does I/O; the backend fills slots when asked to.

When more hosts have work than the window has places, `make_room` lets those leave that need none just now. So memory is
bounded by the window, however many hosts are known, and no host has more than its share of tasks before others come in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tenax.database import Turns
from tenax.model import Held, HostRecord

AWAY_SECONDS = 5.0
"""Who has its next turn later than this needs no place in a crowded window until then."""
PLACE_CHARS = 16 * 1024
"""A host takes one place in the window for each such part of its robots.txt, which is held with it."""
SPARE_TURNS = 64
RANKS = 4
"""Levels of priority, the best first: 0 to 3."""
PATIENT_TURNS = 10
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
    held: Held | None = None
    """What came of an earlier visit; looked up too."""

    @property
    def columns(self) -> tuple[object, ...]:
        return self[:-2]


Place = tuple[int, int, int]
"""Of a task within its host: rank, due time and key."""


class Slot:
    """A host in the window."""

    __slots__ = (
        "entries", "filled_at", "has_more", "held", "host_id", "in_flight", "known_to", "next_at", "record", "served",
        "turn_at", "wake_at",
    )  # fmt: skip

    def __init__(self, host_id: int, record: HostRecord) -> None:
        self.host_id = host_id
        self.record = record
        self.entries: list[Entry] = []
        self.held: set[int] = set()
        """Keys taken from the backend and not yet committed: in `entries` or in flight."""
        self.in_flight = 0
        self.served = 0
        """Tasks taken since the host entered the window."""
        self.filled_at = 0
        """How many of them were taken when the backend last brought tasks."""
        self.next_at = record.next_at
        self.has_more = True
        """The backend may hold tasks that are due and not in `entries`."""
        self.known_to: Place | None = None
        """From this place on some of them may come before those in `entries`; None: nobody knows of any."""
        self.wake_at: float | None = None
        """When the earliest task that is not due yet becomes due."""
        self.turn_at: float | None = None
        """Its place in the heap; None when it stands in no queue."""

    @property
    def waiting(self) -> int | None:
        """How many tasks are due besides those taken; None when there may be more than are held here."""
        return None if self.has_more else len(self.entries)

    @property
    def in_order(self) -> int:
        """How many of `entries` are the next ones of the host, as far as known: the others only wait for patience."""
        if not self.has_more or self.known_to is None:
            return len(self.entries)
        return _place_in(self.entries, self.known_to)

    def comes_before_more(self, entry: Entry) -> bool:
        """Whether nothing that only the backend holds comes before it."""
        if not self.has_more:
            return True
        if self.known_to is None:
            return bool(self.entries) and entry < self.entries[-1]
        return entry[:3] < self.known_to

    def leave(self, entry: Entry) -> None:
        """It is due and waits in the backend."""
        self.has_more = True
        if self.known_to is None or entry[:3] < self.known_to:
            self.known_to = entry[:3]


def places(record: HostRecord) -> int:
    """How many places of the window a host takes: a few with huge robots.txts must not fill the memory."""
    return 1 + (len(record.robots.text) // PLACE_CHARS if record.robots is not None else 0)


class Schedule:
    """The window of hosts and their turns."""

    def __init__(self, turns: Turns, window_hosts: int, look_ahead: int) -> None:
        self._turns = turns
        self._window_hosts = window_hosts
        self._look_ahead = look_ahead
        self._slots: dict[int, Slot] = {}
        self._places = 0
        self._heap: list[tuple[float, int, Slot]] = []
        self._hungry: dict[int, Slot] = {}
        self._ticket = 0
        self.unknown_until = 0.0
        """Before this time a process that died may have sent requests of which nothing is written down."""

    @property
    def ids(self) -> Collection[int]:
        """The hosts in the window."""
        return self._slots.keys()

    def __contains__(self, host_id: int) -> bool:
        return host_id in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def room(self) -> int:
        """How many more hosts the window takes; below 0 when some of them have grown in it."""
        return self._window_hosts - self._places

    @property
    def has_hungry(self) -> bool:
        return bool(self._hungry)

    def enter(self, host_id: int, record: HostRecord) -> None:
        """A host joins the window; it asks to be filled at once."""
        slot = Slot(host_id, record)
        slot.next_at = max(slot.next_at, self.unknown_until + self._turns.pace_seconds(record))
        self._slots[host_id] = slot
        self._places += places(record)
        self._hungry[host_id] = slot

    def hungry(self) -> list[tuple[int, int]]:
        """Hosts that ask for tasks, with how many rows to read (tasks already held come back too)."""
        return [(slot.host_id, len(slot.held) + self._share(slot)) for slot in self._hungry.values()]

    def fill(self, host_id: int, rows: list[Entry], asked: int, next_due: float | None) -> None:
        """The backend's answer: what is due now, and when the next one would be. There may be more rows than were asked
        for: behind the best ones, the first of each other level."""
        slot = self._slots.get(host_id)
        self._hungry.pop(host_id, None)
        if slot is None:
            return
        fresh = [row for row in rows if row.key not in slot.held]
        slot.held.update(row.key for row in fresh)
        slot.entries = sorted(slot.entries + fresh)
        slot.has_more = len(rows) >= asked
        slot.known_to = _after(sorted(rows)[asked - 1]) if slot.has_more else None
        slot.wake_at = next_due
        slot.filled_at = slot.served
        self._let_go(slot)
        self._place(slot)

    def arrived(self, host_id: int, entry: Entry, now: float) -> None:
        """A task was admitted or put back: take it into the slot when it belongs before what is held there."""
        slot = self._slots.get(host_id)
        if slot is None or entry.key in slot.held:
            return
        due = entry.due / 1000
        if due > now:
            slot.wake_at = due if slot.wake_at is None else min(slot.wake_at, due)
        elif slot.comes_before_more(entry):
            insort(slot.entries, entry)
            slot.held.add(entry.key)
            self._let_go(slot)
        else:
            slot.leave(entry)
        self._place(slot)

    def look_again(self) -> None:
        """Tasks came to many hosts at once: what is in hand goes back, and each host asks for its best ones anew."""
        for slot in self._slots.values():
            slot.held.difference_update(entry.key for entry in slot.entries)
            slot.entries = []
            slot.has_more, slot.known_to = True, None
            self._place(slot)

    def in_hand(self, host_ids: Iterable[int]) -> dict[int, frozenset[int]]:
        """The keys of the tasks that are held, or in flight, of those hosts that are in the window."""
        found = ((host_id, self._slots.get(host_id)) for host_id in host_ids)
        return {host_id: frozenset(slot.held) for host_id, slot in found if slot is not None}

    def take(self, now: float) -> tuple[Slot, Entry] | None:
        """The next turn that has come, with the task to visit."""
        while self._heap and self._heap[0][0] <= now:
            turn_at, _, slot = heappop(self._heap)
            if slot.turn_at != turn_at:
                continue
            slot.turn_at = None
            if slot.wake_at is not None and slot.wake_at <= now:
                self._ask(slot)
            is_patient = (slot.served + 1) % PATIENT_TURNS == 0
            if not (slot.entries if is_patient else slot.in_order):
                self._ask(slot)
                continue
            if slot.in_flight >= self._turns.connections(slot.record, now):
                continue
            slot.in_flight += 1
            slot.served += 1
            place = _longest_waiting(slot.entries) if is_patient else 0
            entry = slot.entries.pop(place)
            slot.next_at = max(slot.next_at, now + self._turns.pace_seconds(slot.record))
            if slot.has_more and self._is_short(slot, entry, place if is_patient else None):
                self._hungry[slot.host_id] = slot
            self._place(slot)
            return slot, entry
        return None

    def settle(self, slot: Slot, key: int, record: HostRecord) -> None:
        """A visit of this host was committed; its task is no longer here."""
        slot.held.discard(key)
        slot.in_flight -= 1
        self._places += places(record) - places(slot.record)
        slot.record = record
        slot.next_at = max(slot.next_at, record.next_at) if slot.in_flight else record.next_at
        self._place(slot)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        """A claim was given up: the task is the first of its host again.

        A request may have been sent until then of which nothing is written down: a whole pace before the next one.
        """
        slot.in_flight -= 1
        slot.next_at = max(slot.next_at, at + self._turns.pace_seconds(slot.record))
        insort(slot.entries, entry)
        self._place(slot)

    def next_turn(self) -> float | None:
        """When the next turn comes, as far as the window knows."""
        while self._heap and self._heap[0][2].turn_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def make_room(self, now: float) -> None:
        """Hosts leave that have nothing in hand, rest for a while, or had their share: they wait in the backend.

        Whoever has just come in and was not served yet stays.
        """
        for slot in list(self._slots.values()):
            is_fresh = not slot.served and slot.host_id in self._hungry
            if slot.in_flight or is_fresh:
                continue
            if not slot.entries or slot.next_at > now + AWAY_SECONDS or slot.served >= self._share(slot):
                slot.turn_at = None
                self._hungry.pop(slot.host_id, None)
                self._places -= places(slot.record)
                del self._slots[slot.host_id]

    def _is_short(self, slot: Slot, taken: Entry, patient_place: int | None) -> bool:
        """Whether the slot needs more tasks. `patient_place`: where the one was that was taken for its patience."""
        half, in_order = self._share(slot) / 2, slot.in_order
        if in_order < half:
            return True
        if patient_place is None:
            return False
        # The one that waits longest by now may not be in hand; it is if it is the next one of the same level, and if
        # not too much may have come since that only the backend knows.
        is_next_known = patient_place < in_order and slot.entries[patient_place].rank == taken.rank
        return not is_next_known or slot.served - slot.filled_at >= half

    def _share(self, slot: Slot) -> int:
        return max(self._look_ahead, 2 * self._turns.connections(slot.record, slot.next_at))

    def _let_go(self, slot: Slot) -> None:
        """Of more than twice its share the last ones wait in the backend, besides the first of each level."""
        most = 2 * self._share(slot)
        if len(slot.entries) <= most:
            return
        spare = slot.entries[most:]
        del slot.entries[most:]
        for entry in spare:
            # They are sorted: if its level is in hand at all, then the last one in hand is of it.
            if entry.rank == slot.entries[-1].rank:
                slot.held.discard(entry.key)
                slot.leave(entry)
            else:
                slot.entries.append(entry)

    def _ask(self, slot: Slot) -> None:
        if slot.has_more or slot.wake_at is not None:
            slot.has_more = True
            self._hungry[slot.host_id] = slot

    def _place(self, slot: Slot) -> None:
        """Put the slot where its next turn is."""
        if slot.entries:
            turn_at = slot.next_at
        elif slot.has_more:
            self._hungry[slot.host_id] = slot
            slot.turn_at = None
            return
        elif slot.wake_at is not None:
            turn_at = max(slot.next_at, slot.wake_at)
        else:
            slot.turn_at = None
            return
        if slot.turn_at != turn_at:
            slot.turn_at = turn_at
            self._ticket += 1
            heappush(self._heap, (turn_at, self._ticket, slot))
            if len(self._heap) > 2 * len(self._slots) + SPARE_TURNS:
                self._forget_old_turns()

    def _forget_old_turns(self) -> None:
        """A turn that was moved, or whose host left, may lie a day ahead: it must not be kept until then."""
        self._heap = [one for one in self._heap if one[2].turn_at == one[0]]
        heapify(self._heap)


def _place_in(entries: Sequence[tuple[object, ...]], place: Place | tuple[int]) -> int:
    """How many of them come before a place; a level alone is the place of its beginning."""
    return bisect_left(entries, place)


def _after(entry: Entry) -> Place:
    return entry.rank, entry.due, entry.key + 1


def _longest_waiting(entries: list[Entry]) -> int:
    """The place of the one that has been due for longest, of all levels: the first of one of them."""
    firsts = {_place_in(entries, (rank,)) for rank in range(RANKS)} - {len(entries)}
    return min(firsts, key=lambda place: (entries[place].due, place))
