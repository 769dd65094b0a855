"""Ctrl-C and SIGTERM for services: the first stops gracefully within a deadline, the second at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tenax import logs

if TYPE_CHECKING:
    from types import FrameType

EXIT_INTERRUPTED = 130
SHUTDOWN_SECONDS = 20.0
"""Time to close connections to servers, after the grace period for visits."""
_log = logs.logger("tenax.cli")


class Deadline:
    """Ends the process when it does not stop in time after `start`, whatever it waits for.

    A separate thread watches, because the event loop may be stuck. The thread runs from the beginning: a signal handler
    cannot safely start one.
    """

    def __init__(self, seconds: float, consequence: str, exit_process: Callable[[int], None] = os._exit) -> None:
        self._seconds = seconds
        self._consequence = consequence
        self._exit_process = exit_process
        self._start_event = threading.Event()
        self._end_event = threading.Event()

    def start(self) -> None:
        """Start the countdown. May be called by a signal handler."""
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
    """Call `stop` on the first signal; exit at once on the second, or after the grace period and `SHUTDOWN_SECONDS`.

    Uses a plain signal handler, not the event loop's: it also runs while the loop is blocked.
    """
    loop = asyncio.get_running_loop()
    is_stopping = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            exit_immediately(consequence)
        is_stopping = True
        deadline.start()
        loop.call_soon_threadsafe(stop)
        loop.call_soon_threadsafe(_log.info, "finishing visits in flight; a second signal stops at once")

    numbers = (signal.SIGINT, signal.SIGTERM)
    with Deadline(grace_seconds + SHUTDOWN_SECONDS, consequence) as deadline:
        before = [signal.signal(number, on_signal) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
