"""Open files: how many this process may have, how many visits fit into that, and what to do when they run out.

A process that has no file descriptor left can neither connect nor look a name up. That is our own trouble: no host and
no URL is to blame, fewer visits are made at once, and a person is told what to do about it, once.
"""

from __future__ import annotations

import errno
import logging
import resource
from pathlib import Path

log = logging.getLogger(__name__)

MAX_FILES = 65_536
RETRY_SECONDS = 2.0
"""When a visit that found no file descriptor is tried again."""
_RESERVED_FILES = 256
"""Left for the database, the readers, look-ups and the like; half of what is allowed where that is little."""
_SPARE_FILES = 4
_RECOVER_SECONDS = 60.0
_OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def raise_file_limit() -> int:
    """Allow ourselves as many open files as the system lets us have, within reason; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MAX_FILES if soft == resource.RLIM_INFINITY else min(soft, MAX_FILES)


def file_share(files: int) -> int:
    """So many of what may be open for one purpose; for another as many, and the rest for all others."""
    return max((files - min(_RESERVED_FILES, files // 2)) // 2, 1)


def is_out_of_files(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _OUT_OF_FILES


def are_files_used_up() -> bool:
    """Whether there is hardly a file descriptor left. For those who failed and were not told why: libraries that find
    no certificate or no answer may have been unable to open a file."""
    try:
        count = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError as error:
        return is_out_of_files(error)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft != resource.RLIM_INFINITY and count >= soft - _SPARE_FILES


class FileLimit:
    """How many visits may be made at once with the files there are."""

    def __init__(self, wanted: int = 1) -> None:
        """`wanted`: how many visits are configured."""
        self._wanted = wanted
        self._files = raise_file_limit()
        self._initial_max_visits = self._max_visits = file_share(self._files)
        self._lowered_at = 0.0
        self._has_warned = False
        if self._max_visits < wanted:
            self._warn("few open files are allowed, so fewer visits are made at once: raise `ulimit -n`")

    def max_visits(self, now: float) -> int:
        """As many as fit. After they ran out there are fewer, and every minute twice as many again."""
        if self._max_visits < self._initial_max_visits and now - self._lowered_at >= _RECOVER_SECONDS:
            self._lowered_at = now
            self._max_visits = min(self._max_visits * 2, self._initial_max_visits)
        return self._max_visits

    def record_exhaustion(self, visits: int, now: float) -> None:
        """There was no file descriptor left, with so many visits under way."""
        self._max_visits = max(min(self._max_visits, visits) * 3 // 4, 1)
        self._lowered_at = now
        if not self._has_warned:
            self._warn("out of file descriptors, so fewer visits are made at once: raise `ulimit -n`")

    def _warn(self, message: str) -> None:
        self._has_warned = True
        enough = 2 * self._wanted + _RESERVED_FILES
        log.warning(
            message, extra={"ulimit": self._files, "visits": self._max_visits, "wanted": self._wanted, "enough": enough}
        )
