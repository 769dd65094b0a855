"""Waiting for news, for so long at most; a test hands in another way to let time pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

Pause: TypeAlias = Callable[[asyncio.Event, float], Awaitable[None]]


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Until there is news, or the time is up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
