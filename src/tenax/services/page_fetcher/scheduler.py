"""What is in hand: URLs by their host, each host in its turn, and none asked more often than its pace."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.items import Item


class PaceRules(Protocol):
    """The manners of hosts, as `tenax.hosts.limiter.pace` tells them."""

    def pace_seconds(self, host: HostRecord) -> float: ...

    def connections(self, host: HostRecord, now: float) -> int: ...


class _HostItems:
    """One host and what is in hand of it."""

    __slots__ = ("delayed", "due", "in_flight", "next_at", "record", "scheduled_at")

    def __init__(self, record: HostRecord) -> None:
        self.record = record
        self.delayed: list[tuple[float, int, Item]] = []
        """By the time from which each may be asked for."""
        self.due: list[tuple[int, Item]] = []
        """Those whose time has come, in the order they came: one that had to wait has kept its place."""
        self.in_flight = 0
        self.next_at = record.next_at
        self.scheduled_at: float | None = None
        """Its place in the heap; None when it stands in no queue."""

    @property
    def waiting(self) -> int:
        return len(self.delayed) + len(self.due)


class HostQueue:
    """Hosts in a heap by their next turn. Nothing here waits or asks the time."""

    def __init__(self, pace_rules: PaceRules) -> None:
        self._pace_rules = pace_rules
        self._hosts: dict[str, _HostItems] = {}
        self._heap: list[tuple[float, int, _HostItems]] = []
        self._sequence = count()
        self._positions = count(1)
        self._size = 0

    def __len__(self) -> int:
        """All that is in hand, in flight or not."""
        return self._size

    def count(self, origin: str) -> int:
        place = self._hosts.get(origin)
        return place.waiting + place.in_flight if place is not None else 0

    def add(self, item: Item, due_at: float, record: HostRecord | None = None) -> None:
        """An item to be asked for from this time on; `record` is what is known of its host, if anything."""
        origin = item.task.origin
        place = self._hosts.get(origin)
        if place is None:
            place = self._hosts[origin] = _HostItems(record or HostRecord(origin=origin, domain=item.host))
        item = self.assign_position(item)
        heappush(place.delayed, (due_at, item.position, item))
        self._size += 1
        self._schedule(place)

    def assign_position(self, item: Item) -> Item:
        """The item with its place: behind all others, unless it has one."""
        return item if item.position else msgspec.structs.replace(item, position=next(self._positions))

    def take(self, now: float) -> Item | None:
        """The next item whose host has its turn; from now on it is in flight."""
        while self._heap and self._heap[0][0] <= now:
            turn_at, _, place = heappop(self._heap)
            if place.scheduled_at != turn_at:
                continue
            place.scheduled_at = None
            if not place.waiting or place.in_flight >= self._pace_rules.connections(place.record, now):
                continue
            while place.delayed and place.delayed[0][0] <= now:
                _, number, item = heappop(place.delayed)
                heappush(place.due, (number, item))
            _, item = heappop(place.due)
            place.in_flight += 1
            place.next_at = max(place.next_at, now + self._pace_rules.pace_seconds(place.record))
            self._schedule(place)
            return item
        return None

    def on_visit_end(self, origin: str, record: HostRecord) -> None:
        """An item in flight has come down: it is no longer in hand, unless it is added again."""
        place = self._hosts[origin]
        place.in_flight -= 1
        self._size -= 1
        place.record = record
        place.next_at = max(place.next_at, record.next_at) if place.in_flight else record.next_at
        self._schedule(place)

    def remove_host(self, origin: str) -> list[Item]:
        """All that waits for this host, in its order; no longer in hand."""
        place = self._hosts.get(origin)
        if place is None:
            return []
        items = sorted([item for _, _, item in place.delayed] + [item for _, item in place.due], key=_item_position)
        place.delayed, place.due = [], []
        self._size -= len(items)
        self._schedule(place)
        return items

    def remove_all(self) -> list[Item]:
        return [item for origin in list(self._hosts) for item in self.remove_host(origin)]

    def next_due_at(self) -> float | None:
        """When the next item may be taken; None when none waits that could be."""
        while self._heap and self._heap[0][2].scheduled_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _schedule(self, host_items: _HostItems) -> None:
        """Where its next turn is. One with nothing in hand is forgotten: what is known of hosts is kept elsewhere."""
        if not host_items.waiting:
            host_items.scheduled_at = None
            if not host_items.in_flight:
                self._hosts.pop(host_items.record.origin, None)
            return
        turn_at = host_items.next_at if host_items.due else max(host_items.next_at, host_items.delayed[0][0])
        if host_items.scheduled_at != turn_at:
            host_items.scheduled_at = turn_at
            heappush(self._heap, (turn_at, next(self._sequence), host_items))


def _item_position(item: Item) -> int:
    return item.position
