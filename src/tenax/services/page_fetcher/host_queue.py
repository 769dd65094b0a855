"""Items in memory by host, in the order of each host's next request; and hosts with a longer backoff.

No host is requested more often than its rate limit allows.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import msgspec

from tenax.hosts.rules import should_probe
from tenax.hosts.throttle import is_backing_off
from tenax.model import HostRecord
from tenax.services.page_fetcher.intake import Item

MIN_BACKOFF_SECONDS = 1.0
"""With a shorter backoff, the URLs of a host stay in memory. With a longer one, they leave room for those of other
hosts."""
MAX_HOSTS = 10_000
"""Maximum number of hosts that are remembered. The backoff of any other host is found out with its next URL."""
PROBE_RETRY_SECONDS = 5.0
"""A probe that could not be sent is repeated after this time."""
FAILURE_TTL_SECONDS = 3600.0
"""A host counts as failing for this long after its last failure, if it was not visited since then."""


class HostBackoffs:
    def __init__(self) -> None:
        self._records: dict[str, HostRecord] = {}
        self._ends: list[tuple[float, str]] = []
        """When backoffs end, as a heap. A backoff that changed is in the heap again."""
        self._failing_hosts: dict[str, tuple[int, float]] = {}
        """Hosts that failed last: how many times in a row, and when the last failure was recorded."""
        self._reported_until: dict[str, float] = {}
        """The end of each host's backoff, as it was last logged."""

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, origin: str) -> bool:
        return origin in self._records

    def get(self, origin: str) -> HostRecord | None:
        return self._records.get(origin)

    def update_host(self, record: HostRecord, now: float, is_probed: bool = False) -> bool:
        """Record the latest state of this host. True if the host must back off."""
        self._count_failures(record, now)
        is_down = should_probe(record)
        if not is_down and not (is_backing_off(record, now) and record.next_at > now + MIN_BACKOFF_SECONDS):
            self._records.pop(record.origin, None)
            return False
        if record.origin not in self._records and len(self._records) >= MAX_HOSTS:
            return True
        if is_probed and record.next_at <= now:
            record = msgspec.structs.replace(record, next_at=now + PROBE_RETRY_SECONDS)
        known = self._records.get(record.origin)
        self._records[record.origin] = record
        if known is None or known.next_at != record.next_at or is_probed:
            heappush(self._ends, (record.next_at, record.origin))
        return True

    def should_report(self, record: HostRecord, now: float) -> bool:
        """Whether this host backs off for longer than was logged. True once for each such time."""
        if not is_backing_off(record, now) or self._reported_until.get(record.origin, 0.0) >= record.next_at:
            return False
        if len(self._reported_until) >= MAX_HOSTS:
            self._reported_until = {origin: until for origin, until in self._reported_until.items() if until > now}
        self._reported_until[record.origin] = record.next_at
        return True

    def max_consecutive_failures(self, now: float) -> int:
        """The largest number of consecutive failures of any host."""
        failing = list(self._failing_hosts.values())
        return max((count for count, at in failing if at > now - FAILURE_TTL_SECONDS), default=0)

    def _count_failures(self, record: HostRecord, now: float) -> None:
        self._failing_hosts.pop(record.origin, None)
        if record.failures_in_a_row:
            self._failing_hosts[record.origin] = (record.failures_in_a_row, now)
            if len(self._failing_hosts) > MAX_HOSTS:
                del self._failing_hosts[next(iter(self._failing_hosts))]

    def pop_due_probes(self, now: float) -> list[HostRecord]:
        """Hosts that were down and are due for a probe. Other hosts whose backoff is over are forgotten."""
        found = []
        while self._ends and self._ends[0][0] <= now:
            at, origin = heappop(self._ends)
            record = self._records.get(origin)
            if record is None or record.next_at != at:
                continue
            if should_probe(record):
                found.append(record)
            else:
                del self._records[origin]
        return found

    def next_end_at(self) -> float | None:
        while self._ends:
            at, origin = self._ends[0]
            record = self._records.get(origin)
            if record is not None and record.next_at == at:
                return at
            heappop(self._ends)
        return None

    def down_hosts(self) -> list[HostRecord]:
        return [record for record in list(self._records.values()) if should_probe(record)]


class PaceRules(Protocol):
    """The rate limits of hosts, as given by `tenax.hosts.rules`."""

    def pace_seconds(self, host: HostRecord) -> float: ...

    def connections(self, host: HostRecord, now: float) -> int: ...


