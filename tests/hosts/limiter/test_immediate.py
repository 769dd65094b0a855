"""Releases are written in batches, and before a permit they free is requested."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenax.hosts import Permit
from tenax.hosts.limiter.immediate import BATCH_SECONDS, ImmediateRateLimiter
from tenax.hosts.limiter.process import ProcessRateLimiter

NOW = 1_750_000_000.0
HOST = Permit("host http://a.example", 0.5, 30.0)
OTHER = Permit("host http://b.example", 0.5, 30.0)
ADDRESS = Permit("address 192.0.2.1", 0.5)


class Counted(ProcessRateLimiter):
    """Records how many releases came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[int] = []

    def release_all(self, ended: Sequence[tuple[Permit, float]]) -> None:
        self.ends.append(len(ended))
        super().release_all(ended)


async def test_ends_are_written_together_a_moment_later() -> None:
    limiter = Counted()
    asked = ImmediateRateLimiter(limiter)
    for permit in (HOST, OTHER):
        await asked.acquire([permit, ADDRESS] if permit is HOST else [permit], NOW)
    await asked.release([HOST, ADDRESS], NOW + 1)
    await asked.release([OTHER], NOW + 1)
    assert limiter.ends == []
    await asyncio.sleep(2 * BATCH_SECONDS)
    assert limiter.ends == [2]
    assert limiter.acquire([HOST], NOW + 1.6) == NOW + 1.6
    await asked.close()


async def test_a_released_permit_is_free_for_the_next_caller() -> None:
    limiter = Counted()
    asked = ImmediateRateLimiter(limiter)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    assert await asked.acquire([OTHER], NOW + 1) == NOW + 1
    assert limiter.ends == []
    assert await asked.acquire([HOST], NOW + 1.6) == NOW + 1.6
    assert limiter.ends == [1]
    await asked.close()


async def test_a_backoff_comes_after_the_release_of_its_request() -> None:
    limiter = Counted()
    asked = ImmediateRateLimiter(limiter)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    await asked.back_off(HOST.key, NOW + 60, NOW + 1)
    assert limiter.ends == [1]
    assert await asked.acquire([HOST], NOW + 2) == NOW + 60
    await asked.close()


async def test_nothing_is_left_unwritten_at_the_end() -> None:
    limiter = Counted()
    asked = ImmediateRateLimiter(limiter)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    await asked.close()
    assert limiter.ends == [1]
    await asyncio.sleep(2 * BATCH_SECONDS)
    assert limiter.ends == [1]
