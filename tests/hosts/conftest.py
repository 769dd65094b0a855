"""Ways to Redis for the tests of hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from tenax.clock import ManualClock
from tenax.hosts.redis import Reach


@pytest.fixture
async def reaches() -> AsyncIterator[Callable[[str], Reach]]:
    opened: list[Reach] = []

    def reach(url: str) -> Reach:
        opened.append(Reach(url, ManualClock(), call_seconds=30.0))
        return opened[-1]

    yield reach
    for one in opened:
        await one.close()
