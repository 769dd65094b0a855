"""The hosts this worker holds: a schedule whose hosts are leased, and can be given up."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tenax.database import Turns, rows
from tenax.database.schedule import Entry, Schedule, Slot, places
from tenax.model import HostRecord

SOON_SECONDS = 5.0
"""A host whose next turn comes within this time is kept; others may have it meanwhile otherwise."""
LONG_ENOUGH_SECONDS = 10.0
"""How long a host is held, when others wait for room in a full window."""


class GivenUp(NamedTuple):
    """A host that goes back to the ledger."""

    host_id: int
    turn_at: float
    """Its next turn as far as its manners go."""
    state: bytes | None = None
    """Its record, when what is written down would give it an earlier turn."""


class Slots(Schedule):
    """What `Schedule` does, for hosts that are ours for a time only."""

    def __init__(self, turns: Turns, window_hosts: int, look_ahead: int) -> None:
        super().__init__(turns, window_hosts, look_ahead)
        self._since: dict[int, float] = {}
        self._leaving: set[int] = set()
        """Those to be given up as soon as their last visit has ended; they get no new turns."""

    def join(self, host_id: int, record: HostRecord, now: float) -> None:
        """A host is ours."""
        self.enter(host_id, record)
        self._since[host_id] = now

    def arrived(self, host_id: int, entry: Entry, now: float) -> None:
        if host_id not in self._leaving:
            super().arrived(host_id, entry, now)

    def settle(self, slot: Slot, key: int, record: HostRecord) -> None:
        if self._slots.get(slot.host_id) is slot:  # not if it was lost meanwhile
            super().settle(slot, key, record)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        if self._slots.get(slot.host_id) is slot:
            super().put_back(slot, entry, at)
            if slot.host_id in self._leaving:
                self._empty(slot)

    def look_again(self) -> None:
        super().look_again()
        for host_id in self._leaving:
            self._empty(self._slots[host_id])

    def idle(self, now: float) -> list[GivenUp]:
        """Hosts we have nothing to do at for a while, or for now nothing at all."""
        return [
            given_up(slot.host_id, slot.record, slot.next_at)
            for slot in self._slots.values()
            if not slot.in_flight and slot.host_id not in self._hungry and _next_visit(slot) > now + SOON_SECONDS
        ]

    def dismiss(self, count: int, held_since: float) -> None:
        """Let go of so many hosts that were ours since then or longer, the longest first: no new turns for them."""
        found = [slot for slot in self._slots.values() if self._since[slot.host_id] <= held_since]
        found.sort(key=lambda slot: (self._since[slot.host_id], slot.host_id))
        for slot in found[: max(count - len(self._leaving), 0)]:
            self._leaving.add(slot.host_id)
            self._empty(slot)

    def _empty(self, slot: Slot) -> None:
        self._hungry.pop(slot.host_id, None)
        slot.held.difference_update(entry.key for entry in slot.entries)
        slot.entries, slot.has_more, slot.wake_at, slot.turn_at = [], False, None, None

    def remove(self, host_id: int) -> None:
        slot = self._slots.pop(host_id)
        self._places -= places(slot.record)
        slot.turn_at = None
        self._hungry.pop(host_id, None)
        self._leaving.discard(host_id)
        del self._since[host_id]

    def clear(self) -> None:
        """Nothing is ours any more."""
        for host_id in list(self._slots):
            self.remove(host_id)

    def all(self, now: float) -> list[GivenUp]:
        """Every host, at the end. Where visits were going on, a request may have been sent of which nothing is written
        down: such a host has no turn before a pace is over."""
        return [
            given_up(
                slot.host_id,
                slot.record,
                max(slot.next_at, now + self._turns.pace_seconds(slot.record)) if slot.in_flight else slot.next_at,
            )
            for slot in self._slots.values()
        ]


def given_up(host_id: int, record: HostRecord, turn_at: float) -> GivenUp:
    if turn_at <= record.next_at:
        return GivenUp(host_id, record.next_at)
    return GivenUp(host_id, turn_at, rows.host_state(msgspec.structs.replace(record, next_at=turn_at)))


def _next_visit(slot: Slot) -> float:
    """When there is something to do at a host; infinity when nobody knows."""
    if slot.entries or slot.has_more:
        return slot.next_at
    return max(slot.next_at, slot.wake_at) if slot.wake_at is not None else float("inf")
