"""Runs a service. The start is retried until the servers answer. The first signal stops the service, the second ends it
at once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from tenax import logs
from tenax.errors import DatabaseUnavailable, ServerUnavailable
from tenax.logs import logger
from tenax.runtime.cancellation import Pause, pause, run_until_set

if TYPE_CHECKING:
    from types import FrameType


log = logger(__name__)

T = TypeVar("T")

RETRY_DELAYS_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits between attempts. The last one repeats."""
JITTER_SHARE = 0.1
"""The random part of each wait: services that started at the same moment must not retry at the same moment."""


class StopSignal:
    """A request to stop a service, whether it is starting or running."""

    def __init__(self) -> None:
        self.is_requested = asyncio.Event()
        self._stop: Callable[[], None] | None = None

    def request(self) -> None:
        self.is_requested.set()
        if self._stop is not None:
            self._stop()

    def set_handler(self, stop: Callable[[], None]) -> None:
        """From now on, this function stops the service. It is called at once if a stop was requested already."""
        self._stop = stop
        if self.is_requested.is_set():
            stop()


async def open_when_available(
    open_service: Callable[[], Coroutine[Any, Any, T]], stop_signal: StopSignal, pause: Pause = pause
) -> T | None:
    """The result of `open_service` when its servers answer; None if a stop was requested before.

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


EXIT_INTERRUPTED = 130
SHUTDOWN_SECONDS = 20.0
"""Time to close connections to servers, after the grace period for visits."""
_log = logs.logger("tenax.cli")


class Deadline:
    """Ends the process if it does not stop in time after `start`, whatever it waits for.

    A separate thread watches, because the event loop may be stuck. The thread runs from the beginning, because a signal
    handler cannot safely start one.
    """

    def __init__(self, seconds: float, consequence: str, exit_process: Callable[[int], None] = os._exit) -> None:
        self._seconds = seconds
        self._consequence = consequence
        self._exit_process = exit_process
        self._start_event = threading.Event()
        self._end_event = threading.Event()

    def start(self) -> None:
        """Start the countdown. A signal handler may call this."""
        self._start_event.set()

    def __enter__(self) -> Deadline:
        threading.Thread(target=self._watch, name="deadline", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end_event.set()
        self._start_event.set()

    def _watch(self) -> None:
        self._start_event.wait()
        if self._end_event.wait(self._seconds):
            return
        exit_immediately(f"it did not stop within {self._seconds:g} seconds; {self._consequence}", self._exit_process)


def exit_immediately(why: str, exit_process: Callable[[int], None] = os._exit) -> None:
    sys.stderr.write(f"tenax: stopped at once; {why}\n")
    sys.stderr.flush()
    exit_process(EXIT_INTERRUPTED)


@contextmanager
def stop_on_signals(stop: Callable[[], None], consequence: str, grace_seconds: float = 0.0) -> Iterator[None]:
    """Call `stop` on the first signal. Exit at once on the second, or after the grace period and `SHUTDOWN_SECONDS`."""

    def on_stop() -> None:
        stop()
        _log.info("finishing visits in flight; a second signal stops at once")

    with (
        Deadline(grace_seconds + SHUTDOWN_SECONDS, consequence) as deadline,
        handle_signals(on_stop, lambda: exit_immediately(consequence), deadline),
    ):
        yield


@contextmanager
def handle_signals(on_stop: Callable[[], None], exit_now: Callable[[], None], deadline: Deadline) -> Iterator[None]:
    """On the first Ctrl-C or SIGTERM, the event loop calls `on_stop`, and the deadline starts. The second calls
    `exit_now`, even if the loop is stuck.

    A plain signal handler is used, not one of the event loop, because it also runs while the loop is blocked.
    """
    loop = asyncio.get_running_loop()
    is_stopping = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            exit_now()
        is_stopping = True
        deadline.start()
        loop.call_soon_threadsafe(on_stop)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
