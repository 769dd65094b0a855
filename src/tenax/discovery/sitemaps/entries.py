"""Sitemap entries and their fields."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

from tenax.model import Value

SitemapForm: TypeAlias = Literal["urlset", "index", "text", "feed", "none"]
"""`index`: its entries are sitemaps. `feed`: RSS or Atom used as a sitemap. `none`: not a sitemap."""

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
    """The protocol allows none; each is extended by the sitemap's own URL."""
    max_alternates: int = 100
    """Per entry. Every page in every language lists all the others, so these grow quadratically."""


class SitemapEntry(Value, frozen=True, gc=False):
    """A page or, in an index, a sitemap. Text is as the site wrote it: callers must normalize URLs."""

    url: str
    """Without white space; it may be relative, which the protocol does not allow."""
    lastmod: float | None = None
    changefreq: str = ""
    """A hint: one of `CHANGE_FREQUENCIES`, or empty."""
    priority: float | None = None
    alternates: tuple[str, ...] = ()
    """The same page in other languages (hreflang)."""
    title: str = ""
    """Of a news article or a feed entry."""
    published: float | None = None
    """When a news article was published."""


class Sitemap(Value, frozen=True):
    """The contents of a sitemap, and what was wrong with it."""

    form: SitemapForm
    entries: tuple[SitemapEntry, ...] = ()
    problems: tuple[str, ...] = ()
    """Messages for a person. Entries read despite problems are kept."""
    left_out: int = 0
    """Entries skipped because of a limit or because they are not web URLs, as far as counted."""
    over_limit: int = 0
    """Of those, entries beyond `max_urls`."""
    is_too_large: bool = False
    """It exceeds `max_decoded_bytes`; the rest was not read."""


def clean_url(text: str) -> str:
    """A `loc` without the line breaks and spaces left by editors and templates."""
    return "".join(text.split())


def is_web_url(url: str) -> bool:
    """Whether it may be a web URL; relative ones count."""
    return url.startswith(("https://", "http://")) or _has_web_scheme(url)


def _has_web_scheme(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[0].lower() in ("http:", "https:")


def parse_time(text: str) -> float | None:
    """A W3C datetime of any length as seconds since the epoch; without a zone it is UTC. None if invalid.

    A space before the time and an offset without a colon, both frequent, are accepted.
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
    """None outside of years 1 to 9999 in UTC, which cannot be formatted again."""
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
