"""Bytes to text, by the order of the WHATWG: byte order mark, header, `<meta>`, and only then a guess.

A declaration that the bytes themselves refute is passed over: text declared as UTF-8 that is mostly not, and bytes
declared as an old single-byte encoding that are flawless UTF-8. Whatever comes, text comes out: what cannot be read
is replaced, and nothing is raised.
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
"""How far a `<meta>` may stand and still be believed when the bytes are not UTF-8; browsers, too, find it late."""
_MAX_ERROR_SHARE = 0.02
"""Unreadable characters, as a share of those beyond ASCII, that do not yet refute a declared UTF-8."""

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", LABELS["utf-16be"]), (b"\xff\xfe", LABELS["utf-16le"]))
_CHARSET_PARAMETER = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.I)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.S)
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_META = re.compile(rb"<meta[\s/]([^>]*)", re.I)
_ATTRIBUTE = re.compile(rb"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_MULTI_BYTE = frozenset(("gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"))


class DecodedText(Value, frozen=True):
    """The text of a body, the encoding it was read in, and what told us."""

    text: str
    charset: str
    source: CharsetSource
    utf_8: bytes | None = None
    """The text in UTF-8, when the body was just that; spares encoding it again."""


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Read the bytes as text. Costs one decode when UTF-8 is declared and true."""
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
    """Valid UTF-8 that nothing declared: UTF-8, unless it is Japanese mail encoding, which is ASCII with escapes."""
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
    """Bytes that are not valid UTF-8, whether or not they were declared so."""
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
    """The first encoding that a `<meta>` or an XML declaration names, comments aside."""
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    for meta in _META.finditer(start):
        label = _charset_in_meta(meta[1])
        encoding = find_encoding(label) if label else None
        if encoding is not None:
            # A page whose <meta> could be read as ASCII is not in UTF-16, whatever it says.
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
