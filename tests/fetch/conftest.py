from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.loops import TurnedLoop, TurnedUvloop
from tests.site.behaviours import BEHAVIOURS
from tests.site.server import Site


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test on both loops: they report the same failure by different errors."""
    return {"asyncio": TurnedLoop, "uvloop": TurnedUvloop}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(BEHAVIOURS) as site:
        yield site
