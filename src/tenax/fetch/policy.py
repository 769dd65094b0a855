"""The second step: may this host be asked now, and what must be asked of it first?"""

from __future__ import annotations

from typing import TypeAlias

from tenax.hosts.robots import matcher
from tenax.hosts.rules import must_probe
from tenax.model import Deferred, HostRecord, Refused, RobotsVerdict, Task, Value


class AskRobots(Value, frozen=True):
    """Its robots.txt is not known, or too old."""


class ProbeFirst(Value, frozen=True):
    """It was down: one small request must find out whether it is back, before any page is asked for."""


Policy: TypeAlias = AskRobots | ProbeFirst | Deferred | Refused


def policy(task: Task, host: HostRecord, now: float, names: frozenset[str]) -> Policy | None:
    """What stands before the page; None when it may be asked for. `names`: see `robot_names`."""
    if host.resting_why and host.next_at > now:
        return Deferred(host.next_at, host.resting_why)  # put to rest by another visit since this one was claimed
    robots = host.robots
    if must_probe(host):
        # While its robots.txt cannot be had nothing else may be asked for: that file tells as well whether it is back.
        return AskRobots() if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE else ProbeFirst()
    if robots is None or robots.expires_at <= now:
        return AskRobots()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
    if not matcher(robots, names).allows(task.url):
        return Refused(f"robots: {task.origin}/robots.txt does not allow it")
    return None
