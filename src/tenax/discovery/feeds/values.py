"""Feed values: entries, titles as plain text, dates in all their variants, and the limits of reading a feed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from html import unescape
from html.entities import html5
from typing import Final

from tenax.model import Value

MAX_BODY_BYTES: Final = 10_000_000
MAX_ENTRIES: Final = 5_000
MAX_DEPTH: Final = 512
"""Maximum depth of elements. A feed needs six, XHTML in it some dozens."""
MAX_ELEMENTS: Final = 500_000
MAX_ATTRIBUTES: Final = 500
"""Maximum attributes of an element."""
MAX_TAG_BYTES: Final = 1024 * 1024
MAX_TEXT_CHARS: Final = 65_536
"""Maximum length of a title or a link. A longer title is cut, a longer link is dropped."""
MAX_BASE_CHARS: Final = 2_048
"""Maximum length of a resolved `xml:base`. A longer one is ignored, because every link would be even longer."""
MAX_RESOLVED_CHARS: Final = 4_000_000
"""Maximum total length of the resolved relative links of one feed."""
MAX_JSON_QUOTES: Final = 2_500_000
"""Maximum quotes in JSON, because each string takes far more memory than its two quotes. Feeds have one per ten
characters or fewer."""
MAX_JSON_PARTS: Final = 200_000
"""Maximum lists and objects in JSON, because each takes many times its written size in memory."""
MAX_PREFIXES: Final = 200
"""Maximum namespace prefixes bound at the same time."""


class FeedEntry(Value, frozen=True):
    """One item of a feed, as declared."""

    link: str = ""
    """Absolute if the feed has a URL. The id, if it serves as the link. Empty if the link is not http or https."""
    id: str = ""
    title: str = ""
    """Plain text without markup and character references. Spaces are single."""
    published: float | None = None
    """Seconds since 1970, as declared. It may be in the future."""
    updated: float | None = None


class Feed(Value, frozen=True):
    """The contents of a feed. If the feed could not be read, there is no format and no entry, but a problem."""

    format: str = ""
    """`rss 2.0`, `atom 1.0`, `json feed 1.1`. There is no number if none is declared."""
    title: str = ""
    link: str = ""
    """The page that the feed belongs to."""
    language: str = ""
    published: float | None = None
    updated: float | None = None
    entries: tuple[FeedEntry, ...] = ()
    next_link: str = ""
    """The document with older entries, in paged and archived feeds (RFC 5005)."""
    hub: str = ""
    """The hub that publishes new entries (WebSub)."""
    refresh_seconds: float | None = None
    """How often the feed asks to be read: `ttl` or `sy:updatePeriod`. Only a hint."""
    problems: tuple[str, ...] = ()
    """What was repaired or left out."""


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
    """Whether the content is in base64. Atom encodes content that is neither text nor XML in base64; Atom 0.3 declares
    it."""
    return mode == "base64" or not (content_type.startswith("text/") or content_type.endswith(("+xml", "/xml")))


def decode_base64(packed: str) -> str:
    """The decoded text. Text that is not base64 is returned unchanged."""
    try:
        return base64.b64decode(packed.encode()).decode()
    except (binascii.Error, ValueError):
        return packed


def to_plain_title(value: str, content_type: str, *, is_atom: bool) -> str:
    """One line of text. RSS does not say whether a title is HTML, so a title that looks like HTML is treated as
    HTML."""
    if content_type == "text/html" or (not is_atom and content_type == TEXT and looks_like_html(value)):
        value = strip_html(value)
    return to_one_line(value)


def to_one_line(value: str) -> str:
    return " ".join(_fix_encoding(value).split())


def looks_like_html(value: str) -> bool:
    """Whether the text has a closing tag or a character reference, and no tags other than those of HTML."""
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


_MONTHS: Final = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_DAYS: Final = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})
_ZONES: Final = {
    "adt": -3, "ast": -4, "at": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5, "cst": -6, "ct": -6,
    "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8,
    "a": -1, "n": 1, "m": -12, "y": 12, "met": 1, "mest": 2, "cet": 1, "cest": 2,
}  # fmt: skip
"""Hours ahead of UTC. Unknown names count as UTC, which is right for most of them."""
_DAY = re.compile(r"^[^\W\d]+\.?,(?=\s*\d)")
"""The day of the week in any language, with its comma."""
_OFFSET = re.compile(r"(?:gmt|utc)?([+-])(\d\d?):?(\d\d)?")

_MAX_CHARS: Final = 100
_FIRST_YEAR_OF_LAST_CENTURY: Final = 90
"""Two-digit years from this one on belong to the last century."""

_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,]\d+)?)?)?\s*(?P<zone>\S*)"
_CALENDAR = re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?(?:(?:t\s*|\s+){_CLOCK})?")
_COMPACT = re.compile(
    r"(?P<year>\d{4}|\d\d)(?:-?(?P<month>[01]\d)-?(?P<day>[0-3]\d)|-?(?P<ordinal>[0-3]\d\d))"
    rf"(?:t?(?=\d\d:){_CLOCK})?"
)
_SLASHED = re.compile(rf"(?:\w+,?\s+)?(?P<year>\d{{4}})/(?P<month>\d\d?)/(?P<day>\d\d?)(?:\s+{_CLOCK})?")
_KOREAN = re.compile(
    r"(?P<year>\d{4})(?:년\s*|-)(?P<month>\d\d?)(?:월\s*|-)(?P<day>\d\d?)일?\s++(?:오전|(?P<pm>오후))?\s*+" + _CLOCK
)
_HUNGARIAN = re.compile(rf"(?P<year>\d{{4}})-(?P<named>[^\W\d]+)-(?P<day>\d\d?)t{_CLOCK}")
_HUNGARIAN_MONTHS: Final = {"már": 3, "ápr": 4, "máj": 5, "máu": 5, "jún": 6, "júl": 7, "sze": 9, "okt": 10}
_GREEK_MONTHS: Final = {
    "ιαν": 1, "φεβ": 2, "μάώ": 3, "μαώ": 3, "μάρ": 3, "μαρ": 3, "απρ": 4, "μάι": 5, "μαϊ": 5, "μαι": 5,
    "ιούν": 6, "ιον": 6, "ιουν": 6, "ιούλ": 7, "ιολ": 7, "ιουλ": 7, "αύγ": 8, "αυγ": 8, "σεπ": 9,
    "οκτ": 10, "νοέ": 11, "νοε": 11, "δεκ": 12,
}  # fmt: skip


def parse_date(written: str, now: float) -> float | None:
    """The date in seconds since 1970; None if it is not a date. A date without a zone is UTC.

    `now` decides the century of two-digit years in ISO 8601. Dates in the future are kept.
    """
    text = written.strip().lower()
    if not text or len(text) > _MAX_CHARS:
        return None
    for read in _PARSERS:
        try:
            stamp = read(text, now)
        except (ValueError, OverflowError):  # such as 31 February, or year 0
            continue
        if stamp is not None:
            return stamp
    return None


def _parse_iso(text: str, now: float) -> float | None:
    if found := _CALENDAR.fullmatch(text):
        return _match_timestamp(found)
    if found := _COMPACT.fullmatch(text):
        year = int(found["year"])
        if len(found["year"]) == 2:
            year += datetime.fromtimestamp(now, UTC).year // 100 * 100
        if found["ordinal"]:
            return _match_timestamp(found, year=year, month=1, day=1) + (int(found["ordinal"]) - 1) * 86400
        return _match_timestamp(found, year=year)
    return None


def _parse_rfc822(text: str, _now: float) -> float | None:
    """Parse `Thu, 1 Jan 2004 19:48:21 GMT` and variants: day and month in either order, year before or after the
    time."""
    parts = _DAY.sub("", text).replace(",", " ").split()
    if parts and parts[0][:3] in _DAYS:
        del parts[0]
    if len(parts) == 1:
        parts = parts[0].split("-")
    elif parts and parts[0].count("-") == 2:
        parts[:1] = parts[0].split("-")
    if len(parts) < 3:
        return None
    day, month, year, *rest = parts
    if not day.isdecimal():
        day, month = month, day
    if ":" in year:
        rest, year = [year, *rest[:-1]], rest[-1] if rest else ""
    number = _MONTHS.get(month[:3]) or _greek_month(month)
    if number is None or not (day.isdecimal() and year.isdecimal()):
        return None
    full = int(year) + ((1900 if int(year) >= _FIRST_YEAR_OF_LAST_CENTURY else 2000) if len(year) <= 2 else 0)
    hour, minute, second = ([*(rest[0] if rest else "0").split(":"), "0", "0"])[:3]
    time = int(hour), int(minute), int(float(second))
    return _to_timestamp((full, number, int(day)), time, zone=rest[1] if len(rest) > 1 else "")


def _greek_month(month: str) -> int | None:
    return _GREEK_MONTHS.get(month[:4]) or _GREEK_MONTHS.get(month[:3])


def _parse_slashed(text: str, _now: float) -> float | None:
    found = _SLASHED.fullmatch(text)
    return _match_timestamp(found) if found else None


def _parse_korean(text: str, _now: float) -> float | None:
    found = _KOREAN.fullmatch(text)
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + 12 if found["pm"] else int(found["hour"])
    return _match_timestamp(found, hour=hour, zone=found["zone"] or "+0900")


def _parse_hungarian(text: str, _now: float) -> float | None:
    found = _HUNGARIAN.fullmatch(text)
    if found is None:
        return None
    name = found["named"][:3]
    month = _HUNGARIAN_MONTHS.get(name) or _MONTHS.get(name)
    return _match_timestamp(found, month=month) if month else None


_PARSERS: Final[tuple[Callable[[str, float], float | None], ...]] = (
    _parse_iso,
    _parse_rfc822,
    _parse_slashed,
    _parse_korean,
    _parse_hungarian,
)


def _match_timestamp(found: re.Match[str], **given: int | str) -> float:
    """The timestamp from the groups of a match. `given` values replace groups."""
    groups = found.groupdict()
    year, month, day = (int(given.get(name) or groups.get(name) or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(given.get(name) or groups.get(name) or 0) for name in ("hour", "minute", "second"))
    zone = str(given.get("zone") or groups.get("zone") or "")
    return _to_timestamp((year, month, day), (hour, minute, second), zone)


def _to_timestamp(date: tuple[int, int, int], time: tuple[int, int, int], zone: str) -> float:
    """`date` is year, month and day, `time` hour, minute and second."""
    # Leap seconds and 24:00 are valid times.
    hour, minute, second = time
    spent = timedelta(hours=hour, minutes=minute, seconds=second)
    if not (spent <= timedelta(days=1) and minute < 60 and second <= 60):
        raise ValueError
    return (datetime(*date, tzinfo=UTC) + spent - _zone_offset(zone)).timestamp()


def _zone_offset(zone: str) -> timedelta:
    if found := _OFFSET.fullmatch(zone):
        ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return -ahead if found[1] == "-" else ahead
    if zone[:1] in "+-" and zone:
        raise ValueError
    return timedelta(hours=_ZONES.get(zone, 0))
