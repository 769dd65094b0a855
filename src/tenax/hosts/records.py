"""Host records of the active hosts, in the memory of this process."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator

from tenax.model import HostRecord

CAPACITY = 10_000
ROBOTS_CHARS = 16 * 1024 * 1024


class MemoryHosts:
    """Keeps every host with a visit in flight, and besides them the hosts seen last.

    Of those, so many, and so many characters of their robots.txts: one may have half a million.
    """

    def __init__(self, capacity: int = CAPACITY, robots_chars: int = ROBOTS_CHARS) -> None:
        self._capacity = capacity
        self._robots_chars = robots_chars
        self._in_flight: Counter[str] = Counter()
        self._busy: dict[str, HostRecord] = {}
        self._idle: OrderedDict[str, HostRecord] = OrderedDict()  # in the order they were last released
        self._idle_chars = 0

    def adopt(self, record: HostRecord) -> HostRecord:
        origin = record.origin
        known = self._busy.get(origin) or self._wake(origin)
        # `next_at` only ever grows, so the later one was written last. On a tie ours may hold a fresher robots.txt.
        newest = record if known is None or record.next_at > known.next_at else known
        self._in_flight[origin] += 1
        self._busy[origin] = newest
        return newest

    def get(self, origin: str) -> HostRecord | None:
        return self._busy.get(origin) or self._idle.get(origin)

    def put(self, record: HostRecord) -> None:
        if record.origin in self._busy:
            self._busy[record.origin] = record
        else:
            self._rest(record)

    def release(self, origin: str) -> None:
        self._in_flight[origin] -= 1
        if self._in_flight[origin] <= 0:
            del self._in_flight[origin]
            record = self._busy.pop(origin, None)
            if record is not None:
                self._rest(record)

    def is_busy(self, origin: str) -> bool:
        """Whether a visit of it is in flight."""
        return origin in self._busy

    def records(self) -> Iterator[HostRecord]:
        """Every record held, in no order."""
        yield from self._busy.values()
        yield from self._idle.values()

    def __len__(self) -> int:
        return len(self._busy) + len(self._idle)

    def _rest(self, record: HostRecord) -> None:
        self._wake(record.origin)
        self._idle[record.origin] = record
        self._idle_chars += _chars(record)
        while len(self._idle) > self._capacity or self._idle_chars > self._robots_chars:
            self._idle_chars -= _chars(self._idle.popitem(last=False)[1])

    def _wake(self, origin: str) -> HostRecord | None:
        record = self._idle.pop(origin, None)
        if record is not None:
            self._idle_chars -= _chars(record)
        return record


class OwnHosts:
    """`Hosts` of a process that shares them with nobody."""

    def __init__(self, near: MemoryHosts) -> None:
        self._near = near

    async def adopt(self, record: HostRecord) -> HostRecord:
        return self._near.adopt(record)

    def get(self, origin: str) -> HostRecord | None:
        return self._near.get(origin)

    async def learn(self, origin: str, fallback: HostRecord, rule: Callable[[HostRecord], HostRecord]) -> HostRecord:
        record = rule(self._near.get(origin) or fallback)
        self._near.put(record)
        return record

    def release(self, origin: str) -> None:
        self._near.release(origin)


def _chars(record: HostRecord) -> int:
    return len(record.robots.text) if record.robots is not None else 0
