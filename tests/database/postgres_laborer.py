"""A process that visits whatever a ledger on PostgreSQL gives it, until nothing waits; for tests that kill it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import msgspec

from tenax.clock import SteadyClock
from tenax.config import LedgerConfig
from tenax.database.postgres import PostgresLedger
from tenax.errors import LeaseLost
from tests.contracts.ledger import Manners, offer, visit_of

HOSTS, PAGES = 12, 40
"""Of each host so many; each page leads to the next of its own host and of another."""
PACE_SECONDS = 0.2
CONFIG = LedgerConfig(window_hosts=20, look_ahead=4, heartbeat_seconds=0.2, dead_after_seconds=1.0)


def links(url: str) -> list[str]:
    host, _, number = url.removeprefix("https://h").partition(".test/")
    following = int(number) + 1
    if following >= PAGES:
        return []
    return [f"https://h{(int(host) + step) % HOSTS}.test/{following}" for step in (0, 1)]


async def labor(ledger: PostgresLedger, clock: SteadyClock) -> None:
    while ledger.counts().waiting:
        claim = await ledger.claim()
        if claim is None:
            await ledger.wait_for_work(0.05)
            continue
        offers = tuple(offer(url) for url in links(claim.task.url))
        # On a busy machine a worker may be taken for dead while it lives: what it held is another's then.
        with suppress(LeaseLost):
            await ledger.commit(visit_of(claim, clock, offers=offers, next_at=clock.now() + PACE_SECONDS))


async def main(url: str, schema: str) -> None:
    clock, manners = SteadyClock(), Manners()
    manners.pace = PACE_SECONDS
    config = msgspec.structs.replace(CONFIG, schema=schema)
    ledger = await PostgresLedger.open(url, config, clock, manners)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    async with asyncio.TaskGroup() as group:
        for _ in range(6):
            group.create_task(labor(ledger, clock))
    await ledger.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
