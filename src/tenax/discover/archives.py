"""Where a site may keep what is older: usual paths, years and months, and what has worked on this host before.

A site without archives should hardly notice: few places are asked at a time, those with the best hope first, and going
back in time ends where the answers do. What failed is left alone for a month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from tenax.model import ArchiveRule, Finds, Value

FORGIVEN_AFTER_SECONDS = 30 * 86_400.0
MOST_RULES = 32
MOST_MISSED = 2
"""In a row, of a pattern that has worked: a blog may be silent for a month."""
EARLIEST_YEAR = 1995

_DATED = re.compile(
    r"/(?P<year>(?:199|20\d)\d)(?:(?P<between>[/-]?)(?P<month>0?[1-9]|1[0-2]))?(?P<end>/index\.html?|\.html?|/?)$"
)
_DEEPEST = 3
"""Segments above the date, and how many chars they may have."""
_LONGEST = 120
_DIGIT = re.compile(r"\d")
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_ENDLESS = re.compile(
    r"/(?:calendars?|cal|kalender|calendrier|calendario|events?|eventos|agenda|termine|schedule)(?:/|$)", re.IGNORECASE
)
_USUAL = ("/archive", "/archives", "/{yyyy}/", "/sitemap")
_LESS_USUAL = (
    *("/{yyyy}/{mm}/", "/news/{yyyy}/", "/archive/{yyyy}/", "/blog/{yyyy}/", "/sitemap.html", "/news/archive"),
    *("/blog/archive", "/archiv", "/arkiv", "/archivo", "/archivio", "/arquivo"),
)


class Dated(Value, frozen=True):
    """A URL that is nothing but a date below some path."""

    pattern: str
    period: int
    """A year, or where the pattern has months, a year times twelve plus the month from zero."""


def dated(url: str) -> Dated | None:
    """None for days, which are too many to guess, for calendars, which never end, and for what has a query."""
    start = url.index("/", url.index("//") + 2)
    found = _DATED.search(url, start)
    if found is None:
        return None
    before, year, month, end = url[start : found.start()], int(found["year"]), found["month"], found["end"]
    if (
        before.count("/") > _DEEPEST
        or len(before) > _LONGEST
        or _ENDLESS.search(before)
        or _DIGIT.search(_ESCAPE.sub("", before))
    ):
        return None
    if month is None:
        return Dated(f"{before}/{{yyyy}}{end}", year)
    if not found["between"] and len(month) != 2:
        return None
    letters = "{m}" if len(month) == 1 else "{mm}"
    return Dated(f"{before}/{{yyyy}}{found['between']}{letters}{end}", 12 * year + int(month) - 1)


def learned_pattern(url: str) -> str | None:
    """`/blog/{yyyy}/{mm}/` of a page such as /blog/2024/11/."""
    found = dated(url)
    return None if found is None else found.pattern


def earliest_linked(links: Iterable[str]) -> dict[str, int]:
    """The date patterns among the links of a page, and the earliest period of each."""
    found: dict[str, int] = {}
    for link in links:
        one = dated(link)
        if one is not None:
            found[one.pattern] = min(one.period, found.get(one.pattern, one.period))
    for pattern in [pattern for pattern in found if "{m}" in pattern]:  # October is written like any other then
        padded = pattern.replace("{m}", "{mm}")
        if padded in found:
            found[pattern] = min(found[pattern], found.pop(padded))
    return found


def archive_at(url: str, rules: Mapping[str, ArchiveRule]) -> tuple[str, int | None]:
    """The pattern that a guess was made from, and its period; a path that is no date is its own pattern."""
    one = dated(url)
    if one is None:
        return url[url.index("/", url.index("//") + 2) :], None
    unpadded = one.pattern.replace("{mm}", "{m}")
    return (unpadded if one.pattern not in rules and unpadded in rules else one.pattern), one.period


def is_usual(place: str) -> bool:
    """One of the places that would be guessed on any host."""
    return place.removesuffix("/") in _USUAL or place.removesuffix("/") in _LESS_USUAL


def is_archive_time(finds: Finds, now: float, waiting_high: int, threshold: int, every_seconds: float) -> bool:
    """The host's fresh pages run dry, and its archives were not looked for of late."""
    return waiting_high < threshold and now >= finds.archives_at + every_seconds


