"""The page-fetcher: takes URLs from a queue, stores pages and sends events.

A worker *claims* a URL: in one step the URL moves from the queue to the worker's own list. A URL is *settled* when its
page is stored and published, when it is given up, or when it is back in the queue. Only then it leaves that list.
Promises:

- **No URL is lost.** If the process is killed at any instruction, its claims go back to the queue when its lease
  expires. A URL may be fetched and published twice, but is never missed.
- **Store, then publish, then settle.** The page of every published event is stored.
- **One record per host.** Rate limit, backoff, robots.txt and breaker are those of a crawl, shared by all users of the
  same Redis. No visit sleeps: a URL whose host must wait stays in memory, or goes back to the queue.
- **An outage costs nothing.** URLs of a host that waits stay in the queue, and those behind them are claimed. One HEAD
  request at a time checks whether the host is back, and no URL is given up because of its host.
- **A URL that fails by itself is given up.** Its attempts are counted in Redis, across requeues and restarts.
- **Nothing in the queue stops the loop.** An item that is not a URL becomes a dead letter, with the reason.
- **While Redis or Kafka is unavailable, everything waits.**

`intake`, `host_queue`, `disposition` and `status` are pure. `fetcher` is the loop. `in_flight` tracks claimed items and
sends heartbeats. `publisher` stores and publishes pages. `redis_queue` keeps the lists and reads their status.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from tenax.config import Config


class QueueWindow(NamedTuple):
    """Consecutive items of the queue. They stay in the queue."""

    items: list[bytes]
    length: int
    """The length of the whole queue."""


class DeadLetterItem(NamedTuple):
    """A dead letter: an item that was given up, and the reason, as JSON."""

    item: bytes
    reason: bytes


class QueueSizes(NamedTuple):
    queue: int
    dead_letters: int


class WorkerStatus(Enum):
    """The status of this worker on the server."""

    REGISTERED = 0
    UNKNOWN = 1
    """The server has lost its data, and does not know this worker."""
    EXPIRED = 2
    """The lease of this worker has expired, and other workers have its items."""


class Queue(Protocol):
    """The lists. Every call waits while the server is unavailable. Each call is atomic on the server."""

    async def peek(self, offset: int, limit: int) -> QueueWindow:
        """Up to `limit` items of the queue, from this offset on."""

    async def take(self, offset: int, limit: int, items: Sequence[bytes]) -> list[bytes]:
        """Claim these items, as far as they are still in this part of the queue. Returns the claimed ones."""

    async def wait_for_items(self, seconds: float) -> bool:
        """True as soon as there is an item in the queue; the item stays there. False after the timeout."""

    async def settle(
        self,
        done: Sequence[bytes] = (),
        to_back: Sequence[bytes] = (),
        dead_letters: Sequence[DeadLetterItem] = (),
        to_front: Sequence[bytes] = (),
    ) -> None:
        """Settle claimed items: finished, requeued at the end, given up, or requeued at the head in this order.

        The attempts of items that are finished or given up are deleted.
        """

    async def set_attempts(self, item: bytes, attempts: int) -> None:
        """Store how many attempts the item has spent, for any worker that claims it next."""

    async def attempts(self, items: Sequence[bytes]) -> list[int]:
        """How many attempts each of the items has spent so far."""

    async def store_pages(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Store these bodies under their keys, for the lifetime of pages."""

    async def send_heartbeat(self, url: str) -> WorkerStatus:
        """Renew the lease, with a URL that is being fetched. Returns the status since the last heartbeat."""

    async def restore_claims(self, items: Sequence[bytes]) -> None:
        """Claim these items again, after the server has lost the claims."""

    async def recover_dead_workers(self) -> int:
        """Move the items of expired workers back to the head of the queue. Returns their number."""

    @property
    def failure_count(self) -> int:
        """How often the server was unavailable so far. A call at such a moment may still have had its effect."""

    async def claimed_items(self) -> list[bytes]:
        """All items claimed by this worker, according to the server."""

    async def sizes(self) -> QueueSizes: ...

    async def unregister(self) -> int:
        """Move all claimed items back to the head of the queue and remove this worker. Returns their number."""

    async def close(self) -> None: ...


class EventLog(Protocol):
    """The destination of events."""

    async def publish(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        """Publish these keys and values in order. Returns when every replica has them, however long that takes."""

    async def close(self) -> None: ...


def fetch_config(config: Config) -> Config:
    """The config with which pages are fetched. Settings of single sites are kept."""
    own = config.page_fetcher
    fetch = msgspec.structs.replace(
        config.fetch,
        total_timeout_seconds=own.request_timeout_seconds,
        max_redirects=own.max_redirects,
        max_attempts=own.max_retries,
        retry_base_seconds=own.retry_backoff_base_seconds,
        retry_max_seconds=max(config.fetch.retry_max_seconds, own.retry_backoff_base_seconds),
        user_agent=own.user_agent or config.fetch.user_agent,
    )
    politeness = msgspec.structs.replace(
        config.politeness,
        rate_per_second=own.rate_limit_per_second,
        robots_ttl_seconds=float(own.robots_txt_cache_ttl_seconds),
        # A host that was down at its first visit is probed as soon as any other host.
        robots_retry_seconds=min(config.politeness.robots_retry_seconds, max(own.retry_backoff_base_seconds, 1.0)),
        robots_max_retry_seconds=own.circuit_breaker_max_backoff_seconds,
    )
    hosts = msgspec.structs.replace(
        config.hosts,
        breaker_failures=own.circuit_breaker_failure_threshold,
        breaker_first_seconds=own.circuit_breaker_initial_backoff_seconds,
        breaker_max_seconds=own.circuit_breaker_max_backoff_seconds,
        breaker_factor=own.circuit_breaker_backoff_multiplier,
    )
    return msgspec.structs.replace(config, fetch=fetch, politeness=politeness, hosts=hosts)


def max_items_per_host(config: Config) -> int:
    """Maximum number of URLs of one host in memory, so that a host with a million URLs does not keep out all others."""
    own = config.page_fetcher
    return own.max_in_flight if own.rate_limit_per_second == 0 else max(own.max_in_flight // 10, 1)


__all__ = ["DeadLetterItem", "EventLog", "Queue", "QueueSizes", "QueueWindow", "WorkerStatus"]
