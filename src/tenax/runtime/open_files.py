"""Open files: how many this process may have, how many visits that allows, and what happens when they run out.

Without a file descriptor a process can neither connect nor look up a name. That is our own failure: it counts against
no host and no URL, fewer visits run at once, and a warning says once what to do.
"""

from __future__ import annotations

import errno
import logging
import resource
from pathlib import Path

log = logging.getLogger(__name__)

MAX_FILES = 65_536
RETRY_SECONDS = 2.0
"""Delay before a visit that found no file descriptor is retried."""
_RESERVED_FILES = 256
"""For the database, the readers, look-ups and others; half of the limit if that is low."""
_SPARE_FILES = 4
_RECOVER_SECONDS = 60.0
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def raise_file_limit() -> int:
    """Raise our limit of open files as far as the system allows, within reason; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MAX_FILES if soft == resource.RLIM_INFINITY else min(soft, MAX_FILES)


def file_share(files: int) -> int:
    """The share of the file limit for one purpose; the same for another, and the rest for all others."""
    return max((files - min(_RESERVED_FILES, files // 2)) // 2, 1)


def is_out_of_files(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _OUT_OF_FILES


def are_files_used_up() -> bool:
    """Whether file descriptors are nearly used up. For failures that give no reason: a library that finds no
    certificate, or gets no answer, may have been unable to open a file."""
    try:
        count = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError as error:
        return is_out_of_files(error)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft != resource.RLIM_INFINITY and count >= soft - _SPARE_FILES


class FileLimit:
    """How many visits may run at once with the available file descriptors."""

    def __init__(self, wanted: int = 1) -> None:
        """`wanted`: configured number of visits."""
        self._wanted = wanted
        self._files = raise_file_limit()
        self._initial_max_visits = self._max_visits = file_share(self._files)
        self._lowered_at = 0.0
        self._has_warned = False
        if self._max_visits < wanted:
            self._warn("low limit of open files, fewer concurrent visits: raise `ulimit -n`")

    def max_visits(self, now: float) -> int:
        """The current maximum. It is reduced after descriptors ran out, and doubles again every minute."""
        if self._max_visits < self._initial_max_visits and now - self._lowered_at >= _RECOVER_SECONDS:
            self._lowered_at = now
            self._max_visits = min(self._max_visits * 2, self._initial_max_visits)
        return self._max_visits

    def record_exhaustion(self, visits: int, now: float) -> None:
        """No file descriptor was left, with this many visits in flight."""
        self._max_visits = max(min(self._max_visits, visits) * 3 // 4, 1)
        self._lowered_at = now
        if not self._has_warned:
            self._warn("out of file descriptors, fewer concurrent visits: raise `ulimit -n`")

    def _warn(self, message: str) -> None:
        self._has_warned = True
        enough = 2 * self._wanted + _RESERVED_FILES
        log.warning(
            message, extra={"ulimit": self._files, "visits": self._max_visits, "wanted": self._wanted, "enough": enough}
        )
