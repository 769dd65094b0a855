"""Guesses the archives of a site: by common paths, years and months, and patterns learned from linked pages.

A site without archives gets few requests. A few archives are guessed at a time, the likeliest first, and a pattern is
followed back in time until a guess fails. A pattern that failed is not tried again for a month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from tenax.discovery.guess_budget import MIN_DATED_PAGES, NEWS_SECTIONS, count_success
from tenax.discovery.paged_urls import (
    Numbering,
    find_numbering_among,
    link_fingerprint,
    page_url_prefix,
    parse_paged_url,
    to_relative_url,
)
from tenax.discovery.pagination import add_pending
from tenax.model import ArchiveRule, GuessState, PendingGuess, Value

RETRY_AFTER_SECONDS = 30 * 86_400.0
MAX_RULES = 32
MAX_MISSED = 2
"""A pattern that has worked ends after this many misses in a row: a blog may publish nothing for a month."""
MANY_SUCCESSES = 12
"""A pattern with this many successes ends at the first period without a page."""
NO_PAGE = "no such page"
NOTHING_NEW = "nothing new"
"""The page exists, but links to nothing new. So the pattern is right, and an earlier month may still have new URLs."""
EARLIEST_YEAR = 1995
MAX_SILENT_MONTHS = 2
"""If the newest page is older than this, guessing begins with the month of that page."""

_DATED = re.compile(
    r"/(?P<year>(?:199|20\d)\d)(?:(?P<between>[/-]?)(?P<month>0?[1-9]|1[0-2]))?(?P<end>/index\.html?|\.html?|/?)$"
)
_MAX_PREFIX_SEGMENTS = 3
"""Limits on the path before the date: segments and characters."""
_MAX_PREFIX_CHARS = 120
_DIGIT = re.compile(r"\d")
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_ENDLESS = re.compile(
    r"/(?:calendars?|cal|kalender|calendrier|calendario|events?|eventos|agenda|termine|schedule)(?:/|$)", re.IGNORECASE
)
_LESS_LIKELY_PATTERNS = ("/news/{yyyy}/", "/archives")
"""Tried only when nothing else worked."""
_FURTHER_PATTERNS = (
    *("/archives", "/sitemap", "/{yyyy}/{mm}/", "/news/{yyyy}/", "/archive/{yyyy}/", "/blog/{yyyy}/"),
    *("/sitemap.html", "/news/archive", "/blog/archive"),
    *("/archiv", "/arkiv", "/archivo", "/archivio", "/arquivo"),
)


class DatedUrl(Value, frozen=True):
    """A URL that ends in a date."""

    pattern: str
    period: int
    """A year; if the pattern has months, year * 12 + month - 1."""


def parse_dated_url(url: str) -> DatedUrl | None:
    """The date in this URL. None for days (too many to guess), for calendars (endless) and for URLs with a query."""
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
    month_format = "{m}" if len(month) == 1 else "{mm}"
    return DatedUrl(f"{before}/{{yyyy}}{found['between']}{month_format}{end}", 12 * year + int(month) - 1)


def date_pattern(url: str) -> str | None:
    """The date pattern of a URL: `/blog/{yyyy}/{mm}/` for /blog/2024/11/."""
    found = parse_dated_url(url)
    return None if found is None else found.pattern


def earliest_linked_periods(links: Iterable[str]) -> dict[str, int]:
    """The date patterns in the links of a page, with the earliest period of each."""
    periods: dict[str, int] = {}
    for link in links:
        one = parse_dated_url(link)
        if one is not None:
            periods[one.pattern] = min(one.period, periods.get(one.pattern, one.period))
    # A two-digit month such as 10 looks padded, but belongs to the unpadded pattern.
    for pattern in [pattern for pattern in periods if "{m}" in pattern]:
        padded = pattern.replace("{m}", "{mm}")
        if padded in periods:
            periods[pattern] = min(periods[pattern], periods.pop(padded))
    return periods


def archive_pattern(url: str, rules: Mapping[str, ArchiveRule]) -> tuple[str, int | None]:
    """The pattern of a guessed URL and its period. A path without a date is its own pattern."""
    one = parse_dated_url(url)
    if one is None:
        return url[url.index("/", url.index("//") + 2) :], None
    unpadded = one.pattern.replace("{mm}", "{m}")
    return (unpadded if one.pattern not in rules and unpadded in rules else one.pattern), one.period


def is_usual_path(relative_url: str) -> bool:
    """Whether this path is guessed on every host."""
    return relative_url.removesuffix("/") in ("/archive", *_FURTHER_PATTERNS)


def should_try_archives(
    guess_state: GuessState, now: float, waiting_high: int | None, threshold: int, every_seconds: float
) -> bool:
    """Whether the host runs out of high-priority tasks, or archives are due again. `waiting_high` is None if it is
    unknown."""
    return (waiting_high is not None and waiting_high < threshold) or now >= guess_state.archives_at + every_seconds


def archives_to_try(guess_state: GuessState, now: float, limit: int, with_further: bool = True) -> tuple[str, ...]:
    """The patterns to guess, the likeliest first.

    Patterns that worked here come first, then those that the site's own paths and sections suggest, then common ones.
    `with_further` adds patterns that few sites have.
    """
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
    """Year patterns whose current year is missing. On a small site with a sitemap, only if no page is from this
    year."""
    signs = guess_state.signs
    for pattern in likely:
        rule = guess_state.archives.get(pattern)
        is_due = rule is not None and is_last_year_due(pattern, rule)
        if (
            rule is not None
            and is_due
            and (is_large or not signs.has_sitemap or signs.newest // 12 < (rule.earliest_period or 0))
        ):
            yield pattern


def _likely_patterns(guess_state: GuessState) -> list[str]:
    """Date patterns from the paths of dated pages, then common patterns that earlier results have not ruled out.

    For a news section, months come first, because a year may be too much for one page. Dates at the top level are a
    sign of blog software, which has years wherever it has months.
    """
    dated_patterns = [pattern for pattern, count in guess_state.signs.dated_paths.items() if count >= MIN_DATED_PAGES]
    dated_patterns += [pattern.removesuffix("{mm}/") for pattern in dated_patterns]
    news = next((name for name in _sort_by_count(guess_state.sections) if name.lower() in NEWS_SECTIONS), None)
    years = ["/{yyyy}/", *([f"/{news}/{{yyyy}}/"] if news else [])]
    worked = {pattern for pattern, rule in guess_state.archives.items() if rule.worked}
    if any("{" in pattern for pattern in worked.difference(years)):
        return dated_patterns  # the site has shown another pattern
    months = [f"{year}{{mm}}/" for year in years]
    return [*dated_patterns, *months[1:], "/archive", *years, *months]


def _further_patterns(guess_state: GuessState) -> Iterator[str]:
    """Patterns that few sites have."""
    sections = _sort_by_count(guess_state.sections)[:3]
    yield from (f"/{name}/{form}" for form in ("{yyyy}/", "archive", "{yyyy}/{mm}/") for name in sections)
    yield from _FURTHER_PATTERNS


def _sort_by_count(sections: Mapping[str, int]) -> list[str]:
    return sorted(sections, key=lambda name: (-sections[name], name))


def _is_year_pattern(pattern: str) -> bool:
    """Whether the pattern ends with a year and a slash, so that months may be below it."""
    return pattern.endswith("/{yyyy}/")


def next_period(pattern: str, rule: ArchiveRule | None, now: float, newest: int = 0) -> int | None:
    """The period to guess next, going back in time; None if there is none, or if the path has no date.

    The first one is the last full month, and its year: in early January, /2026/ is empty everywhere. If the `newest`
    known page is more than a few months old, the first one is the month of that page.
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
    """Whether this period or an earlier one may be guessed. A guess without a response expires like a failed one."""
    return (rule.state == "valid" and rule.guessed_period is None) or now >= rule.at + RETRY_AFTER_SECONDS


