"""The scheduler: seed lists and how often each URL is wanted, put into the page-fetcher's queue when they are due.

- **Once an interval**, however many schedulers run and however often they are started anew: a mark in Redis says that a
  URL was sent, and lives for as long as its interval.
- **Never twice in the queue.** A URL that still waits there is not sent again; it is looked at again a little later.

`plan` reads the file, `agenda` knows what is due, `redis_marks` sends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from tenax.model import Value


class Seed(Value, frozen=True):
    """A URL and how often it is wanted."""

    url: str
    every_seconds: float
    is_urgent: bool = False
    """It goes to the head of the queue."""


class SendStatus(Enum):
    """What came of one that was due."""

    SENT = 0
    ALREADY_SENT = 1
    """It was sent in this interval already."""
    STILL_QUEUED = 2
    """It is in the queue still."""


class SendResult(NamedTuple):
    status: SendStatus
    next_check_seconds: float
    """When to look at it again."""


class SeedQueue(Protocol):
    """Sends URLs to the queue, and remembers that it did."""

    async def send(self, seeds: Sequence[Seed]) -> list[SendResult]: ...

    async def close(self) -> None: ...


__all__ = ["Seed", "SeedQueue", "SendResult", "SendStatus"]
