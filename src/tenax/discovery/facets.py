"""Selections of one list, by colour and size and price: thousands of addresses that show the same things again.

A few of them are visited. Where they lead to nothing new and look like one another, the rest are not asked for.
Pages of a list and pages with a text of their own, such as `/index.php?id=42`, are never counted among them. A page
that offers its own selection narrowed in several ways, by any size and any brand, is one whatever it looks like:
teasers are taken for a text now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tenax.discovery.page_numbers import parse_paged_url
from tenax.model import FacetRule, GuessState, PageKind

MIN_USEFUL_RATIO = 0.1
"""Of the last selections of a path, those that must have led to something new for it to go on."""
RATIO_WINDOW = 20
"""How many the last ones are, about: older ones fade."""
MIN_FACET_SIMILARITY = 0.6
WAYS_TO_NARROW = 2
VALUES_OF_A_WAY = 3
"""Parameters by which a selection can be narrowed, and how many values each of them must offer: `?title=X` of a wiki
leads to `&action=edit`, `&action=history` and `&oldid=7`, and is a page."""
MAX_PATHS = 32
FACET_HASH_CHARS = 16
_TEXT_KINDS = frozenset({PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION})


def facet_path(url: str, origin: str) -> str | None:
    """The path of a selection; None when the URL cannot be one."""
    path, mark, query = url.removeprefix(origin).partition("?")
    return path if mark and query and parse_paged_url(url) is None else None


def facet_skip_reason(guess_state: GuessState, url: str, origin: str, min_visited: int) -> str | None:
    """Why this selection is not worth a request; None when it may be. `min_visited` are visited before a path is judged."""
    if not min_visited or not guess_state.facets or (path := facet_path(url, origin)) is None:
        return None
    rule = guess_state.facets.get(path)
    if rule is None or is_open(rule, min_visited) or rule.useful_ratio >= MIN_USEFUL_RATIO:
        return None
    return f"{rule.visited} other selections of {path} were visited, and of late hardly any led to something new"


def is_open(rule: FacetRule, tried: int) -> bool:
    """Whether too few selections of a path were visited to judge it."""
    return rule.visited < _enough(rule, tried)


def most_at_once(rule: FacetRule | None, tried: int) -> int:
    """How many more selections of a path may be asked for before the answers to them are in."""
    rule = rule or FacetRule()
    return max(1, _enough(rule, tried) - rule.visited)


def _enough(rule: FacetRule, tried: int) -> int:
    """A third as many where there is no doubt: all of them can be narrowed, and none led to anything new."""
    is_certain = rule.combined == rule.visited and (not rule.visited or rule.useful_ratio == 0)
    return max(1, tried // 3) if is_certain else tried


def is_combined(url: str, offered: Iterable[str]) -> bool:
    """Whether a selection leads to itself narrowed further, by several values of several parameters."""
    path, _, query = url.partition("?")
    own = set(query.split("&"))
    ways: dict[str, set[str]] = {}
    for other in offered:
        if other.startswith(path) and other[len(path) : len(path) + 1] == "?":
            params = other[len(path) + 1 :].split("&")
            added = [param for param in params if param not in own]
            if len(added) == 1 and len(params) == len(own) + 1 and parse_paged_url(other) is None:
                name, _, value = added[0].partition("=")
                ways.setdefault(name, set()).add(value)
    return sum(len(values) >= VALUES_OF_A_WAY for values in ways.values()) >= WAYS_TO_NARROW


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
    """`new_urls` are those that the page led to beyond selections of its own path; `narrowed`: see `is_combined`."""
    path = facet_path(url, origin)
    if path is None:
        return guess_state
    rule = guess_state.facets.get(path, FacetRule())
    seen = content_hash[:FACET_HASH_CHARS]
    is_like = rule.content_hash == seen or (
        bool(fingerprint and rule.fingerprint) and similarity(fingerprint, rule.fingerprint) >= MIN_FACET_SIMILARITY
    )
    has_own_text = kind in _TEXT_KINDS or not (is_like or kind is PageKind.HUB)
    is_fruitful = bool(new_urls) or (has_own_text and not narrowed)
    share = rule.useful_ratio + (is_fruitful - rule.useful_ratio) / min(rule.visited + 1, RATIO_WINDOW)
    rule = FacetRule(rule.visited + 1, round(share, 3), rule.combined + narrowed, seen, fingerprint)
    kept = {name: one for name, one in guess_state.facets.items() if name != path}
    while len(kept) >= MAX_PATHS:
        del kept[next(iter(kept))]
    return msgspec.structs.replace(guess_state, facets={**kept, path: rule})
