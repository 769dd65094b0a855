"""The table of shared turns as bytes: where the line of a key is, and what stands in it.

It has a fixed size. A key hashes to a bucket of 16 lines; a new key takes the line in it that passed first. A line
whose time lies ahead is never given away: when all 16 do, the new key waits for the first of them.
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
# A bucket: the keys of its lines, then the lines.
_KEYS = struct.Struct(f"={_ROWS_PER_BUCKET}Q")
_KEY = struct.Struct("=Q")
_ROW = struct.Struct(f"={_FIELDS}")
_BUCKET_ROWS = struct.Struct(f"={_FIELDS * _ROWS_PER_BUCKET}")
_PERMIT_FIELDS = struct.Struct("=dddQQ")  # how a line begins: with what a turn changes
_WAITING_OFFSET = struct.calcsize("=dddQ")
BUCKET_BYTES = _KEYS.size + _BUCKET_ROWS.size
TABLE_BYTES = _BUCKETS * BUCKET_BYTES

_OTHER_BOOT_SECONDS = 60.0
"""A line taken this far ahead of now was taken before the machine was started again, and means nothing."""


class LimitRow(NamedTuple):
    """What is known of a key. All times are the machine's."""

    free_at: float = 0.0
    """A pace after the last request began, or was answered."""
    acquired_at: float = 0.0
    busy_until: float = 0.0
    """How long the request in flight may take at most; 0 when there is none."""
    acquired_by: int = 0
    waiting_owner: int = 0
    """Who came in vain since then."""
    backoff_until: float = 0.0
    """Its host asked for this; no end of a request makes it shorter."""
    pace_seconds: float = 0.0
    """What `owner` has learned to keep, for everyone."""
    pace_until: float = 0.0
    owner: int = 0

    @property
    def available_at(self) -> float:
        return max(self.free_at, self.busy_until, self.backoff_until)


class TableSlot(NamedTuple):
    """Where in the table a key belongs."""

    key: int
    bucket: int


@lru_cache(maxsize=8192)
def key_slot(key: str) -> TableSlot:
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
    return TableSlot(number, number % _BUCKETS * BUCKET_BYTES)


class Table:
    """Reads and writes lines. Whoever calls it holds the lock on the bucket."""

    def __init__(self, table: mmap) -> None:
        self._table = table

    def find(self, slot: TableSlot, at: float, excluded: Sequence[int] = ()) -> tuple[int, LimitRow | None, float]:
        """The line of this key, or None and the number of one that it may have; and from when on."""
        keys = _KEYS.unpack_from(self._table, slot.bucket)
        too_far = at + _OTHER_BOOT_SECONDS
        if slot.key in keys:
            number = keys.index(slot.key)
            line = LimitRow._make(_ROW.unpack_from(self._table, _row_offset(slot, number)))
            return (number, line, line.available_at) if line.acquired_at <= too_far else (number, None, 0.0)
        fields = _BUCKET_ROWS.unpack_from(self._table, slot.bucket + _KEYS.size)
        times = zip(*(fields[start :: len(_FIELDS)] for start in (0, 1, 2, 5)), range(_ROWS_PER_BUCKET), strict=True)
        opens_at, number = min(
            (max(free_at, busy_until, rest_until) if taken_at <= too_far else 0.0, number)
            for free_at, taken_at, busy_until, rest_until, number in times
            if number not in excluded
        )
        return number, None, opens_at

    def write(self, slot: TableSlot, number: int, row: LimitRow) -> None:
        # The key goes first: whoever is killed in between leaves a line that is free, and has sent nothing.
        _KEY.pack_into(self._table, slot.bucket + number * _KEY.size, slot.key)
        _ROW.pack_into(self._table, _row_offset(slot, number), *row)

    def update_permit(
        self,
        slot: TableSlot,
        number: int,
        free_at: float,
        acquired_at: float,
        busy_until: float,
        acquired_by: int,
        waiting_owner: int,
    ) -> None:
        """Only what a turn changes in a line that is the key's already."""
        _PERMIT_FIELDS.pack_into(
            self._table, _row_offset(slot, number), free_at, acquired_at, busy_until, acquired_by, waiting_owner
        )

    def mark_waiting(self, slot: TableSlot, number: int, owner: int) -> None:
        _KEY.pack_into(self._table, _row_offset(slot, number) + _WAITING_OFFSET, owner)

    def close(self) -> None:
        self._table.close()


def _row_offset(slot: TableSlot, number: int) -> int:
    return slot.bucket + _KEYS.size + number * _ROW.size
