"""A filter in front of the exact key: what other workers have admitted is known before the server is asked.

It is only ever a hint that saves look-ups. What it says to know was committed; what it does not know the database
decides. So it may be emptied, away or never filled, and no URL is lost. It would be wrong in one case: when the database
itself goes back to an earlier time. Its members are therefore salted with the database's secret and with what tells this
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
from tenax.database.postgres.connection import Address, Connection, PostgresConnection, Row
from tenax.database.postgres.read import read_tally
from tenax.database.postgres.schema import check_version, key_secret, queries, read_version
from tenax.model import Candidate

TAG_BYTES = 4
HASH_BYTES = 12
MAX_PENDING_MEMBERS = 200_000
"""Members that wait to be added; more than that are not."""
MEMBER_BATCH_SIZE = 5_000


class VisitedSet(Protocol):
    """A set of members that many share; its keeper may be away."""

    async def contains(self, members: Sequence[bytes]) -> list[bool]:
        """Which of them are in it; none while it is away."""

    async def add(self, members: Sequence[bytes]) -> bool:
        """False when it is away."""

    async def close(self) -> None: ...


class MemberEncoder:
    """How one database names its URLs in a set that others use too."""

    def __init__(self, secret: bytes, database_copy_id: str) -> None:
        """`database_copy_id` tells this database from the same one at another time or place."""
        self.tag = blake2b(b"visited", key=secret, digest_size=TAG_BYTES).digest()
        """What all members of this database begin with, whichever copy of it added them."""
        self._salted = blake2b(database_copy_id.encode(), key=secret, digest_size=HASH_BYTES).copy
        self._url_key = rows.make_url_key(secret)

    def encode_url(self, origin: str, url: str) -> bytes:
        return self.encode_key(origin, self._url_key(url))

    def encode_key(self, origin: str, key: int) -> bytes:
        """Of a URL as `seen` knows it: two that are one there are one here."""
        digest = self._salted()
        digest.update(b"%d %b" % (key, origin.encode("utf-8", "surrogatepass")))
        return self.tag + digest.digest()


async def read_member_encoder(db: Connection) -> MemberEncoder:
    """Those of the database at the end of this connection."""
    return MemberEncoder(await key_secret(db), await db.fetchval(queries()["database_copy_id"]))


class VisitedFilter:
    """Asks the set about offers, and tells it, in its own time, what was committed."""

    def __init__(self, visited_set: VisitedSet, encoder: MemberEncoder) -> None:
        self._visited_set = visited_set
        self._encoder = encoder
        self._pending: list[bytes] = []
        self._add_task: asyncio.Task[None] | None = None

    async def known_urls(self, candidates: Iterable[Candidate]) -> set[str]:
        """The URLs among these that are surely in the database."""
        asked = {candidate.url: self._encoder.encode_url(candidate.origin, candidate.url) for candidate in candidates}
        if not asked:
            return set()
        answers = await self._visited_set.contains(list(asked.values()))
        return {url for url, is_known in zip(asked, answers, strict=True) if is_known}

    def on_commit(self, candidates: Sequence[Candidate]) -> None:
        """These are in the database, whatever happens to us now."""
        if len(self._pending) + len(candidates) > MAX_PENDING_MEMBERS:
            return
        self._pending.extend(self._encoder.encode_url(candidate.origin, candidate.url) for candidate in candidates)
        if self._pending and (self._add_task is None or self._add_task.done()):
            self._add_task = asyncio.get_running_loop().create_task(self._add_pending())

    async def close(self) -> None:
        """What was not told yet is asked of the database once more."""
        if self._add_task is not None:
            self._add_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._add_task
        await self._visited_set.close()

    async def _add_pending(self) -> None:
        while self._pending:
            some, self._pending = self._pending[:MEMBER_BATCH_SIZE], self._pending[MEMBER_BATCH_SIZE:]
            await self._visited_set.add(some)


class RefillableSet(Protocol):
    """A set that is emptied and filled, or raises."""

    def forget(self, tag: bytes) -> AsyncIterator[int]: ...

    async def fill(self, members: Sequence[bytes]) -> None: ...


async def refill_visited_set(
    url: str, schema: str, visited_set: RefillableSet, on_progress: Callable[[int, int], None]
) -> tuple[int, int]:
    """Take every member of a database out of the set and put in what it knows now; how many went out and in.

    `on_progress` hears how many are in so far, and about how many there will be. Workers may run meanwhile.
    """
    link = PostgresConnection(Address(url, schema), {"default_transaction_read_only": "on"}, should_wait=False)
    try:
        await link.open()
        check_version(await link.run_idempotent(read_version), link.address)
        named, total = (
            await link.run_idempotent(read_member_encoder),
            (await link.run_idempotent(read_tally)).get("admitted", 0),
        )
        gone = sum([count async for count in visited_set.forget(named.tag)])
        done, last = 0, (0, -(2**63))
        while found := await _read_seen_after(link, last):
            await visited_set.fill([named.encode_key(origin, key) for _, key, origin in found])
            done, last = done + len(found), (found[-1][0], found[-1][1])
            on_progress(done, max(done, total))
        return gone, done
    finally:
        await link.close()


async def _read_seen_after(connection: PostgresConnection, last: tuple[int, int]) -> list[Row]:
    return await connection.run_idempotent(lambda db: db.fetch(queries()["seen_after"], *last, MEMBER_BATCH_SIZE))
