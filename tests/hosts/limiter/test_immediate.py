"""Ends are written together, and before anyone asks for what they free."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenax.hosts import Turn
from tenax.hosts.limiter.immediate import GATHER_SECONDS, AtOnce
from tenax.hosts.limiter.process import LocalTurns

NOW = 1_750_000_000.0
HOST = Turn("host http://a.example", 0.5, 30.0)
OTHER = Turn("host http://b.example", 0.5, 30.0)
ADDRESS = Turn("address 192.0.2.1", 0.5)


class Counted(LocalTurns):
    """Tells how many ends came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[int] = []

    def end_all(self, ended: Sequence[tuple[Turn, float]]) -> None:
        self.ends.append(len(ended))
        super().end_all(ended)


async def test_ends_are_written_together_a_moment_later() -> None:
    turns = Counted()
    asked = AtOnce(turns)
    for turn in (HOST, OTHER):
        await asked.take([turn, ADDRESS] if turn is HOST else [turn], NOW)
    await asked.end([HOST, ADDRESS], NOW + 1)
    await asked.end([OTHER], NOW + 1)
    assert turns.ends == []
    await asyncio.sleep(2 * GATHER_SECONDS)
    assert turns.ends == [2]
    assert turns.take([HOST], NOW + 1.6) == NOW + 1.6
    await asked.close()


async def test_whoever_asks_for_a_turn_that_has_ended_finds_it_ended() -> None:
    turns = Counted()
    asked = AtOnce(turns)
    await asked.take([HOST], NOW)
    await asked.end([HOST], NOW + 1)
    assert await asked.take([OTHER], NOW + 1) == NOW + 1
    assert turns.ends == []
    assert await asked.take([HOST], NOW + 1.6) == NOW + 1.6
    assert turns.ends == [1]
    await asked.close()


async def test_a_rest_comes_after_the_end_of_its_request() -> None:
    turns = Counted()
    asked = AtOnce(turns)
    await asked.take([HOST], NOW)
    await asked.end([HOST], NOW + 1)
    await asked.hold(HOST.key, NOW + 60, NOW + 1)
    assert turns.ends == [1]
    assert await asked.take([HOST], NOW + 2) == NOW + 60
    await asked.close()


async def test_nothing_is_left_unwritten_at_the_end() -> None:
    turns = Counted()
    asked = AtOnce(turns)
    await asked.take([HOST], NOW)
    await asked.end([HOST], NOW + 1)
    await asked.close()
    assert turns.ends == [1]
    await asyncio.sleep(2 * GATHER_SECONDS)
    assert turns.ends == [1]
