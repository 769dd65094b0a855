"""Rows of hosts: which robots.txt is stored, and times shifted after the clock was set back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tenax.model import HostRecord, RobotsCopy

MAX_REMEMBERED_HOSTS = 10_000
"""Beyond this, robots.txt files are written again."""
CLOCK_TOLERANCE_SECONDS = 120.0
"""A clock set back by less is ignored: the shift of stored times scans the whole queue."""
HOST_BATCH_SIZE = 5000
"""Hosts whose times are shifted at once."""


class StoredRobotsHashes:
    """Remembers hashes instead of copies, to bound memory."""

    def __init__(self, max_hosts: int = MAX_REMEMBERED_HOSTS) -> None:
        self._max_hosts = max_hosts
        self._hashes: dict[int, int] = {}

    def find_changed(self, hosts: Mapping[int, HostRecord]) -> dict[int, RobotsCopy]:
        """The robots.txt copies that differ from the last one stored."""
        return {
            host_id: record.robots
            for host_id, record in hosts.items()
            if record.robots is not None and self._hashes.get(host_id) != hash(record.robots)
        }

    def mark_stored(self, host_id: int, copy: RobotsCopy) -> None:
        if len(self._hashes) >= self._max_hosts:
            self._hashes.clear()
        self._hashes[host_id] = hash(copy)

    def forget(self) -> None:
        """Clear everything: the last writes may not have been committed."""
        self._hashes.clear()


def shift_host_times(record: HostRecord, offset_seconds: float, now: float) -> HostRecord:
    """Move every time after `now` back by the offset. Backoffs keep their remaining length."""

    def shift(at: float) -> float:
        return at - offset_seconds if at > now else at

    robots = record.robots
    if robots is not None:
        robots = msgspec.structs.replace(
            robots, fetched_at=shift(robots.fetched_at), expires_at=shift(robots.expires_at)
        )
    return msgspec.structs.replace(
        record,
        robots=robots,
        next_at=shift(record.next_at),
        transport_until=shift(record.transport_until),
        recent_failures=tuple(map(shift, record.recent_failures)),
        unreadable_pages=tuple(map(shift, record.unreadable_pages)),
    )
