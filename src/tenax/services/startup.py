"""Starting a service while a server that it needs is away: tried again and again, until it is there or nobody waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar

from tenax.errors import LedgerAway, ServerAway
from tenax.logs import logger
from tenax.runtime.cancellation import unless_set
from tenax.services.wait import Pause, pause

log = logger(__name__)

T = TypeVar("T")

PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Between tries; the last one for as long as it takes."""
SPREAD = 0.1
"""Of each pause, by chance: many are started at the same moment, and must not come at the same one."""


class Stopping:
    """Somebody wants a service to end; whether it is still starting or runs already."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self._stop: Callable[[], None] | None = None

    def ask(self) -> None:
        self.is_asked.set()
        if self._stop is not None:
            self._stop()

    def hand_over(self, stop: Callable[[], None]) -> None:
        """From now on this ends it; at once, when that was asked for already."""
        self._stop = stop
        if self.is_asked.is_set():
            stop()


async def opened(open: Callable[[], Coroutine[Any, Any, T]], stopping: Stopping, pause: Pause = pause) -> T | None:
    """What `open` gives as soon as its servers answer; None when an end was asked for before.

    What waiting cannot cure is raised at once.
    """
    said = ""
    for tries in count():
        try:
            result = await unless_set(stopping.is_asked, open())
        except (ServerAway, LedgerAway) as error:
            if str(error) != said:
                said = str(error)
                log.warning("a server is away, waiting for it", why=said)
            seconds = PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS) - 1)]
            await pause(stopping.is_asked, seconds * (1 + SPREAD * random.random()))
        else:
            if said and result is not None:
                log.info("every server is there")
            return result
        if stopping.is_asked.is_set():
            return None
    raise AssertionError("there is no end of tries")
