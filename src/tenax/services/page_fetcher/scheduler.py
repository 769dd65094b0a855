"""What is in hand: URLs by their host, each host in its turn, and none asked more often than its pace."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.items import Item


class Turns(Protocol):
    """The manners of hosts, as `tenax.hosts.limiter.pace` tells them."""

    def pace_seconds(self, host: HostRecord) -> float: ...

    def connections(self, host: HostRecord, now: float) -> int: ...


class _Place:
    """One host and what is in hand of it."""

    __slots__ = ("due", "in_flight", "later", "next_at", "record", "turn_at")

    def __init__(self, record: HostRecord) -> None:
        self.record = record
        self.later: list[tuple[float, int, Item]] = []
        """By the time from which each may be asked for."""
        self.due: list[tuple[int, Item]] = []
        """Those whose time has come, in the order they came: one that had to wait has kept its place."""
        self.in_flight = 0
        self.next_at = record.next_at
        self.turn_at: float | None = None
        """Its place in the heap; None when it stands in no queue."""

    @property
    def waiting(self) -> int:
        return len(self.later) + len(self.due)


class Hand:
    """Hosts in a heap by their next turn. Nothing here waits or asks the time."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._places: dict[str, _Place] = {}
        self._heap: list[tuple[float, int, _Place]] = []
        self._tickets = count()
        self._places_in_line = count(1)
        self._size = 0

    def __len__(self) -> int:
        """All that is in hand, in flight or not."""
        return self._size

    def count(self, origin: str) -> int:
        place = self._places.get(origin)
        return place.waiting + place.in_flight if place is not None else 0

    def add(self, item: Item, due: float, record: HostRecord | None = None) -> None:
        """An item to be asked for from this time on; `record` is what is known of its host, if anything."""
        origin = item.task.origin
        place = self._places.get(origin)
        if place is None:
            place = self._places[origin] = _Place(record or HostRecord(origin=origin, domain=item.host))
        item = self.placed(item)
        heappush(place.later, (due, item.place, item))
        self._size += 1
        self._put(place)

    def placed(self, item: Item) -> Item:
        """The item with its place: behind all others, unless it has one."""
        return item if item.place else msgspec.structs.replace(item, place=next(self._places_in_line))

    def take(self, now: float) -> Item | None:
        """The next item whose host has its turn; from now on it is in flight."""
        while self._heap and self._heap[0][0] <= now:
            turn_at, _, place = heappop(self._heap)
            if place.turn_at != turn_at:
                continue
            place.turn_at = None
            if not place.waiting or place.in_flight >= self._turns.connections(place.record, now):
                continue
            while place.later and place.later[0][0] <= now:
                _, number, item = heappop(place.later)
                heappush(place.due, (number, item))
            _, item = heappop(place.due)
            place.in_flight += 1
            place.next_at = max(place.next_at, now + self._turns.pace_seconds(place.record))
            self._put(place)
            return item
        return None

    def landed(self, origin: str, record: HostRecord) -> None:
        """An item in flight has come down: it is no longer in hand, unless it is added again."""
        place = self._places[origin]
        place.in_flight -= 1
        self._size -= 1
        place.record = record
        place.next_at = max(place.next_at, record.next_at) if place.in_flight else record.next_at
        self._put(place)

    def let_go(self, origin: str) -> list[Item]:
        """All that waits for this host, in its order; no longer in hand."""
        place = self._places.get(origin)
        if place is None:
            return []
        items = sorted([item for _, _, item in place.later] + [item for _, item in place.due], key=_place_of)
        place.later, place.due = [], []
        self._size -= len(items)
        self._put(place)
        return items

    def let_go_of_all(self) -> list[Item]:
        return [item for origin in list(self._places) for item in self.let_go(origin)]

    def next_turn(self) -> float | None:
        """When the next item may be taken; None when none waits that could be."""
        while self._heap and self._heap[0][2].turn_at != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _put(self, place: _Place) -> None:
        """Where its next turn is. One with nothing in hand is forgotten: what is known of hosts is kept elsewhere."""
        if not place.waiting:
            place.turn_at = None
            if not place.in_flight:
                self._places.pop(place.record.origin, None)
            return
        turn_at = place.next_at if place.due else max(place.next_at, place.later[0][0])
        if place.turn_at != turn_at:
            place.turn_at = turn_at
            heappush(self._heap, (turn_at, next(self._tickets), place))


def _place_of(item: Item) -> int:
    return item.place
