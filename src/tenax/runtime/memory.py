"""Memory management of a process that constantly allocates and frees whole pages."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GC_THRESHOLD = 50_000
"""Allocations before the youngest generation is collected. Python's 700 is for scripts; here it cost a tenth of the
CPU."""

# From glibc's malloc.h: free memory above the first is returned to the system, allocations from the system are padded
# by the second, blocks above the third are mapped individually, and the fourth is the number of heaps for threads.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_TRIM_BYTES = 256 * 1024 * 1024
_TOP_PAD_BYTES = 1024 * 1024
_MMAP_BYTES = 32 * 1024 * 1024
_NO_LIMIT = 2**60
"""cgroups v1 reports "no limit" as a number above this."""
_MAX_ARENAS = 1
"""A thread's own heap grows by a system call for every few kB: two for each page that the database's thread stores. The
threads rarely contend for one heap, because they mostly run one at a time."""


def configure_memory() -> None:
    """Call after the imports: excludes loaded modules from garbage collection, and keeps freed memory for the
    next page.

    Otherwise the C library returns the memory of each page to the system and requests it again for the next one, which
    takes half of the time for its DOM.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries differ
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_TOP_PAD, _TOP_PAD_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def release_memory() -> None:
    """Collect garbage, and return the memory kept by `configure_memory` to the system."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def used_bytes(proc: Path = Path("/proc")) -> int:
    """Memory of this process and its descendants: readers and browsers too, without mapped files.

    0 if the system does not report it. It reads every process of the machine, so do not call it on the event loop.
    """
    children: dict[int, list[int]] = {}
    for pid, parent in _processes(proc):
        children.setdefault(parent, []).append(pid)
    family, pages = [os.getpid()], 0
    for pid in family:  # it grows meanwhile
        family += children.pop(pid, ())
        with suppress(OSError, ValueError):
            _, resident, shared, *_ = map(int, (proc / str(pid) / "statm").read_text().split())
            pages += max(resident - shared, 0)
    return pages * os.sysconf("SC_PAGE_SIZE")


def _processes(proc: Path) -> Iterator[tuple[int, int]]:
    """Each process and its parent."""
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # A process name may contain parentheses: its state and parent come after the last one.
                after_name = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2]
                yield int(entry.name), int(after_name.split()[1])


def container_limit_bytes(root: Path = Path("/")) -> int | None:
    """Memory limit of our container or service (cgroups, both versions); None: no limit."""
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
    """Called before the process ends: otherwise Python collects everything once more, which takes 20 ms."""
    gc.freeze()


@contextmanager
def pause_collection() -> Iterator[None]:
    """For work that allocates much and creates no cycles: repeated collections take a tenth of the CPU.

    If the collector is already disabled, it stays so.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
