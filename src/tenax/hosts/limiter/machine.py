"""Rate limits shared by all crawls of one user on one machine: a table in a memory-mapped file.

Crawls with separate databases do not know of each other, but a host sees one visitor. So each request first takes a row
in this table, under a lock that the kernel releases when its process dies. Times in the table are those of the
machine's monotonic clock, which is the same for all processes and cannot be set.

The calls run on the event loop, so none of them suspends, or waits for a lock for longer than a millisecond. A write
that did not get the lock is made later. Releases are written in batches; until then the permit counts as taken.
"""

from __future__ import annotations

import asyncio
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
"""The number is the version of the layout; each layout has its own file."""

_FLOCK = struct.Struct("hhqqi4x")  # Linux `struct flock`, 64-bit
_UNLOCK = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
_LOCK_RETRY_SECONDS = 0.00005
_LOCK_TIMEOUT_SECONDS = 0.001
"""A bucket is locked for microseconds, unless the process that locked it is preempted. The event loop waits as well."""
_LOCKED_RETRY_SECONDS = 0.005
_MAX_PENDING_WRITES = 1000
"""Maximum number of deferred writes. Beyond it, permits expire by themselves."""

BATCH_SECONDS = 0.02
"""Releases are written in batches, because each costs a lock."""
_MAX_SINGLE_RELEASES = 4
"""More releases than this are written under one lock on the whole table, if that lock is available."""
_WHOLE_TABLE = (TableSlot(-1, 0), TableSlot(-1, TABLE_BYTES - BUCKET_BYTES))

_ROUNDING_SECONDS = 1e-6
"""Added to the returned time: the clock offset is rounded, and a retry at that time must not come too early."""
_PACE_TTL_SECONDS = 600.0
"""How long the pace set by a crawl applies to others after its last update; that crawl may have ended."""
_FAIRNESS_SECONDS = 0.05
"""The last owner of a permit leaves this much time to an owner that waits. Otherwise the last owner would always be
first."""
_TOUCH_SECONDS = 3600.0
"""How often the modification time of the file is updated, because cleaners of /tmp delete unused files."""

_Release = tuple[Permit, TableSlot, float]
"""A permit, its row, and when its request was answered."""

_log = logs.logger(__name__)


def open_rate_limiter(politeness: PolitenessConfig, clock: Clock, directory: Path | None = None) -> RateLimiter:
    """The configured rate limiter. If the table of the machine cannot be used, the limiter of this process, with a
    warning."""
    if not politeness.share_rate_limit:
        return ProcessRateLimiter()
    # A fixed path: one from the environment would separate the crawls of a login from those of cron.
    directory = directory or Path(f"/tmp/tenax-{os.geteuid()}")
    try:
        return MachineRateLimiter(directory, clock)
    except OSError as error:
        why = error.strerror or str(error)
        _log.warning("rate limit is not shared with other crawls on this machine", directory=str(directory), why=why)
        return ProcessRateLimiter()


