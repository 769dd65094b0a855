"""The page-fetcher: URLs from a queue in, pages and events out, and whatever cannot be fetched to its own queue.

A URL is *taken* from the queue into the *hand*: it leaves the one list and enters another, this fetcher's own, in one
step. It is *settled* when its page is stored and told, when it was given up, or when it stands in the queue again; only
then does it leave that list. What this room promises:

- **No URL is lost.** Kill the process at any instruction: what it held goes back to the queue as soon as it counts as
  dead. A URL may be fetched twice, and told twice, never not at all.
- **Stored before told, told before settled.** Whoever reads an event finds its page.
- **One truth about a host.** Pace, rests, robots.txt and breaker are those of a crawl, shared with all who use the same
  Redis. Nobody sleeps in a slot: a URL whose host must wait waits in hand, or goes back to the queue.
- **An outage costs nothing.** What belongs to a host that waits is left in the queue, and what lies behind it is taken.
  One HEAD at a time asks whether a host is back, and no URL is given up for its host.
- **A URL that fails by itself is given up.** Its attempts are counted in Redis, so no requeue and no restart forgets
  them.
- **Nothing in the queue stops the loop.** What is no URL goes to the dead letters, with its reason.
- **Redis or Kafka away: everything waits.**

`items`, `hand`, `intake`, `rests`, `settling`, `status`, `events` and `manners` are thought. `fetcher` is the loop,
`holdings` keeps account of what is ours, `outlet` carries it out, `upkeep` gives signs of life, `redis_queue` keeps the
lists and `redis_status` looks at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol


class QueueWindow(NamedTuple):
    """A part of the queue, left where it is."""

    items: list[bytes]
    length: int
    """Of the whole queue."""


class DeadLetterItem(NamedTuple):
    """An item given up for good, and why, as JSON."""

    item: bytes
    reason: bytes


class QueueSizes(NamedTuple):
    queue: int
    dead_letters: int


class WorkerStatus(Enum):
    """What the server thinks of us."""

    REGISTERED = 0
    UNKNOWN = 1
    """It lost its memory: we are new to it."""
    EXPIRED = 2
    """We counted as dead, and what we held was given to others."""


class Queue(Protocol):
    """The lists. Every call waits for as long as the server is away; each is one step there, whole or not at all."""

    async def peek(self, offset: int, limit: int) -> QueueWindow:
        """So many items of the queue, from this place on."""

    async def take(self, offset: int, limit: int, items: Sequence[bytes]) -> list[bytes]:
        """Those of the items that are still among so many from this place on; they are ours now."""

    async def wait_for_items(self, seconds: float) -> bool:
        """True as soon as there is an item in the queue, where it stays; False after that time."""

    async def settle(
        self,
        done: Sequence[bytes] = (),
        to_back: Sequence[bytes] = (),
        dead_letters: Sequence[DeadLetterItem] = (),
        to_front: Sequence[bytes] = (),
    ) -> None:
        """These are no longer ours: finished, at the end of the queue again, given up, or at its head in this order.

        Of those that are finished or given up, the attempts are forgotten.
        """

    async def set_attempts(self, item: bytes, attempts: int) -> None:
        """It has spent so many attempts by now, whoever asks for it next."""

    async def attempts(self, items: Sequence[bytes]) -> list[int]:
        """How many attempts each of them has spent so far."""

    async def store_pages(self, pages: Sequence[tuple[str, bytes]]) -> None:
        """Keep these bodies under their keys, for as long as pages are kept."""

    async def send_heartbeat(self, url: str) -> WorkerStatus:
        """A sign of life, with a URL that is being fetched; what became of us since the last one."""

    async def restore_claims(self, items: Sequence[bytes]) -> None:
        """These are ours, though the server has forgotten it."""

    async def recover_dead_workers(self) -> int:
        """What the dead held goes back to the head of the queue; how many items that were."""

    @property
    def failure_count(self) -> int:
        """How often the server was away so far. What we asked for at such a moment may have happened all the same."""

    async def claimed_items(self) -> list[bytes]:
        """Everything that is ours by the server's account."""

    async def sizes(self) -> QueueSizes: ...

    async def unregister(self) -> int:
        """Whatever is ours goes back to the head of the queue, and we are gone; how many items that were."""

    async def close(self) -> None: ...


class EventLog(Protocol):
    """Where events go."""

    async def publish(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        """These keys and values, in order; returns when every replica has them, however long that takes."""

    async def close(self) -> None: ...


__all__ = ["DeadLetterItem", "EventLog", "Queue", "QueueSizes", "QueueWindow", "WorkerStatus"]
