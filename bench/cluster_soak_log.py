"""Access log of a cluster crawl: requests by worker, and requests that were too close to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.access_log import ROUNDING_SECONDS

FORMAT = "$msec $request_time $server_addr $http_host $status $http_user_agent $request_uri"
"""Format for nginx. Each worker has its own user agent."""

LATE_PACES = 0.25
"""Fraction of an address's pace by which a request may be late."""
MOST_TOGETHER = 40
"""Requests per window: a larger window would also detect a slightly too high rate."""


class Seen(NamedTuple):
    """One request; `at` is when the server began to read it."""

    at: float
    address: str
    host: str
    worker: str
    status: int
    path: str


class Close(NamedTuple):
    """Two requests to one host that are closer than its pace allows."""

    before: Seen
    after: Seen

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    def describe(self, since: float) -> str:
        """Text for the report; times are relative to `since`."""
        one, other = (
            f"{seen.at - since:.3f} s {seen.worker} {seen.host}{seen.path} ({seen.status})"
            for seen in (self.before, self.after)
        )
        return f"{self.before.host} got two requests within {self.seconds:.3f} s: {one}, {other}"


def read(file: Path) -> list[Seen]:
    """All requests in order."""
    return sorted(_seen(line) for line in file.read_text(encoding="ascii").splitlines())


def _seen(line: str) -> Seen:
    ended_at, took_seconds, address, host, status, worker, path = line.split(" ", 6)
    return Seen(float(ended_at) - float(took_seconds), address, host, worker, int(status), path)


class Apart(NamedTuple):
    """The shortest interval between two requests to one host or address: of one worker, and of two workers."""

    one_worker: float | None
    two_workers: float | None
    """None if never."""


def host_of(seen: Seen) -> str:
    return seen.host


def address_of(seen: Seen) -> str:
    return seen.address


def closest(seen: Iterable[Seen], by: Callable[[Seen], str] = host_of) -> Apart:
    pairs = list(_pairs(seen, by))
    return Apart(
        min((after.at - before.at for before, after in pairs if before.worker == after.worker), default=None),
        min((after.at - before.at for before, after in pairs if before.worker != after.worker), default=None),
    )


def too_close(seen: Iterable[Seen], pace_seconds: float) -> Iterator[Close]:
    """With the tolerance of the politeness benchmark, which covers the rounding of the log."""
    for before, after in _pairs(seen, host_of):
        if after.at - before.at < pace_seconds - ROUNDING_SECONDS:
            yield Close(before, after)


class Crowd(NamedTuple):
    """More requests to one address, over all its hosts, than its pace allows."""

    first: Seen
    last: Seen
    requests: int

    def describe(self, since: float) -> str:
        seconds, begin = self.last.at - self.first.at, self.first.at - since
        return f"{self.first.address} got {self.requests} requests within {seconds:.3f} s, from {begin:.3f} s"


def crowds(seen: Iterable[Seen], pace_seconds: float) -> Iterator[Crowd]:
    """The shortest violation of each kind. One extra or slightly late request is no violation.

    A permit for an address is acquired before the connection is opened, and the next one is free after the pace. A
    request that arrives late is therefore close to the next one, but the rate does not increase.
    """
    for requests in _grouped(seen, address_of).values():
        begin = 0
        for end, last in enumerate(requests):
            for start in range(end - 2, max(begin, end - MOST_TOGETHER) - 1, -1):
                if last.at - requests[start].at < (end - start - 1 - LATE_PACES) * pace_seconds:
                    yield Crowd(requests[start], last, end - start + 1)
                    begin = end  # consequences of one violation are reported once
                    break


def _pairs(seen: Iterable[Seen], by: Callable[[Seen], str]) -> Iterator[tuple[Seen, Seen]]:
    """Each request with the next one to the same host or address."""
    for requests in _grouped(seen, by).values():
        yield from pairwise(requests)


def _grouped(seen: Iterable[Seen], by: Callable[[Seen], str]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = defaultdict(list)
    for one in sorted(seen):
        found[by(one)].append(one)
    return found
