"""Hosts: the state of one scheme, name and port, and when it may be requested next.

A `HostRecord` is the whole state of a host: its robots.txt, pace, backoff, and counts of pages and failures. The
database stores it. While visits are in flight, the newest copy is kept here. Promises:

- **Pace and connections.** `next_at` in the record is the earliest start of the next request. It is counted from the
  arrival of the headers of the last response, so the server never sees a shorter gap than the pace.
- **A backoff is a time, not a sleep.** A 429, an outage or an unreachable robots.txt moves `next_at` forward and gives
  the reason in `backoff_reason`. The database does not hand out tasks of the host before that time.
- **A backoff is never shortened**, for example by a late response to an earlier request.
- **One rate limit for all crawls of a machine.** A `RateLimiter` is asked before every request. It knows the requests
  of other crawls, and what their hosts demand: to stay away (429, Retry-After), or to come less often. The permits of a
  killed crawl expire after `busy_seconds` at the latest.
- **robots.txt by RFC 9309.** Rules are obeyed, 4xx means that there are no rules, no response means no requests.

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
        """Begin a visit. Returns the newer of two records: this one, from the claim, and the one in memory.

        Each `acquire` needs one `release`.
        """

    def get(self, origin: str) -> HostRecord | None:
        """The record in memory; None if no visit is in flight and the host was not seen recently."""

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        """Replace the record `before` by `after`. `before` is the record in memory, if there is one.

        Where records are shared, another worker may have stored a newer record. Then nothing is stored, and that record
        is returned: make the same change to it and try again. `attempt` counts these tries; after enough of them the
        record is stored in any case.
        """

    def release(self, origin: str) -> None:
        """End a visit that was committed. The database has its result, so the record may be dropped here."""


class Permit(Value, frozen=True):
    """The right to send one request to a host or an address, at its pace."""

    key: str
    """What is limited: `host http://a.example`, `address 93.184.216.34`."""
    pace_seconds: float
    """Minimum time before the next request; 0: no limit, and nothing is recorded."""
    busy_seconds: float = 0.0
    """Maximum duration of the permit while the request is in flight. 0: requests may overlap, and only their starts are
    a pace apart."""


def host_key(origin: str) -> str:
    """The permit key of a host."""
    return f"host {origin}"


class RateLimiter(Protocol):
    """Decides who may send a request to a host or an address. No call waits for a permit to become free; a call waits
    only for Redis."""

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        """Take all of these permits or none. Returns `now` if they were taken, else the earliest time to try again.

        While another request is in flight, that time is an estimate: the response may come sooner.
        """

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        """The request was answered; the next request may start a pace later."""

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        """Block a host until this time, because the host demands it, even if requests end meanwhile.

        Other crawls keep this pace, if theirs is faster, until some minutes after that time.
        """

    async def close(self) -> None: ...


__all__ = ["Hosts", "Permit", "RateLimiter", "host_key"]
