"""A filter in front of the exact key: what other workers have admitted is known before the server is asked.

It is only ever a hint that saves look-ups. What it says to know was committed; what it does not know the ledger
decides. So it may be emptied, away or never filled, and no URL is lost. It would be wrong in one case: when the ledger
itself goes back to an earlier time. Its members are therefore salted with the ledger's secret and with what tells this
copy of it from others: the server, its timeline, and the file of `seen`. After a dump was loaded, a recovery to a point
in time, or a standby that took over, older members match nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Protocol

from tenax.database import rows
from tenax.database.postgres.connection import Address, Connection, Link, Row
from tenax.database.postgres.read import tallies
from tenax.database.postgres.schema import check_version, key_secret, queries, version_of
from tenax.model import Offer

TAG_BYTES = 4
HASH_BYTES = 12
MOST_WAITING = 200_000
"""Members that wait to be added; more than that are not."""
AT_ONCE = 5_000


class VisitedSet(Protocol):
    """A set of members that many share; its keeper may be away."""

    async def known(self, members: Sequence[bytes]) -> list[bool]:
        """Which of them are in it; none while it is away."""

    async def add(self, members: Sequence[bytes]) -> bool:
        """False when it is away."""

    async def close(self) -> None: ...


class Members:
    """How one ledger names its URLs in a set that others use too."""

    def __init__(self, secret: bytes, copy: str) -> None:
        """`copy` tells this ledger from the same one at another time or place."""
        self.tag = blake2b(b"visited", key=secret, digest_size=TAG_BYTES).digest()
        """What all members of this ledger begin with, whichever copy of it added them."""
        self._salted = blake2b(copy.encode(), key=secret, digest_size=HASH_BYTES).copy
        self._url_key = rows.keys_by(secret)

    def of_url(self, origin: str, url: str) -> bytes:
        return self.of(origin, self._url_key(url))

    def of(self, origin: str, key: int) -> bytes:
        """Of a URL as `seen` knows it: two that are one there are one here."""
        digest = self._salted()
        digest.update(b"%d %b" % (key, origin.encode("utf-8", "surrogatepass")))
        return self.tag + digest.digest()


async def members(db: Connection) -> Members:
    """Those of the ledger at the end of this connection."""
    return Members(await key_secret(db), await db.fetchval(queries()["copy_of"]))


class Visited:
    """Asks the set about offers, and tells it, in its own time, what was committed."""

    def __init__(self, kept: VisitedSet, named: Members) -> None:
        self._kept = kept
        self._named = named
        self._waiting: list[bytes] = []
        self._telling: asyncio.Task[None] | None = None

    async def known(self, offers: Iterable[Offer]) -> set[str]:
        """The URLs among these that are surely in the ledger."""
        asked = {offer.url: self._named.of_url(offer.origin, offer.url) for offer in offers}
        if not asked:
            return set()
        answers = await self._kept.known(list(asked.values()))
        return {url for url, is_known in zip(asked, answers, strict=True) if is_known}

    def committed(self, offers: Sequence[Offer]) -> None:
        """These are in the ledger, whatever happens to us now."""
        if len(self._waiting) + len(offers) > MOST_WAITING:
            return
        self._waiting.extend(self._named.of_url(offer.origin, offer.url) for offer in offers)
        if self._waiting and (self._telling is None or self._telling.done()):
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def close(self) -> None:
        """What was not told yet is asked of the ledger once more."""
        if self._telling is not None:
            self._telling.cancel()
            with suppress(asyncio.CancelledError):
                await self._telling
        await self._kept.close()

    async def _tell(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            await self._kept.add(some)


class RefilledSet(Protocol):
    """A set that is emptied and filled, or raises."""

    def forget(self, tag: bytes) -> AsyncIterator[int]: ...

    async def fill(self, members: Sequence[bytes]) -> None: ...


async def refill(url: str, schema: str, kept: RefilledSet, told: Callable[[int, int], None]) -> tuple[int, int]:
    """Take every member of a ledger out of the set and put in what it knows now; how many went out and in.

    `told` hears how many are in so far, and about how many there will be. Workers may run meanwhile.
    """
    link = Link(Address(url, schema), {"default_transaction_read_only": "on"}, is_patient=False)
    try:
        await link.open()
        check_version(await link.ask(version_of), link.address)
        named, total = await link.ask(members), (await link.ask(tallies)).get("admitted", 0)
        gone = sum([count async for count in kept.forget(named.tag)])
        done, last = 0, (0, -(2**63))
        while found := await _after(link, last):
            await kept.fill([named.of(origin, key) for _, key, origin in found])
            done, last = done + len(found), (found[-1][0], found[-1][1])
            told(done, max(done, total))
        return gone, done
    finally:
        await link.close()


async def _after(link: Link, last: tuple[int, int]) -> list[Row]:
    return await link.ask(lambda db: db.fetch(queries()["seen_after"], *last, AT_ONCE))
