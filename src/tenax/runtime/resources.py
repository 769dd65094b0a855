"""Resources of the process: CPU time, memory and open files.

**CPU time.** Work that regularly checks its time ends by itself. Other work is ended in two ways: `limit_cpu_time`
interrupts Python code in the main thread; `ProcessLimit` makes the system end the whole process, whatever it is doing.

**Memory.** The process constantly allocates and frees whole pages, so collector and allocator are configured for that.

**Open files.** Without a file descriptor a process can neither connect nor look up a name. That is our own failure: it
counts against no host and no URL, fewer visits run at once, and a warning says once what to do.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import logging
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType

cpu_seconds = time.thread_time
"""CPU time used by this thread; a system call."""
passed_seconds = time.monotonic
"""Time that has passed. It is an upper bound of a thread's CPU time, and needs no system call."""

CPU_GRACE_SECONDS = 0.5
"""Extra time for work that ends itself, because its own error is more precise."""

_current_error: Callable[[], Exception] | None = None
"""Raised when the time is used up; None if nothing is limited."""
_is_kept = False
"""Whether the signal is reserved for us until this process ends."""


class limit_cpu_time:  # noqa: N801 - used like a function
    """Raise `error()` in the block after the block has used this much CPU time, plus a grace period.

    The error is raised between two Python instructions, so C code is not interrupted. Signals belong to the main
    thread. In other threads, and if other code uses SIGVTALRM, the block runs without a limit.
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
            signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds + CPU_GRACE_SECONDS)

    def __exit__(
        self, _kind: type[BaseException] | None, _why: BaseException | None, _at: TracebackType | None
    ) -> None:
        global _current_error
        if self._is_limited:
            _current_error = None
            if not _is_kept:  # otherwise it stays set, and the next block sets it again
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def keep_signal() -> None:
    """Reserve SIGVTALRM for this process, so that its handler is not looked up for every page.

    For processes in which no other code uses signals. Call it in the main thread.
    """
    global _is_kept
    signal.signal(signal.SIGVTALRM, _interrupt)
    _is_kept = True


def _owns_signal() -> bool:
    """Whether we may use this signal. From the first use on it is ours."""
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
    """Ends this process by SIGXCPU if one piece of its work takes too long. The system counts whole seconds."""

    def __init__(self) -> None:
        self._soft = 0
        _, self._hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def allow(self, seconds: float, used: float | None = None) -> None:
        """Allow this much CPU time from now on, rounded up, plus up to a second. `used` is the CPU time so far, if
        known."""
        soft = int((time.process_time() if used is None else used) + seconds) + 2
        if soft == self._soft:
            return
        self._soft = soft
        if self._hard != resource.RLIM_INFINITY:
            soft = min(soft, self._hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, self._hard))


GC_THRESHOLD = 50_000
"""Allocations before the youngest generation is collected. Python's default of 700 is for scripts; here it cost a tenth
of the CPU time."""

# From glibc's malloc.h. The first: free memory above it is returned to the system. The second: allocations from the
# system are larger by this much. The third: blocks above it are mapped individually. The fourth: the number of heaps
# for threads.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_TRIM_BYTES = 256 * 1024 * 1024
_TOP_PAD_BYTES = 1024 * 1024
_MMAP_BYTES = 32 * 1024 * 1024
_NO_LIMIT = 2**60
"""cgroups v1 reports "no limit" as a number above this one."""
_MAX_ARENAS = 1
"""A thread's own heap grows by a system call for every few kB, which is two calls for each page that the database's
thread stores. With one heap the threads rarely wait for each other, because they mostly run one at a time."""


def configure_memory() -> None:
    """Call after the imports: excludes loaded modules from garbage collection, and keeps freed memory for the next
    page.

    Otherwise the C library returns the memory of each page to the system and requests it again for the next page, which
    takes half of the time for building its DOM.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # C libraries other than glibc have no mallopt
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_TOP_PAD, _TOP_PAD_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def release_memory() -> None:
    """Collect garbage, and return the memory that `configure_memory` keeps to the system."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def used_bytes(proc: Path = Path("/proc")) -> int:
    """The memory of this process and its descendants, readers and browsers included, without mapped files. 0 if the
    system does not report it.

    This reads every process of the machine, so do not call it on the event loop.
    """
    children: dict[int, list[int]] = {}
    for pid, parent in _processes(proc):
        children.setdefault(parent, []).append(pid)
    family, pages = [os.getpid()], 0
    for pid in family:  # the set grows in the loop
        family += children.pop(pid, ())
        with suppress(OSError, ValueError):
            _, resident, shared, *_ = map(int, (proc / str(pid) / "statm").read_text().split())
            pages += max(resident - shared, 0)
    return pages * os.sysconf("SC_PAGE_SIZE")


def _processes(proc: Path) -> Iterator[tuple[int, int]]:
    """Each process with its parent."""
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # A process name may contain parentheses. State and parent come after the last one.
                after_name = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2]
                yield int(entry.name), int(after_name.split()[1])


def container_limit_bytes(root: Path = Path("/")) -> int | None:
    """The memory limit of our container or service (cgroups, both versions); None: no limit."""
    limits = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                mounted, name = root / "sys/fs/cgroup", "memory.max"
            elif "memory" in controllers.split(","):
                mounted, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
            else:
                continue
            own = Path(path.lstrip("/"))
            for group in (own, *own.parents):
                with suppress(OSError, ValueError):
                    limits.append(int((mounted / group / name).read_text()))
    return min((limit for limit in limits if limit < _NO_LIMIT), default=None)


def skip_final_collection() -> None:
    """Call before the process ends. Otherwise Python collects all garbage once more, which takes 20 ms."""
    gc.freeze()


@contextmanager
def pause_collection() -> Iterator[None]:
    """Pause garbage collection for work that allocates much and creates no cycles; otherwise collections take a tenth
    of its CPU time.

    If the collector is already disabled, it stays disabled.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


