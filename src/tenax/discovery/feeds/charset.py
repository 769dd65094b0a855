"""Decodes a feed: byte order mark, then the declared encoding, then the first that fits."""

from __future__ import annotations

import codecs
import re
from typing import Final

_BOMS: Final = (
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)
_XML_STARTS: Final = (
    (b"\x4c\x6f\xa7\x94", "cp037"),
    (b"\x00\x3c\x00\x3f", "utf-16-be"),
    (b"\x3c\x00\x3f\x00", "utf-16-le"),
    (b"\x00\x00\x00\x3c", "utf-32-be"),
    (b"\x3c\x00\x00\x00", "utf-32-le"),
)
"""`<?xm` in encodings that are not ASCII-compatible (XML 1.0, appendix F)."""
_DECLARED_ENCODING = re.compile(r"""\s*<\?xml[^>]{0,400}?\sencoding\s*=\s*["']([^"'>]{1,40})["']""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^"';,\s]{1,40})""", re.IGNORECASE)
_SUPERSET_CHARSETS: Final = {"gb2312": "gb18030", "gbk": "gb18030"}
_NO_CHARSETS: Final = frozenset({"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "utf-7"})
"""Python encodings that no feed uses; some take quadratic time."""
_FALLBACK_CHARSETS: Final = ("utf-8", "windows-1252", "iso-8859-2")
"""Strict ones first; the last accepts any bytes."""
_MAX_DECLARATION_BYTES: Final = 1024


def decode_feed(body: bytes, content_type: str | None) -> tuple[str, str]:
    """The text, and the encoding used if it is not the declared one."""
    mark, length = _detect_bom(body)
    payload = body[length:] if length else body
    header = _CHARSET.search(content_type or "")
    top = payload[:_MAX_DECLARATION_BYTES].decode(mark or "latin-1", "replace")
    declared = _DECLARED_ENCODING.match(top)
    wanted = mark or _codec_name(header[1] if header else "") or _codec_name(declared[1] if declared else "") or "utf-8"
    for charset in (wanted, _codec_name(declared[1]) if declared else "", *_FALLBACK_CHARSETS):
        if charset:
            try:
                return payload.decode(charset), "" if charset == wanted else charset
            except UnicodeError:
                continue
    raise AssertionError("ISO 8859-2 accepts any bytes")


def _detect_bom(body: bytes) -> tuple[str, int]:
    """The encoding shown by the first bytes, and the length of the byte order mark."""
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return charset, len(mark)
    return next((charset for beginning, charset in _XML_STARTS if body.startswith(beginning)), ""), 0


def _codec_name(written: str) -> str:
    """The Python name of the encoding; empty if unknown."""
    try:
        name = codecs.lookup(_SUPERSET_CHARSETS.get(written.lower(), written)).name if written else ""
    except (LookupError, ValueError):
        return ""
    return "" if name in _NO_CHARSETS else name
