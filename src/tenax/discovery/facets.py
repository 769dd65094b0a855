"""Facets: URLs of one path whose queries filter the same list (by colour, size, price), thousands for the same content.

A few are visited. If they link to nothing new and resemble each other, the rest are skipped. Pages of a paginated list
and pages with their own text, such as `/index.php?id=42`, do not count as facets. A page that links to its own query
narrowed by several parameters always does: its teasers may be mistaken for text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tenax.discovery.paged_urls import parse_paged_url
from tenax.model import FacetRule, GuessState, PageKind

MIN_USEFUL_RATIO = 0.1
"""Minimum share of recent facets of a path that must have led to something new."""
RATIO_WINDOW = 20
"""About how many facets count as recent; older ones lose weight."""
MIN_FACET_SIMILARITY = 0.6
MIN_NARROWING_PARAMS = 2
MIN_VALUES_PER_PARAM = 3
"""A facet page offers at least this many parameters with this many values each to narrow its query. A wiki's `?title=X`
links to `&action=edit`, `&action=history` and `&oldid=7`, and is a page."""
MAX_PATHS = 32
FACET_HASH_CHARS = 16
_TEXT_KINDS = frozenset({PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION})


def facet_path(url: str, origin: str) -> str | None:
    """The path of a facet URL; None if the URL cannot be one."""
    path, mark, query = url.removeprefix(origin).partition("?")
    return path if mark and query and parse_paged_url(url) is None else None


def facet_skip_reason(guess_state: GuessState, url: str, origin: str, min_visited: int) -> str | None:
    """Why this facet is skipped; None if it is visited. `min_visited` facets are visited before a path is judged."""
    if not min_visited or not guess_state.facets or (path := facet_path(url, origin)) is None:
        return None
    rule = guess_state.facets.get(path)
    if rule is None or is_open(rule, min_visited) or rule.useful_ratio >= MIN_USEFUL_RATIO:
        return None
    return f"{rule.visited} other query strings of {path} were visited, and few of the recent ones led to something new"


def is_open(rule: FacetRule, samples: int) -> bool:
    """Whether too few facets of a path were visited to judge it."""
    return rule.visited < _sample_size(rule, samples)


def most_at_once(rule: FacetRule | None, samples: int) -> int:
    """How many facets of a path may be in flight before their results are known."""
    rule = rule or FacetRule()
    return max(1, _sample_size(rule, samples) - rule.visited)


def _sample_size(rule: FacetRule, samples: int) -> int:
    """The sample size: a third of `samples` if every facet so far could be narrowed and none led to anything new."""
    is_certain = rule.combined == rule.visited and (not rule.visited or rule.useful_ratio == 0)
    return max(1, samples // 3) if is_certain else samples


def is_combined(url: str, links: Iterable[str]) -> bool:
    """Whether a page links to its own query narrowed further, by several values of several parameters."""
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


def record_facet_page(
    guess_state: GuessState,
    url: str,
    origin: str,
    kind: PageKind,
    content_hash: str,
    fingerprint: bytes,
    new_urls: int,
    similarity: Callable[[bytes, bytes], float],
    narrowed: bool = False,
) -> GuessState:
    """`new_urls` counts new links except facets of the same path; `narrowed`: see `is_combined`."""
    path = facet_path(url, origin)
    if path is None:
        return guess_state
    rule = guess_state.facets.get(path, FacetRule())
    hash_prefix = content_hash[:FACET_HASH_CHARS]
    is_similar = rule.content_hash == hash_prefix or (
        bool(fingerprint and rule.fingerprint) and similarity(fingerprint, rule.fingerprint) >= MIN_FACET_SIMILARITY
    )
    has_own_text = kind in _TEXT_KINDS or not (is_similar or kind is PageKind.HUB)
    is_useful = bool(new_urls) or (has_own_text and not narrowed)
    useful_ratio = rule.useful_ratio + (is_useful - rule.useful_ratio) / min(rule.visited + 1, RATIO_WINDOW)
    rule = FacetRule(rule.visited + 1, round(useful_ratio, 3), rule.combined + narrowed, hash_prefix, fingerprint)
    others = {name: other for name, other in guess_state.facets.items() if name != path}
    while len(others) >= MAX_PATHS:
        del others[next(iter(others))]
    return msgspec.structs.replace(guess_state, facets={**others, path: rule})
