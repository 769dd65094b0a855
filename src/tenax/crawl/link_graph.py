"""The link graph as a whole: who is linked to most, what that is worth, and which level of priority follows from it.

Built page by page. A URL is a number here, found by 64 bits of a hash that is another in every process; a link is two
such numbers in arrays. So a link takes eight bytes and a URL about two hundred, whatever their spelling, and the names
of the few that are shown are looked up by going through the pages once more.

Links marked nofollow and links of a page to itself count for nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from heapq import nlargest
from importlib.util import find_spec
from typing import NamedTuple

from tenax.database import PageLinks
from tenax.database.links import followed_targets
from tenax.errors import UsageError
from tenax.model import Priority, Source

HIGH_SHARE = 0.1
"""Of the URLs not visited yet: so many, the best, are wanted first."""
MEDIUM_SHARE = 0.5
DAMPING = 0.85


class Measure(StrEnum):
    """What a URL is worth by its links."""

    IN_DEGREE = "in-degree"
    """How many pages link to it."""
    PAGERANK = "pagerank"
    """The chance to meet someone there who follows links at random; of all URLs together it is 1."""


class RankedUrl(NamedTuple):
    """One of the best."""

    number: int
    score: float
    in_links: int


class ScoreThresholds(NamedTuple):
    """What a score must be above to be of a level."""

    high: float
    medium: float


class Graph:
    """Pages and where they lead."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        """Of each URL, by its hash."""
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
        """Of every URL by its number."""
        if measure is Measure.IN_DEGREE:
            return self._in_links
        return pagerank(len(self._in_links), zip(self._sources, self._targets, strict=True))

    def top(self, limit: int, scores: Sequence[float]) -> list[RankedUrl]:
        """The best, best first; of equals the one that was met first."""
        best = nlargest(limit, ((score, -number) for number, score in enumerate(scores) if self._in_links[number]))
        return [RankedUrl(-number, score, self._in_links[-number]) for score, number in best]

    def find_urls(self, page: PageLinks, missing: set[int]) -> dict[int, str]:
        """The names of those of the missing numbers that this page, or a link on it, has; missing no longer."""
        found: dict[int, str] = {}
        for url in (page.url, *followed_targets(page.origin, page.packed)):
            number = self._numbers.get(hash(url), -1)
            if number in missing:
                missing.discard(number)
                found[number] = url
        return found

    def make_prioritizer(self, scores: Sequence[float]) -> Callable[[str, Source, Priority], Priority]:
        """The level a waiting URL should have by its score, among all that are linked to and were not visited yet.

        What no link leads to stays where it is, and a seed is never lowered.
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
    """A tenth of the scores is above the first cut at most, a half above the second: equals are never told apart."""
    if not scores:
        return ScoreThresholds(0.0, 0.0)
    best_first = sorted(scores, reverse=True)
    high, medium = (best_first[int(len(best_first) * share)] for share in (HIGH_SHARE, MEDIUM_SHARE))
    return ScoreThresholds(high, medium)


def check_measure(measure: Measure) -> None:
    """Raises `UsageError` when it wants a library that is not there; to be asked before the long work."""
    if measure is Measure.PAGERANK and find_spec("igraph") is None:
        raise UsageError("PageRank needs igraph, which is not installed: pip install 'tenax[graph]'")


def pagerank(urls: int, links: Iterable[tuple[int, int]]) -> Sequence[float]:
    """Of each number below `urls`. Who follows links and comes to an end goes on anywhere."""
    import igraph

    return array("d", igraph.Graph(n=urls, edges=links, directed=True).pagerank(damping=DAMPING))
