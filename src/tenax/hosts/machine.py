"""Turns shared by all crawls of one user on one machine: a table in a file that each of them maps into its memory.

Two crawls with ledgers of their own know nothing of each other, yet a host sees one visitor. So before each request a
line in this table is taken, under a lock that the kernel releases when its process dies. Times in it are those of the
machine's monotonic clock, which all processes read alike and nobody can set.

The table has a fixed size. A key hashes to a bucket of 16 lines; a new key takes the line in it that passed first. A
line whose time lies ahead is never given away: when all 16 do, the new key waits for the first of them.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from tenax import logs
from tenax.clock import Clock
from tenax.config import PolitenessConfig
from tenax.hosts import SharedTurns, Turn
from tenax.hosts.local_turns import LocalTurns

_FILE = "turns-1"
"""The number is that of the layout: another layout is another file."""
_BUCKETS = 4096
_LINES = 16
# A bucket: the keys of its lines, then from when on each is free and when it was taken.
_KEYS = struct.Struct(f"={_LINES}Q")
_TIMES = struct.Struct(f"={_LINES * 2}d")
_KEY = struct.Struct("=Q")
_LINE = struct.Struct("=dd")
_BUCKET_BYTES = _KEYS.size + _TIMES.size
_FILE_BYTES = _BUCKETS * _BUCKET_BYTES

_FLOCK = struct.Struct("hhqqi4x")  # struct flock of Linux on 64 bits
_UNLOCK = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
_NAP_SECONDS = 0.0001
_NAPS = 5
_PATIENT_NAPS = 250
"""A bucket is locked for some microseconds, unless the scheduler puts its owner aside. Ending a turn is worth a wait
for that; taking one is not, for it can be tried again."""
_LOCKED_SECONDS = 0.005

_OTHER_BOOT_SECONDS = 60.0
"""A line taken this far ahead of now was taken before the machine was started again, and means nothing."""
_LATER_SECONDS = 1e-6
"""The difference of two clocks is rounded; who comes at the time that was named must not come too early."""
_TOUCH_SECONDS = 3600.0
"""So often the file is marked as used: cleaners of /tmp take away what looks forgotten."""

_log = logs.logger(__name__)


def open_turns(politeness: PolitenessConfig, clock: Clock, directory: Path | None = None) -> SharedTurns:
    """Turns shared as configured; where the machine's table cannot be used, our own, and a warning says why."""
    if not politeness.share_turns:
        return LocalTurns()
    # Always the same place: one that depends on the environment would part a login's crawls from those of cron.
    directory = directory or Path(f"/tmp/tenax-{os.geteuid()}")
    try:
        return MachineTurns(directory, clock)
    except OSError as error:
        why = error.strerror or str(error)
        _log.warning("turns are not shared with other crawls on this machine", directory=str(directory), why=why)
        return LocalTurns()


class _Place(NamedTuple):
    """Where in the file a key belongs."""

    key: int
    bucket: int
    lock: bytes