def is_untried(rule: ArchiveRule | None, now: float) -> bool:
    return rule is None or (rule.state != "valid" and is_worth_trying(rule, now))


def rule_to_guess(pattern: str, rule: ArchiveRule | None, now: float) -> ArchiveRule | None:
    """The rule for the next guess; None if no guess is worth a request."""
    if rule is not None and (
        is_last_year_due(pattern, rule) or (rule.state == "tried" and rule.guessed_period is None)
    ):
        return rule
    if rule is not None and not is_worth_trying(rule, now):
        return None
    return rule if rule is not None and (rule.worked or rule.state == "valid") else ArchiveRule(at=now)


def month_pattern(pattern: str, linked: Iterable[str]) -> str | None:
    """The month pattern of a year, such as `/news/{yyyy}/{mm}/`; None if its months are linked, or if it is not a year
    pattern."""
    months = f"{pattern}{{mm}}/"
    is_linked = any(other.replace("{m}", "{mm}") == months for other in linked)
    return months if _is_year_pattern(pattern) and not is_linked else None


def is_first_year(pattern: str, year: int, linked: Mapping[str, int], rules: Mapping[str, ArchiveRule]) -> bool:
    """Whether a year links its months only from February or later on, and the following year from January on."""
    for other, earliest in linked.items():
        if _is_year_pattern(pattern) and other.replace("{m}", "{mm}") == f"{pattern}{{mm}}/" and other in rules:
            return earliest // 12 == year and earliest % 12 > 0 and rules[other].earliest_period == 12 * (year + 1)
    return False


