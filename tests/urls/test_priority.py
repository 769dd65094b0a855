from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.config import UrlsConfig
from tenax.model import SECONDS_PER_POINT, Priority, Source
from tenax.urls.normalize import normalize, normalize_options
from tenax.urls.priority import (
    GUESS_SOURCES,
    MIN_SCORES,
    QueuePosition,
    Rank,
    queue_position,
    queue_positions,
    score_priority,
    url_priority,
    url_score,
)

HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW


def priority(path: str, depth: int, is_seed: bool = False) -> Priority:
    url = normalize(path, "https://example.org/", normalize_options(UrlsConfig()))
    assert url is not None
    return url_priority(url, depth, is_seed)


@pytest.mark.parametrize(
    ("path", "depth", "expected"),
    [
        ("/", 0, HIGH), ("/", 9, HIGH), ("/index.html", 9, HIGH), ("https://other.org/", 7, HIGH),
        ("/a", 1, HIGH), ("/a/b/c", 2, HIGH), ("/a", 3, MEDIUM), ("/a", 5, MEDIUM), ("/a", 6, LOW), ("/a", 30, LOW),
        ("/blog/a-post", 4, MEDIUM), ("/2026/05/12/a-post", 4, MEDIUM), ("/?p=123", 4, MEDIUM), ("/p/abc", 4, MEDIUM),
        ("/about", 4, MEDIUM), ("/about/", 9, MEDIUM), ("/en/contact-us.html", 9, MEDIUM), ("/Impressum", 8, MEDIUM),
        ("/about", 1, HIGH), ("/about-the-war", 9, LOW), ("/contacts/12", 9, LOW),
        ("/news?page=2", 1, LOW), ("/news?a=1&Page=2", 1, LOW), ("/news?paged=3", 4, LOW), ("/news?offset=40", 1, LOW),
        ("/news?start=40", 1, LOW), ("/news?start=2026-01-01", 1, HIGH), ("/news?cursor=abc", 1, LOW),
        ("/news?homepage=2", 1, HIGH), ("/news?page=about", 1, HIGH), ("/?page=2", 1, LOW),
        ("/news/page/2", 1, LOW), ("/news/page/2/", 4, LOW), ("/news/page-3.html", 1, LOW), ("/page2", 1, LOW),
        ("/page/about", 1, HIGH), ("/homepage/2", 1, HIGH), ("/pages/2", 1, HIGH),
        ("/archive", 1, LOW), ("/archives/2009/x", 1, LOW), ("/Tag/python", 1, LOW), ("/tags/", 1, LOW),
        ("/archived-news", 1, HIGH), ("/tagesschau", 1, HIGH), ("/stage/", 1, HIGH),
        ("/2019/", 1, LOW), ("/2019/05", 1, LOW), ("/2019/05/12/", 1, LOW), ("/blog/2019/05/", 1, LOW),
        ("/2019/13/", 1, HIGH), ("/2019/05/12/a", 1, HIGH), ("/3019/", 1, HIGH),
    ],
)  # fmt: skip
def test_priority_of(path: str, depth: int, expected: Priority) -> None:
    assert priority(path, depth) is expected


def test_a_seed_is_high_whatever_it_looks_like() -> None:
    assert priority("/archive?page=2", 0, is_seed=True) is HIGH
    assert priority("/archive?page=2", 9, is_seed=True) is HIGH


# ---- the score ----------------------------------------------------------------------------------------------

NAMED = [source for source in Source if source not in GUESS_SOURCES]
DEPTHS = st.integers(0, 100)
AGES = st.none() | st.floats(0, 10_000)
LINKS = st.integers(0, 10**9)


@pytest.mark.parametrize(
    ("rank", "depth", "score"),
    [
        (Rank.TOP, 0, 95), (Rank.TOP, 9, 95),
        (Rank.ORDINARY, 0, 80), (Rank.ORDINARY, 1, 76), (Rank.ORDINARY, 2, 72), (Rank.ORDINARY, 3, 56),
        (Rank.ORDINARY, 5, 48), (Rank.ORDINARY, 6, 24), (Rank.ORDINARY, 16, 14), (Rank.ORDINARY, 99, 14),
        (Rank.LANDMARK, 2, 72), (Rank.LANDMARK, 9, 44),
        (Rank.LISTING, 0, 24), (Rank.LISTING, 1, 23), (Rank.LISTING, 99, 14),
    ],
)  # fmt: skip
def test_what_a_url_is_worth_by_itself(rank: Rank, depth: int, score: float) -> None:
    assert url_score(rank, depth) == score


