"""Who carries events to a sink: one of all that share the ledger, for as long as its session lives."""

from __future__ import annotations

import asyncio
from hashlib import blake2b

from tenax.database.postgres.connection import Address, Connection, Link
from tenax.database.postgres.schema import queries
from tenax.errors import LedgerError

FRESH_SECONDS = 1.0
"""For so long a session that answered is believed to be there."""
ANSWER_SECONDS = 5.0
"""One that takes longer may be gone, and someone else may lead: then we do not."""


class Lead:
    """Advisory locks, one for each sink, on a connection of their own that is there only while we hold any."""

    def __init__(self, address: Address, ears: Link) -> None:
        self._address = address
        self._ears = ears
        self._turn = asyncio.Lock()
        self._link: Link | None = None
        self._session: Connection | None = None
        self._led: set[str] = set()
        self._lost: set[str] = set()
        """Who led them has not heard of it yet."""
        self._heard_at = 0.0
        self._is_closed = False

    async def of(self, sink: str) -> bool:
        """Whether we lead. Who led and lost it hears of that before it can lead again."""
        if sink not in self._led and sink not in self._lost:
            key = self._key(sink)
            # Not in turn: while the server is away this waits for it.
            if not await self._ears.ask(lambda db: db.fetchval(queries()["lead_is_free"], key)):
                return False
            async with self._turn:
                return await self._taken(sink, key)
        async with self._turn:
            if self._led:
                await self._look()
            self._lost.discard(sink)
            return sink in self._led

    async def close(self) -> None:
        """Others may lead at once."""
        self._is_closed = True
        async with self._turn:
            await self._end_session()

    async def _end_session(self) -> None:
        self._lose_all()
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()

    async def _taken(self, sink: str, key: int) -> bool:
        if self._is_closed:
            return False
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                link = await self._opened()
                if await link.ask(lambda db: db.fetchval(queries()["lead_take"], key)):
                    self._led.add(sink)
                    self._heard()
        except (LedgerError, TimeoutError):
            self._lose_all()
        if not self._led:
            await self._end_session()
        return sink in self._led

    async def _look(self) -> None:
        """Is the session still there? A new one holds no locks."""
        assert self._link is not None and self._session is not None
        is_fresh = asyncio.get_running_loop().time() - self._heard_at < FRESH_SECONDS
        if is_fresh and not self._session.is_closed():
            return
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._link.ask(lambda db: db.execute("SELECT"))
            self._heard()
        except (LedgerError, TimeoutError):
            await self._end_session()

    async def _opened(self) -> Link:
        if self._link is None:
            self._link = Link(self._address, {}, is_patient=False)
            await self._link.open()
            await self._link.greet_with(self._begin)
        return self._link

    async def _begin(self, db: Connection) -> None:
        self._lose_all()
        self._session = db

    def _lose_all(self) -> None:
        self._lost |= self._led
        self._led.clear()

    def _heard(self) -> None:
        self._heard_at = asyncio.get_running_loop().time()

    def _key(self, sink: str) -> int:
        name = f"tenax {self._address.schema} {sink}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)
