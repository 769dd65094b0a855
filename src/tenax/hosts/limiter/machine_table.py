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
_LINES = 16
_FIELDS = "dddQQdddQ"  # those of `Line`
# A bucket: the keys of its lines, then the lines.
_KEYS = struct.Struct(f"={_LINES}Q")
_KEY = struct.Struct("=Q")
_LINE = struct.Struct(f"={_FIELDS}")
_ALL_LINES = struct.Struct(f"={_FIELDS * _LINES}")
_TURN = struct.Struct("=dddQQ")  # how a line begins: with what a turn changes
_WAITING_OFFSET = struct.calcsize("=dddQ")
BUCKET_BYTES = _KEYS.size + _ALL_LINES.size
TABLE_BYTES = _BUCKETS * BUCKET_BYTES

_OTHER_BOOT_SECONDS = 60.0
"""A line taken this far ahead of now was taken before the machine was started again, and means nothing."""


class Line(NamedTuple):
    """What is known of a key. All times are the machine's."""

    free_at: float = 0.0
    """A pace after the last request began, or was answered."""
    taken_at: float = 0.0
    busy_until: float = 0.0
    """How long the request in flight may take at most; 0 when there is none."""
    taken_by: int = 0
    waiting: int = 0
    """Who came in vain since then."""
    rest_until: float = 0.0
    """Its host asked for this; no end of a request makes it shorter."""
    pace_seconds: float = 0.0
    """What `owner` has learned to keep, for everyone."""
    pace_until: float = 0.0
    owner: int = 0

    @property
    def opens_at(self) -> float:
        return max(self.free_at, self.busy_until, self.rest_until)


class Place(NamedTuple):
    """Where in the table a key belongs."""

    key: int
    bucket: int


@lru_cache(maxsize=8192)
def place_of(key: str) -> Place:
    number = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")
    return Place(number, number % _BUCKETS * BUCKET_BYTES)


class Table:
    """Reads and writes lines. Whoever calls it holds the lock on the bucket."""

    def __init__(self, table: mmap) -> None:
        self._table = table

    def find(self, place: Place, at: float, besides: Sequence[int] = ()) -> tuple[int, Line | None, float]:
        """The line of this key, or None and the number of one that it may have; and from when on."""
        keys = _KEYS.unpack_from(self._table, place.bucket)
        too_far = at + _OTHER_BOOT_SECONDS
        if place.key in keys:
            number = keys.index(place.key)
            line = Line._make(_LINE.unpack_from(self._table, _offset(place, number)))
            return (number, line, line.opens_at) if line.taken_at <= too_far else (number, None, 0.0)
        fields = _ALL_LINES.unpack_from(self._table, place.bucket + _KEYS.size)
        times = zip(*(fields[start :: len(_FIELDS)] for start in (0, 1, 2, 5)), range(_LINES), strict=True)
        opens_at, number = min(
            (max(free_at, busy_until, rest_until) if taken_at <= too_far else 0.0, number)
            for free_at, taken_at, busy_until, rest_until, number in times
            if number not in besides
        )
        return number, None, opens_at

    def write(self, place: Place, number: int, line: Line) -> None:
        # The key goes first: whoever is killed in between leaves a line that is free, and has sent nothing.
        _KEY.pack_into(self._table, place.bucket + number * _KEY.size, place.key)
        _LINE.pack_into(self._table, _offset(place, number), *line)

    def turn(
        self, place: Place, number: int, free_at: float, taken_at: float, busy_until: float, taken_by: int, waiting: int
    ) -> None:
        """Only what a turn changes in a line that is the key's already."""
        _TURN.pack_into(self._table, _offset(place, number), free_at, taken_at, busy_until, taken_by, waiting)

    def wait(self, place: Place, number: int, who: int) -> None:
        _KEY.pack_into(self._table, _offset(place, number) + _WAITING_OFFSET, who)

    def close(self) -> None:
        self._table.close()


def _offset(place: Place, number: int) -> int:
    return place.bucket + _KEYS.size + number * _LINE.size
