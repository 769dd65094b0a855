"""Starts a service whose server may be unavailable: retried until the server answers or the service is stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, TypeVar

from tenax.errors import DatabaseUnavailable, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import Pause, pause, run_until_set

log = logger(__name__)

T = TypeVar("T")

RETRY_DELAYS_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Between attempts; the last one repeats."""
JITTER_SHARE = 0.1
"""Random part of each delay: services started at the same moment must not retry at the same moment."""


class StopSignal:
    """A request to stop a service, whether it is still starting or already runs."""

    def __init__(self) -> None:
        self.is_requested = asyncio.Event()
        self._stop: Callable[[], None] | None = None

    def request(self) -> None:
        self.is_requested.set()
        if self._stop is not None:
            self._stop()

    def set_handler(self, stop: Callable[[], None]) -> None:
        """From now on this stops the service; called at once when a stop was requested already."""
        self._stop = stop
        if self.is_requested.is_set():
            stop()


async def open_when_available(
    open_service: Callable[[], Coroutine[Any, Any, T]], stop_signal: StopSignal, pause: Pause = pause
) -> T | None:
    """The result of `open_service` once its servers answer; None when a stop was requested before.

    Errors that waiting cannot fix are raised at once.
    """
    last_error = ""
    for tries in count():
        try:
            result = await run_until_set(stop_signal.is_requested, open_service())
        except (ServerUnavailable, DatabaseUnavailable) as error:
            if str(error) != last_error:
                last_error = str(error)
                log.warning("server unavailable, waiting", why=last_error)
            seconds = RETRY_DELAYS_SECONDS[min(tries, len(RETRY_DELAYS_SECONDS) - 1)]
            await pause(stop_signal.is_requested, seconds * (1 + JITTER_SHARE * random.random()))
        else:
            if last_error and result is not None:
                log.info("all servers available")
            return result
        if stop_signal.is_requested.is_set():
            return None
    raise AssertionError("retries never end")
