"""Wait for an event with a timeout; tests pass another implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

Pause: TypeAlias = Callable[[asyncio.Event, float], Awaitable[None]]


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Returns on the event or after the timeout."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
