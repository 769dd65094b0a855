"""How memory is managed in a process that makes and drops a page's worth of it all the time."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GC_THRESHOLD = 50_000
"""Objects made before the youngest are looked through. Python's 700 is for scripts; here it cost a tenth of the CPU."""

# Of glibc's malloc.h: memory above the first is given back to the system, so much more than needed is asked of it,
# blocks above the third are mapped each time, and so many heaps are kept for threads to choose from.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_TRIM_BYTES = 256 * 1024 * 1024
_TOP_PAD_BYTES = 1024 * 1024
_MMAP_BYTES = 32 * 1024 * 1024
_NO_LIMIT = 2**60
"""The first version of cgroups says "none" with a number beyond this."""
_MAX_ARENAS = 1
"""A thread's own heap grows by a system call for every few kB: two of them for each page that the database's thread
stored. The threads hardly meet in one heap, as most of what they do they do one at a time."""


def configure_memory() -> None:
    """Once, after the imports: what was loaded leaves every collection, and freed memory is kept for the next page.

    Without the latter each parsed page is given back to the system and faulted in again: half the cost of its DOM.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has other ways
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_TOP_PAD, _TOP_PAD_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def release_memory() -> None:
    """Collect what nobody refers to, and give back to the system what `configure_memory` keeps."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def used_bytes(proc: Path = Path("/proc")) -> int:
    """What this process and its descendants hold: readers and browsers too. Files that are mapped do not count.

    0 where the system does not tell. It looks at every process of the machine, so not on the event loop.
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
                # A process may be called anything, with brackets too: after the last one come its state and parent.
                after_name = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2]
                yield int(entry.name), int(after_name.split()[1])


def container_limit_bytes(root: Path = Path("/")) -> int | None:
    """What the container or service that we run in may use (cgroups, both versions); None: no limit."""
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
    """Before the process ends: else Python looks through all that it holds once more, which takes 20 ms."""
    gc.freeze()


@contextmanager
def pause_collection() -> Iterator[None]:
    """For a while in which much is made and nothing in circles: looking for such, over and over, is a tenth of the CPU.

    Who runs without Python's collector anyway, goes on without it.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