@pytest.mark.parametrize(
    ("source", "age_days", "in_links", "points"),
    [
        (Source.LINK, None, 0, 0), (Source.FEED, None, 0, 6), (Source.SITEMAP, None, 0, -4), (Source.SEED, None, 0, 0),
        (Source.LINK, 0, 0, 6), (Source.LINK, 2, 0, 6), (Source.LINK, 2.01, 0, 2), (Source.LINK, 30, 0, 2),
        (Source.LINK, 365, 0, 0), (Source.LINK, 366, 0, -6), (Source.SITEMAP, 1, 0, 2), (Source.FEED, 1, 0, 12),
        (Source.LINK, None, 3, 0), (Source.LINK, None, 4, 2), (Source.LINK, None, 16, 4), (Source.LINK, None, 63, 4),
        (Source.LINK, None, 64, 6), (Source.LINK, None, 10**9, 6),
    ],
)  # fmt: skip
def test_what_is_said_of_it_moves_it(source: Source, age_days: float | None, in_links: int, points: float) -> None:
    assert url_score(Rank.ORDINARY, 1, source, age_days, in_links) == 76 + points


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (100, Priority.HIGH), (67, Priority.HIGH), (66.9, Priority.MEDIUM), (34, Priority.MEDIUM),
        (33.9, Priority.LOW), (1, Priority.LOW), (0.9, Priority.DISCOVERY), (0, Priority.DISCOVERY),
    ],
)  # fmt: skip
def test_the_bounds_of_levels(score: float, level: Priority) -> None:
    assert score_priority(score) is level


def test_a_standing_is_a_level_and_a_lead_of_a_minute_a_point() -> None:
    assert queue_position(34.0) == QueuePosition(Priority.MEDIUM, 0.0)
    assert queue_position(40.5) == QueuePosition(Priority.MEDIUM, 6.5 * SECONDS_PER_POINT)
    assert queue_positions(3) == tuple(queue_position(url_score(rank, 3)) for rank in Rank)


@given(rank=st.sampled_from(Rank), depth=DEPTHS, source=st.sampled_from(NAMED), age_days=AGES, in_links=LINKS)
def test_whatever_is_said_a_url_stays_within_the_band_of_its_level(
    rank: Rank, depth: int, source: Source, age_days: float | None, in_links: int
) -> None:
    level = score_priority(url_score(rank, depth))
    score = url_score(rank, depth, source, age_days, in_links)
    assert score_priority(score) is level is not Priority.DISCOVERY
    assert MIN_SCORES[level] <= score <= 100
    assert 0 <= queue_position(score).lead_seconds < 34 * SECONDS_PER_POINT


@given(
    rank=st.sampled_from(Rank),
    depth=DEPTHS,
    source=st.sampled_from(sorted(GUESS_SOURCES)),
    age_days=AGES,
    in_links=LINKS,
)
def test_a_guess_comes_last_whatever_it_looks_like(
    rank: Rank, depth: int, source: Source, age_days: float | None, in_links: int
) -> None:
    assert queue_position(url_score(rank, depth, source, age_days, in_links)) == QueuePosition(Priority.DISCOVERY, 0.0)


@given(rank=st.sampled_from(Rank), depth=DEPTHS, age_days=st.floats(0, 10_000), later=st.floats(0, 10_000))
def test_deeper_older_and_less_linked_is_never_worth_more(
    rank: Rank, depth: int, age_days: float, later: float
) -> None:
    assert url_score(rank, depth + 1) <= url_score(rank, depth)
    assert url_score(rank, depth, Source.FEED, age_days + later) <= url_score(rank, depth, Source.FEED, age_days)
    assert url_score(rank, depth, in_links=3) <= url_score(rank, depth, in_links=4)
    assert url_score(rank, depth, Source.SITEMAP) <= url_score(rank, depth) <= url_score(rank, depth, Source.FEED)


@given(depth=DEPTHS)
def test_priorities_of_pages_are_those_of_their_scores(depth: int) -> None:
    for path, rank in (("/a", Rank.ORDINARY), ("/about", Rank.LANDMARK), ("/archive", Rank.LISTING), ("/", Rank.TOP)):
        assert priority(path, depth) is score_priority(url_score(rank, depth))
