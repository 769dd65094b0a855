"""The second step: may this host be asked now, and what must be asked of it first?"""

from __future__ import annotations

from typing import TypeAlias

from tenax.hosts.robots import robots_rules
from tenax.hosts.rules import should_probe
from tenax.model import Deferred, HostRecord, Refused, RobotsVerdict, Task, Value


class FetchRobots(Value, frozen=True):
    """Its robots.txt is not known, or too old."""


class ProbeHost(Value, frozen=True):
    """It was down: one small request must find out whether it is back, before any page is asked for."""


PolicyStep: TypeAlias = FetchRobots | ProbeHost | Deferred | Refused


def next_policy_step(task: Task, host: HostRecord, now: float, names: frozenset[str]) -> PolicyStep | None:
    """What stands before the page; None when it may be asked for. `names`: see `robot_names`."""
    if host.backoff_reason and host.next_at > now:
        return Deferred(host.next_at, host.backoff_reason)  # put to rest by another visit since this one was claimed
    robots = host.robots
    if should_probe(host):
        # While its robots.txt cannot be had nothing else may be asked for: that file tells as well whether it is back.
        return FetchRobots() if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE else ProbeHost()
    if robots is None or robots.expires_at <= now:
        return FetchRobots()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
    if not robots_rules(robots, names).can_fetch(task.url):
        return Refused(f"robots: {task.origin}/robots.txt does not allow it")
    return None
