"""Which robots.txt is written down of each host, so that the same one is not written with every visit."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model import HostRecord, RobotsCopy

MAX_REMEMBERED_HOSTS = 10_000
"""Of other hosts it is written once more."""


class StoredRobotsHashes:
    """Remembers copies by their hashes: the copies themselves would be all of the web's robots.txts in time."""

    def __init__(self, max_hosts: int = MAX_REMEMBERED_HOSTS) -> None:
        self._max_hosts = max_hosts
        self._hashes: dict[int, int] = {}

    def find_changed(self, hosts: Mapping[int, HostRecord]) -> dict[int, RobotsCopy]:
        """Each robots.txt of these that is another than the one written last."""
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
        """What was written last may not have been kept."""
        self._hashes.clear()
