"""The type of a body: HTML to parse, plain text to keep, or something that only claims to be one of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

MediaKind = Literal["html", "text", "other"]

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"GIF8", "GIF image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip stream"),
    (b"BZh", "bzip2 stream"),
    (b"\xfd7zXZ\x00", "xz stream"),
    (b"\x28\xb5\x2f\xfd", "zstd stream"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"OggS", "Ogg stream"),
    (b"ID3", "MP3 audio"),
    (b"\x7fELF", "program"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office document"),
)
_SIGNATURES = tuple(magic for magic, _ in _MAGIC)
_RIFF = ((b"WEBP", "WebP image"), (b"WAVE", "WAVE audio"), (b"AVI ", "AVI video"))
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_UNKNOWN_TYPES = frozenset(("unknown/unknown", "application/unknown", "*/*"))
# The openings of HTML in the WHATWG MIME Sniffing standard, and a few others that are plainly markup of a page.
_HTML_OPENINGS = tuple(
    b"<" + name
    for name in (
        b"!doctype html", b"html", b"head", b"script", b"iframe", b"h1", b"div", b"font", b"table", b"a ", b"a>",
        b"style", b"title", b"b>", b"body", b"br", b"p>", b"p ", b"!--", b"meta", b"link", b"main", b"article",
    )
)  # fmt: skip
_SNIFF_BYTES = 1445
# Never part of text; tab, line breaks, form feed and escape are excluded, as in the standard.
_BINARY_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class SniffResult(NamedTuple):
    """The type of a body, and the reason."""

    kind: MediaKind
    reason: str


def sniff_media(body: bytes, content_type: str | None) -> SniffResult:
    """Classify a body by its declared type and its beginning; bytes that are certainly binary win."""
    if not body:
        return SniffResult("other", "empty body")
    declared = (content_type or "").partition(";")[0].strip().lower()
    shape = binary_format(body)
    if shape:
        return SniffResult("other", f"{shape} sent as {declared}" if declared else shape)
    if declared in _HTML_TYPES:
        return SniffResult("html", declared)
    if declared == "text/plain":
        return SniffResult("text", declared)
    if "/" in declared and declared not in _UNKNOWN_TYPES:
        return SniffResult("other", f"{declared} is not supported")
    return _sniff_undeclared(body)


def binary_format(body: bytes) -> str:
    """The binary format whose signature the body starts with; empty when there is none."""
    if body.startswith(_SIGNATURES):
        return next(name for magic, name in _MAGIC if body.startswith(magic))
    if body.startswith(b"RIFF"):
        return next((name for mark, name in _RIFF if body[8:12] == mark), "RIFF file")
    return "MP4 video" if body[4:8] == b"ftyp" else ""


def _sniff_undeclared(body: bytes) -> SniffResult:
    start = body[:_SNIFF_BYTES]
    if start.startswith(_UTF16_BOMS):
        start = start[2:].replace(b"\0", b"")
    opening = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\x0c\r ")[:32].lower()
    if opening.startswith(_HTML_OPENINGS):
        return SniffResult("html", "no type declared; it starts like HTML")
    if opening.startswith(b"<?xml"):
        if b"<html" in start.lower():
            return SniffResult("html", "no type declared; it starts like XHTML")
        return SniffResult("other", "no type declared; it starts like XML")
    if len(start.translate(None, _BINARY_BYTES)) != len(start):
        return SniffResult("other", "no type declared; it contains binary bytes")
    return SniffResult("text", "no type declared; it reads like plain text")
