"""Text of strangers where lines are counted, terminals listen and shells are typed into: written with escapes.

`tenax.logs.plain` takes out what is unsafe, for people. Here nothing is lost: a program reads back what was there.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import Any, Final

UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or turn text around
    "\U000e0000-\U000e007f"  # tag characters: invisible copies of ASCII
)
"""What steers a terminal, is not seen, or ends a line for some readers; as within the brackets of a pattern."""


def escape_json(document: bytes) -> bytes:
    """JSON in UTF-8 that means the same, with escapes for all that is `UNSAFE`. One line stays one for every reader."""
    if document.isascii() and b"\x7f" not in document:
        return document  # other controls must not stand in JSON
    unsafe = _unsafe_bytes()
    if unsafe.search(document.translate(None, _HARMLESS)) is None:
        return document
    return bytes(_unsafe_text().sub(lambda match: _in_json(match.group()), document))


def _in_json(char: bytes) -> bytes:
    return json.dumps(char.decode())[1:-1].encode()


# In UTF-8. Most of a text can be left out before it is searched, and that is quicker: bytes that begin no unsafe
# character. What follows such a byte stays behind, and stands after whole characters.
_FIRST_BYTES: Final = frozenset(b"\x7f\xc2\xd8\xe1\xe2\xef\xf3")
_HARMLESS: Final = bytes(byte for byte in range(256) if not 0x80 <= byte < 0xC0 and byte not in _FIRST_BYTES)


@cache
def _unsafe_text() -> Any:
    return _compiled(f"[{UNSAFE}]".encode(), is_utf8=True)


@cache
def _unsafe_bytes() -> Any:
    """The same, where only whole characters and loose bytes of others are left."""
    return _compiled(
        rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
        rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81]",
        is_utf8=False,
    )


def _compiled(pattern: bytes, *, is_utf8: bool) -> Any:
    import re2  # imported when it is first needed: most commands write no JSON

    encoding = re2.Options.Encoding
    options = re2.Options()
    options.encoding = encoding.UTF8 if is_utf8 else encoding.LATIN1
    return re2.compile(pattern, options)


def shell_word(word: str) -> str:
    """A word as a shell reads it, on one line and inert: `$'…'` where it holds what no terminal should see."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_in_shell, word)) + "'"


def _in_shell(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    # Three octal digits end there, whatever follows.
    return f"\\{code:03o}" if code < 0x80 else f"\\U{code:08x}"
