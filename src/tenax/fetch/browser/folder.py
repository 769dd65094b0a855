"""The directory of one browser: it holds all files of the browser, and is removed with it or when the next one starts.

A killed process removes nothing. So each directory is locked by its owner, with a lock that the kernel releases when
the owner dies, and starting a browser removes the directories that nobody has locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

_PREFIX = "tenax-browser-"
_MAX_PATH_BYTES = 38
"""Chromium creates a socket below it, under a name of its own, and a socket path is limited to 107 bytes."""

# Disable prefetching: no page load, connection or DNS lookup because a page announces a later request.
_PREFERENCES = {"net": {"network_prediction_options": 2}}


class BrowserDirectory:
    """A directory that is ours until `remove`. Chromium's temporary files are in it too."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls) -> BrowserDirectory:
        """A new one, with preferences that disable prefetching. Raises `OSError`."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_temp_directory()))
            lock = _lock_directory(path)
            if lock is None:
                continue  # another starting process removed it as stale
            folder = cls(path, lock)
            try:
                preferences = folder.profile / "Default" / "Preferences"
                preferences.parent.mkdir(parents=True)
                preferences.write_bytes(msgspec.json.encode(_PREFERENCES))
            except BaseException:
                folder.remove()
                raise
            return folder

    @property
    def profile(self) -> Path:
        return self.path / "profile"

    def remove(self) -> None:
        """Remove it with all files. What a dying process still writes is removed by the next start."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale_directories() -> None:
    """Remove the directories of dead processes. Takes a while when there are many."""
    for path in _temp_directory().glob(f"{_PREFIX}*"):
        lock = _lock_directory(path)
        if lock is not None:
            BrowserDirectory(path, lock).remove()


def _lock_directory(path: Path) -> int | None:
    """The lock on one of our directories; None if it is locked, gone, or not ours."""
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = path.lstat()
            if found.st_uid == os.geteuid() and found.st_ino == os.fstat(lock).st_ino:
                return lock
        except OSError:
            pass
        os.close(lock)
    return None


def _temp_directory() -> Path:
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= _MAX_PATH_BYTES else "/tmp")
