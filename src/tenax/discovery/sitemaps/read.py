"""Reads sitemaps of any form and size, well-formed or not.

A sitemap is a `urlset`, an index of other sitemaps, plain text with one URL per line, or a feed; each may be compressed
with gzip. Nothing here fetches, resolves or admits a URL.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from tenax.discovery.sitemaps.entries import (
    PIECE_BYTES,
    Bytes,
    ReadStopped,
    Sitemap,
    SitemapEntry,
    SitemapForm,
    SitemapLimits,
    SitemapTooLarge,
    decompress,
    detect_encoding,
    first_bytes,
    is_web_url,
    strip_leading_space,
    to_utf8,
)
from tenax.discovery.sitemaps.xml import NotASitemap, NotWellFormed, XmlEntries

__all__ = [
    "Sitemap",
    "SitemapEntry",
    "SitemapLimits",
    "SitemapStream",
    "looks_like_sitemap",
    "read_sitemap",
    "sitemaps_in_robots",
]

DEFAULT_LIMITS = SitemapLimits()
MAX_URL_CHARS = 2_048
_SNIFFED_BYTES = 4_096
_MAX_REPAIRS = 1_000_000
_ROOT = re.compile(
    rb"\s*(?>(?><\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)\s*)*<(?>[\w.-]+:)?(?:urlset|sitemapindex)[\s/>]", re.DOTALL
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_ROBOTS_LINE = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*([^\s#]\S*)", re.IGNORECASE | re.MULTILINE)
# An `&` that does not begin an XML entity. In a CDATA section it is literal.
_BARE_AMPERSAND = re.compile(rb"<!\[CDATA\[[^<]*?\]\]>|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_NON_XML_BYTES = bytes(code for code in range(32) if code not in b"\t\n\r")


def read_sitemap(body: bytes, content_type: str | None = None, limits: SitemapLimits = DEFAULT_LIMITS) -> Sitemap:
    """Read the whole sitemap. Never raises: errors are in `problems`, and entries before an error are kept.

    A sitemap that is not well-formed is read again, with stray `&`, control characters and invalid bytes repaired,
    which are the usual causes.
    """
    first = SitemapStream(body, content_type, limits)
    sitemap = first.read_all()
    if not first.is_broken:
        return sitemap
    again = SitemapStream(body, content_type, limits, should_repair=True)
    repaired = again.read_all()
    if len(repaired.entries) <= len(sitemap.entries):
        return sitemap
    problems = (*sitemap.problems, *(problem for problem in repaired.problems if problem not in sitemap.problems))
    messages = (f"{problems[0]}; read after repairing invalid XML", *problems[1:])
    return Sitemap(
        repaired.form,
        repaired.entries,
        messages,
        left_out=repaired.left_out,
        over_limit=repaired.over_limit,
        is_too_large=repaired.is_too_large,
    )


class SitemapStream:
    """Yields entries one by one, in constant memory. The other attributes are complete after the last entry."""

    def __init__(
        self, body: bytes, content_type: str | None, limits: SitemapLimits, *, should_repair: bool = False
    ) -> None:
        self.form: SitemapForm = "none"
        self.problems: list[str] = []
        self.left_out = 0
        self.over_limit = 0
        self.is_broken = False
        """Reading has stopped at a syntax error that can be repaired."""
        self.is_too_large = False
        self._is_cut = False
        self._body = body
        self._content_type = content_type
        self._limits = limits
        self._should_repair = should_repair

    def __iter__(self) -> Iterator[SitemapEntry]:
        pieces = strip_leading_space(self._stop_at_error(decompress(self._body, self._limits.max_decoded_bytes)))
        opening = bytes(next(pieces, b""))
        if not opening:
            self.problems += [] if self._is_cut else ["empty, not a sitemap"]
            return
        encoding, unknown = detect_encoding(opening, self._content_type)
        if unknown:
            self.problems.append(f"its encoding `{unknown}` is not known: read as UTF-8")
        decoded = to_utf8(chain([opening], pieces), encoding, is_strict=not self._should_repair)
        text = strip_leading_space(decoded)
        start = bytes(next(text, b""))
        whole = chain([start], text)
        if _HTML.match(start):
            self.problems.append("an HTML page, not a sitemap")
        else:
            yield from self._read_xml(whole) if start.startswith(b"<") else self._read_text(whole)

    def read_all(self) -> Sitemap:
        entries = tuple(self)
        return Sitemap(
            self.form,
            entries,
            tuple(self.problems),
            left_out=self.left_out,
            over_limit=self.over_limit,
            is_too_large=self.is_too_large,
        )

    def _stop_at_error(self, pieces: Iterable[Bytes]) -> Iterator[Bytes]:
        try:
            yield from pieces
        except ReadStopped as cut:
            self._is_cut = True
            self.is_too_large = isinstance(cut, SitemapTooLarge)
            self.problems.append(str(cut))

    def _read_xml(self, pieces: Iterable[Bytes]) -> Iterator[SitemapEntry]:
        entries = XmlEntries(_repair_pieces(pieces) if self._should_repair else pieces, self._limits)
        try:
            yield from entries
        except NotWellFormed as broken:
            if not self._is_cut:  # otherwise the text is cut off anyway
                self.problems.append(str(broken))
                self.is_broken = broken.is_repairable
        except (ReadStopped, NotASitemap) as cut:
            self.problems.append(str(cut))
        self.form = entries.form
        self.left_out = entries.left_out
        if entries.relative_urls > self._limits.max_relative_urls:
            self.problems.append(f"more than {self._limits.max_relative_urls:,} relative URLs: the rest were left out")
        self._report_limits(entries.over_limit)

    def _read_text(self, pieces: Iterable[Bytes]) -> Iterator[SitemapEntry]:
        remaining = self._limits.max_urls
        for line in _split_lines(pieces, self._limits.max_url_chars):
            if not line.startswith(("http://", "https://")) or len(line) > self._limits.max_url_chars:
                self.left_out += 1
            elif remaining > 0:
                remaining -= 1
                self.form = "text"
                yield SitemapEntry(line)
            else:
                remaining -= 1
                self.left_out += 1
        if self.form == "none":
            self.left_out = 0
            self.problems.append("neither XML nor a list of URLs, not a sitemap")
        self._report_limits(max(-remaining, 0))

    def _report_limits(self, over_limit: int) -> None:
        self.over_limit = over_limit
        if over_limit:
            self.problems.append(f"{_format_left_out(over_limit)}: more than {self._limits.max_urls:,}")
        others = self.left_out - over_limit
        if others:
            what = f"no URL of the web, or one longer than {self._limits.max_url_chars:,} characters"
            self.problems.append(f"{_format_left_out(others)}: {what}")


def looks_like_sitemap(body: bytes) -> bool:
    """Whether the body begins like a urlset or an index, decompressed if it is gzip. A cheap check for URLs that were
    not announced as sitemaps."""
    opening = first_bytes(body, _SNIFFED_BYTES)
    encoding, _ = detect_encoding(opening, None)
    start = b"".join(map(bytes, to_utf8([opening], encoding, is_strict=False)))
    return _ROOT.match(start) is not None


def sitemaps_in_robots(text: str) -> tuple[str, ...]:
    """The `Sitemap:` lines of a robots.txt, wherever they are, because they belong to no group."""
    found = dict.fromkeys(
        url
        for match in _ROBOTS_LINE.finditer(text.replace("\r", "\n"))
        if len(url := match[1].partition("#")[0]) <= MAX_URL_CHARS and is_web_url(url)
    )
    return tuple(found)


def _format_left_out(count: int) -> str:
    return "1 entry was left out" if count == 1 else f"{count:,} entries were left out"


def _repair_pieces(pieces: Iterable[Bytes]) -> Iterator[bytes]:
    """Cut the text before a tag, so that no entity or CDATA section is split. Raises `ReadStopped` at a tag without an
    end."""
    buffered, left = b"", _MAX_REPAIRS
    for piece in pieces:
        before, tag, after = (buffered + bytes(piece)).rpartition(b"<")
        if len(after) > PIECE_BYTES:
            before, tag, after = before + tag + after, b"", b""
        repaired, count = _repair_piece(before)
        yield repaired
        buffered, left = tag + after, left - count
        if left < 0:
            raise ReadStopped(f"more than {_MAX_REPAIRS:,} errors in the XML: the rest was not read")
    yield _repair_piece(buffered)[0]


def _repair_piece(piece: bytes) -> tuple[bytes, int]:
    repaired, count = _BARE_AMPERSAND.subn(lambda match: b"&amp;" if match[0] == b"&" else match[0], piece)
    return repaired.translate(None, _NON_XML_BYTES), count


def _split_lines(pieces: Iterable[Bytes], max_chars: int) -> Iterator[str]:
    """Non-empty lines, trimmed. A line that is too long is cut just above the limit."""
    buffered, decoder = "", codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        *whole, buffered = (buffered + decoder.decode(bytes(piece))).replace("\r", "\n").split("\n")
        buffered = buffered[: 4 * max_chars]
        yield from filter(None, map(str.strip, whole))
    if buffered.strip():
        yield buffered.strip()
