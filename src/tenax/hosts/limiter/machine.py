"""Turns shared by all crawls of one user on one machine: a table in a file that each of them maps into its memory.

Two crawls with databases of their own know nothing of each other, yet a host sees one visitor. So before each request a
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
from tenax.hosts import Permit, RateLimiter
from tenax.hosts.limiter.machine_table import BUCKET_BYTES, TABLE_BYTES, LimitRow, Table, TableSlot, key_slot
from tenax.hosts.limiter.process import ProcessRateLimiter, next_try_at

_FILE_NAME = "permits-2"
"""The number is that of the layout: another layout is another file."""

_FLOCK = struct.Struct("hhqqi4x")  # struct flock of Linux on 64 bits
_UNLOCK = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
_LOCK_RETRY_SECONDS = 0.00005
_LOCK_TIMEOUT_SECONDS = 0.001
"""A bucket is locked for some microseconds, unless the scheduler puts its owner aside. The event loop waits as well."""
_LOCKED_RETRY_SECONDS = 0.005
_MAX_PENDING_WRITES = 1000
"""What could not be written is kept for later up to this number; beyond, turns end by themselves."""

_MAX_SINGLE_RELEASES = 4
"""More ends than this are written under a lock on the whole table, if it can be had: that is one step."""
_WHOLE_TABLE = (TableSlot(-1, 0), TableSlot(-1, TABLE_BYTES - BUCKET_BYTES))

_ROUNDING_SECONDS = 1e-6
"""The difference of two clocks is rounded; who comes at the time that was named must not come too early."""
_PACE_TTL_SECONDS = 600.0
"""So long after it was last told, the pace that a crawl has learned holds for the others: that crawl may have ended."""
_FAIRNESS_SECONDS = 0.05
"""Who had the last turn leaves so much time to another who waits for one, or it would always be there first."""
_TOUCH_SECONDS = 3600.0
"""So often the file is marked as used: cleaners of /tmp take away what looks forgotten."""

_log = logs.logger(__name__)


def open_rate_limiter(politeness: PolitenessConfig, clock: Clock, directory: Path | None = None) -> RateLimiter:
    """Turns shared as configured; where the machine's table cannot be used, our own, and a warning says why."""
    if not politeness.share_rate_limit:
        return ProcessRateLimiter()
    # Always the same place: one that depends on the environment would part a login's crawls from those of cron.
    directory = directory or Path(f"/tmp/tenax-{os.geteuid()}")
    try:
        return MachineRateLimiter(directory, clock)
    except OSError as error:
        why = error.strerror or str(error)
        _log.warning("turns are not shared with other crawls on this machine", directory=str(directory), why=why)
        return ProcessRateLimiter()


