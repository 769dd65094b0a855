"""Pace and connection limits of hosts, as the database needs them."""

from __future__ import annotations

from tenax.config import Sites
from tenax.hosts.rules import pace_seconds, should_probe
from tenax.model import HostRecord


class HostPace:
    """Called at every claim; site settings are cached lookups."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def pace_seconds(self, host: HostRecord) -> float:
        return pace_seconds(host, self._sites.for_origin(host.origin).politeness)

    def connections(self, host: HostRecord, now: float) -> int:
        """One while its robots.txt is unknown or it may be down: others wait for that answer."""
        knows_robots = host.robots is not None and host.robots.expires_at > now
        if should_probe(host) or not knows_robots:
            return 1
        return self._sites.for_origin(host.origin).politeness.connections_per_host
