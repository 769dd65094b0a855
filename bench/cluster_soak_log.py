"""What the hosts of a cluster's crawl saw: which worker asked for what and when, and which requests came too close."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.access_log import ROUNDING_SECONDS

FORMAT = "$msec $request_time $server_addr $http_host $status $http_user_agent $request_uri"
"""As nginx spells it. Each worker calls itself by another name."""

LATE_PACES = 0.25
"""By how much of an address's pace requests may come late."""
MOST_TOGETHER = 40
"""Requests that are looked at together: with more, a rate that is a little too high would show too."""


class Seen(NamedTuple):
    """One request, from when the server began to read it."""

    at: float
    address: str
    host: str
    worker: str
    status: int
    path: str


class Close(NamedTuple):
    """Two requests to one host, nearer to each other than its pace allows."""

    before: Seen
    after: Seen

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    def told(self, since: float) -> str:
        """In words, with times since then."""
        one, other = (
            f"{seen.at - since:.3f} s {seen.worker} {seen.host}{seen.path} ({seen.status})"
            for seen in (self.before, self.after)
        )
        return f"{self.before.host} was asked twice within {self.seconds:.3f} s: {one}, {other}"


def read(file: Path) -> list[Seen]:
    """Every request, in order."""
    return sorted(_seen(line) for line in file.read_text(encoding="ascii").splitlines())


def _seen(line: str) -> Seen:
    ended_at, took_seconds, address, host, status, worker, path = line.split(" ", 6)
    return Seen(float(ended_at) - float(took_seconds), address, host, worker, int(status), path)


class Apart(NamedTuple):
    """How near to each other two requests to one host, or one address, ever came: of the same worker, and of two."""

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
    """By the tolerance of the politeness benchmark: what the rounding of the log makes of a whole pace."""
    for before, after in _pairs(seen, host_of):
        if after.at - before.at < pace_seconds - ROUNDING_SECONDS:
            yield Close(before, after)


class Crowd(NamedTuple):
    """More requests to one address, whatever the hosts there, than its pace allows in that time."""

    first: Seen
    last: Seen
    requests: int

    def told(self, since: float) -> str:
        seconds, begin = self.last.at - self.first.at, self.first.at - since
        return f"{self.first.address} was asked {self.requests} times within {seconds:.3f} s, from {begin:.3f} s on"


def crowds(seen: Iterable[Seen], pace_seconds: float) -> Iterator[Crowd]:
    """The shortest of each: one more request, or one that comes a little late, is none.

    A turn at an address is taken before the connection is made, and others go on after a pace: when a request arrives
    late, the next one is near to it, but they do not become more.
    """
    for requests in _grouped(seen, address_of).values():
        begin = 0
        for end, last in enumerate(requests):
            for start in range(end - 2, max(begin, end - MOST_TOGETHER) - 1, -1):
                if last.at - requests[start].at < (end - start - 1 - LATE_PACES) * pace_seconds:
                    yield Crowd(requests[start], last, end - start + 1)
                    begin = end  # what comes of the same trouble is told once
                    break


def _pairs(seen: Iterable[Seen], by: Callable[[Seen], str]) -> Iterator[tuple[Seen, Seen]]:
    """Each request and the one after it, host by host or address by address."""
    for requests in _grouped(seen, by).values():
        yield from pairwise(requests)


def _grouped(seen: Iterable[Seen], by: Callable[[Seen], str]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = defaultdict(list)
    for one in sorted(seen):
        found[by(one)].append(one)
    return found