class _HostItems:
    """A host and its items in memory."""

    __slots__ = ("delayed", "due", "in_flight", "next_at", "record", "scheduled_at")

    def __init__(self, record: HostRecord) -> None:
        self.record = record
        self.delayed: list[tuple[float, int, Item]] = []
        """Items by the time from which each may be requested."""
        self.due: list[tuple[int, Item]] = []
        """Items that are due, in order of arrival. A delayed item keeps its position."""
        self.in_flight = 0
        self.next_at = record.next_at
        self.scheduled_at: float | None = None
        """Its key in the heap; None if the host is not in the heap."""

    @property
    def waiting(self) -> int:
        return len(self.delayed) + len(self.due)


class HostQueue:
    """Hosts in a heap by their next request. No I/O, no clock."""

    def __init__(self, pace_rules: PaceRules) -> None:
        self._pace_rules = pace_rules
        self._hosts: dict[str, _HostItems] = {}
        self._heap: list[tuple[float, int, _HostItems]] = []
        self._sequence = count()
        self._positions = count(1)
        self._size = 0

    def __len__(self) -> int:
        """All items in memory, in flight or not."""
        return self._size

    def count(self, origin: str) -> int:
        host_items = self._hosts.get(origin)
        return host_items.waiting + host_items.in_flight if host_items is not None else 0

    def add(self, item: Item, due_at: float, record: HostRecord | None = None) -> None:
        """Add an item that may be requested from this time on. `record` is that of its host, if known."""
        origin = item.task.origin
        host_items = self._hosts.get(origin)
        if host_items is None:
            host_items = self._hosts[origin] = _HostItems(record or HostRecord(origin=origin, domain=item.host))
        item = self.assign_position(item)
        heappush(host_items.delayed, (due_at, item.position, item))
        self._size += 1
        self._schedule(host_items)

    def assign_position(self, item: Item) -> Item:
        """The item with its position: after all other items, unless it already has one."""
        return item if item.position else msgspec.structs.replace(item, position=next(self._positions))

    def take(self, now: float) -> Item | None:
        """The next item whose host may be requested. It is in flight from now on."""
        while self._heap and self._heap[0][0] <= now:
            due_at, _, host_items = heappop(self._heap)
            if host_items.scheduled_at != due_at:
                continue
            host_items.scheduled_at = None
            if not host_items.waiting or host_items.in_flight >= self._pace_rules.connections(host_items.record, now):
                continue
            while host_items.delayed and host_items.delayed[0][0] <= now:
                _, number, item = heappop(host_items.delayed)
                heappush(host_items.due, (number, item))
            _, item = heappop(host_items.due)
            host_items.in_flight += 1
            host_items.next_at = max(host_items.next_at, now + self._pace_rules.pace_seconds(host_items.record))
            self._schedule(host_items)
            return item
        return None

    def on_visit_end(self, origin: str, record: HostRecord) -> None:
        """Record that an item is no longer in flight. It is not in memory either, unless it is added again."""
        host_items = self._hosts[origin]
        host_items.in_flight -= 1
        self._size -= 1
        host_items.record = record
        host_items.next_at = max(host_items.next_at, record.next_at) if host_items.in_flight else record.next_at
        self._schedule(host_items)

    def remove_host(self, origin: str) -> list[Item]:
        """Remove and return all waiting items of this host, in order."""
        host_items = self._hosts.get(origin)
        if host_items is None:
            return []
        items = sorted(
            [item for _, _, item in host_items.delayed] + [item for _, item in host_items.due], key=_item_position
        )
        host_items.delayed, host_items.due = [], []
        self._size -= len(items)
        self._schedule(host_items)
        return items

    def remove_all(self) -> list[Item]:
        return [item for origin in list(self._hosts) for item in self.remove_host(origin)]

    def next_due_at(self) -> float | None:
        """When the next item may be taken; None if there is no such item."""
        while self._heap and self._heap[0][2].scheduled_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _schedule(self, host_items: _HostItems) -> None:
        """Put the host into the heap by its next request. A host without items is removed, because records are stored
        elsewhere."""
        if not host_items.waiting:
            host_items.scheduled_at = None
            if not host_items.in_flight:
                self._hosts.pop(host_items.record.origin, None)
            return
        due_at = host_items.next_at if host_items.due else max(host_items.next_at, host_items.delayed[0][0])
        if host_items.scheduled_at != due_at:
            host_items.scheduled_at = due_at
            heappush(self._heap, (due_at, next(self._sequence), host_items))


def _item_position(item: Item) -> int:
    return item.position
