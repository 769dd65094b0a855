"""Where a site may keep what is older: usual paths, years and months, and what has worked on this host before.

A site without archives should hardly notice: few places are asked at a time, those with the best hope first, and going
back in time ends where the answers do. What failed is left alone for a month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from tenax.discovery.site_signs import MIN_DATED_PAGES, NEWS_SECTIONS
from tenax.model import ArchiveRule, GuessState, Value

RETRY_AFTER_SECONDS = 30 * 86_400.0
MAX_RULES = 32
MAX_MISSED = 2
"""In a row, of a pattern that has worked: a blog may be silent for a month."""
MANY_SUCCESSES = 12
"""A pattern that has worked so often ends at the first period without a page."""
NO_PAGE = "no such page"
NOTHING_NEW = "nothing new"
"""A month that is there and shows nothing new says that the pattern is right: the month before may."""
EARLIEST_YEAR = 1995
MAX_SILENT_MONTHS = 2
"""A site that was silent for longer is asked for the month of its newest page."""

_DATED = re.compile(
    r"/(?P<year>(?:199|20\d)\d)(?:(?P<between>[/-]?)(?P<month>0?[1-9]|1[0-2]))?(?P<end>/index\.html?|\.html?|/?)$"
)
_MAX_PREFIX_SEGMENTS = 3
"""Segments above the date, and how many chars they may have."""
_MAX_PREFIX_CHARS = 120
_DIGIT = re.compile(r"\d")
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_ENDLESS = re.compile(
    r"/(?:calendars?|cal|kalender|calendrier|calendario|events?|eventos|agenda|termine|schedule)(?:/|$)", re.IGNORECASE
)
_LESS_LIKELY_PATTERNS = ("/news/{yyyy}/", "/archives")
"""Where nothing else was found."""
_FURTHER_PATTERNS = (
    *("/archives", "/sitemap", "/{yyyy}/{mm}/", "/news/{yyyy}/", "/archive/{yyyy}/", "/blog/{yyyy}/"),
    *("/sitemap.html", "/news/archive", "/blog/archive"),
    *("/archiv", "/arkiv", "/archivo", "/archivio", "/arquivo"),
)


class DatedUrl(Value, frozen=True):
    """A URL that is nothing but a date below some path."""

    pattern: str
    period: int
    """A year, or where the pattern has months, a year times twelve plus the month from zero."""


def parse_dated_url(url: str) -> DatedUrl | None:
    """None for days, which are too many to guess, for calendars, which never end, and for what has a query."""
    start = url.index("/", url.index("//") + 2)
    found = _DATED.search(url, start)
    if found is None:
        return None
    before, year, month, end = url[start : found.start()], int(found["year"]), found["month"], found["end"]
    if (
        before.count("/") > _MAX_PREFIX_SEGMENTS
        or len(before) > _MAX_PREFIX_CHARS
        or _ENDLESS.search(before)
        or _DIGIT.search(_ESCAPE.sub("", before))
    ):
        return None
    if month is None:
        return DatedUrl(f"{before}/{{yyyy}}{end}", year)
    if not found["between"] and len(month) != 2:
        return None
    letters = "{m}" if len(month) == 1 else "{mm}"
    return DatedUrl(f"{before}/{{yyyy}}{found['between']}{letters}{end}", 12 * year + int(month) - 1)


def date_pattern(url: str) -> str | None:
    """`/blog/{yyyy}/{mm}/` of a page such as /blog/2024/11/."""
    found = parse_dated_url(url)
    return None if found is None else found.pattern


def earliest_linked_periods(links: Iterable[str]) -> dict[str, int]:
    """The date patterns among the links of a page, and the earliest period of each."""
    found: dict[str, int] = {}
    for link in links:
        one = parse_dated_url(link)
        if one is not None:
            found[one.pattern] = min(one.period, found.get(one.pattern, one.period))
    for pattern in [pattern for pattern in found if "{m}" in pattern]:  # October is written like any other then
        padded = pattern.replace("{m}", "{mm}")
        if padded in found:
            found[pattern] = min(found[pattern], found.pop(padded))
    return found


def archive_pattern(url: str, rules: Mapping[str, ArchiveRule]) -> tuple[str, int | None]:
    """The pattern that a guess was made from, and its period; a path that is no date is its own pattern."""
    one = parse_dated_url(url)
    if one is None:
        return url[url.index("/", url.index("//") + 2) :], None
    unpadded = one.pattern.replace("{mm}", "{m}")
    return (unpadded if one.pattern not in rules and unpadded in rules else one.pattern), one.period


def is_usual_path(relative_url: str) -> bool:
    """One of the places that would be guessed on any host."""
    return relative_url.removesuffix("/") in ("/archive", *_FURTHER_PATTERNS)


def should_try_archives(
    guess_state: GuessState, now: float, waiting_high: int | None, threshold: int, every_seconds: float
) -> bool:
    """The host's fresh pages run dry, or its archives were not looked for in a while; None waiting: nobody counted."""
    return (waiting_high is not None and waiting_high < threshold) or now >= guess_state.archives_at + every_seconds


