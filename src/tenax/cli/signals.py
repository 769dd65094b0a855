"""Ctrl-C and SIGTERM for services: the first ends them gently, the second at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tenax import logs

if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
_log = logs.logger("tenax.cli")


@contextmanager
def stopped_by_signals(stop: Callable[[], None], consequence: str) -> Iterator[None]:
    """A plain signal handler, not the loop's own: it runs between two instructions of whatever is going on."""
    loop = asyncio.get_running_loop()
    asked = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            sys.stderr.write(f"tenax: stopped at once; {consequence}\n")
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        asked = True
        loop.call_soon_threadsafe(stop)
        loop.call_soon_threadsafe(_log.info, "finishing what is in flight; a second signal stops at once")

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, answer) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
