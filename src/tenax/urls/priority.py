"""The priority of a URL, from the URL itself and its distance from a seed."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from tenax.model import SECONDS_PER_POINT, Priority, Source, in_link_points
from tenax.urls.normalize import WebUrl

GUESS_SOURCES = frozenset({Source.ARCHIVE, Source.PAGINATION})
SHALLOW_DEPTH = 2
DEEP_DEPTH = 6

_HOME_PATHS = frozenset({"/", "/index.html", "/index.htm", "/index.php", "/default.aspx"})
# Only parameters that number pages: `p=` is a post's id in WordPress, `start=` may be a date.
_PAGED_QUERY = re.compile(
    r"(?:^|&)(?:(?:page|paged|pg|pagenum|page_?no|page_?number|offset)=\d+|(?:start|skip)=\d{1,6}(?:&|$)|cursor=)",
    re.IGNORECASE,
)
_RANKED_PATH = re.compile(
    r"/(?:(?P<landmark>(?:about|contact)(?:-us)?|impressum|imprint)(?:\.[a-z]{2,5})?/?$"
    r"|(?P<listing>page[/_-]?\d+(?:\.[a-z]{2,5})?/?$|(?:archives?|tags?|labels?)(?:/|$)))",
    re.IGNORECASE,
)
_LAST_NUMBER = re.compile(r"(\d{1,4})\D*$")
SECONDS_PER_PAGE = 0.001
_DATE_ONLY_PATH = re.compile(r"(?:/[a-z_-]+)?/(?:19|20)\d\d(?:/(?:0[1-9]|1[0-2])(?:/(?:0[1-9]|[12]\d|3[01]))?)?/?$")


class Rank(IntEnum):
    """What the URL itself says about its priority, whatever its depth. An index into `queue_positions`."""

    TOP = 0
    """A home page, or a seed."""
    LANDMARK = 1
    ORDINARY = 2
    LISTING = 3


def url_rank(url: WebUrl) -> Rank:
    path, query = url.path, url.query
    if query:
        if _PAGED_QUERY.search(query):
            return Rank.LISTING
    elif path in _HOME_PATHS:
        return Rank.TOP
    match = _RANKED_PATH.search(path)
    if match is not None:
        return Rank.LISTING if match["listing"] else Rank.LANDMARK
    return Rank.LISTING if _DATE_ONLY_PATH.match(path) else Rank.ORDINARY


def lag_seconds(url: WebUrl, rank: Rank) -> float:
    """How long a numbered page waits behind other pages of its list that were found with it, so that they are visited
    in order."""
    number = _LAST_NUMBER.search(url.query or url.path) if rank is Rank.LISTING else None
    return SECONDS_PER_PAGE * int(number[1]) if number is not None else 0.0


def url_priority(url: WebUrl, depth: int, is_seed: bool) -> Priority:
    return queue_positions(depth)[Rank.TOP if is_seed else url_rank(url)].priority


# ---- the score ----------------------------------------------------------------------------------------------
# The score is a number from 0 to 100. The type of a URL and its depth decide its level, and the frontier serves the
# levels in order. The source of the URL, its age and the number of links to it change its score within the level. A
# point counts as a minute in the queue, so a URL that was found long enough ago comes before one with any score.

MIN_SCORES = {Priority.HIGH: 67.0, Priority.MEDIUM: 34.0, Priority.LOW: 1.0, Priority.DISCOVERY: 0.0}
"""The minimum score of each level."""
_SOURCE_POINTS = {Source.FEED: 6.0, Source.SITEMAP: -4.0}
"""A feed lists new pages; a sitemap may list pages that nothing links to any more."""
_AGE_POINTS = ((2.0, 6.0), (30.0, 2.0), (365.0, 0.0))
_OLD_AGE_POINTS = -6.0


class QueuePosition(NamedTuple):
    """The position of a URL in the queue of its host."""

    priority: Priority
    lead_seconds: float
    """How long it comes before other URLs of its level that were found at the same moment."""


def url_score(
    rank: Rank, depth: int, source: Source = Source.LINK, age_days: float | None = None, in_links: int = 0
) -> float:
    """The score of a URL. `age_days` is the time since the URL was published or changed, if this is declared."""
    if source in GUESS_SOURCES:
        return 0.0
    base = _base_score(rank, depth)
    points = _SOURCE_POINTS.get(source, 0.0) + in_link_points(in_links)
    if age_days is not None:
        points += next((points for days, points in _AGE_POINTS if age_days <= days), _OLD_AGE_POINTS)
    floor = MIN_SCORES[score_priority(base)]
    return min(
        max(base + points, floor), min((above for above in MIN_SCORES.values() if above > floor), default=101.0) - 1
    )


def score_priority(score: float) -> Priority:
    return next(level for level, floor in MIN_SCORES.items() if score >= floor)


def queue_position(score: float) -> QueuePosition:
    level = score_priority(score)
    return QueuePosition(level, (score - MIN_SCORES[level]) * SECONDS_PER_POINT)


@lru_cache(maxsize=4096)
def queue_positions(
    depth: int, source: Source = Source.LINK, age_days: float | None = None
) -> tuple[QueuePosition, ...]:
    """The position of each rank at this depth. Pass whole days, because results are cached."""
    return tuple(queue_position(url_score(rank, depth, source, age_days)) for rank in Rank)


def _base_score(rank: Rank, depth: int) -> float:
    if rank is Rank.TOP:
        return 95.0
    if rank is Rank.LISTING:  # even near a seed, because most of its entries are found on other pages too
        return 24.0 - min(depth, 10)
    if depth <= SHALLOW_DEPTH:
        return 80.0 - 4 * depth
    if depth < DEEP_DEPTH:
        return 56.0 - 4 * (depth - SHALLOW_DEPTH - 1)
    return 44.0 if rank is Rank.LANDMARK else 24.0 - min(depth - DEEP_DEPTH, 10)
