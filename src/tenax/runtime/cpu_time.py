"""CPU time of one piece of work: how much this thread has used, and a limit.

Work that regularly checks its time ends by itself. Other work is ended in two ways: `limit_cpu_time` interrupts Python
code in the main thread; `ProcessLimit` makes the system end the whole process, whatever it is doing.
"""

from __future__ import annotations

import resource
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

cpu_seconds = time.thread_time
"""CPU time used by this thread; a system call."""
passed_seconds = time.monotonic
"""Time that has passed: an upper bound of a thread's CPU time. No system call."""

GRACE_SECONDS = 0.5
"""Extra time for work that ends itself: its own error is more precise."""

_current_error: Callable[[], Exception] | None = None
"""Raised when the time is used up; None while nothing is limited."""
_is_kept = False
"""Whether the signal is reserved for us until this process ends."""


class limit_cpu_time:  # noqa: N801 - used like a function
    """Raise `error()` in the block after it has used this much CPU time, plus a grace period.

    It is raised between two Python instructions, so C code is not interrupted. Signals belong to the main thread: in
    other threads, and if SIGVTALRM is used by someone else, the block runs without a limit.
    """

    __slots__ = ("_error", "_is_limited", "_seconds")

    def __init__(self, seconds: float, error: Callable[[], Exception]) -> None:
        self._seconds = seconds
        self._error = error
        self._is_limited = False

    def __enter__(self) -> None:
        global _current_error
        if (
            _current_error is None
            and threading.get_ident() == threading.main_thread().ident
            and (_is_kept or _owns_signal())
        ):
            self._is_limited = True
            _current_error = self._error
            signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds + GRACE_SECONDS)

    def __exit__(
        self, _kind: type[BaseException] | None, _why: BaseException | None, _at: TracebackType | None
    ) -> None:
        global _current_error
        if self._is_limited:
            _current_error = None
            if not _is_kept:  # else it stays armed: the next block sets it again
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def keep_signal() -> None:
    """Reserve SIGVTALRM for this process, so that its handler is not looked up for every page.

    For processes in which no other code uses signals. Call it in the main thread.
    """
    global _is_kept
    signal.signal(signal.SIGVTALRM, _interrupt)
    _is_kept = True


def _owns_signal() -> bool:
    """Whether we may use this signal, which is ours from the first use on."""
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

    def allow(self, seconds: float, used: float | None = None) -> None:
        """Allow this much from now on, rounded up, plus up to a second; `used` is the CPU time so far, if known."""
        soft = int((time.process_time() if used is None else used) + seconds) + 2
        if soft == self._soft:
            return
        self._soft = soft
        if self._hard != resource.RLIM_INFINITY:
            soft = min(soft, self._hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, self._hard))
