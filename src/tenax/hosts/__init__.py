"""Hosts: what we know about one scheme, name and port, and when it has its next turn.

A `HostRecord` is the whole memory of a host: its robots.txt, its pace, its rest, its count of pages and failures.
It lives in the database; while visits are in flight the newest copy is here.

What this room promises:

- **One at a time, at its pace.** `next_at` in the record is the start of the host's next turn. It is counted from the
  moment the last answer began to arrive, so the gap the server sees is never shorter than the pace.
- **A rest is a time, not a sleep.** A 429, an outage or an unreachable robots.txt moves `next_at` forward and says why
  in `resting_why`. Nobody waits in a slot; the database simply does not hand the host out before then.
- **A rest is never shortened.** A late answer of an earlier request does not wake a host that was told to rest.
- **One turn for all crawls of a machine.** Each crawl knows its own visits only; a `RateLimiter` is asked before every
  request and knows those of the others, and what a host asked of one of them: to stay away (429, Retry-After), or to
  come less often. Killing a crawl frees what it held after `busy_seconds` at the latest.
- **robots.txt by RFC 9309.** Rules are rules, 4xx means there are none, no answer means hands off.

`robots` and `rules` are pure; `memory` holds the records of the hosts that are active now; `machine` shares turns with
the other processes of this user, `local_turns` within this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tenax.model import HostRecord, Value


class Hosts(Protocol):
    """The records of the hosts now being visited, shared by all visits in flight."""

    async def acquire(self, record: HostRecord) -> HostRecord:
        """A visit begins: the newer of this record, from its claim, and ours. Each `acquire` needs one `release`."""

    def get(self, origin: str) -> HostRecord | None:
        """What this process holds of the host; None when no visit is in flight and it was not seen lately."""

    async def update(self, origin: str, fallback: HostRecord, rule: Callable[[HostRecord], HostRecord]) -> HostRecord:
        """From now on we know of the host what the rule makes of what is known; that, or `fallback`, is handed to it.

        Where others share the records, the rule is asked again when one of them was faster.
        """

    def release(self, origin: str) -> None:
        """A visit is committed: the database holds what it learned, and the record may be dropped here."""


class Permit(Value, frozen=True):
    """The right to send one request to a host or an address, at the pace it is owed."""

    key: str
    """Whose turn it is: `host http://a.example`, `address 93.184.216.34`."""
    pace_seconds: float
    """Least time before the next one; 0: nobody waits for anybody, and the turn is not kept at all."""
    busy_seconds: float = 0.0
    """How long it is held at most while the request is in flight; 0: requests may overlap, only their starts are
    a pace apart."""


def host_key(origin: str) -> str:
    """Whose turn it is to ask this host."""
    return f"host {origin}"


class RateLimiter(Protocol):
    """Whose turn it is at a host or an address, whoever asks. No call waits for anything."""

    def acquire(self, permits: Sequence[Permit], now: float) -> float:
        """All of these turns at once, or none: `now` when they were taken, else the earliest time to try again.

        That is a guess while a request of another is in flight: it may be answered sooner than it must.
        """

    def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        """The request is answered: the next may start a pace after that."""

    def release_all(self, released: Sequence[tuple[Permit, float]]) -> None:
        """The same for many requests, each with the time of its answer."""

    def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        """A host asked this of us: nobody takes its turn before `until`, whatever ends meanwhile.

        From then on, and for some minutes more, other crawls keep this pace where theirs is faster; ours we know.
        """

    def close(self) -> None: ...


class AsyncRateLimiter(Protocol):
    """The same of whom we must ask, and wait for the answer: turns may be kept on another machine."""

    async def acquire(self, permits: Sequence[Permit], now: float) -> float: ...

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None: ...

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None: ...

    async def close(self) -> None: ...


__all__ = ["AsyncRateLimiter", "Hosts", "Permit", "RateLimiter", "host_key"]
