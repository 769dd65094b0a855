"""How memory is managed in a process that makes and drops a page's worth of it all the time."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 50_000
"""Objects made before the youngest are looked through. Python's 700 is for scripts; here it cost a tenth of the CPU."""

# Of glibc's malloc.h: memory above the first is given back to the system, so much more than needed is asked of it,
# blocks above the third are mapped each time, and so many heaps are kept for threads to choose from.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_KEPT_BYTES = 256 * 1024 * 1024
_ASKED_BYTES = 1024 * 1024
_MAPPED_BYTES = 32 * 1024 * 1024
_HEAPS = 1
"""A thread's own heap grows by a system call for every few kB: two of them for each page that the ledger's thread
stored. The threads hardly meet in one heap, as most of what they do they do one at a time."""


def settle_memory() -> None:
    """Once, after the imports: what was loaded leaves every collection, and freed memory is kept for the next page.

    Without the latter each parsed page is given back to the system and faulted in again: half the cost of its DOM.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has other ways
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TOP_PAD, _ASKED_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
        mallopt(_M_ARENA_MAX, _HEAPS)


def leave_memory() -> None:
    """Before the process ends: else Python looks through all that it holds once more, which takes 20 ms."""
    gc.freeze()


@contextmanager
def uncollected() -> Iterator[None]:
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
