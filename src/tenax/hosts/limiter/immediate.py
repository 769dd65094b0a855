"""Adapts a local rate limiter to the asynchronous protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenax.hosts import Permit, RateLimiter

BATCH_SECONDS = 0.02
"""Releases are written in batches, because each costs a lock. Until then the permit counts as taken, which is safe."""


class ImmediateRateLimiter:
    """An `AsyncRateLimiter` that answers at once. For one event loop."""

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter
        self._released: dict[str, tuple[Permit, float]] = {}
        """Released permits with the time of the answer, by key."""
        self._flush_timer: asyncio.TimerHandle | None = None

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        if any(permit.key in self._released for permit in permits):
            self._write_released()
        return self._limiter.acquire(permits, now)

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        for permit in permits:
            if permit.pace_seconds > 0 and permit.busy_seconds > 0:
                self._released[permit.key] = (permit, answered_at)
        if self._released and self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._write_released)

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        self._write_released()
        self._limiter.back_off(key, until, now, pace_seconds)

    async def close(self) -> None:
        self._write_released()
        self._limiter.close()

    def _write_released(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if self._released:
            ended, self._released = list(self._released.values()), {}
            self._limiter.release_all(ended)
