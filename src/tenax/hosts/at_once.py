"""Turns that are at hand, for those who would wait for an answer."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.hosts import SharedTurns, Turn


class AtOnce:
    """`AskedTurns` that answer at once."""

    def __init__(self, turns: SharedTurns) -> None:
        self._turns = turns

    async def take(self, turns: Sequence[Turn], now: float) -> float:
        return self._turns.take(turns, now)

    async def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        self._turns.end(turns, answered_at)

    async def hold(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        self._turns.hold(key, until, now, pace_seconds)

    async def close(self) -> None:
        self._turns.close()
