"""The bytes of a feed as text: byte order mark, then what is declared, then what fits."""

from __future__ import annotations

import codecs
import re
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
_BEGINNINGS: Final = (
    (b"\x4c\x6f\xa7\x94", "cp037"),
    (b"\x00\x3c\x00\x3f", "utf-16-be"),
    (b"\x3c\x00\x3f\x00", "utf-16-le"),
    (b"\x00\x00\x00\x3c", "utf-32-be"),
    (b"\x3c\x00\x00\x00", "utf-32-le"),
)
"""`<?xm` in encodings that do not agree with ASCII (XML 1.0, appendix F)."""
_DECLARED = re.compile(r"""\s*<\?xml[^>]{0,400}?\sencoding\s*=\s*["']([^"'>]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^"';,\s]{1,40})""", re.IGNORECASE)
_WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030"}
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "utf-7"})
"""Python calls them encodings; no feed is written in them, and some take the square of the length."""
_GUESSES: Final = ("utf-8", "windows-1252", "iso-8859-2")
"""Strict ones first; the last takes any bytes."""
_MOST_DECLARATION: Final = 1024


def decoded(body: bytes, content_type: str | None) -> tuple[str, str]:
    """The text, and the encoding that fits where it is not the declared one."""
    mark, length = _mark_of(body)
    payload = body[length:] if length else body
    header = _CHARSET.search(content_type or "")
    top = payload[:_MOST_DECLARATION].decode(mark or "latin-1", "replace")
    declared = _DECLARED.match(top)
    wanted = mark or _name(header[1] if header else "") or _name(declared[1] if declared else "") or "utf-8"
    for charset in (wanted, _name(declared[1]) if declared else "", *_GUESSES):
        if charset:
            try:
                return payload.decode(charset), "" if charset == wanted else charset
            except UnicodeError:
                continue
    raise AssertionError("ISO 8859-2 takes any bytes")


def _mark_of(body: bytes) -> tuple[str, int]:
    """The encoding that the first bytes give away, and how many of them are a mark."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return charset, len(mark)
    return next((charset for beginning, charset in _BEGINNINGS if body.startswith(beginning)), ""), 0


def _name(written: str) -> str:
    """The encoding as Python knows it; empty when there is none of that name."""
    try:
        name = codecs.lookup(_WIDER.get(written.lower(), written)).name if written else ""
    except (LookupError, ValueError):
        return ""
    return "" if name in _NO_CHARSETS else name
