"""Requests in a server's access log, by host, and the intervals between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.report import BenchError

FORMAT = "$msec $request_time $server_addr $status $request_uri"
"""Format for nginx. A line is written when the request ends; its start is the time minus the duration."""
ROUNDING_SECONDS = 0.002
"""The log has whole milliseconds: two requests one second apart may appear slightly closer."""
ROBOTS = "/robots.txt"


@dataclass
class AccessLog:
    """Requests by host, each as the time at which the server began to read it, in order."""

    times: dict[str, list[float]] = field(default_factory=dict)
    pages: int = 0
    """Requests for anything but robots.txt."""

    @property
    def began_at(self) -> float:
        return min(times[0] for times in self.times.values())

    @property
    def ended_at(self) -> float:
        return max(times[-1] for times in self.times.values())

    def requests(self, since: float, until: float) -> int:
        return sum(since <= at < until for times in self.times.values() for at in times)

    def gaps(self) -> Iterator[float]:
        """Seconds between each request and the previous one to the same host."""
        for times in self.times.values():
            yield from (after - before for before, after in pairwise(times))

    def violations(self, pace_seconds: float) -> int:
        """Requests that came sooner than this after the previous one."""
        return sum(gap < pace_seconds - ROUNDING_SECONDS for gap in self.gaps())


def read(file: Path) -> AccessLog:
    """Reads the log of a stopped server. Raises `BenchError` when an answer is not a page."""
    log = AccessLog()
    with file.open(encoding="ascii") as lines:
        for line in lines:
            ended_at, took_seconds, host, status, path = line.rstrip("\n").split(" ", 4)
            if status != "200":
                raise BenchError(f"the server answered {status} to {host}{path}")
            log.times.setdefault(host, []).append(float(ended_at) - float(took_seconds))
            log.pages += path != ROBOTS
    if not log.times:
        raise BenchError("the server got no request")
    for times in log.times.values():
        times.sort()
    return log
