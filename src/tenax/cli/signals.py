"""Ctrl-C and SIGTERM for services: the first ends them gently and in time, the second at once."""

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
"""How long a service may take to let go of its servers, beyond the grace that its visits have."""
_log = logs.logger("tenax.cli")


class Deadline:
    """Ends the process when something that was asked to end has not done so in time, whatever it waits for.

    A thread of its own watches, as the event loop itself may be stuck. It is there from the beginning: a signal may
    come in the middle of anything, also of the start of another thread.
    """

    def __init__(self, seconds: float, consequence: str, exit_process: Callable[[int], None] = os._exit) -> None:
        self._seconds = seconds
        self._consequence = consequence
        self._exit_process = exit_process
        self._start_event = threading.Event()
        self._end_event = threading.Event()

    def start(self) -> None:
        """From now on the time counts. May be called by a signal handler."""
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
        exit_immediately(f"it did not end within {self._seconds:g} seconds; {self._consequence}", self._exit_process)


def exit_immediately(why: str, exit_process: Callable[[int], None] = os._exit) -> None:
    sys.stderr.write(f"tenax: stopped at once; {why}\n")
    sys.stderr.flush()
    exit_process(EXIT_INTERRUPTED)


@contextmanager
def stop_on_signals(stop: Callable[[], None], consequence: str, grace_seconds: float = 0.0) -> Iterator[None]:
    """A plain signal handler, not the loop's own: it runs between two instructions of whatever is going on.

    What does not end within the grace and some seconds more is stopped at once.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            exit_immediately(consequence)
        asked = True
        deadline.start()
        loop.call_soon_threadsafe(stop)
        loop.call_soon_threadsafe(_log.info, "finishing what is in flight; a second signal stops at once")

    numbers = (signal.SIGINT, signal.SIGTERM)
    with Deadline(grace_seconds + SHUTDOWN_SECONDS, consequence) as deadline:
        before = [signal.signal(number, answer) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
