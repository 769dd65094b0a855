"""The folder of one browser: all that it writes is in here, and goes when it goes, or when the next one starts.

A process that is killed removes nothing. So each folder is locked by its owner, with a lock that the kernel releases
when that dies, and whoever starts a browser removes the folders that nobody holds any more.
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
"""Chromium makes a socket in here, below a name of its own, and the path of a socket may have 107 bytes."""

# Never: no page is loaded, no connection made and no name looked up because a page says that they may be wanted later.
_PREFERENCES = {"net": {"network_prediction_options": 2}}


class BrowserDirectory:
    """A folder that is ours until `remove`. Also where Chromium's own temporary files go."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls) -> BrowserDirectory:
        """A new one, with the preferences of a browser that is not to guess. Raises `OSError`."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_temp_directory()))
            lock = _lock_directory(path)
            if lock is None:
                continue  # somebody who starts at this moment took it for one that was left
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
        """With everything in it. What a dying process still writes is left to the next one that starts."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale_directories() -> None:
    """Those of processes that died. Takes a while when there are many."""
    for path in _temp_directory().glob(f"{_PREFIX}*"):
        lock = _lock_directory(path)
        if lock is not None:
            BrowserDirectory(path, lock).remove()


def _lock_directory(path: Path) -> int | None:
    """The lock on a folder of ours; None when somebody holds it, when it is gone, or when it is not ours."""
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
