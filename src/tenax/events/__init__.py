"""Events: what the database's outbox tells the outside, and where it goes.

A page's event is written in the same transaction as the page, so none is lost and none is told of a page that was not
kept. The relay reads the outbox in order and hands it to a *sink*; the sink's cursor lives in the database too. A sink
that can put events and cursor together (a file and its length) tells every event exactly once, also across kill -9;
others tell at least once, and an event's `seq` lets the reader drop what it has already.

Where many processes share a database, all of them have the same sinks, and for each sink one of them *leads*: it alone
carries events there. When it dies another takes over within seconds, from the cursor on.
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
        """Remember how far it has come; a cursor never goes back, whoever asks."""

    async def is_leader(self, sink: str) -> bool:
        """Whether this process may carry this sink's events now. Asked again and again; that is cheap.

        Once true it stays true until it was said to be false: then whatever was begun must end.
        """


class Sink(Protocol):
    """Where events go."""

    @property
    def name(self) -> str:
        """Under this name the database keeps its cursor."""

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        """Come back to where the cursor says the sink was; raises `SinkError` when that cannot be.

        `is_behind` says that events wait: the sink may hold some of them already, from a run that was killed.
        """

    async def write(self, events: Sequence[Event]) -> Cursor:
        """Take these events for good; the cursor to keep once they are safe."""

    async def close(self) -> None: ...
