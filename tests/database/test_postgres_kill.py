"""PostgreSQL workers killed with -9 at any moment: every task is visited exactly once."""

from __future__ import annotations

import asyncio
import random
import sys

import msgspec

from tenax.clock import SteadyClock
from tests.contracts.database import candidate
from tests.database.postgres_databases import Databases
from tests.database.postgres_worker import CONFIG, HOSTS, PAGES

KILLS = 6


async def started(databases: Databases) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.database.postgres_worker", databases.url, databases.config.schema,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def test_kill_9_at_any_moment_loses_and_doubles_nothing(databases: Databases) -> None:
    databases.config = msgspec.structs.replace(CONFIG, schema=databases.config.schema)
    witness = await databases.open(clock=SteadyClock())
    await witness.admit([candidate(f"https://h{n}.test/0") for n in range(HOSTS)])
    chance = random.Random(9)
    async with asyncio.timeout(180):
        working = [await started(databases), await started(databases)]
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.0, 0.15))
            victim = working.pop(0)
            victim.kill()
            await victim.wait()
            working.append(await started(databases))
        assert [await process.wait() for process in working] == [0, 0]
    urls = sorted(f"https://h{host}.test/{page}" for host in range(HOSTS) for page in range(PAGES))
    assert sorted(event.page.url for event in await witness.events(0, 1000)) == urls
    status = await witness.status()
    assert (status.waiting, status.settled, status.outcomes) == (0, len(urls), {"fetched": len(urls)})
    assert await witness.find_problems() == []
