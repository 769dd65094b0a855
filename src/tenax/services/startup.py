"""Starting a service while a server that it needs is away: tried again and again, until it is there or nobody waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar

from tenax.errors import DatabaseUnavailable, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import run_until_set
from tenax.services.wait import Pause, pause

log = logger(__name__)

T = TypeVar("T")

RETRY_DELAYS_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Between tries; the last one for as long as it takes."""
JITTER_SHARE = 0.1
"""Of each pause, by chance: many are started at the same moment, and must not come at the same one."""


class StopSignal:
    """Somebody wants a service to end; whether it is still starting or runs already."""

    def __init__(self) -> None:
        self.is_requested = asyncio.Event()
        self._stop: Callable[[], None] | None = None

    def request(self) -> None:
        self.is_requested.set()
        if self._stop is not None:
            self._stop()

    def set_handler(self, stop: Callable[[], None]) -> None:
        """From now on this ends it; at once, when that was asked for already."""
        self._stop = stop
        if self.is_requested.is_set():
            stop()


async def open_when_available(
    open_service: Callable[[], Coroutine[Any, Any, T]], stop_signal: StopSignal, pause: Pause = pause
) -> T | None:
    """What `open_service` gives as soon as its servers answer; None when an end was asked for before.

    What waiting cannot cure is raised at once.
    """
    said = ""
    for tries in count():
        try:
            result = await run_until_set(stop_signal.is_requested, open_service())
        except (ServerUnavailable, DatabaseUnavailable) as error:
            if str(error) != said:
                said = str(error)
                log.warning("a server is away, waiting for it", why=said)
            seconds = RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)]
            await pause(stop_signal.is_requested, seconds * (1 + JITTER_SHARE * random.random()))
        else:
            if said and result is not None:
                log.info("every server is there")
            return result
        if stop_signal.is_requested.is_set():
            return None
    raise AssertionError("there is no end of tries")
