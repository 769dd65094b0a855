"""Selections of one list, by colour and size and price: thousands of addresses that show the same things again.

A few dozen of them are visited. Where they lead to nothing new and look like one another, the rest are not asked for.
Pages of a list and pages with a text of their own, such as `/index.php?id=42`, are never counted among them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tenax.discovery.page_numbers import paged
from tenax.model import FacetRule, Finds, PageKind

FRUITFUL_SHARE = 0.1
"""Of the last selections of a path, those that must have led to something new for it to go on."""
WINDOW = 20
"""How many the last ones are, about: older ones fade."""
ALIKE = 0.6
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
    if rule is None or rule.seen < tried or rule.fruitful >= FRUITFUL_SHARE:
        return None
    return f"{rule.seen} other selections of {path} were visited, and of late hardly any led to something new"


def after_selection(
    finds: Finds,
    url: str,
    origin: str,
    kind: PageKind,
    content_hash: str,
    fingerprint: bytes,
    new_urls: int,
    likeness: Callable[[bytes, bytes], float],
) -> Finds:
    """`new_urls` are those that the page led to beyond selections of its own path."""
    path = path_of(url, origin)
    if path is None:
        return finds
    rule = finds.facets.get(path, FacetRule())
    seen = content_hash[:HASH_CHARS]
    is_like = rule.content_hash == seen or (
        bool(fingerprint and rule.fingerprint) and likeness(fingerprint, rule.fingerprint) >= ALIKE
    )
    is_fruitful = bool(new_urls) or kind in _WITH_A_TEXT or not (is_like or kind is PageKind.HUB)
    share = rule.fruitful + (is_fruitful - rule.fruitful) / min(rule.seen + 1, WINDOW)
    rule = FacetRule(rule.seen + 1, round(share, 3), seen, fingerprint)
    kept = {name: one for name, one in finds.facets.items() if name != path}
    while len(kept) >= MOST_PATHS:
        del kept[next(iter(kept))]
    return msgspec.structs.replace(finds, facets={**kept, path: rule})
