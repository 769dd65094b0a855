"""Hosts that back off for longer than a URL waits in memory, and when to probe them."""

from __future__ import annotations

from heapq import heappop, heappush

import msgspec

from tenax.hosts.rules import should_probe
from tenax.hosts.throttle import is_backing_off
from tenax.model import HostRecord

MIN_BACKOFF_SECONDS = 1.0
"""With a shorter backoff the URLs of a host stay in memory; with a longer one they would keep out others."""
MAX_HOSTS = 10_000
"""Hosts remembered. For any other host the next URL finds out."""
PROBE_RETRY_SECONDS = 5.0
"""A probe that could not be sent is repeated after this time."""
FAILURE_TTL_SECONDS = 3600.0
"""A host counts as failing for this long after its last failure, if it was not visited since."""


class HostBackoffs:
    def __init__(self) -> None:
        self._records: dict[str, HostRecord] = {}
        self._ends: list[tuple[float, str]] = []
        """When backoffs end; a changed one is in it again."""
        self._failing_hosts: dict[str, tuple[int, float]] = {}
        """Hosts whose last answers were failures: how many in a row, and when the last one was recorded."""
        self._reported_until: dict[str, float] = {}
        """The end of each host's backoff, as last logged."""

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, origin: str) -> bool:
        return origin in self._records

    def get(self, origin: str) -> HostRecord | None:
        return self._records.get(origin)

    def update_host(self, record: HostRecord, now: float, is_probed: bool = False) -> bool:
        """Record the latest state of this host; True when it must back off."""
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
        """Whether this host backs off for longer than was logged; True once for each such time."""
        if not is_backing_off(record, now) or self._reported_until.get(record.origin, 0.0) >= record.next_at:
            return False
        if len(self._reported_until) >= MAX_HOSTS:
            self._reported_until = {origin: until for origin, until in self._reported_until.items() if until > now}
        self._reported_until[record.origin] = record.next_at
        return True

    def max_consecutive_failures(self, now: float) -> int:
        """Of the host with the most in a row."""
        failing = list(self._failing_hosts.values())
        return max((count for count, at in failing if at > now - FAILURE_TTL_SECONDS), default=0)

    def _count_failures(self, record: HostRecord, now: float) -> None:
        self._failing_hosts.pop(record.origin, None)
        if record.failures_in_a_row:
            self._failing_hosts[record.origin] = (record.failures_in_a_row, now)
            if len(self._failing_hosts) > MAX_HOSTS:
                del self._failing_hosts[next(iter(self._failing_hosts))]

    def pop_due_probes(self, now: float) -> list[HostRecord]:
        """Hosts that were down and are due for a probe. Others whose backoff is over are forgotten."""
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
