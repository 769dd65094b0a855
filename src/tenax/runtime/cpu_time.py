"""CPU time of one piece of work: how much this thread has used, and a limit.

Work that checks its time regularly ends itself. Other work is ended in two ways: `limit_cpu_time` interrupts Python
code in the main thread; `ProcessLimit` has the system end the whole process, whatever it is doing.
"""

from __future__ import annotations

import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

cpu_seconds = time.thread_time
"""CPU time used by this thread."""

GRACE_SECONDS = 0.5
"""Extra time for work that ends itself: its own error is more precise."""

_current_error: Callable[[], Exception] | None = None
"""Raised when the time is used up; None while nothing is limited."""


@contextmanager
def limit_cpu_time(seconds: float, error: Callable[[], Exception]) -> Iterator[None]:
    """Raise `error()` in the block after it has used this much CPU time, plus a grace period.

    It is raised between two Python instructions, so C code is not interrupted. Signals belong to the main thread: in
    other threads, and if SIGVTALRM is used by someone else, the block runs without a limit.
    """
    global _current_error
    if not _owns_signal():
        yield
        return
    _current_error = error
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds + GRACE_SECONDS)
    try:
        yield
    finally:
        _current_error = None
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _owns_signal() -> bool:
    """Whether we may use this signal, which is ours from the first use on."""
    if threading.current_thread() is not threading.main_thread() or _current_error is not None:
        return False
    handler = signal.getsignal(signal.SIGVTALRM)
    if handler is signal.SIG_DFL:
        signal.signal(signal.SIGVTALRM, _interrupt)
        return True
    return handler is _interrupt


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    global _current_error
    if (error := _current_error) is not None:
        _current_error = None
        raise error()


class ProcessLimit:
    """Ends this process by SIGXCPU when one piece of its work takes too long; the system counts whole seconds."""

    def __init__(self) -> None:
        self._soft = 0
        _, self._hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def allow(self, seconds: float) -> None:
        """Allow this much from now on, rounded up, and up to a second more."""
        soft = int(time.process_time() + seconds) + 2
        if soft == self._soft:
            return
        self._soft = soft
        if self._hard != resource.RLIM_INFINITY:
            soft = min(soft, self._hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, self._hard))