class MachineRateLimiter:
    """`RateLimiter` in a file. Of one thread: another thread, like another process, opens its own."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        """Raises `OSError` when the directory is not ours alone, or its file cannot be had, mapped or locked."""
        self._file = _open_file(directory)
        try:
            self._table = Table(mmap.mmap(self._file, TABLE_BYTES))
            self._lock([key_slot("")])
            self._unlock()
        except BaseException:
            os.close(self._file)
            raise
        # The clock we are given moves by the monotonic clock, so this difference holds for as long as we live.
        self._clock_offset = _clock_offset_seconds(clock)
        self._touched_at = float("-inf")
        self._owner_id = int.from_bytes(os.urandom(8), "little")
        self._pending_writes: deque[tuple[list[TableSlot], Callable[[], None]]] = deque(maxlen=_MAX_PENDING_WRITES)

    def acquire(self, permits: Sequence[Permit], now: float) -> float:
        paced = [permit for permit in permits if permit.pace_seconds > 0]
        if not paced:
            return now
        at = now - self._clock_offset
        if at - self._touched_at > _TOUCH_SECONDS:
            self._touched_at = at
            os.utime(self._file)
        self._flush_pending()
        places = [key_slot(permit.key) for permit in paced]
        if not self._lock(places):
            return now + _LOCKED_RETRY_SECONDS
        try:
            again = self._acquire(paced, places, at)
        finally:
            self._unlock()
        return now if again <= at else again + self._clock_offset + _ROUNDING_SECONDS

    def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        self.release_all([(permit, answered_at) for permit in permits])

    def release_all(self, released: Sequence[tuple[Permit, float]]) -> None:
        held = [
            (permit, key_slot(permit.key), answered_at - self._clock_offset)
            for permit, answered_at in released
            if permit.pace_seconds > 0 and permit.busy_seconds > 0
        ]
        if len(held) > _MAX_SINGLE_RELEASES and self._is_up_to_date() and self._lock(_WHOLE_TABLE):
            try:
                self._release(held)
            finally:
                self._unlock()
            return
        for one in held:
            self._write_or_defer([one[1]], partial(self._release, [one]))

    def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        place, offset = key_slot(key), self._clock_offset
        self._write_or_defer([place], partial(self._back_off, place, until - offset, now - offset, pace_seconds))

    def close(self) -> None:
        self._flush_pending()
        self._table.close()
        os.close(self._file)

    # -- with the lock --------------------------------------------------------------------------------------

    def _acquire(self, permits: Sequence[Permit], slots: Sequence[TableSlot], at: float) -> float:
        """All of them, when they are free; else when to try again."""
        numbers: list[int] = []
        lines: list[LimitRow | None] = []
        again = at
        for permit, place in zip(permits, slots, strict=True):
            number, line, opens_at = self._table.find(place, at, numbers)
            numbers.append(number)
            lines.append(line)
            if line is None:
                again = max(again, opens_at)
            elif opens_at > at:
                again = max(again, next_try_at(permit, line, at))
                if line.acquired_by != self._owner_id:
                    self._table.mark_waiting(place, number, self._owner_id)
            elif self._should_yield(line, at):
                again = max(again, opens_at + _FAIRNESS_SECONDS)
        if again > at:
            return again
        for permit, place, number, line in zip(permits, slots, numbers, lines, strict=True):
            free_at = at + self._effective_pace(permit, line, at)
            busy_until = at + permit.busy_seconds if permit.busy_seconds else 0.0
            if line is None:
                self._table.write(place, number, LimitRow(free_at, at, busy_until, self._owner_id))
            else:
                self._table.update_permit(place, number, free_at, at, busy_until, self._owner_id, 0)
        return at

    def _release(self, released: Sequence[tuple[Permit, TableSlot, float]]) -> None:
        for permit, place, at in released:
            number, line, opens_at = self._table.find(place, at)
            if line is not None:
                # Should it have been taken again meanwhile, that start is owed its pace as well.
                free_at = max(at, line.acquired_at) + self._effective_pace(permit, line, at)
                self._table.update_permit(
                    place, number, free_at, line.acquired_at, 0.0, line.acquired_by, line.waiting_owner
                )
            elif opens_at <= at:
                self._table.write(place, number, LimitRow(at + permit.pace_seconds, at, 0.0, self._owner_id))

    def _back_off(self, slot: TableSlot, until: float, at: float, pace_seconds: float) -> None:
        number, line, opens_at = self._table.find(slot, at)
        if line is None and opens_at > at:
            return
        line = line if line is not None else LimitRow(at, at)
        line = line._replace(backoff_until=max(line.backoff_until, until))
        if line.owner == self._owner_id or line.pace_until <= at or line.pace_seconds <= pace_seconds:
            pace_until = max(until, at) + _PACE_TTL_SECONDS + 2 * pace_seconds
            line = line._replace(pace_seconds=pace_seconds, pace_until=pace_until, owner=self._owner_id)
        self._table.write(slot, number, line)

    def _effective_pace(self, permit: Permit, row: LimitRow | None, at: float) -> float:
        """The turn's own, or the slower one that another crawl has learned."""
        if row is None or row.pace_until <= at or row.owner == self._owner_id:
            return permit.pace_seconds
        return max(permit.pace_seconds, row.pace_seconds)

    def _should_yield(self, row: LimitRow, at: float) -> bool:
        """To take it again, though another came in vain meanwhile and has not had the time to come back."""
        is_awaited = row.waiting_owner not in (0, self._owner_id)
        return is_awaited and row.acquired_by == self._owner_id and at < row.available_at + _FAIRNESS_SECONDS

    # -- the lock -------------------------------------------------------------------------------------------

    def _write_or_defer(self, slots: list[TableSlot], write: Callable[[], None]) -> None:
        """Now if the lock can be had, else before the next turn is taken."""
        if not self._is_up_to_date() or not self._lock(slots):
            self._pending_writes.append((slots, write))
            return
        try:
            write()
        finally:
            self._unlock()

    def _is_up_to_date(self) -> bool:
        self._flush_pending()
        return not self._pending_writes

    def _flush_pending(self) -> None:
        """Write what is late, in its order, as far as the locks can be had at once."""
        while self._pending_writes and self._lock(self._pending_writes[0][0], timeout_seconds=0.0):
            try:
                self._pending_writes.popleft()[1]()
            finally:
                self._unlock()

    def _lock(self, slots: Sequence[TableSlot], timeout_seconds: float = _LOCK_TIMEOUT_SECONDS) -> bool:
        """The buckets of these keys are ours until `_unlock`; False when another keeps one of them for too long.

        So is what lies between them: one lock is one step, and is given back before anyone notices that it is wide.
        It belongs to the open file, not to the process, so that two crawls within one process are kept apart.
        """
        buckets = [place.bucket for place in slots]
        lock = _lock_range(min(buckets), max(buckets))
        give_up_at = 0.0
        while True:
            try:
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, lock)
                return True
            except BlockingIOError:
                now = time.monotonic()
            give_up_at = give_up_at or now + timeout_seconds
            if now >= give_up_at:
                return False
            time.sleep(_LOCK_RETRY_SECONDS)

    def _unlock(self) -> None:
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _UNLOCK)


def _clock_offset_seconds(clock: Clock) -> float:
    """How far this clock is ahead of the machine's: read when nothing came between, or two crawls would not agree."""
    samples: list[tuple[float, float]] = []
    for _ in range(5):
        before, now, after = time.monotonic(), clock.now(), time.monotonic()
        samples.append((after - before, now - (before + after) / 2))
    return min(samples)[1]


@lru_cache(maxsize=8192)
def _lock_range(first: int, last: int) -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, last - first + BUCKET_BYTES, 0)


def _open_file(directory: Path) -> int:
    """The file in the directory that only we may enter; both are made when they are missing."""
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    inside = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check_owner(os.fstat(inside))
        file = os.open(_FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=inside)
    finally:
        os.close(inside)
    try:
        found = os.fstat(file)
        _check_owner(found)
        if found.st_size < TABLE_BYTES:
            # Not a hole: on a full disk, writing into one through the mapping would kill us. New bytes are zeros.
            os.posix_fallocate(file, 0, TABLE_BYTES)
    except BaseException:
        os.close(file)
        raise
    return file


def _check_owner(found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(errno.EPERM, "it is open to other users; `chmod 700` closes it")
