"""Ends are written together, and before anyone asks for what they free."""

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
    """Tells how many ends came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[int] = []

    def release_all(self, ended: Sequence[tuple[Permit, float]]) -> None:
        self.ends.append(len(ended))
        super().release_all(ended)


async def test_ends_are_written_together_a_moment_later() -> None:
    turns = Counted()
    asked = ImmediateRateLimiter(turns)
    for permit in (HOST, OTHER):
        await asked.acquire([permit, ADDRESS] if permit is HOST else [permit], NOW)
    await asked.release([HOST, ADDRESS], NOW + 1)
    await asked.release([OTHER], NOW + 1)
    assert turns.ends == []
    await asyncio.sleep(2 * BATCH_SECONDS)
    assert turns.ends == [2]
    assert turns.acquire([HOST], NOW + 1.6) == NOW + 1.6
    await asked.close()


async def test_whoever_asks_for_a_turn_that_has_ended_finds_it_ended() -> None:
    turns = Counted()
    asked = ImmediateRateLimiter(turns)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    assert await asked.acquire([OTHER], NOW + 1) == NOW + 1
    assert turns.ends == []
    assert await asked.acquire([HOST], NOW + 1.6) == NOW + 1.6
    assert turns.ends == [1]
    await asked.close()


async def test_a_rest_comes_after_the_end_of_its_request() -> None:
    turns = Counted()
    asked = ImmediateRateLimiter(turns)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    await asked.back_off(HOST.key, NOW + 60, NOW + 1)
    assert turns.ends == [1]
    assert await asked.acquire([HOST], NOW + 2) == NOW + 60
    await asked.close()


async def test_nothing_is_left_unwritten_at_the_end() -> None:
    turns = Counted()
    asked = ImmediateRateLimiter(turns)
    await asked.acquire([HOST], NOW)
    await asked.release([HOST], NOW + 1)
    await asked.close()
    assert turns.ends == [1]
    await asyncio.sleep(2 * BATCH_SECONDS)
    assert turns.ends == [1]
