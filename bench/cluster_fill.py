"""Fills a PostgreSQL database with millions of known URLs in minutes: the rows of `admit`, written by COPY.

URLs are written in waves over all hosts, as a crawl finds them. So rows of one host are not adjacent, and index pages
are as full as after many insertions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

from bench.world import World, candidate_of, unpaced_hosts
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import rows
from tenax.database.postgres import PostgresDatabase
from tenax.database.postgres.schema import key_secret, queries
from tenax.database.postgres.transactions import add_to_tally
from tenax.model import Candidate, Source

WAVES = 20
LINES_AT_ONCE = 5000
SEEN = ("host_id", "key")
QUEUE = ("host_id", "rank", "due", "key", "path", "depth", "source", "found", "attempt")
FOLDED = 0
"""The worker id that has the counts of ended workers."""

Row = tuple[int, int, int, str, int]
"""A waiting URL: host, rank, key, path, depth."""


async def fill(url: str, world: World, clock: Clock) -> int:
    """Create the database, add every known URL of the world, and return their number."""
    from asyncpg import connect

    config = DatabaseConfig()
    await (await PostgresDatabase.open(url, config, clock, unpaced_hosts())).close()
    db = await connect(url, server_settings={"search_path": config.schema})
    try:
        return await _copy(db, world, clock)
    finally:
        await db.close()


async def _copy(db: Any, world: World, clock: Clock) -> int:
    url_key = rows.make_url_key(await key_secret(db))
    hosts = [host for host, known in enumerate(world.known) if known]
    added = await db.fetch(queries()["hosts_add"], [candidate_of(host, 0).origin for host in hosts], clock.now())
    ids = {row["origin"]: row["id"] for row in added}
    count = 0
    for number in range(WAVES):
        now = rows.milliseconds(clock.now())
        wave = [
            (ids[one.origin], 3 - one.priority, url_key(one.url), one.url[len(one.origin) :], one.depth)
            for one in wave_of(world, number)
        ]
        wave.sort()
        seen = sorted((host_id, key) for host_id, _, key, _, _ in wave)
        await _send(db, "seen", SEEN, (f"{host_id}\t{key}\n" for host_id, key in seen))
        await _send(db, "queue", QUEUE, _waiting(wave, now))
        count += len(wave)
    await add_to_tally(
        db, FOLDED, Counter({"admitted": count, "waiting": count, "hosts": len(hosts), "found:link": count})
    )
    return count


def wave_of(world: World, number: int) -> Iterator[Candidate]:
    """Every `WAVES`-th URL of each host."""
    for host, known in enumerate(world.known):
        for one in range(number, known, WAVES):
            yield candidate_of(host, one)


def _waiting(wave: list[Row], now: int) -> Iterator[str]:
    source = rows.SOURCE_NUMBER[Source.LINK]
    for host_id, rank, key, path, depth in wave:
        yield f"{host_id}\t{rank}\t{now}\t{key}\t{path}\t{depth}\t{source}\t{now}\t0\n"


async def _send(db: Any, table: str, columns: tuple[str, ...], lines: Iterator[str]) -> None:
    async def parts() -> AsyncIterator[bytes]:
        batch: list[str] = []
        for line in lines:
            batch.append(line)
            if len(batch) == LINES_AT_ONCE:
                yield "".join(batch).encode()
                batch.clear()
        yield "".join(batch).encode()

    await db.copy_to_table(table, source=parts(), columns=columns)
