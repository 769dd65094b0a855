"""The manners of hosts as the ledger needs them: how far apart, how many at once."""

from __future__ import annotations

from tenax.config import PolitenessConfig
from tenax.hosts.rules import pace_seconds
from tenax.model import HostRecord


class HostTurns:
    def __init__(self, politeness: PolitenessConfig) -> None:
        self._politeness = politeness

    def pace_seconds(self, host: HostRecord) -> float:
        return pace_seconds(host, self._politeness)

    def connections(self, host: HostRecord, now: float) -> int:
        """One until its robots.txt is known: the first visit asks for it, and nobody goes in before the answer."""
        knows_robots = host.robots is not None and host.robots.expires_at > now
        return self._politeness.connections_per_host if knows_robots else 1
