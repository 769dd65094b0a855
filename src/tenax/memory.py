"""How memory is managed in a process that makes and drops a page's worth of it all the time."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 50_000
"""Objects made before the youngest are looked through. Python's 700 is for scripts; here it cost a tenth of the CPU."""

# Of glibc's malloc.h: memory above the first is given back to the system, blocks above the second are mapped each time.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 256 * 1024 * 1024
_MAPPED_BYTES = 32 * 1024 * 1024


def settle_memory() -> None:
    """Once, after the imports: what was loaded leaves every collection, and freed memory is kept for the next page.

    Without the latter each parsed page is given back to the system and faulted in again: half the cost of its DOM.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has other ways
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


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
