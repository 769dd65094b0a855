"""The link graph: in-degree, PageRank, and the priorities that are computed from them.

It is built page by page. A URL is a number, found by a 64-bit hash that differs between processes. A link is two such
numbers in arrays. A link takes eight bytes and a URL about two hundred, whatever its length. The names of the few URLs
to show are looked up in a second pass over the pages.

Nofollow links, and links of a page to itself, are ignored.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from heapq import nlargest
from importlib.util import find_spec
from typing import NamedTuple

from tenax.database import PageLinks
from tenax.database.page_codec import followed_targets
from tenax.errors import UsageError
from tenax.model import Priority, Source

HIGH_SHARE = 0.1
"""This share of the unvisited URLs gets high priority: those with the best scores."""
MEDIUM_SHARE = 0.5
DAMPING = 0.85


class Measure(StrEnum):
    """How URLs are scored."""

    IN_DEGREE = "in-degree"
    """How many pages link to the URL."""
    PAGERANK = "pagerank"
    """The probability that a person who follows random links is at the URL. The sum over all URLs is 1."""


class RankedUrl(NamedTuple):
    """A URL in the ranking."""

    number: int
    score: float
    in_links: int


class ScoreThresholds(NamedTuple):
    """A score must be above these to get the priority."""

    high: float
    medium: float


class Graph:
    """Pages and their links."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        """The number of each URL, by its hash."""
        self._sources = array("I")
        self._targets = array("I")
        self._in_links = array("I")
        self._is_page = bytearray()

    @property
    def urls(self) -> int:
        return len(self._in_links)

    @property
    def links(self) -> int:
        return len(self._targets)

    def add(self, page: PageLinks) -> None:
        source = self._url_number(page.url)
        self._is_page[source] = True
        for target in followed_targets(page.origin, page.packed):
            number = self._url_number(target)
            if number != source:
                self._sources.append(source)
                self._targets.append(number)
                self._in_links[number] += 1

    def _url_number(self, url: str) -> int:
        number = self._numbers.setdefault(hash(url), len(self._in_links))
        if number == len(self._in_links):
            self._in_links.append(0)
            self._is_page.append(False)
        return number

    def scores(self, measure: Measure) -> Sequence[float]:
        """The score of every URL, by its number."""
        if measure is Measure.IN_DEGREE:
            return self._in_links
        return pagerank(len(self._in_links), zip(self._sources, self._targets, strict=True))

    def top(self, limit: int, scores: Sequence[float]) -> list[RankedUrl]:
        """The best URLs, the best one first. Of equal ones, the first one found comes first."""
        best = nlargest(limit, ((score, -number) for number, score in enumerate(scores) if self._in_links[number]))
        return [RankedUrl(-number, score, self._in_links[-number]) for score, number in best]

    def find_urls(self, page: PageLinks, missing: set[int]) -> dict[int, str]:
        """The URLs on this page whose numbers are in `missing`. They are removed from `missing`."""
        found: dict[int, str] = {}
        for url in (page.url, *followed_targets(page.origin, page.packed)):
            number = self._numbers.get(hash(url), -1)
            if number in missing:
                missing.discard(number)
                found[number] = url
        return found

    def make_prioritizer(self, scores: Sequence[float]) -> Callable[[str, Source, Priority], Priority]:
        """A function that gives a waiting URL its priority: its rank among the unvisited URLs that are linked to.

        URLs without links to them keep their priority, and the priority of a seed is never lowered.
        """
        cuts = score_thresholds([score for score, is_page in zip(scores, self._is_page, strict=True) if not is_page])

        def level(url: str, source: Source, now: Priority) -> Priority:
            number = self._numbers.get(hash(url))
            if number is None or not self._in_links[number]:
                return now
            return score_priority(scores[number], cuts, source, now)

        return level


def score_priority(score: float, thresholds: ScoreThresholds, source: Source, current: Priority) -> Priority:
    level = Priority.HIGH if score > thresholds.high else Priority.MEDIUM if score > thresholds.medium else Priority.LOW
    return max(level, current) if source is Source.SEED else level


def score_thresholds(scores: Sequence[float]) -> ScoreThresholds:
    """At most a tenth of the scores is above the first threshold, and at most half above the second. Equal scores get
    the same priority."""
    if not scores:
        return ScoreThresholds(0.0, 0.0)
    best_first = sorted(scores, reverse=True)
    high, medium = (best_first[int(len(best_first) * share)] for share in (HIGH_SHARE, MEDIUM_SHARE))
    return ScoreThresholds(high, medium)


def check_measure(measure: Measure) -> None:
    """Raises `UsageError` if the library of this measure is missing. Call it before the long work."""
    if measure is Measure.PAGERANK and find_spec("igraph") is None:
        raise UsageError("PageRank needs igraph, which is not installed: pip install 'tenax[graph]'")


def pagerank(urls: int, links: Iterable[tuple[int, int]]) -> Sequence[float]:
    """The PageRank of each number below `urls`. A page without links counts as linking to every page."""
    import igraph

    return array("d", igraph.Graph(n=urls, edges=links, directed=True).pagerank(damping=DAMPING))
