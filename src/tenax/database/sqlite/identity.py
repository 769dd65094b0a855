"""Detects that the files of an open database were deleted or replaced."""

from __future__ import annotations

from pathlib import Path


class FileIdentity:
    """Device and inode of some files at the time of creation."""

    def __init__(self, *files: Path) -> None:
        self._identities = {file: _identity(file) for file in files}

    @classmethod
    def from_database_file(cls, file: Path) -> FileIdentity:
        """The database, its WAL and its lock. All exist after the first write."""
        return cls(file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}.lock"))

    def find_lost_file(self) -> str:
        """The first file that was deleted, moved or replaced since; empty when none was."""
        return next((str(file) for file, known in self._identities.items() if _is_lost(file, known)), "")


def _is_lost(file: Path, known: tuple[int, int]) -> bool:
    try:
        return _identity(file) != known
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # unknown: no permission, or no answer


def _identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino
