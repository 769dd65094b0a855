"""Refuses URLs that lead into endless sites, and limits by budgets those that might.

Each rule has the name of its setting, so a refusal says what to change. If a rule is in doubt, it allows the URL,
because depth, length and budgets stop an endless site later.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tenax.config import UrlsConfig
from tenax.model import Budget
from tenax.urls.normalize import WebUrl
from tenax.urls.scope import registered_domain

EARLIEST_CALENDAR_YEAR = 1970
"""A year before this one counts as a trap in the URL of a calendar. Other past dates never do."""

_CALENDAR_WORD = re.compile(r"/(?:calendar|calendars|kalender|calendrier|calendario|cal)(?:[/.]|$)", re.IGNORECASE)
_YEAR_SEGMENT = re.compile(r"/(\d{4})(?=/|-\d\d(?!\d)|$)")
# In other URLs a bare number is more often an id than a year: /events/2090/ is an event. A date must look like a date.
_MONTH_IN_PATH = re.compile(
    r"(?:^|/(?:events?|agenda|schedule|termine|eventos|blog|archives?)(?:/[a-z]+)?)"
    r"/(\d{4})[/-](?:0[1-9]|1[0-2])(?=[/-]|$)",
    re.IGNORECASE,
)
_DATE_IN_PATH = re.compile(r"/(\d{4})([/-])(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12]\d|3[01])(?=/|$)")
_YEAR_PARAM = re.compile(r"(?:^|&)(?:year|yr|cal_?year)=(\d{4,9})(?=&|$)", re.IGNORECASE)
_DATE_PARAM = re.compile(
    r"(?:^|&)(?:date|day|month|week|yearmonth|(?:start|event|cal|view|display)[_-]?date|tribe-bar-date)="
    r"(\d{4})-?(?:0[1-9]|1[0-2]|W[0-5]\d)",
    re.IGNORECASE,
)


def find_trap(url: WebUrl, config: UrlsConfig, year: int) -> str | None:
    """The name of the setting that refuses this URL, or None. `year` is the current year."""
    if len(url.url) > config.max_length:
        return "max_length"
    if url.query and url.query.count("&") >= config.max_query_params:
        return "max_query_params"
    segments = url.path[1:].removesuffix("/").split("/")
    if len(segments) > config.max_path_segments:
        return "max_path_segments"
    is_suspect = len(segments) != len(set(segments)) or ":/" in url.path
    if is_suspect and _has_repeated_segments(segments, config.max_repeated_segments):
        return "max_repeated_segments"
    last_year = year + config.calendar_years
    if _unusual_year_pattern(last_year).search(url.url, len(url.origin)) and _has_unlikely_year(url, last_year):
        return "calendar_years"
    return None


def required_budgets(url: WebUrl, config: UrlsConfig, is_seed_host: bool) -> tuple[Budget, ...]:
    """The budgets that admitting this URL uses up. The hosts of the seeds are not limited, however many are below one
    domain."""
    budgets: tuple[Budget, ...] = ()
    if url.query:
        budgets += (Budget("facets_per_path", url.path, config.facets_per_path),)
    if not is_seed_host:
        budgets += (
            Budget("hosts_per_domain", registered_domain(url.host), config.hosts_per_domain, counts_hosts=True),
        )
    return budgets


def _has_repeated_segments(segments: list[str], max_repeats: int) -> bool:
    """Whether segments repeat more than `max_repeats` times in a row, or as many URLs are written one after the other.

    Only consecutive repetition counts: /course/1/unit/1/lesson/1 is a page. A run of numbers does not count either.
    """
    if 1 + segments.count("http:") + segments.count("https:") > max(max_repeats, 2):
        return True
    for length in range(1, len(segments) // (max_repeats + 1) + 1):
        equal = 0
        for index in range(length, len(segments)):
            equal = equal + 1 if segments[index] == segments[index - length] else 0
            if equal >= length * max_repeats and not "".join(segments[index - length + 1 : index + 1]).isdigit():
                return True
    return False


def _has_unlikely_year(url: WebUrl, last_year: int) -> bool:
    path, query = url.path, url.query
    in_query = _find_years(query, _YEAR_PARAM, _DATE_PARAM)
    if any(year > last_year for year in in_query + _find_years(path, _MONTH_IN_PATH, _DATE_IN_PATH)):
        return True
    if _CALENDAR_WORD.search(path) is None:
        return False
    return any(not EARLIEST_CALENDAR_YEAR <= year <= last_year for year in in_query + _find_years(path, _YEAR_SEGMENT))


def _find_years(text: str, *patterns: re.Pattern[str]) -> list[int]:
    return [int(match[1]) for pattern in patterns if (match := pattern.search(text)) is not None]


@lru_cache(maxsize=4)
def _unusual_year_pattern(last_year: int) -> re.Pattern[str]:
    """Matches a number in the position of a year, outside of the usual years. Few URLs have one, and only these are
    checked further."""
    usual = "|".join(str(year) for year in range(EARLIEST_CALENDAR_YEAR, last_year + 1))
    in_path = rf"/(?!{usual})\d{{4}}(?=[/?]|-\d\d(?!\d)|$)"
    in_query = rf"(?<=[ehkryEHKRY])=(?!{usual})\d{{4}}"  # the last letters of date, month, week, year, day
    return re.compile(f"{in_path}|{in_query}")