log = logging.getLogger(__name__)

MAX_FILES = 65_536
FILE_RETRY_SECONDS = 2.0
"""Delay before a visit that found no file descriptor is retried."""
_RESERVED_FILES = 256
"""Reserved for the database, the readers, look-ups and others; half of the limit if the limit is low."""
_SPARE_FILES = 4
_RECOVER_SECONDS = 60.0
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def raise_file_limit() -> int:
    """Raise our limit of open files as far as the system allows, up to a maximum. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MAX_FILES if soft == resource.RLIM_INFINITY else min(soft, MAX_FILES)


def file_share(files: int) -> int:
    """The share of the file limit for one of two purposes. The rest is for all other files."""
    return max((files - min(_RESERVED_FILES, files // 2)) // 2, 1)


def is_out_of_files(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _OUT_OF_FILES


def are_files_used_up() -> bool:
    """Whether file descriptors are nearly used up.

    For failures without a reason: a library that finds no certificate, or gets no response, may have been unable to
    open a file.
    """
    try:
        count = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError as error:
        return is_out_of_files(error)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft != resource.RLIM_INFINITY and count >= soft - _SPARE_FILES


class FileLimit:
    """How many visits may run at the same time with the available file descriptors."""

    def __init__(self, wanted: int = 1) -> None:
        """`wanted` is the configured number of visits."""
        self._wanted = wanted
        self._files = raise_file_limit()
        self._initial_max_visits = self.max_visits = file_share(self._files)
        """`max_visits` returns the current maximum."""
        self.is_lowered = False
        self._lowered_at = 0.0
        self._has_warned = False
        if self.max_visits < wanted:
            self._warn("low limit of open files, fewer concurrent visits: raise `ulimit -n`")

    def recover(self, now: float) -> None:
        """Call while the maximum is lowered: it doubles every minute."""
        if self.is_lowered and now - self._lowered_at >= _RECOVER_SECONDS:
            self._lowered_at = now
            self.max_visits = min(self.max_visits * 2, self._initial_max_visits)
            self.is_lowered = self.max_visits < self._initial_max_visits

    def record_exhaustion(self, visits: int, now: float) -> None:
        """Record that no file descriptor was left, with this many visits in flight."""
        self.max_visits = max(min(self.max_visits, visits) * 3 // 4, 1)
        self.is_lowered, self._lowered_at = self.max_visits < self._initial_max_visits, now
        if not self._has_warned:
            self._warn("out of file descriptors, fewer concurrent visits: raise `ulimit -n`")

    def _warn(self, message: str) -> None:
        self._has_warned = True
        enough = 2 * self._wanted + _RESERVED_FILES
        log.warning(
            message, extra={"ulimit": self._files, "visits": self.max_visits, "wanted": self._wanted, "enough": enough}
        )
