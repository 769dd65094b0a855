"""The progress of a reader, in a few bytes of memory shared with its parent, which reads them when it has died."""

from __future__ import annotations

import mmap
import os
import tempfile

_BYTES = mmap.PAGESIZE


MICROSECONDS = 1_000_000


class ReaderProgress:
    """Documents begun so far, whether the last one is still being read, and what the last one cost."""

    def __init__(self, fileno: int) -> None:
        self.fileno = fileno
        self._shared = mmap.mmap(fileno, _BYTES)
        self._numbers = memoryview(self._shared).cast("Q")

    @classmethod
    def create(cls) -> ReaderProgress:
        """For a reader about to be started, which inherits `fileno`."""
        if hasattr(os, "memfd_create"):
            fileno = os.memfd_create("tenax-reader")
        else:
            with tempfile.TemporaryFile() as file:
                fileno = os.dup(file.fileno())
        try:
            os.ftruncate(fileno, _BYTES)
            return cls(fileno)  # which opens its own descriptor
        except OSError:
            os.close(fileno)
            raise

    @property
    def started_count(self) -> int:
        return self._numbers[0]

    @property
    def is_extracting(self) -> bool:
        return bool(self._numbers[1])

    @property
    def last_cpu_seconds(self) -> float:
        """CPU time of the last document that was read to its end."""
        return self._numbers[2] / MICROSECONDS

    def begin(self) -> None:
        self._numbers[0] += 1
        self._numbers[1] = 1

    def record_cpu_time(self, cpu_seconds: float) -> None:
        self._numbers[2] = int(cpu_seconds * MICROSECONDS)

    def end(self) -> None:
        self._numbers[1] = 0

    def close(self) -> None:
        self._numbers.release()
        self._shared.close()
        os.close(self.fileno)
