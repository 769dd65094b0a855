"""Workers on PostgreSQL as tests need them: opened, made to vanish, and checked in the end."""

from __future__ import annotations

import asyncio

from tenax.clock import Clock, ManualClock
from tenax.config import LedgerConfig
from tenax.database import Likeness, Turns
from tenax.database.postgres import PostgresLedger
from tenax.errors import LedgerMissing
from tests.contracts.ledger import Manners

CONFIG = LedgerConfig(group_seconds=0.0, window_hosts=20, look_ahead=4)


class Ledgers:
    """Opens ledgers in one schema."""

    def __init__(self, url: str, config: LedgerConfig, clock: ManualClock, manners: Manners) -> None:
        self.url = url
        self.config = config
        self.clock = clock
        self.manners = manners
        self._opened: list[PostgresLedger] = []
        self.is_ruined = False
        """Its tables were made to contradict each other."""

    async def open(
        self,
        url: str | None = None,
        *,
        clock: Clock | None = None,
        manners: Turns | None = None,
        links_per_second: float = 0.0,
        read_only: bool = False,
        likeness: Likeness | None = None,
    ) -> PostgresLedger:
        ledger = await PostgresLedger.open(
            url or self.url,
            self.config,
            clock or self.clock,
            manners or self.manners,
            links_per_second=links_per_second,
            read_only=read_only,
            likeness=likeness,
        )
        self._opened.append(ledger)
        return ledger

    async def close(self) -> None:
        for ledger in self._opened:
            await ledger.close()
        try:
            reader = await self.open(read_only=True)
        except LedgerMissing:
            return
        problems = await reader.problems()
        await reader.close()
        assert bool(problems) == self.is_ruined, problems


async def fall_asleep(ledger: PostgresLedger) -> None:
    """It gives no sign of life by itself from here on; what it had begun is done."""
    for task in ledger._tasks:
        task.cancel()
    if (tending := ledger._frontier._tending) is not None:
        await asyncio.wait([tending])


def vanish(ledger: PostgresLedger) -> None:
    """Gone without a word, as by kill -9: its connections break, and nothing is given back."""
    for task in ledger._tasks:
        task.cancel()
    for link in (ledger._hands, ledger._ears, ledger._lead._link):
        if link is not None:
            link._is_closed.set()
            link._drop()
    ledger._is_closed = True
