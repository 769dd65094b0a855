"""The link graph, on small graphs and against igraph's known results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.crawl.link_graph import (
    Graph,
    Measure,
    RankedUrl,
    ScoreThresholds,
    check_measure,
    pagerank,
    score_priority,
    score_thresholds,
)
from tenax.database import PageLinks
from tenax.database.page_codec import pack_links
from tenax.errors import UsageError
from tenax.model import PageLink, Priority, Source
from tests.link_columns import link_columns

A = "https://a.test"
LOW, MEDIUM, HIGH = Priority.LOW, Priority.MEDIUM, Priority.HIGH


def page(path: str, *targets: str, nofollow: tuple[str, ...] = ()) -> PageLinks:
    links = [PageLink(A + target) for target in targets] + [PageLink(A + url, "", "", True) for url in nofollow]
    return PageLinks(A + path, A, pack_links(A, link_columns(links)))


PAGES = (
    page("/", "/a", "/b", "/b", "/"),
    page("/a", "/", "/b", "/waiting", nofollow=("/quiet",)),
    page("/b", "/", "/waiting", "/once"),
    page("/alone"),
)


@pytest.fixture
def graph() -> Graph:
    graph = Graph()
    for one in PAGES:
        graph.add(one)
    return graph


def named(graph: Graph, ranked: list[RankedUrl]) -> dict[str, int]:
    missing, names = {one.number for one in ranked}, dict[int, str]()
    for one in PAGES:
        names |= graph.find_urls(one, missing)
    assert not missing
    return {names[one.number].removeprefix(A): one.in_links for one in ranked}


def test_what_is_counted(graph: Graph) -> None:
    assert (graph.urls, graph.links) == (6, 8), "neither nofollow, nor to itself, nor twice from one page"
    best = graph.top(10, graph.scores(Measure.IN_DEGREE))
    assert named(graph, best) == {"/": 2, "/b": 2, "/waiting": 2, "/a": 1, "/once": 1}
    assert [one.score for one in best] == [2, 2, 2, 1, 1]
    assert named(graph, graph.top(1, graph.scores(Measure.IN_DEGREE))) == {"/": 2}


def test_nothing_to_rank() -> None:
    graph = Graph()
    assert graph.top(3, graph.scores(Measure.IN_DEGREE)) == []
    assert graph.top(3, graph.scores(Measure.PAGERANK)) == []
    assert graph.make_prioritizer(graph.scores(Measure.IN_DEGREE))(A, Source.LINK, MEDIUM) is MEDIUM


def test_pagerank(graph: Graph) -> None:
    check_measure(Measure.PAGERANK)
    best = graph.top(10, graph.scores(Measure.PAGERANK))
    assert list(named(graph, best))[:2] == ["/b", "/"]
    assert sum(graph.scores(Measure.PAGERANK)) == pytest.approx(1)


def by_hand(urls: int, links: list[tuple[int, int]]) -> list[float]:
    """PageRank by its definition, iterated until it converges."""
    scores = [1 / urls] * urls
    leads = [[target for source, target in links if source == number] for number in range(urls)]
    for _ in range(300):
        idle = sum(score for score, targets in zip(scores, leads, strict=True) if not targets)
        new = [0.15 / urls + 0.85 * idle / urls] * urls
        for score, targets in zip(scores, leads, strict=True):
            for target in targets:
                new[target] += 0.85 * score / len(targets)
        scores = new
    return scores


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True, max_size=20))
def test_pagerank_is_what_it_is_defined_to_be(links: list[tuple[int, int]]) -> None:
    assert list(pagerank(6, links)) == pytest.approx(by_hand(6, links), abs=1e-9)


def test_a_measure_whose_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.crawl.link_graph.find_spec", lambda name: None)
    check_measure(Measure.IN_DEGREE)
    with pytest.raises(UsageError, match=r"pip install 'tenax\[graph\]'"):
        check_measure(Measure.PAGERANK)


@pytest.mark.parametrize(
    ("scores", "cuts"),
    [
        ([], ScoreThresholds(0, 0)),
        ([5], ScoreThresholds(5, 5)),
        ([1, 1, 1, 1], ScoreThresholds(1, 1)),
        (list(range(10)), ScoreThresholds(8, 4)),
        ([1] * 8 + [2, 9], ScoreThresholds(2, 1)),
    ],
)
def test_where_the_levels_are_cut(scores: list[float], cuts: ScoreThresholds) -> None:
    assert score_thresholds(scores) == cuts


@given(st.lists(st.integers(0, 9), min_size=1))
def test_a_tenth_is_high_at_most_and_a_half_above_low(scores: list[int]) -> None:
    cuts = score_thresholds(scores)
    levels = [score_priority(score, cuts, Source.LINK, LOW) for score in scores]
    assert levels.count(HIGH) <= len(scores) / 10
    assert levels.count(HIGH) + levels.count(MEDIUM) <= len(scores) / 2


@pytest.mark.parametrize(
    ("score", "source", "now", "level"),
    [
        (9, Source.LINK, LOW, HIGH),
        (8, Source.LINK, HIGH, MEDIUM),
        (4, Source.LINK, HIGH, LOW),
        (5, Source.ARCHIVE, Priority.DISCOVERY, MEDIUM),
        (4, Source.SEED, HIGH, HIGH),
        (9, Source.SEED, LOW, HIGH),
    ],
)
def test_levels(score: float, source: Source, now: Priority, level: Priority) -> None:
    assert score_priority(score, ScoreThresholds(8, 4), source, now) is level


def test_levels_of_what_waits(graph: Graph) -> None:
    level_of = graph.make_prioritizer(graph.scores(Measure.IN_DEGREE))
    assert level_of(f"{A}/waiting", Source.LINK, LOW) is MEDIUM, "the better half of two"
    assert level_of(f"{A}/once", Source.LINK, HIGH) is LOW
    assert level_of(f"{A}/quiet", Source.LINK, MEDIUM) is MEDIUM, "no link that counts leads there"
    assert level_of(f"{A}/alone", Source.LINK, HIGH) is HIGH
    for path in ("/1", "/2", "/3"):
        graph.add(page(path, "/waiting", *(f"/{n}/rare" for n in range(9))) if path == "/1" else page(path, "/waiting"))
    level_of = graph.make_prioritizer(graph.scores(Measure.IN_DEGREE))
    assert level_of(f"{A}/waiting", Source.LINK, LOW) is HIGH
    assert level_of(f"{A}/3/rare", Source.SITEMAP, MEDIUM) is LOW
