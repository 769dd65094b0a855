"""Host records of the active hosts, in the memory of this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tenax.model import HostRecord


class MemoryHosts:
    """Keeps every host with a visit in flight, and the `capacity` hosts seen last besides."""

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._in_flight: Counter[str] = Counter()
        self._busy: dict[str, HostRecord] = {}
        self._idle: dict[str, HostRecord] = {}  # in the order they were last released

    def adopt(self, record: HostRecord) -> HostRecord:
        origin = record.origin
        known = self._busy.get(origin) or self._idle.pop(origin, None)
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
        self._idle.pop(record.origin, None)
        self._idle[record.origin] = record
        while len(self._idle) > self._capacity:
            del self._idle[next(iter(self._idle))]