class MachineTurns:
    """`SharedTurns` in a file. Of one thread: another thread, like another process, opens its own."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        """Raises `OSError` when the directory is not ours alone, or its file cannot be had, mapped or locked."""
        self._file = _opened(directory)
        try:
            self._table = mmap.mmap(self._file, _FILE_BYTES)
            self._lock([_place("")], _PATIENT_NAPS)
            self._unlock()
        except BaseException:
            os.close(self._file)
            raise
        # The clock we are given moves by the monotonic clock, so this difference holds for as long as we live.
        self._offset = _ahead_seconds(clock)
        self._touched_at = float("-inf")

    def take(self, turns: Sequence[Turn], now: float) -> float:
        paced = [turn for turn in turns if turn.pace_seconds > 0]
        if not paced:
            return now
        at = now - self._offset
        if at - self._touched_at > _TOUCH_SECONDS:
            self._touched_at = at
            os.utime(self._file)
        places = [_place(turn.key) for turn in paced]
        if not self._lock(places, _NAPS):
            return now + _LOCKED_SECONDS
        try:
            lines: list[int] = []
            free_at = at
            for place in places:
                line, line_free_at = self._line(place, at, lines)
                lines.append(line)
                free_at = max(free_at, line_free_at)
            if free_at > at:
                return free_at + self._offset + _LATER_SECONDS
            for turn, place, line in zip(paced, places, lines, strict=True):
                self._write(place, line, at + max(turn.pace_seconds, turn.busy_seconds), at)
            return now
        finally:
            self._unlock()

    def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        held = [turn for turn in turns if turn.pace_seconds > 0 and turn.busy_seconds > 0]
        if not held:
            return
        at = answered_at - self._offset
        places = [_place(turn.key) for turn in held]
        if not self._lock(places, _PATIENT_NAPS):
            return  # the turn will end by itself
        try:
            for turn, place in zip(held, places, strict=True):
                self._end(turn, place, at)
        finally:
            self._unlock()

    def close(self) -> None:
        self._table.close()
        os.close(self._file)

    def _end(self, turn: Turn, place: _Place, at: float) -> None:
        keys = _KEYS.unpack_from(self._table, place.bucket)
        if place.key in keys:
            line = keys.index(place.key)
            _, taken_at = self._times(place, line)
            # Should it have been taken again meanwhile, that start is owed its pace as well.
            self._write(place, line, max(at, taken_at) + turn.pace_seconds, taken_at)
            return
        line, free_at = self._line(place, at, ())
        if free_at <= at:
            self._write(place, line, at + turn.pace_seconds, at)

    def _line(self, place: _Place, at: float, besides: Sequence[int]) -> tuple[int, float]:
        """The line of this key, or the one it may have, and from when on that is free."""
        keys = _KEYS.unpack_from(self._table, place.bucket)
        if place.key in keys:
            line = keys.index(place.key)
            free_at, taken_at = self._times(place, line)
            return line, (at if taken_at > at + _OTHER_BOOT_SECONDS else free_at)
        times = _TIMES.unpack_from(self._table, place.bucket + _KEYS.size)
        free_at, line = min(
            (0.0 if times[2 * line + 1] > at + _OTHER_BOOT_SECONDS else times[2 * line], line)
            for line in range(_LINES)
            if line not in besides
        )
        return line, free_at

    def _times(self, place: _Place, line: int) -> tuple[float, float]:
        """From when on it is free, and when it was taken."""
        free_at, taken_at = _LINE.unpack_from(self._table, place.bucket + _KEYS.size + line * _LINE.size)
        return free_at, taken_at

    def _write(self, place: _Place, line: int, free_at: float, taken_at: float) -> None:
        # The key goes first: whoever is killed in between leaves a line that is free, and has sent nothing.
        _KEY.pack_into(self._table, place.bucket + line * _KEY.size, place.key)
        _LINE.pack_into(self._table, place.bucket + _KEYS.size + line * _LINE.size, free_at, taken_at)

    def _lock(self, places: Sequence[_Place], naps: int) -> bool:
        """The buckets of these keys are ours until `_unlock`; False when another keeps one of them for too long.

        The locks belong to the open file, not to the process, so that two crawls within one process are kept apart.
        """
        while True:
            try:
                for place in places:
                    fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, place.lock)
                return True
            except BlockingIOError:
                self._unlock()
            if naps == 0:
                return False
            naps -= 1
            time.sleep(_NAP_SECONDS)

    def _unlock(self) -> None:
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _UNLOCK)


def _ahead_seconds(clock: Clock) -> float:
    """How far this clock is ahead of the machine's: read when nothing came between, or two crawls would not agree."""
    samples: list[tuple[float, float]] = []
    for _ in range(5):
        before, now, after = time.monotonic(), clock.now(), time.monotonic()
        samples.append((after - before, now - (before + after) / 2))
    return min(samples)[1]


@lru_cache(maxsize=8192)
def _place(key: str) -> _Place:
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
    bucket = number % _BUCKETS * _BUCKET_BYTES
    return _Place(number, bucket, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, bucket, _BUCKET_BYTES, 0))


def _opened(directory: Path) -> int:
    """The file in the directory that only we may enter; both are made when they are missing."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    inside = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check_ours(os.fstat(inside))
        file = os.open(_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=inside)
    finally:
        os.close(inside)
    try:
        found = os.fstat(file)
        _check_ours(found)
        if found.st_size < _FILE_BYTES:
            # Not a hole: on a full disk, writing into one through the mapping would kill us. New bytes are zeros.
            os.posix_fallocate(file, 0, _FILE_BYTES)
    except BaseException:
        os.close(file)
        raise
    return file


def _check_ours(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(errno.EPERM, "it is open to other users; `chmod 700` closes it")
