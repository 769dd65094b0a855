"""Selections of one list, by colour and size and price: thousands of addresses that show the same things again.

A few of them are visited. Where they lead to nothing new and look like one another, the rest are not asked for.
Pages of a list and pages with a text of their own, such as `/index.php?id=42`, are never counted among them. A page
that offers its own selection narrowed in several ways, by any size and any brand, is one whatever it looks like:
teasers are taken for a text now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tenax.discovery.page_numbers import paged
from tenax.model import FacetRule, Finds, PageKind

FRUITFUL_SHARE = 0.1
"""Of the last selections of a path, those that must have led to something new for it to go on."""
WINDOW = 20
"""How many the last ones are, about: older ones fade."""
ALIKE = 0.6
WAYS_TO_NARROW = 2
VALUES_OF_A_WAY = 3
"""Parameters by which a selection can be narrowed, and how many values each of them must offer: `?title=X` of a wiki
leads to `&action=edit`, `&action=history` and `&oldid=7`, and is a page."""
MOST_PATHS = 32
HASH_CHARS = 16
_WITH_A_TEXT = frozenset({PageKind.ARTICLE, PageKind.FORUM, PageKind.DOCUMENTATION})


def path_of(url: str, origin: str) -> str | None:
    """The path of a selection; None when the URL cannot be one."""
    path, mark, query = url.removeprefix(origin).partition("?")
    return path if mark and query and paged(url) is None else None


def why_spared(finds: Finds, url: str, origin: str, tried: int) -> str | None:
    """Why this selection is not worth a request; None when it may be. `tried` are visited before a path is judged."""
    if not tried or not finds.facets or (path := path_of(url, origin)) is None:
        return None
    rule = finds.facets.get(path)
    if rule is None or is_open(rule, tried) or rule.fruitful >= FRUITFUL_SHARE:
        return None
    return f"{rule.seen} other selections of {path} were visited, and of late hardly any led to something new"


def is_open(rule: FacetRule, tried: int) -> bool:
    """Whether too few selections of a path were visited to judge it."""
    return rule.seen < _enough(rule, tried)


def most_at_once(rule: FacetRule | None, tried: int) -> int:
    """How many more selections of a path may be asked for before the answers to them are in."""
    rule = rule or FacetRule()
    return max(1, _enough(rule, tried) - rule.seen)


def _enough(rule: FacetRule, tried: int) -> int:
    """A third as many where there is no doubt: all of them can be narrowed, and none led to anything new."""
    is_certain = rule.combined == rule.seen and (not rule.seen or rule.fruitful == 0)
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
            if len(added) == 1 and len(params) == len(own) + 1 and paged(other) is None:
                name, _, value = added[0].partition("=")
                ways.setdefault(name, set()).add(value)
    return sum(len(values) >= VALUES_OF_A_WAY for values in ways.values()) >= WAYS_TO_NARROW


def after_selection(
    finds: Finds,
    url: str,
    origin: str,
    kind: PageKind,
    content_hash: str,
    fingerprint: bytes,
    new_urls: int,
    likeness: Callable[[bytes, bytes], float],
    narrowed: bool = False,
) -> Finds:
    """`new_urls` are those that the page led to beyond selections of its own path; `narrowed`: see `is_combined`."""
    path = path_of(url, origin)
    if path is None:
        return finds
    rule = finds.facets.get(path, FacetRule())
    seen = content_hash[:HASH_CHARS]
    is_like = rule.content_hash == seen or (
        bool(fingerprint and rule.fingerprint) and likeness(fingerprint, rule.fingerprint) >= ALIKE
    )
    has_own_text = kind in _WITH_A_TEXT or not (is_like or kind is PageKind.HUB)
    is_fruitful = bool(new_urls) or (has_own_text and not narrowed)
    share = rule.fruitful + (is_fruitful - rule.fruitful) / min(rule.seen + 1, WINDOW)
    rule = FacetRule(rule.seen + 1, round(share, 3), rule.combined + narrowed, seen, fingerprint)
    kept = {name: one for name, one in finds.facets.items() if name != path}
    while len(kept) >= MOST_PATHS:
        del kept[next(iter(kept))]
    return msgspec.structs.replace(finds, facets={**kept, path: rule})