def archives_to_try(guess_state: GuessState, now: float, limit: int, with_further: bool = True) -> tuple[str, ...]:
    """Patterns worth a guess, the best hope first: what has worked here, what the site's own addresses and sections
    suggest, then what is usual elsewhere; without `with_further`, only what is usual on most sites."""
    rules = guess_state.archives
    working = (
        pattern for pattern, rule in rules.items() if "{" in pattern and rule.worked and is_worth_trying(rule, now)
    )
    likely = _likely_patterns(guess_state)
    fresh = (pattern for pattern in likely if is_untried(rules.get(pattern), now))
    best = (*working, *fresh, *(_last_year(guess_state, likely, with_further)))
    if not any(rule.worked for rule in rules.values()):
        best += tuple(pattern for pattern in _LESS_LIKELY_PATTERNS if is_untried(rules.get(pattern), now))
    if with_further and not any("{" in pattern and rule.worked for pattern, rule in rules.items()):
        best += tuple(pattern for pattern in _further_patterns(guess_state) if is_untried(rules.get(pattern), now))
    return tuple(dict.fromkeys(best))[:limit]


def _last_year(guess_state: GuessState, likely: Iterable[str], is_large: bool) -> Iterator[str]:
    """Years of which the present one is not there: on a small site only where nothing is known to be of this year."""
    for pattern in likely:
        rule = guess_state.archives.get(pattern)
        is_due = rule is not None and is_last_year_due(pattern, rule)
        if rule is not None and is_due and (is_large or guess_state.signs.newest // 12 < (rule.earliest_period or 0)):
            yield pattern


def _likely_patterns(guess_state: GuessState) -> list[str]:
    """Dates above pages that have one in their path, and the usual places, as far as what was found leaves hope.

    A section for news comes first, by its months: a year of it is too much for a page. What keeps dates at the top is a
    blog's software, and has years wherever it has months.
    """
    of_paths = [pattern for pattern, count in guess_state.signs.dated_paths.items() if count >= MIN_DATED_PAGES]
    of_paths += [pattern.removesuffix("{mm}/") for pattern in of_paths]
    news = next((name for name in _sort_by_count(guess_state.sections) if name.lower() in NEWS_SECTIONS), None)
    years = ["/{yyyy}/", *([f"/{news}/{{yyyy}}/"] if news else [])]
    worked = {pattern for pattern, rule in guess_state.archives.items() if rule.worked}
    if any("{" in pattern for pattern in worked.difference(years)):
        return of_paths  # the site has shown another way of writing its archives
    months = [f"{year}{{mm}}/" for year in years]
    return [*of_paths, *months[1:], "/archive", *years, *months]


def _further_patterns(guess_state: GuessState) -> Iterator[str]:
    """Places that some sites have, with little hope each."""
    sections = _sort_by_count(guess_state.sections)[:3]
    yield from (f"/{name}/{form}" for form in ("{yyyy}/", "archive", "{yyyy}/{mm}/") for name in sections)
    yield from _FURTHER_PATTERNS


def _sort_by_count(sections: Mapping[str, int]) -> list[str]:
    return sorted(sections, key=lambda name: (-sections[name], name))


def _is_year_pattern(pattern: str) -> bool:
    """Whether it is a year and ends with its slash, so that a month may stand below it."""
    return pattern.endswith("/{yyyy}/")


def next_period(pattern: str, rule: ArchiveRule | None, now: float, newest: int = 0) -> int | None:
    """The period to ask for next, going back; None where there is none. A path without a date has none either.

    It begins with the last whole month, and its year: on the second of January, /2026/ is empty everywhere. Where the
    `newest` page that was seen is older than a few months, it begins with the month of that one.
    """
    last = datetime.fromtimestamp(now, UTC)
    month = 12 * last.year + last.month - 2
    if newest and newest < month - MAX_SILENT_MONTHS and (rule is None or rule.earliest_period is None):
        month = newest
    start, earliest = (month, 12 * EARLIEST_YEAR) if "{m" in pattern else (month // 12, EARLIEST_YEAR)
    period = start if rule is None or rule.earliest_period is None else min(rule.earliest_period - 1, start)
    return period if "{yyyy}" in pattern and period >= earliest else None


def fill_pattern(pattern: str, period: int | None) -> str:
    if period is None:
        return pattern
    year, month = divmod(period, 12) if "{m" in pattern else (period, 0)
    filled = pattern.replace("{yyyy}", str(year)).replace("{mm}", f"{month + 1:02}")
    return filled.replace("{m}", str(month + 1))


def is_worth_trying(rule: ArchiveRule, now: float) -> bool:
    """It may be asked further back, or again; a guess that nobody answered is forgiven like one that failed."""
    return (rule.state == "valid" and rule.guessed_period is None) or now >= rule.at + RETRY_AFTER_SECONDS


def is_untried(rule: ArchiveRule | None, now: float) -> bool:
    return rule is None or (rule.state != "valid" and is_worth_trying(rule, now))


def rule_to_guess(pattern: str, rule: ArchiveRule | None, now: float) -> ArchiveRule | None:
    """The rule from which the next guess is made; None where none is worth it."""
    if rule is not None and (
        is_last_year_due(pattern, rule) or (rule.state == "tried" and rule.guessed_period is None)
    ):
        return rule
    if rule is not None and not is_worth_trying(rule, now):
        return None
    return rule if rule is not None and (rule.worked or rule.state == "valid") else ArchiveRule(at=now)


def month_pattern(pattern: str, linked: Iterable[str]) -> str | None:
    """The months of a year that was found, `/news/{yyyy}/{mm}/`; None where they are linked, or it is no year."""
    months = f"{pattern}{{mm}}/"
    is_linked = any(other.replace("{m}", "{mm}") == months for other in linked)
    return months if _is_year_pattern(pattern) and not is_linked else None


def is_first_year(pattern: str, year: int, linked: Mapping[str, int], rules: Mapping[str, ArchiveRule]) -> bool:
    """Whether a year links its months from a later one than January on, and the year after it from January on."""
    for other, earliest in linked.items():
        if _is_year_pattern(pattern) and other.replace("{m}", "{mm}") == f"{pattern}{{mm}}/" and other in rules:
            return earliest // 12 == year and earliest % 12 > 0 and rules[other].earliest_period == 12 * (year + 1)
    return False


def is_last_year_due(pattern: str, rule: ArchiveRule) -> bool:
    """Nothing is at this year's place, which says little of the year before: many archives have past years only."""
    is_first_miss = rule.state == "invalid" and not rule.worked and rule.missed == 1
    return is_first_miss and _is_year_pattern(pattern) and rule.earliest_period is not None


def record_archive_result(rule: ArchiveRule, failure_reason: str, now: float, is_year: bool = False) -> ArchiveRule:
    """The rule after a guess was answered: `failure_reason` is empty when it led to something new. A site is silent for a
    month now and then, and hardly ever for a year."""
    rule = msgspec.structs.replace(rule, guessed_period=None, at=now)
    if not failure_reason:
        return msgspec.structs.replace(rule, state="valid", why="", worked=rule.worked + 1, missed=0)
    missed = rule.missed + 1
    is_barren = failure_reason == NOTHING_NEW and rule.earliest_period is not None
    is_long = is_year or rule.worked >= MANY_SUCCESSES
    is_over = not (rule.worked or is_barren) or missed >= MAX_MISSED or (is_long and failure_reason == NO_PAGE)
    return msgspec.structs.replace(rule, state="invalid" if is_over else "valid", why=failure_reason, missed=missed)


def store_archive_rule(guess_state: GuessState, pattern: str, rule: ArchiveRule) -> GuessState:
    """The rule kept as the last touched. Over the bound, the oldest failure is forgotten before what works."""
    rules = {known: kept for known, kept in guess_state.archives.items() if known != pattern}
    if len(rules) >= MAX_RULES:
        del rules[next((known for known, kept in rules.items() if kept.state == "invalid"), next(iter(rules)))]
    rules[pattern] = rule
    return msgspec.structs.replace(guess_state, archives=rules)
