"""Turns that are at hand, for those who would wait for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenax.hosts import SharedTurns, Turn

GATHER_SECONDS = 0.02
"""Ends are written together: each alone costs a lock. Until then a turn counts as taken, which is only too careful."""


class AtOnce:
    """`AskedTurns` that answer at once. Of one event loop."""

    def __init__(self, turns: SharedTurns) -> None:
        self._turns = turns
        self._ended: dict[str, tuple[Turn, float]] = {}
        """Turns that have ended, and when: by their keys."""
        self._flush: asyncio.TimerHandle | None = None

    async def take(self, turns: Sequence[Turn], now: float) -> float:
        if any(turn.key in self._ended for turn in turns):
            self._write()
        return self._turns.take(turns, now)

    async def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        for turn in turns:
            if turn.pace_seconds > 0 and turn.busy_seconds > 0:
                self._ended[turn.key] = (turn, answered_at)
        if self._ended and self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._write)

    async def hold(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        self._write()
        self._turns.hold(key, until, now, pace_seconds)

    async def close(self) -> None:
        self._write()
        self._turns.close()

    def _write(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        if self._ended:
            ended, self._ended = list(self._ended.values()), {}
            self._turns.end_all(ended)
