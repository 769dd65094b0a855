"""The hosts this worker holds: a schedule whose hosts are leased, and can be given up."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tenax.database import PaceRules, rows
from tenax.database.schedule import Entry, Schedule, Slot, window_cost
from tenax.model import HostRecord

KEEP_HOST_SECONDS = 5.0
"""A host whose next turn comes within this time is kept; others may have it meanwhile otherwise."""
MIN_LEASE_SECONDS = 10.0
"""How long a host is held, when others wait for room in a full window."""


class ReleasedHost(NamedTuple):
    """A host that goes back to the database."""

    host_id: int
    ready_at: float
    """Its next turn as far as its manners go."""
    state: bytes | None = None
    """Its record, when what is written down would give it an earlier turn."""


class LeasedSchedule(Schedule):
    """What `Schedule` does, for hosts that are ours for a time only."""

    def __init__(self, pace_rules: PaceRules, window_hosts: int, look_ahead: int) -> None:
        super().__init__(pace_rules, window_hosts, look_ahead)
        self._leased_since: dict[int, float] = {}
        self._releasing: set[int] = set()
        """Those to be given up as soon as their last visit has ended; they get no new turns."""

    def add_leased_host(self, host_id: int, record: HostRecord, now: float) -> None:
        """A host is ours."""
        self.add_host(host_id, record)
        self._leased_since[host_id] = now

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        if host_id not in self._releasing:
            super().add_task(host_id, entry, now)

    def complete_visit(self, slot: Slot, key: int, record: HostRecord) -> None:
        if self._slots.get(slot.host_id) is slot:  # not if it was lost meanwhile
            super().complete_visit(slot, key, record)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        if self._slots.get(slot.host_id) is slot:
            super().put_back(slot, entry, at)
            if slot.host_id in self._releasing:
                self._clear_tasks(slot)

    def reload(self) -> None:
        super().reload()
        for host_id in self._releasing:
            self._clear_tasks(self._slots[host_id])

    def idle_hosts(self, now: float) -> list[ReleasedHost]:
        """Hosts we have nothing to do at for a while, or for now nothing at all."""
        return [
            make_released_host(slot.host_id, slot.record, slot.next_at)
            for slot in self._slots.values()
            if not slot.in_flight
            and slot.host_id not in self._refill_slots
            and _next_visit_at(slot) > now + KEEP_HOST_SECONDS
        ]

    def start_release(self, count: int, leased_before: float) -> None:
        """Let go of so many hosts that were ours since then or longer, the longest first: no new turns for them."""
        found = [slot for slot in self._slots.values() if self._leased_since[slot.host_id] <= leased_before]
        found.sort(key=lambda slot: (self._leased_since[slot.host_id], slot.host_id))
        for slot in found[: max(count - len(self._releasing), 0)]:
            self._releasing.add(slot.host_id)
            self._clear_tasks(slot)

    def _clear_tasks(self, slot: Slot) -> None:
        self._refill_slots.pop(slot.host_id, None)
        slot.loaded_keys.difference_update(entry.key for entry in slot.entries)
        slot.entries, slot.has_more, slot.next_due_at, slot.ready_at = [], False, None, None

    def remove(self, host_id: int) -> None:
        slot = self._slots.pop(host_id)
        self._used_capacity -= window_cost(slot.record)
        slot.ready_at = None
        self._refill_slots.pop(host_id, None)
        self._releasing.discard(host_id)
        del self._leased_since[host_id]

    def clear(self) -> None:
        """Nothing is ours any more."""
        for host_id in list(self._slots):
            self.remove(host_id)

    def all_hosts(self, now: float) -> list[ReleasedHost]:
        """Every host, at the end. Where visits were going on, a request may have been sent of which nothing is written
        down: such a host has no turn before a pace is over."""
        return [
            make_released_host(
                slot.host_id,
                slot.record,
                max(slot.next_at, now + self._pace_rules.pace_seconds(slot.record)) if slot.in_flight else slot.next_at,
            )
            for slot in self._slots.values()
        ]


def make_released_host(host_id: int, record: HostRecord, ready_at: float) -> ReleasedHost:
    if ready_at <= record.next_at:
        return ReleasedHost(host_id, record.next_at)
    return ReleasedHost(host_id, ready_at, rows.encode_host_state(msgspec.structs.replace(record, next_at=ready_at)))


def _next_visit_at(slot: Slot) -> float:
    """When there is something to do at a host; infinity when nobody knows."""
    if slot.entries or slot.has_more:
        return slot.next_at
    return max(slot.next_at, slot.next_due_at) if slot.next_due_at is not None else float("inf")
