"""The state of feeding the parser, in memory shared by Python and the native code; see `parser`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final, TypeAlias

FED, FAILED, HANDED_BACK = 0, 1, 2
"""Results: a check is due or all is fed; the parser failed; Python continues from here, because more is open than the
native code counts."""

_pointer, _size = ctypes.c_void_p, ctypes.c_size_t

_OF_LEXBOR: Final = (
    *("process", "parser", "token", "attributes", "open_elements", "formatting", "formatting_list", "marker"),
)
_LIMITS: Final = (
    *("piece_bytes", "small_piece_bytes", "least_bytes", "piece_steps", "few_open", "formatting_steps"),
    *("rebuilt_bytes", "many_chunks", "too_many_chunks", "check_every_bytes", "max_depth", "max_attributes"),
    *("max_tree_bytes", "chunk_bytes", "token_attribute_bytes"),
)


class Feed(ctypes.Structure):
    """One parser and its page. `native/feed.c` has the same fields."""

    _fields_ = (
        *((name, _pointer) for name in _OF_LEXBOR),
        ("first_attribute", _size),
        *((name, _size) for name in _LIMITS),
        ("html", ctypes.c_char_p),
        ("chunks", _pointer),
        *((name, _size) for name in ("end", "at", "look_at", "tag_before")),
        *((name, _size) for name in ("rebuilt_count", "rebuilt_last", "rebuilt_weight")),
        *((name, _size) for name in ("checked_tag", "attributes_before")),
        *((name, ctypes.c_double) for name in ("quiet_seconds", "quiet_until")),
    )
    process: int
    """A function of lexbor; the fields up to `marker` are addresses of its counters."""
    parser: int
    token: int
    attributes: int
    open_elements: int
    formatting: int
    formatting_list: int
    marker: int
    first_attribute: int
    """Offset in a token, in pointers."""
    piece_bytes: int
    small_piece_bytes: int
    least_bytes: int
    piece_steps: int
    few_open: int
    formatting_steps: int
    rebuilt_bytes: int
    many_chunks: int
    too_many_chunks: int
    check_every_bytes: int
    max_depth: int
    max_attributes: int
    max_tree_bytes: int
    chunk_bytes: int
    token_attribute_bytes: int
    html: bytes
    chunks: int
    end: int
    at: int
    """Bytes fed so far."""
    look_at: int
    """The next check is due after this many bytes."""
    tag_before: int
    rebuilt_count: int
    """At the last measurement: the number of formatting elements, the last one, and their weight."""
    rebuilt_last: int
    rebuilt_weight: int
    checked_tag: int
    """At the last check: the current tag, and the attributes of all tags when it was first seen."""
    attributes_before: int
    quiet_seconds: float
    """The native code need not have the time checked before this much has passed."""
    quiet_until: float

    def begin(self, html: bytes, chunks: int, quiet_seconds: float) -> None:
        self.html, self.chunks, self.look_at, self.end = html, chunks, self.check_every_bytes, len(html)
        self.at = self.tag_before = self.rebuilt_count = self.rebuilt_last = self.rebuilt_weight = 0
        self.checked_tag = self.attributes_before = 0
        self.quiet_seconds = quiet_seconds


Feeder: TypeAlias = Callable[[int], int]
"""Feeds in native code: takes the address of a `Feed`, returns one of the results above."""
