"""The byte layout of the shared rate limit table: where the row of a key is, and its fields.

The size is fixed. A key hashes to a bucket of 16 rows, and a new key takes the row that expired first. A row that has
not expired is never reused: if none of the 16 rows has expired, the new key waits for the first one to expire.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from mmap import mmap
from typing import NamedTuple

_BUCKETS = 4096
_ROWS_PER_BUCKET = 16
_FIELDS = "dddQQdddQ"  # those of `LimitRow`
# A bucket: the keys of its rows, then the rows.
_KEYS = struct.Struct(f"={_ROWS_PER_BUCKET}Q")
_KEY = struct.Struct("=Q")
_ROW = struct.Struct(f"={_FIELDS}")
_BUCKET_ROWS = struct.Struct(f"={_FIELDS * _ROWS_PER_BUCKET}")
_ACQUIRE_FIELDS = struct.Struct("=dddQQ")  # the first fields of a row, which are written when a permit is taken
_RELEASE_FIELDS = struct.Struct("=ddd")  # the first of these fields, which are written when the request ends
_WAITING_OFFSET = struct.calcsize("=dddQ")
BUCKET_BYTES = _KEYS.size + _BUCKET_ROWS.size
TABLE_BYTES = _BUCKETS * BUCKET_BYTES

_OTHER_BOOT_SECONDS = 60.0
"""A row whose `acquired_at` is this far in the future was written before a reboot, and is invalid."""


class LimitRow(NamedTuple):
    """The state of a key. Times are those of the monotonic clock."""

    free_at: float = 0.0
    """When the pace is over that follows the start or the response of the last request."""
    acquired_at: float = 0.0
    busy_until: float = 0.0
    """The latest end of the request in flight; 0 when there is none."""
    acquired_by: int = 0
    waiting_owner: int = 0
    """An owner that has tried to take the permit since then, and failed."""
    backoff_until: float = 0.0
    """Demanded by the host. The end of a request does not shorten it."""
    pace_seconds: float = 0.0
    """The pace that `owner` has set for all crawls."""
    pace_until: float = 0.0
    owner: int = 0

    @property
    def available_at(self) -> float:
        return max(self.free_at, self.busy_until, self.backoff_until)


class TableSlot(NamedTuple):
    """The position of a key in the table."""

    key: int
    bucket: int


@lru_cache(maxsize=8192)
def key_slot(key: str) -> TableSlot:
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
    return TableSlot(number, number % _BUCKETS * BUCKET_BYTES)


class Table:
    """Reads and writes rows. The caller holds the lock on the bucket."""

    def __init__(self, table: mmap) -> None:
        self._table = table

    def find(self, slot: TableSlot, at: float, excluded: Sequence[int] = ()) -> tuple[int, LimitRow | None, float]:
        """The index of this key's row, the row, and when it is available. If the key has no row: the index of a row to
        reuse."""
        keys = _KEYS.unpack_from(self._table, slot.bucket)
        too_far = at + _OTHER_BOOT_SECONDS
        if slot.key in keys:
            number = keys.index(slot.key)
            row = LimitRow._make(_ROW.unpack_from(self._table, _row_offset(slot, number)))
            return (number, row, row.available_at) if row.acquired_at <= too_far else (number, None, 0.0)
        fields = _BUCKET_ROWS.unpack_from(self._table, slot.bucket + _KEYS.size)
        times = zip(*(fields[start :: len(_FIELDS)] for start in (0, 1, 2, 5)), range(_ROWS_PER_BUCKET), strict=True)
        available_at, number = min(
            (max(free_at, busy_until, backoff_until) if acquired_at <= too_far else 0.0, number)
            for free_at, acquired_at, busy_until, backoff_until, number in times
            if number not in excluded
        )
        return number, None, available_at

    def write(self, slot: TableSlot, number: int, row: LimitRow) -> None:
        # The key is written first. A process killed in between leaves a free row, and has sent nothing.
        _KEY.pack_into(self._table, slot.bucket + number * _KEY.size, slot.key)
        _ROW.pack_into(self._table, _row_offset(slot, number), *row)

    def mark_acquired(self, slot: TableSlot, number: int, row: LimitRow) -> None:
        """The permit was taken; the row already has the key, and nobody waits any more."""
        _ACQUIRE_FIELDS.pack_into(self._table, _row_offset(slot, number), *row[:5])

    def mark_released(self, slot: TableSlot, number: int, free_at: float, acquired_at: float) -> None:
        """Record that the request was answered. The row already has the key, and `acquired_at` does not change."""
        _RELEASE_FIELDS.pack_into(self._table, _row_offset(slot, number), free_at, acquired_at, 0.0)

    def mark_waiting(self, slot: TableSlot, number: int, owner: int) -> None:
        _KEY.pack_into(self._table, _row_offset(slot, number) + _WAITING_OFFSET, owner)

    def close(self) -> None:
        self._table.close()


def _row_offset(slot: TableSlot, number: int) -> int:
    return slot.bucket + _KEYS.size + number * _ROW.size
