"""The second step: whether this host may be requested now, and what must be requested first."""

from __future__ import annotations

from typing import TypeAlias

from tenax.hosts.robots import robots_rules
from tenax.hosts.rules import should_probe
from tenax.model import Deferred, HostRecord, Refused, RobotsVerdict, Task, Value


class FetchRobots(Value, frozen=True):
    """Its robots.txt is unknown or too old."""


class ProbeHost(Value, frozen=True):
    """It was down: a probe must show that it is up before any page is requested."""


PolicyStep: TypeAlias = FetchRobots | ProbeHost | Deferred | Refused


def next_policy_step(task: Task, host: HostRecord, now: float, names: frozenset[str]) -> PolicyStep | None:
    """The step before the page; None if the page may be requested. `names`: see `robot_names`."""
    if host.backoff_reason and host.next_at > now:
        return Deferred(host.next_at, host.backoff_reason)  # another visit began a backoff since this one was claimed
    robots = host.robots
    if should_probe(host):
        # While its robots.txt is unreachable nothing else may be requested; that request also shows whether the host is
        # up.
        return FetchRobots() if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE else ProbeHost()
    if robots is None or robots.expires_at <= now:
        return FetchRobots()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
    if not robots_rules(robots, names).can_fetch(task.url):
        return Refused(f"robots: {task.origin}/robots.txt does not allow it")
    return None
