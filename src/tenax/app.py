"""The parts of one crawl, put together: what runs while it runs, and what is closed after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from tenax.engine import Engine
from tenax.errors import StorageFull, TenaxError
from tenax.events.relay import Relay
from tenax.hosts.memory import MemoryHosts
from tenax.ledger import Ledger
from tenax.model import Ending
from tenax.rulebook import Rulebook
from tenax.supervisor import Supervisor

Background = Callable[[], Coroutine[Any, Any, None]]


class Closing(Protocol):
    def close(self) -> Awaitable[None]: ...


class App:
    """Made by `wiring`; run once."""

    def __init__(
        self,
        ledger: Ledger,
        hosts: MemoryHosts,
        engine: Engine,
        rulebook: Rulebook,
        relays: tuple[Relay, ...],
        supervisor: Supervisor,
        background: Sequence[Background],
        parts: Sequence[Closing],
    ) -> None:
        """`background` runs until the crawl ends; `parts` are closed in their order, then the ledger."""
        self.ledger = ledger
        self.hosts = hosts
        self.engine = engine
        self.rulebook = rulebook
        self.relays = relays
        self.supervisor = supervisor
        self._background = background
        self._parts = parts

    async def run(self, *others: Background) -> Ending:
        """Crawl to an end, with `others` beside it."""
        try:
            return await self._run(others)
        except BaseExceptionGroup as troubles:
            raise _first(troubles) or troubles from None

    async def _run(self, others: Sequence[Background]) -> Ending:
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(work()) for work in (self.supervisor.run, *self._background, *others)]
            relaying = [group.create_task(relay.run()) for relay in self.relays]
            try:
                ending = await self.engine.run()
            finally:
                for task in watching:
                    task.cancel()
                for relay in self.relays:
                    relay.end()
            await asyncio.gather(*relaying)
        return ending

    async def close(self) -> None:
        for part in (*self._parts, *self.relays, self.ledger):
            await part.close()


def _first(troubles: BaseExceptionGroup[BaseException]) -> TenaxError | None:
    """Many visits may meet the same trouble; a person needs to hear of it once. A full disk is said first."""
    found: list[TenaxError] = []
    pending: list[BaseException] = [troubles]
    while pending:
        one = pending.pop()
        if isinstance(one, BaseExceptionGroup):
            pending.extend(one.exceptions)
        elif isinstance(one, TenaxError):
            found.append(one)
    return next((one for one in found if isinstance(one, StorageFull)), found[0] if found else None)
