"""The hosts leased by this worker: a schedule whose hosts can be released."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tenax.database import PaceRules, rows
from tenax.database.schedule import Entry, Schedule, Slot, window_cost
from tenax.model import HostRecord

KEEP_HOST_SECONDS = 5.0
"""A host with its next request within this time is kept; later ones are released."""
MIN_LEASE_SECONDS = 10.0
"""Minimum lease of a host when others wait for a place in a full window."""


class ReleasedHost(NamedTuple):
    """A host to release."""

    host_id: int
    ready_at: float
    """The earliest next request by its rate limit."""
    state: bytes | None = None
    """Its record, when the stored one would allow an earlier request."""


class LeasedSchedule(Schedule):
    """A `Schedule` of hosts with a temporary lease."""

    def __init__(self, pace_rules: PaceRules, window_hosts: int, tasks_per_host: int) -> None:
        super().__init__(pace_rules, window_hosts, tasks_per_host)
        self._leased_since: dict[int, float] = {}
        self._releasing: set[int] = set()
        """Hosts to release as soon as their last visit has ended; none of their tasks is claimed."""

    def add_leased_host(self, host_id: int, record: HostRecord, now: float) -> None:
        """Add a host that this worker has leased."""
        self.add_host(host_id, record)
        self._leased_since[host_id] = now

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        if host_id not in self._releasing:
            super().add_task(host_id, entry, now)

    def complete_visit(self, slot: Slot, key: int, record: HostRecord) -> None:
        if self._slots.get(slot.host_id) is slot:  # not if the lease was lost meanwhile
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
        """Hosts without a visit in the near future."""
        return [
            make_released_host(slot.host_id, slot.record, slot.next_at)
            for slot in self._slots.values()
            if not slot.in_flight
            and slot.host_id not in self._refill_slots
            and _next_visit_at(slot) > now + KEEP_HOST_SECONDS
        ]

    def start_release(self, count: int, leased_before: float) -> None:
        """Begin to release this many hosts leased before that time, oldest lease first: no more claims there."""
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
        """Remove all hosts: their leases are lost."""
        for host_id in list(self._slots):
            self.remove(host_id)

    def all_hosts(self, now: float) -> list[ReleasedHost]:
        """Every host, at the end. With visits in flight a request may have been sent without being recorded: such a
        host waits a whole pace."""
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
    """When the next visit is possible; infinity when unknown."""
    if slot.entries or slot.has_more:
        return slot.next_at
    return max(slot.next_at, slot.next_due_at) if slot.next_due_at is not None else float("inf")
