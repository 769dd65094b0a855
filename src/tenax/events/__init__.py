"""Events: the database's outbox, and the sinks that its events go to.

A page's event is written in the same transaction as the page, so no event is lost, and none is about a page that was
not stored. The relay reads the outbox in order and writes it to a *sink*; the sink's cursor is in the database too. A
sink that stores events and cursor together (a file and its length) writes every event exactly once, even after kill -9;
others write at least once, and a reader drops repeated events by their `seq`.

Processes that share a database have the same sinks, and for each sink one of them is the *leader*: only it writes
events there. When it dies another one takes over within seconds, from the cursor on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenax.model import Cursor, Event


class Outbox(Protocol):
    """The part of the database that events come from."""

    async def events(self, after: int, limit: int) -> list[Event]: ...

    async def subscribe(self, sink: str) -> Cursor: ...

    async def advance(self, sink: str, cursor: Cursor) -> None:
        """Store the cursor; it never moves back, whoever calls."""

    async def is_leader(self, sink: str) -> bool:
        """Whether this process is the leader for this sink now. Cheap enough to call often.

        After a loss it returns False at least once before it returns True again; the caller must then end all work in
        progress.
        """


class Sink(Protocol):
    """Where events go."""

    @property
    def name(self) -> str:
        """The name of its cursor in the database."""

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        """Resume at the cursor; raises `SinkError` when that is impossible.

        `is_behind`: events wait, and the sink may have some of them already, from a run that was killed.
        """

    async def write(self, events: Sequence[Event]) -> Cursor:
        """Store these events durably; returns the cursor to keep."""

    async def close(self) -> None: ...
