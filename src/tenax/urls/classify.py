"""How soon a URL is wanted, judged by what can be seen in it and how far it lies from a seed."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from tenax.model import Priority
from tenax.urls.normalize import WebUrl

SHALLOW_DEPTH = 2
DEEP_DEPTH = 6

_HOMES = frozenset({"/", "/index.html", "/index.htm", "/index.php", "/default.aspx"})
# Only parameters that number pages: `p=` is a post's id in WordPress, `start=` may be a date.
_PAGED_QUERY = re.compile(
    r"(?:^|&)(?:(?:page|paged|pg|pagenum|page_?no|page_?number|offset)=\d+|(?:start|skip)=\d{1,6}(?:&|$)|cursor=)",
    re.IGNORECASE,
)
_TELLING_PATH = re.compile(
    r"/(?:(?P<landmark>(?:about|contact)(?:-us)?|impressum|imprint)(?:\.[a-z]{2,5})?/?$"
    r"|(?P<listing>page[/_-]?\d+(?:\.[a-z]{2,5})?/?$|(?:archives?|tags?|labels?)(?:/|$)))",
    re.IGNORECASE,
)
_DATE_ONLY_PATH = re.compile(r"(?:/[a-z_-]+)?/(?:19|20)\d\d(?:/(?:0[1-9]|1[0-2])(?:/(?:0[1-9]|[12]\d|3[01]))?)?/?$")


class Rank(IntEnum):
    """What the URL itself says about its priority, whatever its depth; an index into `priorities_at`."""

    TOP = 0
    """A homepage, or a seed."""
    LANDMARK = 1
    ORDINARY = 2
    LISTING = 3


def rank_of(url: WebUrl) -> Rank:
    path, query = url.path, url.query
    if query:
        if _PAGED_QUERY.search(query):
            return Rank.LISTING
    elif path in _HOMES:
        return Rank.TOP
    telling = _TELLING_PATH.search(path)
    if telling is not None:
        return Rank.LISTING if telling["listing"] else Rank.LANDMARK
    return Rank.LISTING if _DATE_ONLY_PATH.match(path) else Rank.ORDINARY


def priority_of(url: WebUrl, depth: int, is_seed: bool) -> Priority:
    return priorities_at(depth)[Rank.TOP if is_seed else rank_of(url)]


@lru_cache(maxsize=1024)
def priorities_at(depth: int) -> tuple[Priority, ...]:
    """The level of each rank at this depth."""
    return tuple(_priority(rank, depth) for rank in Rank)


def _priority(rank: Rank, depth: int) -> Priority:
    if rank is Rank.TOP:
        return Priority.HIGH
    if rank is Rank.LISTING:  # even near a seed: what it lists is mostly found elsewhere too
        return Priority.LOW
    if depth <= SHALLOW_DEPTH:
        return Priority.HIGH
    if depth >= DEEP_DEPTH and rank is not Rank.LANDMARK:
        return Priority.LOW
    return Priority.MEDIUM