def is_last_year_due(pattern: str, rule: ArchiveRule) -> bool:
    """Whether only this year is missing. Many archives have only past years, so last year is tried too."""
    is_first_miss = rule.state == "invalid" and not rule.worked and rule.missed == 1
    return is_first_miss and _is_year_pattern(pattern) and rule.earliest_period is not None


def record_archive_result(rule: ArchiveRule, failure_reason: str, now: float, is_year: bool = False) -> ArchiveRule:
    """The rule after a guess. `failure_reason` is empty if the guess led to something new.

    A pattern that has worked ends after `MAX_MISSED` misses in a row. If the page does not exist, one miss is enough
    for a pattern of years, and for a pattern with `MANY_SUCCESSES`: months without posts are common, years are not.
    """
    rule = msgspec.structs.replace(rule, guessed_period=None, at=now)
    if not failure_reason:
        return msgspec.structs.replace(rule, state="valid", why="", worked=rule.worked + 1, missed=0)
    missed = rule.missed + 1
    is_empty_period = failure_reason == NOTHING_NEW and rule.earliest_period is not None
    is_long = is_year or rule.worked >= MANY_SUCCESSES
    is_over = not (rule.worked or is_empty_period) or missed >= MAX_MISSED or (is_long and failure_reason == NO_PAGE)
    return msgspec.structs.replace(rule, state="invalid" if is_over else "valid", why=failure_reason, missed=missed)


def store_archive_rule(guess_state: GuessState, pattern: str, rule: ArchiveRule) -> GuessState:
    """Store the rule as the most recent one. Above the limit, the oldest failed rule is removed first."""
    rules = {known: other for known, other in guess_state.archives.items() if known != pattern}
    if len(rules) >= MAX_RULES:
        del rules[next((known for known, other in rules.items() if other.state == "invalid"), next(iter(rules)))]
    rules[pattern] = rule
    return msgspec.structs.replace(guess_state, archives=rules)


MAX_DATE_PATTERNS = 4
_ANY_DIGIT = re.compile(r"\d")


class Listing(Value, frozen=True):
    """What a list says about its other pages and about archives. It is small enough to be sent between processes."""

    numbering: Numbering | None = None
    earliest_periods: dict[str, int] = {}
    """The date patterns among its links, with the earliest period of each."""
    link_fingerprint: bytes = b""
    links: int = 0
    """Number of links to its own host, except those to other pages of the list."""


def build_listing(url: str, links: Iterable[str], rel_next: str | None) -> Listing:
    """What the list at this URL says. `links` must be all links of the page: without the known ones the numbering would
    be incomplete."""
    origin = url[: len(url) - len(to_relative_url(url)) + 1]
    own = dict.fromkeys(link for link in links if link.startswith(origin))
    numbered = [link for link in own if _ANY_DIGIT.search(link, len(origin))]
    prefix = page_url_prefix(url)
    pages = {link: parse_paged_url(link) for link in numbered if link.startswith(prefix)}
    following = parse_paged_url(rel_next) if rel_next is not None and rel_next.startswith(origin) else None
    dates = dict(sorted(earliest_linked_periods(numbered).items())[:MAX_DATE_PATTERNS])
    others = [link for link in own if (page := pages.get(link)) is None or not page.is_sure]
    return Listing(find_numbering_among(url, pages.values(), following), dates, link_fingerprint(others), len(others))


REDIRECTED = "redirected"
"""The failure reason of a guess that was redirected begins with this."""


def update_from_linked_archive(
    guess_state: GuessState, url: str, listing: Listing, new_urls: int, now: float
) -> GuessState:
    """Learn from a linked archive page. The period before the earliest linked one becomes a pending guess."""
    relative_url = to_relative_url(url)
    for linked, earliest in listing.earliest_periods.items():
        if linked in guess_state.archives:
            guess_state = _extend_to_period(guess_state, linked, earliest)
    pattern, period = archive_pattern(url, guess_state.archives)
    if period is None:
        return (
            _update_common_path(guess_state, relative_url.removesuffix("/"), new_urls, listing, now)
            if is_usual_path(relative_url)
            else guess_state
        )
    rule = guess_state.archives.get(pattern, ArchiveRule())
    if not rule.worked:
        rule = msgspec.structs.replace(rule, state="valid", why="", at=now, worked=1)
        guess_state = update_months(store_archive_rule(guess_state, pattern, rule), pattern, period, listing)
    guess_state = _extend_to_period(guess_state, pattern, min(period, listing.earliest_periods.get(pattern, period)))
    rule = guess_state.archives[pattern]
    return (
        add_pending(guess_state, pattern, PendingGuess())
        if rule.earliest_period == period and is_worth_trying(rule, now)
        else guess_state
    )


def update_months(guess_state: GuessState, pattern: str, year: int, listing: Listing | None) -> GuessState:
    """Add a pending guess for the last month of a year that was found, unless the year links its months."""
    months = month_pattern(pattern, listing.earliest_periods if listing is not None else ())
    rule = guess_state.archives.get(months) if months is not None else None
    # A later year has no page. A month of that year that is missing too says nothing about this year.
    is_missing_later = (
        rule is not None and rule.state == "invalid" and not rule.worked and (rule.earliest_period or 0) // 12 > year
    )
    if months is None or (rule is not None and not is_missing_later):
        return guess_state
    return add_pending(
        store_archive_rule(guess_state, months, ArchiveRule(earliest_period=12 * (year + 1))), months, PendingGuess()
    )


def _extend_to_period(guess_state: GuessState, pattern: str, period: int) -> GuessState:
    """Move the earliest known period back to a linked one: linked periods are not guessed."""
    rule = guess_state.archives[pattern]
    if rule.earliest_period is not None and rule.earliest_period <= period:
        return guess_state
    return store_archive_rule(guess_state, pattern, msgspec.structs.replace(rule, earliest_period=period))


def _update_common_path(guess_state: GuessState, path: str, new_urls: int, listing: Listing, now: float) -> GuessState:
    """Learn from a linked index: no guess is needed for it, or for the dates that it links to.

    The index may be the target of a guess that was redirected, for example to add a slash.
    """
    for pattern, earliest in listing.earliest_periods.items():
        if pattern not in guess_state.archives:
            complete = ArchiveRule("invalid", "all linked by an index", now, earliest, worked=1)
            guess_state = store_archive_rule(guess_state, pattern, complete)
    rule = guess_state.archives.get(path)
    is_redirect_target = (
        rule is not None and rule.state == "invalid" and rule.why.startswith(REDIRECTED) and new_urls > 0
    )
    if rule is not None and not is_redirect_target:
        return guess_state
    guess_state = count_success(guess_state, is_archive=True) if is_redirect_target else guess_state
    return store_archive_rule(guess_state, path, ArchiveRule("valid", at=now, worked=1))
