"""Hosts: the state of one scheme, name and port, and when it may be requested next.

A `HostRecord` is the whole state of a host: its robots.txt, pace, backoff, counts of pages and failures. The database
stores it; while visits are in flight the newest copy is here.

Promises:

- **At its pace, and not more at once than its connections.** `next_at` in the record is the earliest start of the next
  request. It is counted from the arrival of the headers of the last answer, so the gap that the server sees is never
  shorter than the pace.
- **A backoff is a time, not a sleep.** A 429, an outage or an unreachable robots.txt moves `next_at` forward and gives
  the reason in `backoff_reason`. Nothing waits in a slot; the database does not serve the host before then.
- **A backoff is never shortened**, for example by a late answer of an earlier request.
- **One rate limit for all crawls of a machine.** A `RateLimiter` is asked before every request. It knows the requests
  of other crawls, and their hosts' demands: to stay away (429, Retry-After), or to come less often. The permits of a
  killed crawl expire after `busy_seconds` at the latest.
- **robots.txt by RFC 9309.** Rules are obeyed, 4xx means there are none, no answer means no requests.

`robots` and `rules` are pure; `records` keeps the records of active hosts in memory. There are three rate limiters:
`limiter.process` limits this process alone, `limiter.machine` all processes of this user, and `redis.limiter` workers
on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenax.model import HostRecord, Value


class Hosts(Protocol):
    """The records of the hosts being visited, shared by all visits in flight."""

    async def acquire(self, record: HostRecord) -> HostRecord:
        """Begin a visit: the newer of this record, from its claim, and ours. Each `acquire` needs one `release`."""

    def get(self, origin: str) -> HostRecord | None:
        """The record in memory; None when no visit is in flight and the host was not seen recently."""

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        """Replace the record `before`, which is the one in memory if there is one, by `after`.

        Where records are shared, another worker may have been faster. Then nothing is stored, and its record is
        returned: make the same change to that one and try again. `attempt` counts these; enough of them are stored
        anyway.
        """

    def release(self, origin: str) -> None:
        """End a committed visit: its result is in the database, and the record may be dropped here."""


class Permit(Value, frozen=True):
    """The right to send one request to a host or an address, at its pace."""

    key: str
    """What is limited: `host http://a.example`, `address 93.184.216.34`."""
    pace_seconds: float
    """Minimum time before the next request; 0: no limit, and nothing is recorded."""
    busy_seconds: float = 0.0
    """How long the permit lasts at most while the request is in flight; 0: requests may overlap, only their starts are
    a pace apart."""


def host_key(origin: str) -> str:
    """The permit key of a host."""
    return f"host {origin}"


class RateLimiter(Protocol):
    """Decides who may send a request to a host or an address. No call waits until a permit is free; only Redis is
    waited for."""

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        """Take all of these permits or none: returns `now` when they were taken, else the earliest time to try again.

        That time is a guess while another request is in flight: it may be answered sooner.
        """

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        """The request was answered: the next may start a pace later."""

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        """Block a host until this time, on its demand, even if requests end meanwhile.

        Until some minutes later, other crawls keep this pace if theirs is faster.
        """

    async def close(self) -> None: ...


__all__ = ["Hosts", "Permit", "RateLimiter", "host_key"]
