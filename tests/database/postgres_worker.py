"""A process that visits the tasks of a PostgreSQL database until none waits; for tests that kill it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import msgspec

from tenax.clock import SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.postgres import PostgresDatabase
from tenax.errors import LeaseLost
from tests.contracts.database import FixedPace, candidate, visit_of

HOSTS, PAGES = 12, 40
"""This many per host; each page links to the next of its own host and of another."""
PACE_SECONDS = 0.2
CONFIG = DatabaseConfig(window_hosts=20, tasks_per_host=4, heartbeat_seconds=0.2, dead_after_seconds=1.0)


def links(url: str) -> list[str]:
    host, _, number = url.removeprefix("https://h").partition(".test/")
    following = int(number) + 1
    if following >= PAGES:
        return []
    return [f"https://h{(int(host) + step) % HOSTS}.test/{following}" for step in (0, 1)]


async def labor(database: PostgresDatabase, clock: SteadyClock) -> None:
    while database.counts().waiting:
        claim = await database.claim()
        if claim is None:
            await database.wait_for_work(0.05)
            continue
        candidates = tuple(candidate(url) for url in links(claim.task.url))
        # On a busy machine the lease of a live worker may expire: its hosts belong to another then.
        with suppress(LeaseLost):
            await database.commit(visit_of(claim, clock, candidates=candidates, next_at=clock.now() + PACE_SECONDS))


async def main(url: str, schema: str) -> None:
    clock, pace_rules = SteadyClock(), FixedPace()
    pace_rules.pace = PACE_SECONDS
    config = msgspec.structs.replace(CONFIG, schema=schema)
    database = await PostgresDatabase.open(url, config, clock, pace_rules)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(labor(database, clock))
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
