"""Candidates besides links: entries of sitemaps and feeds, sitemaps and feeds themselves, and guesses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tenax.config import Config, CrawlConfig
from tenax.model import Budget, Candidate, Priority, Source
from tenax.urls import FoundOn, KnownUrls
from tenax.urls.admit import (
    URL_LIST_LEAD_SECONDS,
    ListedUrl,
    Rules,
    admit_url_list,
    build_rules,
    guess_candidate,
    is_seed_host,
    url_list_candidate,
)
from tenax.urls.normalize import normalize, normalize_options

PAGE = "https://example.org/news/today"
RULES = build_rules(["https://example.org/"], Config(), 2026)
MAP = "https://example.org/sitemap.xml"
NOW = 1_772_000_000.0
DAY = 86_400.0
BUDGET = Budget("max_sitemaps", "", 10)


def urls(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.url for candidate in candidates]


def with_crawl(crawl: CrawlConfig, seed: str = "https://example.org/") -> Rules:
    return build_rules([seed], Config(crawl=crawl), 2026)


def test_what_is_listed_becomes_an_candidate_with_its_hints() -> None:
    entries = [ListedUrl("/a", None, "daily"), ListedUrl("https://example.org/a#x"), ListedUrl("/about", NOW - DAY)]
    candidates, refusals = admit_url_list(RULES, FoundOn(MAP, 1, Source.SITEMAP, MAP), entries, NOW)
    assert urls(candidates) == ["https://example.org/a", "https://example.org/about"]
    plain, new = candidates
    assert (plain.depth, plain.source, plain.via, plain.changefreq) == (2, Source.SITEMAP, MAP, "daily")
    assert (plain.priority, plain.is_url_list, refusals) == (Priority.HIGH, False, {})
    assert plain.lead_seconds == (72 - 4 - 67) * 60.0
    assert new.lead_seconds == (72 - 4 + 6 - 67) * 60.0


def test_new_comes_before_old_and_a_feed_before_a_sitemap() -> None:
    ages = [0.0, 10.0, 100.0, 5000.0, -3.0]
    entries = [ListedUrl(f"/{number}", NOW - age * DAY) for number, age in enumerate(ages)]
    dated, _ = admit_url_list(RULES, FoundOn(MAP, 2, Source.FEED, MAP), entries, NOW)
    listed, _ = admit_url_list(RULES, FoundOn(MAP, 2, Source.SITEMAP, MAP), entries, NOW)
    new, month, year, old, ahead = (candidate.lead_seconds for candidate in dated)
    assert new == ahead > month > year > old, "a date ahead of now is as good as new"
    assert all(one.lead_seconds > other.lead_seconds for one, other in zip(dated, listed, strict=True))


def test_what_is_listed_is_judged_like_links_each_url_once() -> None:
    rules = with_crawl(CrawlConfig(exclude=("*/private/*",)))
    entries = [
        ListedUrl("https://other.test/"), ListedUrl("/private/x"), ListedUrl("mailto:a@b.test"), ListedUrl("http://["),
        ListedUrl("/known"), ListedUrl("/before"), ListedUrl("/2999/calendar"), ListedUrl("/ok"),
    ]  # fmt: skip
    known = KnownUrls({"https://example.org/known"}, {"https://example.org/before"})
    candidates, refusals = admit_url_list(rules, FoundOn(MAP, 0, Source.FEED, MAP), entries, NOW, known)
    assert urls(candidates) == ["https://example.org/ok"]
    assert refusals == {"scope": 1, "exclude": 1, "scheme": 1, "invalid": 1, "trap:calendar_years": 1}


def test_what_is_listed_too_deep_is_refused_for_that() -> None:
    rules = with_crawl(CrawlConfig(max_depth=2))
    entries = [ListedUrl("/a"), ListedUrl("https://other.test/")]
    candidates, refusals = admit_url_list(rules, FoundOn(MAP, 2, Source.FEED, MAP), entries, NOW)
    assert (candidates, refusals) == ((), {"depth": 1, "scope": 1})


@pytest.mark.parametrize(
    ("scope", "href", "is_named", "is_candidate"),
    [
        ("host", "/maps/a.xml", False, True),
        ("host", "https://www.example.org/a.xml", False, True),
        ("host", "https://sub.example.org/a.xml", False, False),
        ("domain", "https://sub.example.org/a.xml", False, True),
        ("prefix", "/a.xml", False, True),
        ("any", "https://other.test/a.xml", False, False),
        ("any", "/a.xml", False, True),
        ("host", "https://other.test/a.xml", True, True),
        ("host", "mailto:a@b.test", True, False),
        ("host", "/" + "x" * 5000, True, False),
    ],
)
def test_where_a_sitemap_or_a_feed_may_be(scope: Any, href: str, is_named: bool, is_candidate: bool) -> None:
    rules = with_crawl(CrawlConfig(scope=scope, include=("*/news/*",)), "https://example.org/docs/")
    candidate = url_list_candidate(rules, href, FoundOn(MAP, 3, Source.SITEMAP, PAGE), BUDGET, is_named=is_named)
    assert (candidate is not None) is is_candidate


def test_a_url_list_goes_before_pages_of_its_level_and_has_its_own_budget_only() -> None:
    rules = with_crawl(CrawlConfig(max_depth=2))
    candidate = url_list_candidate(rules, "/a.xml?x=1", FoundOn(MAP, 5, Source.FEED, PAGE), BUDGET)
    assert candidate is not None
    assert (candidate.url, candidate.origin, candidate.depth) == (
        "https://example.org/a.xml?x=1",
        "https://example.org",
        5,
    )
    assert (candidate.priority, candidate.lead_seconds) == (Priority.MEDIUM, URL_LIST_LEAD_SECONDS)
    assert (candidate.source, candidate.via, candidate.is_url_list, candidate.budgets) == (
        Source.FEED,
        PAGE,
        True,
        (BUDGET,),
    )


@pytest.mark.parametrize(
    ("crawl", "guess", "depth", "is_candidate"),
    [
        (CrawlConfig(), "https://example.org/news?page=3", 1, True),
        (CrawlConfig(max_depth=1), "https://example.org/news?page=3", 2, False),
        (CrawlConfig(exclude=("*page=*",)), "https://example.org/news?page=3", 1, False),
        (CrawlConfig(include=("*/blog/*",)), "https://example.org/news?page=3", 1, False),
        (CrawlConfig(scope="prefix"), "https://example.org/archive", 1, False),
        (CrawlConfig(), "https://other.test/news?page=3", 1, False),
    ],
)
def test_a_guess_has_the_lowest_priority_and_must_pass_the_rules(
    crawl: CrawlConfig, guess: str, depth: int, is_candidate: bool
) -> None:
    rules = with_crawl(crawl, "https://example.org/news/")
    candidate = guess_candidate(rules, guess, depth, Source.PAGINATION, PAGE)
    assert (candidate is not None) is is_candidate
    if candidate is not None:
        assert (candidate.priority, candidate.source, candidate.via, candidate.depth) == (
            Priority.DISCOVERY, Source.PAGINATION, PAGE, depth,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "url", "is_theirs"),
    [
        ("host", "https://example.org/x", True), ("host", "https://sub.example.org/", False),
        ("domain", "https://sub.example.org/", True), ("domain", "https://other.test/", False),
        ("prefix", "https://example.org/x", True), ("prefix", "https://other.test/docs/", False),
        ("any", "https://example.org/x", True), ("any", "https://other.test/", False),
    ],
)  # fmt: skip
def test_which_hosts_the_seeds_name(scope: Any, url: str, is_theirs: bool) -> None:
    rules = with_crawl(CrawlConfig(scope=scope), "https://example.org/docs/")
    target = normalize(url, None, normalize_options(rules.urls))
    assert target is not None
    assert is_seed_host(rules, target) is is_theirs
