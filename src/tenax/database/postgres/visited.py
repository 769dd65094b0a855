"""A filter in front of the exact look-up: URLs that other workers have admitted are known without a query.

The filter only saves look-ups. A URL that it contains was committed; for other URLs the database decides. So no URL is
lost if the filter is emptied, unavailable or never filled.

It would be wrong in one case: if the database itself goes back to an earlier state. So its members are salted with the
secret of the database and with an id of this copy of it: the server, its timeline, and the file of `seen`. After a
restored dump, a point-in-time recovery or a failover to a standby, older members match nothing.
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
"""Maximum members that wait to be added. Further ones are dropped."""
MEMBER_BATCH_SIZE = 5_000


class VisitedSet(Protocol):
    """A shared set. Its server may be unavailable."""

    async def contains(self, members: Sequence[bytes]) -> list[bool]:
        """Which of these members the set contains; none while it is unavailable."""

    async def add(self, members: Sequence[bytes]) -> bool:
        """Add these members. False if the set is unavailable."""

    async def close(self) -> None: ...


class MemberEncoder:
    """Encodes the URLs of one database as members of a shared set."""

    def __init__(self, secret: bytes, database_copy_id: str) -> None:
        """`database_copy_id` differs between copies of the database."""
        self.tag = blake2b(b"visited", key=secret, digest_size=TAG_BYTES).digest()
        """The common prefix of all members of this database, whichever copy of the database added them."""
        self._salted = blake2b(database_copy_id.encode(), key=secret, digest_size=HASH_BYTES).copy
        self._url_key = rows.make_url_key(secret)

    def encode_url(self, origin: str, url: str) -> bytes:
        return self.encode_key(origin, self._url_key(url))

    def encode_key(self, origin: str, key: int) -> bytes:
        """The member for a key in `seen`. URLs with equal keys have equal members."""
        digest = self._salted()
        digest.update(b"%d %b" % (key, origin.encode("utf-8", "surrogatepass")))
        return self.tag + digest.digest()


async def read_member_encoder(db: Connection) -> MemberEncoder:
    """The encoder of the connected database."""
    return MemberEncoder(await key_secret(db), await db.fetchval(queries()["database_copy_id"]))


class VisitedFilter:
    """Looks candidates up in the set, and adds committed ones in the background."""

    def __init__(self, visited_set: VisitedSet, encoder: MemberEncoder) -> None:
        self._visited_set = visited_set
        self._encoder = encoder
        self._pending: list[bytes] = []
        self._add_task: asyncio.Task[None] | None = None

    async def known_urls(self, candidates: Iterable[Candidate]) -> set[str]:
        """The URLs among these that are surely in the database."""
        members = {candidate.url: self._encoder.encode_url(candidate.origin, candidate.url) for candidate in candidates}
        if not members:
            return set()
        answers = await self._visited_set.contains(list(members.values()))
        return {url for url, is_known in zip(members, answers, strict=True) if is_known}

    def on_commit(self, candidates: Sequence[Candidate]) -> None:
        """Add candidates that are committed."""
        if len(self._pending) + len(candidates) > MAX_PENDING_MEMBERS:
            return
        self._pending.extend(self._encoder.encode_url(candidate.origin, candidate.url) for candidate in candidates)
        if self._pending and (self._add_task is None or self._add_task.done()):
            self._add_task = asyncio.get_running_loop().create_task(self._add_pending())

    async def close(self) -> None:
        """Drop what was not added yet. It costs a look-up in the database later."""
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
    """A set that can be emptied and filled. Raises on errors."""

    def forget(self, tag: bytes) -> AsyncIterator[int]: ...

    async def fill(self, members: Sequence[bytes]) -> None: ...


async def refill_visited_set(
    url: str, schema: str, visited_set: RefillableSet, on_progress: Callable[[int, int], None]
) -> tuple[int, int]:
    """Replace all members of a database in the set by its current URLs. Returns how many were removed and added.

    `on_progress` gets the number added so far, and about how many there will be. Workers may run meanwhile.
    """
    connection = PostgresConnection(Address(url, schema), {"default_transaction_read_only": "on"}, should_wait=False)
    try:
        await connection.open()
        check_version(await connection.run_idempotent(read_version), connection.address)
        encoder, total = (
            await connection.run_idempotent(read_member_encoder),
            (await connection.run_idempotent(read_tally)).get("admitted", 0),
        )
        gone = sum([count async for count in visited_set.forget(encoder.tag)])
        done, last = 0, (0, -(2**63))
        while found := await _read_seen_after(connection, last):
            await visited_set.fill([encoder.encode_key(origin, key) for _, key, origin in found])
            done, last = done + len(found), (found[-1][0], found[-1][1])
            on_progress(done, max(done, total))
        return gone, done
    finally:
        await connection.close()


async def _read_seen_after(connection: PostgresConnection, last: tuple[int, int]) -> list[Row]:
    return await connection.run_idempotent(lambda db: db.fetch(queries()["seen_after"], *last, MEMBER_BATCH_SIZE))
