from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tenax.clock import SteadyClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch.guard import Guard
from tenax.fetch.http import HttpTransport
from tests.site.manners import MANNERS
from tests.site.server import Site


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
