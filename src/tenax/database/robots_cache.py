"""Which robots.txt is written down of each host, so that the same one is not written with every visit."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model import HostRecord, RobotsCopy

HOSTS_REMEMBERED = 10_000
"""Of other hosts it is written once more."""


class RobotsWritten:
    """Remembers copies by their hashes: the copies themselves would be all of the web's robots.txts in time."""

    def __init__(self, hosts_remembered: int = HOSTS_REMEMBERED) -> None:
        self._most = hosts_remembered
        self._marks: dict[int, int] = {}

    def new(self, hosts: Mapping[int, HostRecord]) -> dict[int, RobotsCopy]:
        """Each robots.txt of these that is another than the one written last."""
        return {
            host_id: record.robots
            for host_id, record in hosts.items()
            if record.robots is not None and self._marks.get(host_id) != hash(record.robots)
        }

    def written(self, host_id: int, copy: RobotsCopy) -> None:
        if len(self._marks) >= self._most:
            self._marks.clear()
        self._marks[host_id] = hash(copy)

    def forget(self) -> None:
        """What was written last may not have been kept."""
        self._marks.clear()
