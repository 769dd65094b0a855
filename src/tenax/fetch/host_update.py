"""What a visit teaches about its host: its robots.txt first, then whether it is back, then how it answered."""

from __future__ import annotations

from tenax.config import SiteConfig
from tenax.fetch.answer import Answer
from tenax.fetch.fallback import other_way
from tenax.fetch.headers import robot_names
from tenax.hosts.rules import after_probe, after_visit, robots_trouble, with_robots
from tenax.model import Deferred, HostRecord, Outcome, Way


def learned(
    host: HostRecord,
    answer: Answer,
    outcome: Outcome,
    now: float,
    site: SiteConfig,
    jitter: float,
    ways: frozenset[Way],
) -> HostRecord:
    """The record after a visit that ended in `outcome`, which a reader may have thought different from the answer's.

    `jitter` is a random number from 0 to 1; `ways` are those at hand.
    """
    if answer.robots is not None:
        host = with_robots(host, answer.robots, site.politeness, robot_names(site.fetch))
    if answer.probe is not None:
        host = after_probe(host, answer.probe.is_up, answer.probe.why, now, site, jitter)
    elif answer.robots is not None and isinstance(outcome, Deferred):
        outcome = robots_trouble(answer.robots) or outcome
    other = other_way(outcome, answer.way, site.fetch, ways)
    return after_visit(host, outcome, answer.answered_at, answer.requests, site, jitter, answer.way, other)
