"""Updates a host's record after a visit: robots.txt first, then a probe, then the outcome."""

from __future__ import annotations

from tenax.config import SiteConfig
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import robot_names
from tenax.fetch.retry import fallback_transport
from tenax.hosts.rules import apply_robots, host_after_probe, host_after_visit, robots_failure
from tenax.model import Deferred, HostRecord, Outcome, TransportKind


def update_host(
    host: HostRecord,
    result: FetchResult,
    outcome: Outcome,
    now: float,
    site: SiteConfig,
    jitter: float,
    available: frozenset[TransportKind],
) -> HostRecord:
    """The record after a visit that ended in `outcome`, which extraction may have changed from the fetch's own.

    `jitter` is a random number from 0 to 1; `available` are the installed transports.
    """
    if result.robots is not None:
        host = apply_robots(host, result.robots, site.politeness, robot_names(site.fetch))
    if result.probe is not None:
        host = host_after_probe(host, result.probe.is_up, result.probe.why, now, site, jitter)
    elif result.robots is not None and isinstance(outcome, Deferred):
        outcome = robots_failure(result.robots) or outcome
    other = fallback_transport(outcome, result.transport, site.fetch, available)
    return host_after_visit(host, outcome, result.answered_at, result.requests, site, jitter, result.transport, other)
