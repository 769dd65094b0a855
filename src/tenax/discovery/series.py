"""Pages that lead to one another by number and show the same each time: months of a calendar, a next page without end.

A series is a URL with its numbers left open. Only those of its pages are compared that were found on a page of the same
series or lead on to one, so products and articles that a list links to are never among them. A page counts as the same
again when its text is that of the last one, or nearly, and it leads to nothing but more of the series.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeAlias

import msgspec

from tenax.discovery.page_numbers import parse_paged_url
from tenax.model import Candidate, GuessState, SeriesRule, Value

MIN_SERIES_SIMILARITY = 0.9
"""Such pages differ in a number."""
MIN_DATE_SIMILARITY = 0.5
"""The same for short pages whose addresses are dates, as the date is much of their text. Empty months of a calendar
have 0.55 to 0.7, short texts of different days on one template up to 0.3."""
SHORT_PAGE_WORDS = 60
MAX_SERIES = 16
MAX_PATTERN_CHARS = 200
HASH_CHARS = 16

SimilarityFunction: TypeAlias = Callable[[bytes, bytes], float]
"""How alike two pages are by their fingerprints, 0 to 1."""

_NUMBER = re.compile(r"[0-9]+")
_DATE = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}[/-]?(?:0?[1-9]|1[0-2])(?![0-9])|[?&](?:y|year|jahr|month|monat)=[0-9]", re.IGNORECASE
)


def series_pattern(url: str, origin: str) -> str | None:
    """`/calendar/{n}/{n}/` of /calendar/2026/11/; None for a URL without numbers."""
    place = url.removeprefix(origin)
    pattern = _NUMBER.sub("{n}", place)
    return pattern if pattern != place and len(pattern) <= MAX_PATTERN_CHARS else None


def series_skip_reason(guess_state: GuessState, url: str, via: str | None, origin: str, max_same: int) -> str | None:
    """Why this page of a series is not worth a request; None when it may be. `max_same` may show the same in a row."""
    if not max_same or not guess_state.series or via is None or (pattern := series_pattern(url, origin)) is None:
        return None
    rule = guess_state.series.get(pattern)
    if rule is None or not _is_enough(rule, max_same) or series_pattern(via, origin) != pattern:
        return None
    return f"{rule.same_pages} pages of {pattern} in a row showed the same and led to nothing else"


def _is_enough(rule: SeriesRule, most: int) -> bool:
    """One less will do where the texts are the very same."""
    return rule.same_pages >= most or rule.identical >= max(1, most - 1)


def until_enough(rule: SeriesRule, most: int) -> int:
    """How many more pages of a series that show the same would be enough; one at least."""
    return max(1, min(most - rule.same_pages, max(1, most - 1) - rule.identical))


class SeriesPage(Value, frozen=True):
    """A page that was read, as far as it is compared with others of its series."""

    url: str
    via: str | None
    """The page that it was found on."""
    content_hash: str
    fingerprint: bytes
    words: int = 0
    shape: str = ""
    """See `shape_of`."""


def shape_of(text: str, words: int) -> str:
    """What a short text is without its numbers; empty for a long one, and where there is none."""
    return sha256(_NUMBER.sub("", text).encode()).hexdigest()[:HASH_CHARS] if text and words < SHORT_PAGE_WORDS else ""


def record_series_page(
    guess_state: GuessState, page: SeriesPage, origin: str, new: Sequence[Candidate], similarity: SimilarityFunction
) -> GuessState:
    """After a page was read that led to `new` URLs."""
    pattern = series_pattern(page.url, origin) or _begun_by(page, origin, new)
    if pattern is None:
        return guess_state
    stem = origin + pattern.partition("{n}")[0]
    onward = sum(1 for one in new if one.url.startswith(stem) and series_pattern(one.url, origin) == pattern)
    if not onward and (page.via is None or series_pattern(page.via, origin) != pattern):
        return guess_state
    rule = guess_state.series.get(pattern)
    is_same = rule is not None and onward == len(new) and _is_same_page(rule, page, similarity)
    same = rule.same_pages + 1 if rule is not None and is_same else 0
    is_identical = rule is not None and is_same and _is_identical(rule, page)
    identical = rule.identical + 1 if rule is not None and is_identical else 0
    kept = {known: one for known, one in guess_state.series.items() if known != pattern}
    while len(kept) >= MAX_SERIES:
        del kept[next(iter(kept))]
    rule = SeriesRule(same, page.content_hash[:HASH_CHARS], page.fingerprint, identical, page.shape)
    return msgspec.structs.replace(guess_state, series={**kept, pattern: rule})


def _begun_by(page: SeriesPage, origin: str, new: Sequence[Candidate]) -> str | None:
    """The series of which this is the first page, as its address without a number says."""
    place = page.url.removeprefix(origin)
    for one in new:
        following = parse_paged_url(one.url) if one.url.startswith(origin) else None
        if following is not None and following.is_sure and following.first_page.rstrip("/") == place.rstrip("/"):
            return series_pattern(one.url, origin)
    return None


def _is_identical(rule: SeriesRule, page: SeriesPage) -> bool:
    return (bool(page.content_hash) and rule.content_hash == page.content_hash[:HASH_CHARS]) or _is_month_again(
        rule, page
    )


def _is_month_again(rule: SeriesRule, page: SeriesPage) -> bool:
    """A short page with a date in its address, the same as the last one but for its numbers."""
    return bool(page.shape) and page.shape == rule.shape and _is_short_date(page)


def _is_short_date(page: SeriesPage) -> bool:
    return page.words < SHORT_PAGE_WORDS and _DATE.search(page.url) is not None


def _is_same_page(rule: SeriesRule, page: SeriesPage, similarity: SimilarityFunction) -> bool:
    if _is_identical(rule, page):
        return True
    alike = MIN_DATE_SIMILARITY if _is_short_date(page) else MIN_SERIES_SIMILARITY
    return bool(page.fingerprint and rule.fingerprint) and similarity(page.fingerprint, rule.fingerprint) >= alike
