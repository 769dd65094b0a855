"""The scheduler: sends seeds to the page-fetcher's queue, each at its own interval.

- **Once per interval**, however many schedulers run and however often they restart: a mark in Redis records that a URL
  was sent, and expires with its interval.
- **Never twice in the queue.** A URL that still waits there is not sent again; it is checked again a little later.

`plan` parses the file, `loop` decides what is due, `redis_store` sends it.
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
    """The result for one due seed."""

    SENT = 0
    ALREADY_SENT = 1
    """It was sent in this interval already."""
    STILL_QUEUED = 2
    """It is still in the queue."""


class SendResult(NamedTuple):
    status: SendStatus
    next_check_seconds: float
    """When to check it again."""


class SeedQueue(Protocol):
    """Sends URLs to the queue, and records that it did."""

    async def send(self, seeds: Sequence[Seed]) -> list[SendResult]: ...

    async def close(self) -> None: ...


__all__ = ["Seed", "SeedQueue", "SendResult", "SendStatus"]
