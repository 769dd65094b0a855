"""Remembers which robots.txt is stored for each host, so that it is written only when it changes."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model import HostRecord, RobotsCopy

MAX_REMEMBERED_HOSTS = 10_000
"""Beyond this, robots.txt files are written again."""


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
