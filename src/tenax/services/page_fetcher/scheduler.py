"""The items in memory, by host, in the order of each host's next request. No host is requested more often than its rate
limit allows."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.items import Item


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
        """By the time from which each may be requested."""
        self.due: list[tuple[int, Item]] = []
        """Those that are due, in order of arrival: a delayed one has kept its position."""
        self.in_flight = 0
        self.next_at = record.next_at
        self.scheduled_at: float | None = None
        """Its key in the heap; None when it is not in it."""

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
        """Add an item to request from this time on; `record` is that of its host, if known."""
        origin = item.task.origin
        host_items = self._hosts.get(origin)
        if host_items is None:
            host_items = self._hosts[origin] = _HostItems(record or HostRecord(origin=origin, domain=item.host))
        item = self.assign_position(item)
        heappush(host_items.delayed, (due_at, item.position, item))
        self._size += 1
        self._schedule(host_items)

    def assign_position(self, item: Item) -> Item:
        """The item with its position: after all others, unless it has one."""
        return item if item.position else msgspec.structs.replace(item, position=next(self._positions))

    def take(self, now: float) -> Item | None:
        """The next item whose host may be requested; it is in flight from now on."""
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
        """An item is no longer in flight, nor in memory unless it is added again."""
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
        """When the next item may be taken; None when none can be."""
        while self._heap and self._heap[0][2].scheduled_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _schedule(self, host_items: _HostItems) -> None:
        """Put the host into the heap by its next request. A host without items is removed: records are stored
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
