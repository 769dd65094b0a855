"""Pages that show the same again: facets, the filtered views of one list, and series, pages linked by number.

A series is a URL pattern with its numbers replaced, such as an endless calendar or next page. Two pages are compared
only if one was found on the other page of the series, or links to it. So products and articles linked by a list are
never compared. A page repeats the last one if its text is the same or nearly the same, and it links to nothing new
outside the series.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TypeAlias

import msgspec

from tenax.discovery.paged_urls import page_url_prefix, parse_paged_url
from tenax.model import Candidate, FacetRule, GuessState, PageKind, SeriesRule, Value

MIN_USEFUL_RATIO = 0.1
"""Minimum share of the recent facets of a path that must have led to something new."""
RATIO_WINDOW = 20
"""About how many facets count as recent. Older ones lose weight."""
MIN_FACET_SIMILARITY = 0.6
MIN_NARROWING_PARAMS = 2
MIN_VALUES_PER_PARAM = 3
"""A facet page must offer at least this many parameters, with this many values each, to narrow its query. A wiki's
`?title=X` links to `&action=edit`, `&action=history` and `&oldid=7`, and is a page."""
MAX_PATHS = 32
FACET_HASH_CHARS = 16
SimilarityFunction: TypeAlias = Callable[[bytes, bytes], float]
"""Similarity of two pages by their fingerprints, 0 to 1."""

_TEXT_KINDS = frozenset({PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION})


def facet_path(url: str, origin: str) -> str | None:
    """The path of a facet URL; None if the URL cannot be one."""
    path, mark, query = url.removeprefix(origin).partition("?")
    return path if mark and query and parse_paged_url(url) is None else None


def facet_skip_reason(guess_state: GuessState, url: str, origin: str, min_visited: int) -> str | None:
    """Why this facet is skipped; None if it is visited. At least `min_visited` facets are visited before a path is
    judged."""
    if not min_visited or not guess_state.facets or (path := facet_path(url, origin)) is None:
        return None
    rule = guess_state.facets.get(path)
    if rule is None or is_open(rule, min_visited) or rule.useful_ratio >= MIN_USEFUL_RATIO:
        return None
    return f"{rule.visited} other query strings of {path} were visited, and few of the recent ones led to something new"


def is_open(rule: FacetRule, samples: int) -> bool:
    """Whether too few facets of a path have been visited to judge it."""
    return rule.visited < _sample_size(rule, samples)


def most_at_once(rule: FacetRule | None, samples: int) -> int:
    """How many facets of a path may be in flight before their results are known."""
    rule = rule or FacetRule()
    return max(1, _sample_size(rule, samples) - rule.visited)


def _sample_size(rule: FacetRule, samples: int) -> int:
    """The sample size. It is a third of `samples` if every facet so far could be narrowed and none led to anything
    new."""
    is_certain = rule.combined == rule.visited and (not rule.visited or rule.useful_ratio == 0)
    return max(1, samples // 3) if is_certain else samples


def is_combined(url: str, links: Iterable[str]) -> bool:
    """Whether a page links to narrower versions of its own query, by several values of several parameters."""
    path, _, query = url.partition("?")
    own = set(query.split("&"))
    values_by_param: dict[str, set[str]] = {}
    for other in links:
        if other.startswith(path) and other[len(path) : len(path) + 1] == "?":
            params = other[len(path) + 1 :].split("&")
            added = [param for param in params if param not in own]
            if len(added) == 1 and len(params) == len(own) + 1 and parse_paged_url(other) is None:
                name, _, value = added[0].partition("=")
                values_by_param.setdefault(name, set()).add(value)
    return sum(len(values) >= MIN_VALUES_PER_PARAM for values in values_by_param.values()) >= MIN_NARROWING_PARAMS


class FacetPage(Value, frozen=True):
    """A page as it is compared with other facets of its path."""

    url: str
    kind: PageKind
    content_hash: str
    fingerprint: bytes
    new_urls: int = 0
    """New links, except facets of the same path."""
    is_combined: bool = False
    """See the function `is_combined`."""


def record_facet_page(
    guess_state: GuessState, page: FacetPage, origin: str, similarity: SimilarityFunction
) -> GuessState:
    """Update the path after one of its facets was read."""
    path = facet_path(page.url, origin)
    if path is None:
        return guess_state
    rule = guess_state.facets.get(path, FacetRule())
    hash_prefix = page.content_hash[:FACET_HASH_CHARS]
    is_similar = rule.content_hash == hash_prefix or (
        bool(page.fingerprint and rule.fingerprint)
        and similarity(page.fingerprint, rule.fingerprint) >= MIN_FACET_SIMILARITY
    )
    has_own_text = page.kind in _TEXT_KINDS or not (is_similar or page.kind is PageKind.HUB)
    is_useful = bool(page.new_urls) or (has_own_text and not page.is_combined)
    useful_ratio = rule.useful_ratio + (is_useful - rule.useful_ratio) / min(rule.visited + 1, RATIO_WINDOW)
    rule = FacetRule(
        rule.visited + 1, round(useful_ratio, 3), rule.combined + page.is_combined, hash_prefix, page.fingerprint
    )
    others = {name: other for name, other in guess_state.facets.items() if name != path}
    while len(others) >= MAX_PATHS:
        del others[next(iter(others))]
    return msgspec.structs.replace(guess_state, facets={**others, path: rule})


MIN_SERIES_SIMILARITY = 0.9
"""Pages that differ only in a number are at least this similar."""
MIN_DATE_SIMILARITY = 0.5
"""The same limit for short pages with a date in the URL, where the date is much of the text. Empty calendar months have
0.55 to 0.7, short texts of different days on one template up to 0.3."""
SHORT_PAGE_WORDS = 60
MAX_SERIES = 16
MAX_PATTERN_CHARS = 200
HASH_CHARS = 16

_NUMBER = re.compile(r"[0-9]+")
_DATE = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}[/-]?(?:0?[1-9]|1[0-2])(?![0-9])|[?&](?:y|year|jahr|month|monat)=[0-9]", re.IGNORECASE
)


def series_pattern(url: str, origin: str) -> str | None:
    """The pattern of a URL, `/calendar/{n}/{n}/` for /calendar/2026/11/; None for a URL without numbers."""
    relative_url = url.removeprefix(origin)
    pattern = _NUMBER.sub("{n}", relative_url)
    return pattern if pattern != relative_url and len(pattern) <= MAX_PATTERN_CHARS else None


def series_skip_reason(guess_state: GuessState, url: str, via: str | None, origin: str, max_same: int) -> str | None:
    """Why this page of a series is skipped; None if it is visited. At most `max_same` pages in a row may repeat the
    content."""
    if not max_same or not guess_state.series or via is None or (pattern := series_pattern(url, origin)) is None:
        return None
    rule = guess_state.series.get(pattern)
    if rule is None or not _is_enough(rule, max_same) or series_pattern(via, origin) != pattern:
        return None
    return f"{rule.same_pages} pages of {pattern} in a row had the same content and no other new links"


def _is_enough(rule: SeriesRule, most: int) -> bool:
    """Whether enough pages have repeated the content. One less is enough if the texts are identical."""
    return rule.same_pages >= most or rule.identical >= max(1, most - 1)


def missing_repeats(rule: SeriesRule, most: int) -> int:
    """How many more pages must repeat the content before the series ends; at least one."""
    return max(1, min(most - rule.same_pages, max(1, most - 1) - rule.identical))


class SeriesPage(Value, frozen=True):
    """A page, as it is compared with other pages of its series."""

    url: str
    via: str | None
    """The page on which it was found."""
    content_hash: str
    fingerprint: bytes
    words: int = 0
    shape: str = ""
    """See `shape_of`."""


def shape_of(text: str, words: int) -> str:
    """A hash of a short text without its numbers; empty for a long text, or if there is no text."""
    return sha256(_NUMBER.sub("", text).encode()).hexdigest()[:HASH_CHARS] if text and words < SHORT_PAGE_WORDS else ""


def record_series_page(
    guess_state: GuessState, page: SeriesPage, origin: str, new: Sequence[Candidate], similarity: SimilarityFunction
) -> GuessState:
    """Update the series after one of its pages was read. The page led to `new` URLs."""
    pattern = series_pattern(page.url, origin) or _pattern_of_first_page(page, origin, new)
    if pattern is None:
        return guess_state
    prefix = origin + pattern.partition("{n}")[0]
    in_series = sum(1 for one in new if one.url.startswith(prefix) and series_pattern(one.url, origin) == pattern)
    if not in_series and (page.via is None or series_pattern(page.via, origin) != pattern):
        return guess_state
    rule = guess_state.series.get(pattern)
    is_same = rule is not None and in_series == len(new) and _is_same_page(rule, page, similarity)
    same = rule.same_pages + 1 if rule is not None and is_same else 0
    is_identical = rule is not None and is_same and _is_identical(rule, page)
    identical = rule.identical + 1 if rule is not None and is_identical else 0
    others = {known: other for known, other in guess_state.series.items() if known != pattern}
    while len(others) >= MAX_SERIES:
        del others[next(iter(others))]
    rule = SeriesRule(same, page.content_hash[:HASH_CHARS], page.fingerprint, identical, page.shape)
    return msgspec.structs.replace(guess_state, series={**others, pattern: rule})


def _pattern_of_first_page(page: SeriesPage, origin: str, new: Sequence[Candidate]) -> str | None:
    """The pattern of the series that begins with this page, which has no number in its URL."""
    relative_url, prefix = page.url.removeprefix(origin), page_url_prefix(page.url)
    for one in new:
        following = parse_paged_url(one.url) if one.url.startswith(prefix) else None
        if following is not None and following.is_sure and following.first_page.rstrip("/") == relative_url.rstrip("/"):
            return series_pattern(one.url, origin)
    return None


def _is_identical(rule: SeriesRule, page: SeriesPage) -> bool:
    return (bool(page.content_hash) and rule.content_hash == page.content_hash[:HASH_CHARS]) or _is_same_shape(
        rule, page
    )


def _is_same_shape(rule: SeriesRule, page: SeriesPage) -> bool:
    """Whether a short page with a date in its URL differs from the last one only in its numbers."""
    return bool(page.shape) and page.shape == rule.shape and _is_short_date(page)


def _is_short_date(page: SeriesPage) -> bool:
    return page.words < SHORT_PAGE_WORDS and _DATE.search(page.url) is not None


def _is_same_page(rule: SeriesRule, page: SeriesPage, similarity: SimilarityFunction) -> bool:
    if _is_identical(rule, page):
        return True
    min_similarity = MIN_DATE_SIMILARITY if _is_short_date(page) else MIN_SERIES_SIMILARITY
    return (
        bool(page.fingerprint and rule.fingerprint) and similarity(page.fingerprint, rule.fingerprint) >= min_similarity
    )
