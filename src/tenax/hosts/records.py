"""Records of the active hosts, in memory."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator

from tenax.model import HostRecord

MAX_IDLE_HOSTS = 10_000
MAX_ROBOTS_CHARS = 16 * 1024 * 1024


class MemoryHosts:
    """Keeps the record of every host with a visit in flight, and of the hosts seen last.

    The latter are limited in number and in the total size of their robots.txt, because one file may have half a million
    characters.
    """

    def __init__(self, capacity: int = MAX_IDLE_HOSTS, robots_chars: int = MAX_ROBOTS_CHARS) -> None:
        self._capacity = capacity
        self._robots_chars = robots_chars
        self._in_flight: Counter[str] = Counter()
        self._busy: dict[str, HostRecord] = {}
        self._idle: OrderedDict[str, HostRecord] = OrderedDict()  # in order of release
        self._idle_chars = 0

    def acquire(self, record: HostRecord) -> HostRecord:
        origin = record.origin
        known = self._busy.get(origin) or self._remove_idle(origin)
        # `next_at` only grows, so the later one is newer. If they are equal, the record in memory may have a newer
        # robots.txt.
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
            self._add_idle(record)

    def release(self, origin: str) -> None:
        self._in_flight[origin] -= 1
        if self._in_flight[origin] <= 0:
            del self._in_flight[origin]
            record = self._busy.pop(origin, None)
            if record is not None:
                self._add_idle(record)

    def is_busy(self, origin: str) -> bool:
        """Whether a visit of this host is in flight."""
        return origin in self._busy

    def records(self) -> Iterator[HostRecord]:
        """All records, unordered."""
        yield from self._busy.values()
        yield from self._idle.values()

    def __len__(self) -> int:
        return len(self._busy) + len(self._idle)

    def _add_idle(self, record: HostRecord) -> None:
        self._remove_idle(record.origin)
        self._idle[record.origin] = record
        self._idle_chars += _robots_length(record)
        while len(self._idle) > self._capacity or self._idle_chars > self._robots_chars:
            self._idle_chars -= _robots_length(self._idle.popitem(last=False)[1])

    def _remove_idle(self, origin: str) -> HostRecord | None:
        record = self._idle.pop(origin, None)
        if record is not None:
            self._idle_chars -= _robots_length(record)
        return record


class UnsharedHosts:
    """`Hosts` of one process, not shared."""

    def __init__(self, local_hosts: MemoryHosts) -> None:
        self._local_hosts = local_hosts

    async def acquire(self, record: HostRecord) -> HostRecord:
        return self._local_hosts.acquire(record)

    def get(self, origin: str) -> HostRecord | None:
        return self._local_hosts.get(origin)

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        self._local_hosts.put(after)
        return None

    def release(self, origin: str) -> None:
        self._local_hosts.release(origin)


def _robots_length(record: HostRecord) -> int:
    return len(record.robots.text) if record.robots is not None else 0
