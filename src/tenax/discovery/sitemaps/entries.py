"""How a sitemap is read: its bytes, decompressed and decoded piece by piece, and the fields of its entries."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import Final, Literal, TypeAlias

from tenax.model import Value

Bytes: TypeAlias = bytes | memoryview

PIECE_BYTES: Final = 64 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 1_000
"""Maximum gzip members. Each needs a decoder, and a million empty ones would take seconds."""
_DECLARATION_BYTES = 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # must come before UTF-16, which has the same prefix
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
    """The sitemap exceeds the size limit."""


def decompress(body: bytes, max_bytes: int) -> Iterator[Bytes]:
    """The body in pieces, decompressed if it is gzip. Raises `ReadStopped` after the last valid piece."""
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
    """Every member of a gzip file. Anything after the last one is padding."""
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
    """Decompress in pieces of limited size, so that the caller can stop at a decompression bomb."""
    while packed:
        try:
            piece = stream.decompress(packed, PIECE_BYTES)
        except zlib.error:
            raise ReadStopped("the gzip file is damaged") from None
        if piece:
            yield piece
        packed = stream.unconsumed_tail


def first_bytes(body: bytes, max_bytes: int) -> bytes:
    """The first bytes, decompressed if they are gzip; empty if they are damaged. Reads at most a few times
    `max_bytes`."""
    if not body.startswith(GZIP_MAGIC):
        return body[:max_bytes]
    try:
        return zlib.decompressobj(_GZIP).decompress(body[: 2 * max_bytes], max_bytes)
    except zlib.error:
        return b""


# ---- UTF-8 ------------------------------------------------------------------------------------------------


def strip_leading_space(pieces: Iterable[Bytes]) -> Iterator[Bytes]:
    """The pieces without white space before the first character: XML must begin with its declaration, and often does
    not."""
    rest = iter(pieces)
    for piece in rest:
        begun = bytes(piece).lstrip()
        if begun:
            yield begun
            yield from rest


def detect_encoding(opening: bytes, content_type: str | None) -> tuple[str, str]:
    """The encoding by byte order mark, XML declaration or header; and its name if it is unknown, else empty."""
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
    """The pieces in UTF-8 without a byte order mark. If `is_strict`, UTF-8 is passed through."""
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


SitemapForm: TypeAlias = Literal["urlset", "index", "text", "feed", "none"]
"""The entries of an `index` are sitemaps. `feed` is RSS or Atom used as a sitemap. `none` is not a sitemap."""

CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_YEAR_OR_MONTH = re.compile(r"\d{4}(?:-\d\d)?")
_MAX_DATE_CHARS = 40
_FIRST_SECOND = datetime.min.replace(tzinfo=UTC).timestamp()
_LAST_SECOND = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


class SitemapLimits(Value, frozen=True):
    """How much of one sitemap is read. The first two limits are those of the protocol (sitemaps.org)."""

    max_urls: int = 50_000
    max_decoded_bytes: int = 50 * 1024 * 1024
    max_url_chars: int = 2_048
    max_relative_urls: int = 50_000
    """The protocol allows no relative URLs. Each is extended by the URL of the sitemap."""
    max_alternates: int = 100
    """Maximum per entry. Every page in every language lists all the others, so their number grows quadratically."""


class SitemapEntry(Value, frozen=True, gc=False):
    """A page; in an index, a sitemap. Text is as the site wrote it, so callers must normalize URLs."""

    url: str
    """Without white space. It may be relative, although the protocol does not allow this."""
    lastmod: float | None = None
    changefreq: str = ""
    """A hint: one of `CHANGE_FREQUENCIES`, or empty."""
    priority: float | None = None
    alternates: tuple[str, ...] = ()
    """The same page in other languages (hreflang)."""
    title: str = ""
    """The title of a news article or a feed entry."""
    published: float | None = None
    """When a news article was published."""


class Sitemap(Value, frozen=True):
    """The contents of a sitemap, and the problems with it."""

    form: SitemapForm
    entries: tuple[SitemapEntry, ...] = ()
    problems: tuple[str, ...] = ()
    """Messages for a person. Entries that were read despite problems are kept."""
    left_out: int = 0
    """Entries that were skipped because of a limit, or because they are not web URLs, as far as they were counted."""
    over_limit: int = 0
    """How many of these were beyond `max_urls`."""
    is_too_large: bool = False
    """The sitemap exceeds `max_decoded_bytes`; the rest was not read."""


def clean_url(text: str) -> str:
    """The content of a `loc`, without the line breaks and spaces of editors and templates."""
    return "".join(text.split())


def is_web_url(url: str) -> bool:
    """Whether this may be a web URL. A relative URL counts."""
    return url.startswith(("https://", "http://")) or _has_web_scheme(url)


def _has_web_scheme(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[0].lower() in ("http:", "https:")


def parse_time(text: str) -> float | None:
    """A W3C datetime of any length in seconds since 1970; None if it is invalid. A date without a zone is UTC.

    A space before the time and an offset without a colon are accepted, because both are frequent.
    """
    text = text.strip()
    if len(text) > _MAX_DATE_CHARS or text[4:5] not in ("-", ""):
        return None
    if len(text) <= 7:
        text = {4: f"{text}-01-01", 7: f"{text}-01"}[len(text)] if _YEAR_OR_MONTH.fullmatch(text) else ""
    try:
        return _to_timestamp(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def parse_feed_time(text: str) -> float | None:
    """The date of a feed entry: RFC 822 in RSS, W3C in other formats."""
    found = parse_time(text)
    if found is not None or len(text) > _MAX_DATE_CHARS:
        return found
    try:
        return _to_timestamp(parsedate_to_datetime(text.strip()))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _to_timestamp(date: datetime) -> float | None:
    """The timestamp; None outside of the years 1 to 9999 in UTC, which cannot be formatted again."""
    seconds = (date.replace(tzinfo=UTC) if date.tzinfo is None else date).timestamp()
    return seconds if _FIRST_SECOND <= seconds <= _LAST_SECOND else None


def parse_changefreq(text: str) -> str:
    if text in CHANGE_FREQUENCIES:
        return text
    word = text.strip().lower()
    return word if word in CHANGE_FREQUENCIES else ""


def parse_priority(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None  # NaN fails the comparison
