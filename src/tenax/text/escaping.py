"""Text of strangers where lines are counted, terminals listen and shells are typed into: written with escapes.

`tenax.logs.plain` takes out what is unsafe, for people. Here nothing is lost: a program reads back what was there.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or turn text around
    "\U000e0000-\U000e007f"  # tag characters: invisible copies of ASCII
)
"""What steers a terminal, is not seen, or ends a line for some readers; as within the brackets of a pattern."""


PIECE_BYTES: Final = 16_384
"""Escaped at a time: what is escaped takes far more memory than what is written of it."""


def escape_json(document: bytes) -> bytes:
    """JSON in UTF-8 that means the same, with escapes for all that is `UNSAFE`. One line stays one for every reader."""
    return b"".join(escape_pieces(document)) if _has_unsafe(document) else document


def escape_pieces(document: bytes) -> Iterator[bytes]:
    """The same one after the other, each of whole characters: for those who only pass it on."""
    start, end = 0, len(document)
    while start < end:
        stop = start + PIECE_BYTES
        while stop < end and 0x80 <= document[stop] < 0xC0:  # within a character
            stop -= 1
        piece = document[start:stop]
        yield piece.decode().translate(_escape_table()).encode() if _has_unsafe(piece) else piece
        start = stop


def _has_unsafe(document: bytes) -> bool:
    if document.isascii() and b"\x7f" not in document:
        return False  # other controls must not stand in JSON
    return _unsafe_bytes_pattern().search(document.translate(None, _HARMLESS)) is not None


@cache
def _escape_table() -> dict[int, str]:
    """What is written for each character that is unsafe."""
    spans = re.findall("(.)(?:-(.))?", UNSAFE, re.DOTALL)
    codes = (code for first, last in spans for code in range(ord(first), ord(last or first) + 1))
    return {code: json.dumps(chr(code))[1:-1] for code in codes}


# In UTF-8. Most of a text can be left out before it is searched, and that is quicker: bytes that begin no unsafe
# character. What follows such a byte stays behind, and stands after whole characters.
_FIRST_BYTES: Final = frozenset(b"\x7f\xc2\xd8\xe1\xe2\xef\xf3")
_HARMLESS: Final = bytes(byte for byte in range(256) if not 0x80 <= byte < 0xC0 and byte not in _FIRST_BYTES)


@cache
def _unsafe_bytes_pattern() -> Any:
    """`UNSAFE` where only whole characters and loose bytes of others are left."""
    import re2  # imported when it is first needed: most commands write no JSON

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(
        rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
        rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81]",
        options,
    )


def quote_shell_word(word: str) -> str:
    """A word as a shell reads it, on one line and inert: `$'…'` where it holds what no terminal should see."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escape_shell_char, word)) + "'"


def _escape_shell_char(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    # Three octal digits end there, whatever follows.
    return f"\\{code:03o}" if code < 0x80 else f"\\U{code:08x}"
