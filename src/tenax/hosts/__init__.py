"""Hosts: what we know about one scheme, name and port, and when it has its next turn.

A `HostRecord` is the whole memory of a host: its robots.txt, its pace, its rest, its count of pages and failures.
It lives in the ledger; while visits are in flight the newest copy is here.

What this room promises:

- **One at a time, at its pace.** `next_at` in the record is the start of the host's next turn. It is counted from the
  moment the last answer began to arrive, so the gap the server sees is never shorter than the pace.
- **A rest is a time, not a sleep.** A 429, an outage or an unreachable robots.txt moves `next_at` forward and says why
  in `resting_why`. Nobody waits in a slot; the ledger simply does not hand the host out before then.
- **A rest is never shortened.** A late answer of an earlier request does not wake a host that was told to rest.
- **robots.txt by RFC 9309.** Rules are rules, 4xx means there are none, no answer means hands off.

`robots` and `rules` are pure; `memory` holds the records of the hosts that are active now.
"""

from __future__ import annotations

from typing import Protocol

from tenax.model import HostRecord


class Hosts(Protocol):
    """The records of the hosts now being visited, shared by all visits in flight."""

    def adopt(self, record: HostRecord) -> HostRecord:
        """A visit begins: the newer of this record, from its claim, and ours. Each `adopt` needs one `release`."""

    def get(self, origin: str) -> HostRecord | None:
        """What we hold of this host; None when no visit is in flight and it was not seen lately."""

    def put(self, record: HostRecord) -> None:
        """From now on this is what we know of the host."""

    def release(self, origin: str) -> None:
        """A visit is committed: the ledger holds what it learned, and the record may be dropped here."""


__all__ = ["Hosts"]
