"""A sitemap's bytes: decompressed, size-limited and converted to UTF-8, piece by piece."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | memoryview

PIECE_BYTES: Final = 64 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 1_000
"""Gzip members: each needs a decoder, and a million empty ones would take seconds."""
_DECLARATION_BYTES = 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, which has the same prefix
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
_UTF16_STARTS = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_DECLARED_ENCODING = re.compile(rb"""\A\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# Python codec names. Python has other codecs that are not text encodings.
_ENCODINGS = frozenset({
    "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "ascii", "big5", "cp932", "cp949", "euc_jp", "euc_kr", "gb18030",
    "gb2312", "gbk", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "shift_jis", "tis-620",
    *(f"iso8859-{part}" for part in range(1, 17)), *(f"cp{page}" for page in (866, 874, *range(1250, 1259))),
})  # fmt: skip


class ReadStopped(Exception):
    """Reading stopped; the message says why."""


class SitemapTooLarge(ReadStopped):
    """It exceeds the size limit."""


def decompress(body: bytes, max_bytes: int) -> Iterator[Bytes]:
    """The body in pieces, gzip decompressed. Raises `ReadStopped` after the last valid piece."""
    given = 0
    for piece in _inflate(body) if body.startswith(GZIP_MAGIC) else _split_pieces(body):
        remaining = max_bytes - given
        yield piece[:remaining]
        given += len(piece)
        if given > max_bytes:
            raise SitemapTooLarge(f"larger than {max_bytes:,} bytes: the rest was not read")


def _split_pieces(body: bytes, start: int = 0) -> Iterator[memoryview]:
    view = memoryview(body)
    for at in range(start, len(body), PIECE_BYTES):
        yield view[at : at + PIECE_BYTES]


def _inflate(body: bytes) -> Iterator[bytes]:
    """Every member of a gzip file; anything after the last one is padding."""
    start = 0
    for _ in range(_MAX_MEMBERS):
        stream = zlib.decompressobj(_GZIP)
        for packed in _split_pieces(body, start):
            yield from _inflate_piece(stream, packed)
            start += len(packed)
            if stream.eof:
                break
        if not stream.eof:
            raise ReadStopped("the gzip file is cut short")
        start -= len(stream.unused_data)
        if not body.startswith(GZIP_MAGIC, start):
            return
    raise ReadStopped(f"a gzip file of more than {_MAX_MEMBERS:,} parts")


def _inflate_piece(stream: zlib._Decompress, packed: Bytes) -> Iterator[bytes]:
    """Decompress in pieces of limited size, so that the caller can stop a decompression bomb."""
    while packed:
        try:
            piece = stream.decompress(packed, PIECE_BYTES)
        except zlib.error:
            raise ReadStopped("the gzip file is damaged") from None
        if piece:
            yield piece
        packed = stream.unconsumed_tail


def first_bytes(body: bytes, max_bytes: int) -> bytes:
    """The first bytes, gzip decompressed, reading at most a few times `max_bytes`; empty if damaged."""
    if not body.startswith(GZIP_MAGIC):
        return body[:max_bytes]
    try:
        return zlib.decompressobj(_GZIP).decompress(body[: 2 * max_bytes], max_bytes)
    except zlib.error:
        return b""


# ---- UTF-8 ------------------------------------------------------------------------------------------------


def strip_leading_space(pieces: Iterable[Bytes]) -> Iterator[Bytes]:
    """Without white space before the first character; XML must begin with its declaration, and often does not."""
    rest = iter(pieces)
    for piece in rest:
        begun = bytes(piece).lstrip()
        if begun:
            yield begun
            yield from rest


def detect_encoding(opening: bytes, content_type: str | None) -> tuple[str, str]:
    """By byte order mark, XML declaration or header; second, the name of an unknown encoding, else empty."""
    for mark, encoding in (*_BOMS, *_UTF16_STARTS):
        if opening.startswith(mark):
            return encoding, ""
    declared = _DECLARED_ENCODING.match(opening[:_DECLARATION_BYTES])
    sent = _CHARSET.search(content_type or "")
    label = declared[1].decode("ascii") if declared else sent[1] if sent else "utf-8"
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        return "utf-8", label
    if encoding == "utf-16":  # declared in single bytes, so it cannot be UTF-16
        return "utf-8", ""
    return (encoding, "") if encoding in _ENCODINGS else ("utf-8", label)


def to_utf8(pieces: Iterable[Bytes], encoding: str, *, is_strict: bool) -> Iterator[Bytes]:
    """The pieces in UTF-8 without a byte order mark. UTF-8 is passed through when `is_strict`."""
    rest = iter(pieces)
    first = bytes(next(rest, b""))
    for mark, marked in _BOMS:
        if marked == encoding and first.startswith(mark):
            first = first[len(mark) :]
    pieces = chain([first], rest)
    if is_strict and encoding in ("utf-8", "utf-8-sig"):
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(bytes(piece)).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")
