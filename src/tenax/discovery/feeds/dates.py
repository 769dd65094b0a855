"""Dates in feeds: RFC 822 in its common variants, ISO 8601, and some non-standard forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

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
"""Hours ahead of UTC. Unknown names count as UTC, which most of them are."""
_DAY = re.compile(r"^[^\W\d]+\.?,(?=\s*\d)")
"""The day of the week in any language, with its comma."""
_OFFSET = re.compile(r"(?:gmt|utc)?([+-])(\d\d?):?(\d\d)?")

_MAX_CHARS: Final = 100
_FIRST_YEAR_OF_LAST_CENTURY: Final = 90
"""Two-digit years from here on belong to the last century."""

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
    """Seconds since the epoch; None if it is not a date. Without a zone it is UTC.

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
    """`Thu, 1 Jan 2004 19:48:21 GMT` and variants: day and month in either order, year before or after the time."""
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
    zone = rest[1] if len(rest) > 1 else ""
    return _to_timestamp(full, number, int(day), int(hour), int(minute), int(float(second)), zone)


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
    """The timestamp from the groups, with `given` values in place of groups."""
    groups = found.groupdict()
    year, month, day = (int(given.get(name) or groups.get(name) or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(given.get(name) or groups.get(name) or 0) for name in ("hour", "minute", "second"))
    return _to_timestamp(year, month, day, hour, minute, second, str(given.get("zone") or groups.get("zone") or ""))


def _to_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str) -> float:
    # Leap seconds and 24:00 are valid times.
    spent = timedelta(hours=hour, minutes=minute, seconds=second)
    if not (spent <= timedelta(days=1) and minute < 60 and second <= 60):
        raise ValueError
    return (datetime(year, month, day, tzinfo=UTC) + spent - _zone_offset(zone)).timestamp()


def _zone_offset(zone: str) -> timedelta:
    if found := _OFFSET.fullmatch(zone):
        ahead = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return -ahead if found[1] == "-" else ahead
    if zone[:1] in "+-" and zone:
        raise ValueError
    return timedelta(hours=_ZONES.get(zone, 0))
