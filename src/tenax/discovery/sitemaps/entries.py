"""What a sitemap holds: its entries, and what their words mean."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

from tenax.model import Value

SitemapForm: TypeAlias = Literal["urlset", "index", "text", "feed", "none"]
"""`index`: its entries are sitemaps. `feed`: RSS or Atom in the place of one. `none`: it is no sitemap."""

CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_YEAR_OR_MONTH = re.compile(r"\d{4}(?:-\d\d)?")
_MAX_DATE_CHARS = 40
_FIRST_SECOND = datetime.min.replace(tzinfo=UTC).timestamp()
_LAST_SECOND = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


class SitemapLimits(Value, frozen=True):
    """How much of one sitemap is read. The first two are those of the protocol (sitemaps.org)."""

    max_urls: int = 50_000
    max_decoded_bytes: int = 50 * 1024 * 1024
    max_url_chars: int = 2_048
    max_relative_urls: int = 50_000
    """The protocol allows none; each is made longer by the sitemap's own URL."""
    max_alternates: int = 100
    """Of one entry. Every page in every language names all the others, so these grow by the square."""


class SitemapEntry(Value, frozen=True, gc=False):
    """A page or, in an index, a sitemap. Texts are as the site wrote them: whoever uses a URL must normalise it."""

    url: str
    """Without white space; it may be relative, which the protocol does not allow."""
    lastmod: float | None = None
    changefreq: str = ""
    """A hint at most: one of `CHANGE_FREQUENCIES`, or empty."""
    priority: float | None = None
    alternates: tuple[str, ...] = ()
    """The same page in other languages (hreflang)."""
    title: str = ""
    """Of a news article, or of a feed's entry."""
    published: float | None = None
    """When a news article was published."""


class Sitemap(Value, frozen=True):
    """What was read, and what was wrong with it."""

    form: SitemapForm
    entries: tuple[SitemapEntry, ...] = ()
    problems: tuple[str, ...] = ()
    """In words, for a person. Entries that were read in spite of them are kept."""
    left_out: int = 0
    """Entries passed over for a limit or because they are no web address, as far as they could be counted."""
    over_limit: int = 0
    """Those of them that `max_urls` cut off."""
    is_too_large: bool = False
    """It is longer than `max_decoded_bytes`: what follows was not read."""


def clean_url(text: str) -> str:
    """A `loc` without the line breaks and spaces that editors and templates leave in it."""
    return "".join(text.split())


def is_web_url(url: str) -> bool:
    """Whether it may lead somewhere on the web; a relative one may."""
    return url.startswith(("https://", "http://")) or _has_web_scheme(url)


def _has_web_scheme(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[0].lower() in ("http:", "https:")


def parse_time(text: str) -> float | None:
    """A W3C datetime in any of its lengths as seconds since the epoch; without a zone it is UTC. None for nonsense.

    A time after a space and an offset without a colon, both frequent, are taken too.
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
    """The date of a feed's entry: RFC 822 in RSS, W3C elsewhere."""
    found = parse_time(text)
    if found is not None or len(text) > _MAX_DATE_CHARS:
        return found
    try:
        return _to_timestamp(parsedate_to_datetime(text.strip()))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _to_timestamp(date: datetime) -> float | None:
    """None when it is in no year from 1 to 9999 of UTC: nobody could write it down again."""
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
    return value if 0.0 <= value <= 1.0 else None  # not a number is in no range
