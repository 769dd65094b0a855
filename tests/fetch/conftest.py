from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from tenax.clock import SteadyClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tests.site.manners import MANNERS
from tests.site.server import Site


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test on both loops: they report the same trouble by different errors."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(MANNERS) as site:
        yield site


@pytest.fixture
async def transport(site: Site) -> AsyncIterator[HttpTransport]:
    clock = SteadyClock()
    transport = HttpTransport(FetchConfig(), Guard(GuardConfig(), clock, [site.origin]), clock)
    yield transport
    await transport.close()
