"""Escapes untrusted text for line-based output, terminals and shells.

`tenax.logs.sanitize_text` removes what is unsafe, for people. Here nothing is lost: a program can read the original
back.
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
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or reverse text
    "\U000e0000-\U000e007f"  # tag characters: invisible copies of ASCII
)
"""Characters that control a terminal, are invisible, or end a line for some readers; as in a regex character class."""


PIECE_BYTES: Final = 16_384
"""Escaped at a time: escaping takes far more memory than its output."""


def escape_json(document: bytes) -> bytes:
    """Equivalent JSON in UTF-8, with escapes for everything `UNSAFE`. One line stays one line for every reader."""
    return b"".join(escape_pieces(document)) if _has_unsafe(document) else document


def escape_pieces(document: bytes) -> Iterator[bytes]:
    """The same in pieces of whole characters, for streaming."""
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
        return False  # other controls are invalid in JSON
    return _unsafe_bytes_pattern().search(document.translate(None, _HARMLESS)) is not None


@cache
def _escape_table() -> dict[int, str]:
    """The escape of each unsafe character."""
    spans = re.findall("(.)(?:-(.))?", UNSAFE, re.DOTALL)
    codes = (code for first, last in spans for code in range(ord(first), ord(last or first) + 1))
    return {code: json.dumps(chr(code))[1:-1] for code in codes}


# In UTF-8. Most of a text can be skipped before the search, which is faster: bytes that begin no unsafe character.
# Bytes that follow such a byte remain, after whole characters.
_FIRST_BYTES: Final = frozenset(b"\x7f\xc2\xd8\xe1\xe2\xef\xf3")
_HARMLESS: Final = bytes(byte for byte in range(256) if not 0x80 <= byte < 0xC0 and byte not in _FIRST_BYTES)


@cache
def _unsafe_bytes_pattern() -> Any:
    """`UNSAFE` for input in which only whole characters and stray bytes of others are left."""
    import re2  # imported on first use: most commands write no JSON

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(
        rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
        rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81]",
        options,
    )


def quote_shell_word(word: str) -> str:
    """A word quoted for a shell, on one line and inert: `$'…'` if it contains unsafe characters."""
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
