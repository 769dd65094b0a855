"""A sitemap's bytes on their way in: unpacked, bounded, and in UTF-8, a piece at a time."""

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
_MOST_MEMBERS = 1_000
"""Of a gzip file: each costs a decoder, and a million empty ones would cost seconds."""
_OPENING_BYTES = 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # it begins like the next one
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
_WITHOUT_BOM = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_DECLARED = re.compile(rb"""\A\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# By the names of Python's codecs. It has others that are no encodings of text at all.
_ENCODINGS = frozenset({
    "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "ascii", "big5", "cp932", "cp949", "euc_jp", "euc_kr", "gb18030",
    "gb2312", "gbk", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "shift_jis", "tis-620",
    *(f"iso8859-{part}" for part in range(1, 17)), *(f"cp{page}" for page in (866, 874, *range(1250, 1259))),
})  # fmt: skip


class Cut(Exception):
    """No more of it is read, and this is why, in words."""


class TooLarge(Cut):
    """It is larger than may be read."""


def unpacked(body: bytes, max_bytes: int) -> Iterator[Bytes]:
    """The body in pieces, gzip undone. Raises `Cut` behind the last piece that can be given."""
    given = 0
    for piece in _inflated(body) if body.startswith(GZIP_MAGIC) else _slices(body):
        room = max_bytes - given
        yield piece[:room]
        given += len(piece)
        if given > max_bytes:
            raise TooLarge(f"larger than {max_bytes:,} bytes: the rest was not read")


def _slices(body: bytes, start: int = 0) -> Iterator[memoryview]:
    view = memoryview(body)
    for at in range(start, len(body), PIECE_BYTES):
        yield view[at : at + PIECE_BYTES]


def _inflated(body: bytes) -> Iterator[bytes]:
    """Every member of a gzip file; what follows the last one is padding."""
    start = 0
    for _ in range(_MOST_MEMBERS):
        stream = zlib.decompressobj(_GZIP)
        for packed in _slices(body, start):
            yield from _steps(stream, packed)
            start += len(packed)
            if stream.eof:
                break
        if not stream.eof:
            raise Cut("the gzip file is cut short")
        start -= len(stream.unused_data)
        if not body.startswith(GZIP_MAGIC, start):
            return
    raise Cut(f"a gzip file of more than {_MOST_MEMBERS:,} parts")


def _steps(stream: zlib._Decompress, packed: Bytes) -> Iterator[bytes]:
    """What these bytes unpack to, never more than a piece at once: a bomb is stopped by whoever counts the pieces."""
    while packed:
        try:
            piece = stream.decompress(packed, PIECE_BYTES)
        except zlib.error:
            raise Cut("the gzip file is damaged") from None
        if piece:
            yield piece
        packed = stream.unconsumed_tail


def opening_of(body: bytes, most: int) -> bytes:
    """The first bytes, gzip undone, at most a few times `most` of them looked at; empty when it is damaged."""
    if not body.startswith(GZIP_MAGIC):
        return body[:most]
    try:
        return zlib.decompressobj(_GZIP).decompress(body[: 2 * most], most)
    except zlib.error:
        return b""


# ---- UTF-8 ------------------------------------------------------------------------------------------------


def from_its_start(pieces: Iterable[Bytes]) -> Iterator[Bytes]:
    """Without the white space before the first sign; XML must begin with its declaration, and often does not."""
    rest = iter(pieces)
    for piece in rest:
        begun = bytes(piece).lstrip()
        if begun:
            yield begun
            yield from rest


def encoding_of(opening: bytes, content_type: str | None) -> tuple[str, str]:
    """By the mark, the XML declaration or the header; and the name of one that nobody knows, else an empty text."""
    for mark, encoding in (*_BOMS, *_WITHOUT_BOM):
        if opening.startswith(mark):
            return encoding, ""
    declared = _DECLARED.match(opening[:_OPENING_BYTES])
    sent = _CHARSET.search(content_type or "")
    label = declared[1].decode("ascii") if declared else sent[1] if sent else "utf-8"
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        return "utf-8", label
    if encoding == "utf-16":  # it says so in single bytes, which UTF-16 is not
        return "utf-8", ""
    return (encoding, "") if encoding in _ENCODINGS else ("utf-8", label)


def in_utf8(pieces: Iterable[Bytes], encoding: str, *, strictly: bool) -> Iterator[Bytes]:
    """The pieces in UTF-8 and without a mark. UTF-8 itself is handed on untouched when `strictly`."""
    rest = iter(pieces)
    first = bytes(next(rest, b""))
    for mark, marked in _BOMS:
        if marked == encoding and first.startswith(mark):
            first = first[len(mark) :]
    pieces = chain([first], rest)
    if strictly and encoding in ("utf-8", "utf-8-sig"):
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(bytes(piece)).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")
