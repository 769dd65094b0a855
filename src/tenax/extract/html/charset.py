"""Decodes bytes in the WHATWG order: byte order mark, header, `<meta>`, then detection.

A declaration that the bytes contradict is ignored: text declared as UTF-8 that is mostly not, and bytes declared as an
old single-byte encoding that are valid UTF-8. Decoding always succeeds: invalid bytes are replaced, nothing is raised.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from tenax.extract.html.charset_detection import detect_encoding
from tenax.extract.html.charset_labels import LABELS, UTF_8, WINDOWS_1252, Encoding, find_encoding
from tenax.model import Value

CharsetSource = Literal["bom", "header", "meta", "utf8", "detected", "fallback"]

_PRESCAN_BYTES = 1024
_LATE_PRESCAN_BYTES = 16_384
"""A `<meta>` within this many bytes counts when the bytes are not UTF-8; browsers, too, find it late."""
_MAX_ERROR_SHARE = 0.02
"""Invalid characters, as a ratio of those beyond ASCII, up to which a declared UTF-8 is accepted."""

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", LABELS["utf-16be"]), (b"\xff\xfe", LABELS["utf-16le"]))
_CHARSET_PARAMETER = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.I)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.S)
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_META = re.compile(rb"<meta[\s/]([^>]*)", re.I)
_ATTRIBUTE = re.compile(rb"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_MULTI_BYTE = frozenset(("gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"))


class DecodedText(Value, frozen=True):
    """The text of a body, its encoding, and the source of that encoding."""

    text: str
    charset: str
    source: CharsetSource
    utf_8: bytes | None = None
    """The text in UTF-8, when the body was just that; avoids encoding it again."""


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Decode the bytes. Costs one decode when UTF-8 is declared and true."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _decode_as(body[len(bom) :], encoding, "bom")
    declared = _charset_in_header(content_type) if content_type else None
    source: CharsetSource = "header"
    if declared is None:
        declared, source = _charset_in_markup(body[:_PRESCAN_BYTES]), "meta"
    if declared is not None and declared is not UTF_8:
        return _decode_declared(body, declared, source)
    try:
        text = body.decode("utf-8")
        if declared is None:
            return _decode_undeclared(body, text)
        return DecodedText(text, UTF_8.name, source, body)
    except UnicodeDecodeError:
        return _decode_invalid_utf_8(body, source if declared is UTF_8 else None)


def _decode_as(body: bytes, encoding: Encoding, source: CharsetSource) -> DecodedText:
    return DecodedText(body.decode(encoding.codec, "replace"), encoding.name, source)


def _decode_undeclared(body: bytes, text: str) -> DecodedText:
    """Undeclared valid UTF-8: UTF-8, unless it is the Japanese mail encoding, which is ASCII with escapes."""
    detected = detect_encoding(body) if b"\x1b$" in body else None
    if detected is not None and detected.name == "iso-2022-jp":
        return _decode_as(body, detected, "detected")
    return DecodedText(text, UTF_8.name, "utf8", body)


def _decode_declared(body: bytes, declared: Encoding, source: CharsetSource) -> DecodedText:
    """Old single-byte text is never valid UTF-8 by chance; servers often declare it by mistake."""
    if declared.name not in _MULTI_BYTE and not declared.name.startswith("utf-16") and not body.isascii():
        try:
            return DecodedText(body.decode("utf-8"), UTF_8.name, "utf8", body)
        except UnicodeDecodeError:
            pass
    return _decode_as(body, declared, source)


def _decode_invalid_utf_8(body: bytes, declared_by: CharsetSource | None) -> DecodedText:
    """Bytes that are not valid UTF-8, whether or not declared as such."""
    if declared_by is not None:
        text = body.decode("utf-8", "replace")
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
        if text.count("\ufffd") <= max(2, _MAX_ERROR_SHARE * beyond_ascii):
            return DecodedText(text, UTF_8.name, declared_by)
    late = _charset_in_markup(body[:_LATE_PRESCAN_BYTES])
    if late is not None and late is not UTF_8:
        return _decode_as(body, late, "meta")
    detected = detect_encoding(body)
    if detected is not None:
        return _decode_as(body, detected, "detected")
    if declared_by is not None:
        return _decode_as(body, UTF_8, declared_by)
    return _decode_as(body, WINDOWS_1252, "fallback")


@lru_cache(maxsize=256)
def _charset_in_header(content_type: str) -> Encoding | None:
    found = _CHARSET_PARAMETER.search(content_type)
    return find_encoding(found[1] or found[2] or found[3] or "") if found else None


def _charset_in_markup(start: bytes) -> Encoding | None:
    """The first encoding in a `<meta>` or an XML declaration, comments ignored."""
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    for meta in _META.finditer(start):
        label = _charset_in_meta(meta[1])
        encoding = find_encoding(label) if label else None
        if encoding is not None:
            # A page whose <meta> can be read as ASCII is not UTF-16, whatever it declares.
            return UTF_8 if encoding.name.startswith("utf-16") else encoding
    xml = _XML_DECLARATION.match(start)
    return find_encoding(xml[1].decode("ascii")) if xml else None


def _charset_in_meta(source: bytes) -> str:
    attributes: dict[bytes, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        attributes.setdefault(name.lower(), (double or single or bare).decode("ascii", "replace"))
    if b"charset" in attributes:
        return attributes[b"charset"]
    if attributes.get(b"http-equiv", "").strip().lower() == "content-type":
        found = _CHARSET_PARAMETER.search(attributes.get(b"content", ""))
        return (found[1] or found[2] or found[3] or "") if found else ""
    return ""
