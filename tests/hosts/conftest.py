"""Connections to Redis for the tests of hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from tenax.clock import ManualClock
from tenax.hosts.redis import BestEffortRedis


@pytest.fixture
async def reaches() -> AsyncIterator[Callable[[str], BestEffortRedis]]:
    opened: list[BestEffortRedis] = []

    def reach(url: str) -> BestEffortRedis:
        opened.append(BestEffortRedis(url, ManualClock(), call_seconds=30.0))
        return opened[-1]

    yield reach
    for one in opened:
        await one.close()
