"""Titles as plain text."""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import suppress
from html import unescape
from html.entities import html5
from typing import Final

TEXT: Final = "text/plain"
XHTML: Final = "application/xhtml+xml"
HTML: Final = frozenset({"text/html", XHTML})
_SHORT_TYPES: Final = {"text": TEXT, "plain": TEXT, "html": "text/html", "xhtml": XHTML}

HIDDEN_TAGS: Final = frozenset({"script", "style", "applet"})
_HIDDEN_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|applet)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<[!?][^<>]*>")
_TAG_NAME = re.compile(r"</?(\w+)")
_REFERENCE = re.compile(r"&(#?)(\w+);")
_CLOSING = re.compile(r"</\w+>")
_HTML_TAG = re.compile(
    r"a|abbr|acronym|address|area|article|aside|audio|b|big|blockquote|br|button|canvas|caption|center|cite|code|col"
    r"|colgroup|dd|del|details|dfn|dialog|dir|div|dl|dt|em|fieldset|figcaption|figure|font|footer|form|h[1-6r]|header|i"
    r"|img|input|ins|kbd|label|legend|li|map|menu|meter|nav|noscript|ol|optgroup|option|output|p|pre|progress|q|s|samp"
    r"|section|select|small|source|span|strike|strong|sub|sup|table|tbody|td|textarea|tfoot|th|thead|time|tr|tt|u|ul"
    r"|var|video",
    re.IGNORECASE,
)
_WINDOWS_1252: Final = {
    number: bytes([number]).decode("windows-1252")
    for number in range(128, 160)
    if number not in (129, 141, 143, 144, 157)
}


def parse_content_type(written: str) -> str:
    lowered = written.strip().lower()
    return _SHORT_TYPES.get(lowered, lowered)


def is_base64(content_type: str, mode: str) -> bool:
    """Atom encodes content that is neither text nor XML in base64; Atom 0.3 declares it."""
    return mode == "base64" or not (content_type.startswith("text/") or content_type.endswith(("+xml", "/xml")))


def decode_base64(packed: str) -> str:
    """Decode base64; other text is returned unchanged."""
    try:
        return base64.b64decode(packed.encode()).decode()
    except (binascii.Error, ValueError):
        return packed


def to_plain_title(value: str, content_type: str, *, is_atom: bool) -> str:
    """One line of text. RSS does not say whether a title is HTML, so there it is if it looks like HTML."""
    if content_type == "text/html" or (not is_atom and content_type == TEXT and looks_like_html(value)):
        value = strip_html(value)
    return to_one_line(value)


def to_one_line(value: str) -> str:
    return " ".join(_fix_encoding(value).split())


def looks_like_html(value: str) -> bool:
    """Whether it has a closing tag or a character reference, and only tags of HTML."""
    if "</" not in value and "&" not in value:
        return False
    references = _REFERENCE.findall(value)
    if not references and not _CLOSING.search(value):
        return False
    if not all(_HTML_TAG.fullmatch(name) for name in _TAG_NAME.findall(value)):
        return False
    return all(number or f"{name};" in html5 for number, name in references)


def strip_html(value: str) -> str:
    if "<" in value:
        value = _TAG.sub("", _HIDDEN_MARKUP.sub("", value))
    return unescape(value) if "&" in value else value


def _fix_encoding(value: str) -> str:
    """Undo two common errors: UTF-8 encoded twice, and windows-1252 declared as ISO 8859-1."""
    if value.isascii():
        return value
    with suppress(UnicodeError):
        value = value.encode("iso-8859-1").decode("utf-8")
    return value.translate(_WINDOWS_1252)
