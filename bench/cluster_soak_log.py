"""What the hosts of a cluster's crawl saw: which worker asked for what and when, and which requests came too close."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.access_log import ROUNDING_SECONDS

FORMAT = "$msec $request_time $server_addr $status $http_user_agent $request_uri"
"""As nginx spells it. Each worker calls itself by another name."""


class Seen(NamedTuple):
    """One request, from when the server began to read it."""

    at: float
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
            f"{seen.at - since:.3f} s {seen.worker} {seen.path} ({seen.status})" for seen in (self.before, self.after)
        )
        return f"{self.before.host} was asked twice within {self.seconds:.3f} s: {one}, {other}"


def read(file: Path) -> list[Seen]:
    """Every request, in order."""
    return sorted(_seen(line) for line in file.read_text(encoding="ascii").splitlines())


def _seen(line: str) -> Seen:
    ended_at, took_seconds, host, status, worker, path = line.split(" ", 5)
    return Seen(float(ended_at) - float(took_seconds), host, worker, int(status), path)


class Apart(NamedTuple):
    """How near to each other two requests to one host ever came: of the same worker, and of two; None if never."""

    one_worker: float | None
    two_workers: float | None


def closest(seen: Iterable[Seen]) -> Apart:
    pairs = list(_pairs(seen))
    return Apart(
        min((after.at - before.at for before, after in pairs if before.worker == after.worker), default=None),
        min((after.at - before.at for before, after in pairs if before.worker != after.worker), default=None),
    )


def too_close(seen: Iterable[Seen], pace_seconds: float) -> Iterator[Close]:
    """By the tolerance of the politeness benchmark: what the rounding of the log makes of a whole pace."""
    for before, after in _pairs(seen):
        if after.at - before.at < pace_seconds - ROUNDING_SECONDS:
            yield Close(before, after)


def _pairs(seen: Iterable[Seen]) -> Iterator[tuple[Seen, Seen]]:
    """Each request and the one after it, host by host."""
    by_host: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        by_host[one.host].append(one)
    for requests in by_host.values():
        yield from pairwise(sorted(requests))