def archives_to_try(finds: Finds, now: float, most: int) -> tuple[str, ...]:
    """Patterns worth a guess, the best hope first: what has worked here, then what is usual elsewhere."""
    working = [pattern for pattern, rule in finds.archives.items() if is_worth(rule, now) and rule.worked]
    sections = sorted(finds.sections, key=lambda name: (-finds.sections[name], name))
    of_sections = (f"/{name}/{form}" for form in ("{yyyy}/", "archive", "{yyyy}/{mm}/") for name in sections[:3])
    usual = dict.fromkeys((*_USUAL, *of_sections, *_LESS_USUAL))
    fresh = [pattern for pattern in usual if _is_untried(pattern, finds.archives, now)]
    return tuple(dict.fromkeys((*(pattern for pattern in working if "{" in pattern), *fresh)))[:most]


def next_period(pattern: str, rule: ArchiveRule | None, now: float) -> int | None:
    """The period to ask for next, going back; None where there is none. A path without a date has none either.

    It begins with the last whole month, and its year: on the second of January, /2026/ is empty everywhere.
    """
    last = datetime.fromtimestamp(now, UTC)
    month = 12 * last.year + last.month - 2
    start, earliest = (month, 12 * EARLIEST_YEAR) if "{m" in pattern else (month // 12, EARLIEST_YEAR)
    period = start if rule is None or rule.reached is None else min(rule.reached - 1, start)
    return period if "{yyyy}" in pattern and period >= earliest else None


def place_at(pattern: str, period: int | None) -> str:
    if period is None:
        return pattern
    year, month = divmod(period, 12) if "{m" in pattern else (period, 0)
    filled = pattern.replace("{yyyy}", str(year)).replace("{mm}", f"{month + 1:02}")
    return filled.replace("{m}", str(month + 1))


def is_worth(rule: ArchiveRule, now: float) -> bool:
    """It may be asked further back, or again; a guess that nobody answered is forgiven like one that failed."""
    return (rule.state == "valid" and rule.asked is None) or now >= rule.at + FORGIVEN_AFTER_SECONDS


def after_archive(rule: ArchiveRule, why_not: str, now: float) -> ArchiveRule:
    """The rule after a guess was answered: `why_not` is empty when it led to something new."""
    rule = msgspec.structs.replace(rule, asked=None, at=now)
    if not why_not:
        return msgspec.structs.replace(rule, state="valid", why="", worked=rule.worked + 1, missed=0)
    missed = rule.missed + 1
    is_over = not rule.worked or missed >= MOST_MISSED
    return msgspec.structs.replace(rule, state="invalid" if is_over else "valid", why=why_not, missed=missed)


def with_archive(finds: Finds, pattern: str, rule: ArchiveRule) -> Finds:
    """The rule kept as the last touched. Over the bound, the oldest failure is forgotten before what works."""
    rules = {known: kept for known, kept in finds.archives.items() if known != pattern}
    if len(rules) >= MOST_RULES:
        del rules[next((known for known, kept in rules.items() if kept.state == "invalid"), next(iter(rules)))]
    rules[pattern] = rule
    return msgspec.structs.replace(finds, archives=rules)


def _is_untried(pattern: str, rules: Mapping[str, ArchiveRule], now: float) -> bool:
    """Months are not asked for where years work: their pages would tell nothing new."""
    years = rules.get(pattern.replace("{mm}/", "")) if "{mm}" in pattern else None
    if years is not None and years.worked:
        return False
    rule = rules.get(pattern)
    return rule is None or (rule.state != "valid" and is_worth(rule, now))