class MachineRateLimiter:
    """A `RateLimiter` in a file. For one event loop: other threads and processes open their own."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        """Raises `OSError` when the directory is open to others, or the file cannot be opened, mapped or locked."""
        self._file = _open_file(directory)
        try:
            self._table = Table(mmap.mmap(self._file, TABLE_BYTES))
            self._lock([key_slot("")])
            self._unlock()
        except BaseException:
            os.close(self._file)
            raise
        # The given clock advances with the monotonic clock, so this difference is constant.
        self._clock_offset = _clock_offset_seconds(clock)
        self._touched_at = float("-inf")
        self._owner_id = int.from_bytes(os.urandom(8), "little")
        self._released: dict[str, _Release] = {}
        """Released permits that are not written yet, by key."""
        self._batch_timer: asyncio.TimerHandle | None = None
        self._pending_writes: deque[tuple[list[TableSlot], Callable[[], None]]] = deque(maxlen=_MAX_PENDING_WRITES)

    async def acquire(self, permits: Sequence[Permit], now: float) -> float:
        if self._released and any(permit.key in self._released for permit in permits):
            self._write_released()
        paced = [permit for permit in permits if permit.pace_seconds > 0]
        if not paced:
            return now
        at = now - self._clock_offset
        if at - self._touched_at > _TOUCH_SECONDS:
            self._touched_at = at
            os.utime(self._file)
        self._flush_pending()
        slots = [key_slot(permit.key) for permit in paced]
        if not self._lock(slots):
            return now + _LOCKED_RETRY_SECONDS
        try:
            retry_at = self._acquire(paced, slots, at)
        finally:
            self._unlock()
        return now if retry_at <= at else retry_at + self._clock_offset + _ROUNDING_SECONDS

    async def release(self, permits: Sequence[Permit], answered_at: float) -> None:
        for permit in permits:
            if permit.pace_seconds > 0 and permit.busy_seconds > 0:
                self._released[permit.key] = (permit, key_slot(permit.key), answered_at - self._clock_offset)
        if self._released and self._batch_timer is None:
            self._batch_timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._write_released)

    async def back_off(self, key: str, until: float, now: float, pace_seconds: float = 0.0) -> None:
        self._write_released()
        slot, offset = key_slot(key), self._clock_offset
        self._write_or_defer([slot], partial(self._back_off, slot, until - offset, now - offset, pace_seconds))

    async def close(self) -> None:
        self._write_released()
        self._flush_pending()
        self._table.close()
        os.close(self._file)

    # -- with the lock --------------------------------------------------------------------------------------

    def _acquire(self, permits: Sequence[Permit], slots: Sequence[TableSlot], at: float) -> float:
        """Take all permits if they are free; otherwise return when to try again."""
        numbers: list[int] = []
        rows: list[LimitRow | None] = []
        retry_at = at
        for permit, slot in zip(permits, slots, strict=True):
            number, row, available_at = self._table.find(slot, at, numbers)
            numbers.append(number)
            rows.append(row)
            if row is None:
                retry_at = max(retry_at, available_at)
            elif available_at > at:
                retry_at = max(retry_at, next_try_at(permit, at, row.free_at, row.busy_until, row.backoff_until))
                if row.acquired_by != self._owner_id:
                    self._table.mark_waiting(slot, number, self._owner_id)
            elif self._should_yield(row, at):
                retry_at = max(retry_at, available_at + _FAIRNESS_SECONDS)
        if retry_at > at:
            return retry_at
        for permit, slot, number, row in zip(permits, slots, numbers, rows, strict=True):
            free_at = at + self._effective_pace(permit, row, at)
            busy_until = at + permit.busy_seconds if permit.busy_seconds else 0.0
            taken = LimitRow(free_at, at, busy_until, self._owner_id)
            (self._table.write if row is None else self._table.mark_acquired)(slot, number, taken)
        return at

    def _release(self, released: Sequence[_Release]) -> None:
        for permit, slot, at in released:
            number, row, available_at = self._table.find(slot, at)
            if row is not None:
                # If the permit was taken again meanwhile, that start needs its pace as well.
                free_at = max(at, row.acquired_at) + self._effective_pace(permit, row, at)
                self._table.mark_released(slot, number, free_at, row.acquired_at)
            elif available_at <= at:
                self._table.write(slot, number, LimitRow(at + permit.pace_seconds, at, 0.0, self._owner_id))

    def _back_off(self, slot: TableSlot, until: float, at: float, pace_seconds: float) -> None:
        number, row, available_at = self._table.find(slot, at)
        if row is None and available_at > at:
            return
        row = row if row is not None else LimitRow(at, at)
        row = row._replace(backoff_until=max(row.backoff_until, until))
        if row.owner == self._owner_id or row.pace_until <= at or row.pace_seconds <= pace_seconds:
            pace_until = max(until, at) + _PACE_TTL_SECONDS + 2 * pace_seconds
            row = row._replace(pace_seconds=pace_seconds, pace_until=pace_until, owner=self._owner_id)
        self._table.write(slot, number, row)

    def _effective_pace(self, permit: Permit, row: LimitRow | None, at: float) -> float:
        """The permit's own pace, or a slower pace that another crawl has set."""
        if row is None or row.pace_until <= at or row.owner == self._owner_id:
            return permit.pace_seconds
        return max(permit.pace_seconds, row.pace_seconds)

    def _should_yield(self, row: LimitRow, at: float) -> bool:
        """Whether to leave this permit to another owner that tried before and has not had time to try again."""
        is_awaited = row.waiting_owner not in (0, self._owner_id)
        return is_awaited and row.acquired_by == self._owner_id and at < row.available_at + _FAIRNESS_SECONDS

    # -- when writes are made -------------------------------------------------------------------------------

    def _write_released(self) -> None:
        """Write the released permits now."""
        if self._batch_timer is not None:
            self._batch_timer.cancel()
            self._batch_timer = None
        if not self._released:
            return
        released, self._released = list(self._released.values()), {}
        if len(released) > _MAX_SINGLE_RELEASES and self._is_up_to_date() and self._lock(_WHOLE_TABLE):
            try:
                self._release(released)
            finally:
                self._unlock()
            return
        for one in released:
            self._write_or_defer([one[1]], partial(self._release, [one]))

    def _write_or_defer(self, slots: list[TableSlot], write: Callable[[], None]) -> None:
        """Write now if the lock is available, else before the next permit is taken."""
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
        """Make deferred writes in order, as far as their locks are available at once."""
        while self._pending_writes and self._lock(self._pending_writes[0][0], timeout_seconds=0.0):
            try:
                self._pending_writes.popleft()[1]()
            finally:
                self._unlock()

    # -- the lock -------------------------------------------------------------------------------------------

    def _lock(self, slots: Sequence[TableSlot], timeout_seconds: float = _LOCK_TIMEOUT_SECONDS) -> bool:
        """Lock the buckets of these keys until `_unlock`; False if another owner holds one for too long.

        Buckets between them are locked too: locking one range takes one call, and the range is released within
        microseconds. The lock belongs to the open file, not to the process, so two crawls in one process exclude each
        other.
        """
        buckets = [slot.bucket for slot in slots]
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
    """How far this clock is ahead of the machine's clock. The quickest of several samples is used, so that all crawls
    agree."""
    samples: list[tuple[float, float]] = []
    for _ in range(5):
        before, now, after = time.monotonic(), clock.now(), time.monotonic()
        samples.append((after - before, now - (before + after) / 2))
    return min(samples)[1]


@lru_cache(maxsize=8192)
def _lock_range(first: int, last: int) -> bytes:
    return _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, last - first + BUCKET_BYTES, 0)


def _open_file(directory: Path) -> int:
    """Open the file in the private directory; create both if they are missing."""
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
            # Not sparse: on a full disk, a write to a hole through the mapping would kill the process. New bytes are
            # zeros.
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
