"""Turns shared by all crawls of one user on one machine: a table in a file that each of them maps into its memory.

Two crawls with ledgers of their own know nothing of each other, yet a host sees one visitor. So before each request a
line in this table is taken, under a lock that the kernel releases when its process dies. Times in it are those of the
machine's monotonic clock, which all processes read alike and nobody can set.

Nobody waits here for longer than a millisecond, for this is called on the event loop. What could not be written because
another process held the lock is written later, and until then the turn counts as taken.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from tenax import logs
from tenax.clock import Clock
from tenax.config import PolitenessConfig
from tenax.hosts import SharedTurns, Turn
from tenax.hosts.limiter.machine_table import BUCKET_BYTES, TABLE_BYTES, Line, Place, Table, place_of
from tenax.hosts.limiter.process import LocalTurns, again_at

_FILE = "turns-2"
"""The number is that of the layout: another layout is another file."""

_FLOCK = struct.Struct("hhqqi4x")  # struct flock of Linux on 64 bits
_UNLOCK = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
_NAP_SECONDS = 0.00005
_PATIENCE_SECONDS = 0.001
"""A bucket is locked for some microseconds, unless the scheduler puts its owner aside. The event loop waits as well."""
_LOCKED_SECONDS = 0.005
_MOST_LATE = 1000
"""What could not be written is kept for later up to this number; beyond, turns end by themselves."""

_FEW = 4
"""More ends than this are written under a lock on the whole table, if it can be had: that is one step."""
_WHOLE = (Place(-1, 0), Place(-1, TABLE_BYTES - BUCKET_BYTES))

_LATER_SECONDS = 1e-6
"""The difference of two clocks is rounded; who comes at the time that was named must not come too early."""
_PACE_HOLDS_SECONDS = 600.0
"""So long after it was last told, the pace that a crawl has learned holds for the others: that crawl may have ended."""
_COURTESY_SECONDS = 0.05
"""Who had the last turn leaves so much time to another who waits for one, or it would always be there first."""
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


class MachineTurns:
    """`SharedTurns` in a file. Of one thread: another thread, like another process, opens its own."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        """Raises `OSError` when the directory is not ours alone, or its file cannot be had, mapped or locked."""
        self._file = _opened(directory)
        try:
            self._table = Table(mmap.mmap(self._file, TABLE_BYTES))
            self._lock([place_of("")])
            self._unlock()
        except BaseException:
            os.close(self._file)
            raise
        # The clock we are given moves by the monotonic clock, so this difference holds for as long as we live.
        self._offset = _ahead_seconds(clock)
        self._touched_at = float("-inf")
        self._me = int.from_bytes(os.urandom(8), "little")
        self._late: deque[tuple[list[Place], Callable[[], None]]] = deque(maxlen=_MOST_LATE)

    def take(self, turns: Sequence[Turn], now: float) -> float:
        paced = [turn for turn in turns if turn.pace_seconds > 0]
        if not paced:
            return now
        at = now - self._offset
        if at - self._touched_at > _TOUCH_SECONDS:
            self._touched_at = at
            os.utime(self._file)
        self._catch_up()
        places = [place_of(turn.key) for turn in paced]
        if not self._lock(places):
            return now + _LOCKED_SECONDS
        try:
            again = self._take(paced, places, at)
        finally:
            self._unlock()
        return now if again <= at else again + self._offset + _LATER_SECONDS

    def end(self, turns: Sequence[Turn], answered_at: float) -> None:
        self.end_all([(turn, answered_at) for turn in turns])

    def end_all(self, ended: Sequence[tuple[Turn, float]]) -> None:
        held = [
            (turn, place_of(turn.key), answered_at - self._offset)
            for turn, answered_at in ended
            if turn.pace_seconds > 0 and turn.busy_seconds > 0
        ]
        if len(held) > _FEW and self._is_up_to_date() and self._lock(_WHOLE):
            try:
                self._end(held)
            finally:
                self._unlock()
            return
        for one in held:
            self._write_soon([one[1]], partial(self._end, [one]))

    def hold(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        place, offset = place_of(key), self._offset
        self._write_soon([place], partial(self._hold, place, until - offset, now - offset, pace_seconds))

    def close(self) -> None:
        self._catch_up()
        self._table.close()
        os.close(self._file)

    # -- with the lock --------------------------------------------------------------------------------------

    def _take(self, turns: Sequence[Turn], places: Sequence[Place], at: float) -> float:
        """All of them, when they are free; else when to try again."""
        numbers: list[int] = []
        lines: list[Line | None] = []
        again = at
        for turn, place in zip(turns, places, strict=True):
            number, line, opens_at = self._table.find(place, at, numbers)
            numbers.append(number)
            lines.append(line)
            if line is None:
                again = max(again, opens_at)
            elif opens_at > at:
                again = max(again, again_at(turn, line, at))
                if line.taken_by != self._me:
                    self._table.wait(place, number, self._me)
            elif self._is_unkind(line, at):
                again = max(again, opens_at + _COURTESY_SECONDS)
        if again > at:
            return again
        for turn, place, number, line in zip(turns, places, numbers, lines, strict=True):
            free_at = at + self._pace(turn, line, at)
            busy_until = at + turn.busy_seconds if turn.busy_seconds else 0.0
            if line is None:
                self._table.write(place, number, Line(free_at, at, busy_until, self._me))
            else:
                self._table.turn(place, number, free_at, at, busy_until, self._me, 0)
        return at

    def _end(self, held: Sequence[tuple[Turn, Place, float]]) -> None:
        for turn, place, at in held:
            number, line, opens_at = self._table.find(place, at)
            if line is not None:
                # Should it have been taken again meanwhile, that start is owed its pace as well.
                free_at = max(at, line.taken_at) + self._pace(turn, line, at)
                self._table.turn(place, number, free_at, line.taken_at, 0.0, line.taken_by, line.waiting)
            elif opens_at <= at:
                self._table.write(place, number, Line(at + turn.pace_seconds, at, 0.0, self._me))

    def _hold(self, place: Place, until: float, at: float, pace_seconds: float) -> None:
        number, line, opens_at = self._table.find(place, at)
        if line is None and opens_at > at:
            return
        line = line if line is not None else Line(at, at)
        line = line._replace(rest_until=max(line.rest_until, until))
        if line.owner == self._me or line.pace_until <= at or line.pace_seconds <= pace_seconds:
            pace_until = max(until, at) + _PACE_HOLDS_SECONDS + 2 * pace_seconds
            line = line._replace(pace_seconds=pace_seconds, pace_until=pace_until, owner=self._me)
        self._table.write(place, number, line)

    def _pace(self, turn: Turn, line: Line | None, at: float) -> float:
        """The turn's own, or the slower one that another crawl has learned."""
        if line is None or line.pace_until <= at or line.owner == self._me:
            return turn.pace_seconds
        return max(turn.pace_seconds, line.pace_seconds)

    def _is_unkind(self, line: Line, at: float) -> bool:
        """To take it again, though another came in vain meanwhile and has not had the time to come back."""
        is_awaited = line.waiting not in (0, self._me)
        return is_awaited and line.taken_by == self._me and at < line.opens_at + _COURTESY_SECONDS

    # -- the lock -------------------------------------------------------------------------------------------

    def _write_soon(self, places: list[Place], write: Callable[[], None]) -> None:
        """Now if the lock can be had, else before the next turn is taken."""
        if not self._is_up_to_date() or not self._lock(places):
            self._late.append((places, write))
            return
        try:
            write()
        finally:
            self._unlock()

    def _is_up_to_date(self) -> bool:
        self._catch_up()
        return not self._late

    def _catch_up(self) -> None:
        """Write what is late, in its order, as far as the locks can be had at once."""
        while self._late and self._lock(self._late[0][0], patience_seconds=0.0):
            try:
                self._late.popleft()[1]()
            finally:
                self._unlock()

    def _lock(self, places: Sequence[Place], patience_seconds: float = _PATIENCE_SECONDS) -> bool:
        """The buckets of these keys are ours until `_unlock`; False when another keeps one of them for too long.

        So is what lies between them: one lock is one step, and is given back before anyone notices that it is wide.
        It belongs to the open file, not to the process, so that two crawls within one process are kept apart.
        """
        buckets = [place.bucket for place in places]
        lock = _lock_on(min(buckets), max(buckets))
        give_up_at = 0.0
        while True:
            try:
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, lock)
                return True
            except BlockingIOError:
                now = time.monotonic()
            give_up_at = give_up_at or now + patience_seconds
            if now >= give_up_at:
                return False
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
def _lock_on(first: int, last: int) -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, last - first + BUCKET_BYTES, 0)


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
        if found.st_size < TABLE_BYTES:
            # Not a hole: on a full disk, writing into one through the mapping would kill us. New bytes are zeros.
            os.posix_fallocate(file, 0, TABLE_BYTES)
    except BaseException:
        os.close(file)
        raise
    return file


def _check_ours(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(errno.EPERM, "it is open to other users; `chmod 700` closes it")
