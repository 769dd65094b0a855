"""The manners of hosts as the database needs them: how far apart, how many at once."""

from __future__ import annotations

from tenax.config import Sites
from tenax.hosts.rules import pace_seconds, should_probe
from tenax.model import HostRecord


class HostPace:
    """Asked at every claim; what holds for a site is a look-up away."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def pace_seconds(self, host: HostRecord) -> float:
        return pace_seconds(host, self._sites.for_origin(host.origin).politeness)

    def connections(self, host: HostRecord, now: float) -> int:
        """One until its robots.txt is known and while it may be down: nobody goes in before the answer."""
        knows_robots = host.robots is not None and host.robots.expires_at > now
        if should_probe(host) or not knows_robots:
            return 1
        return self._sites.for_origin(host.origin).politeness.connections_per_host
