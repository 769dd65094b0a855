"""Candidates besides links: sitemaps named in robots.txt, well-known paths, guesses within their limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, CrawlConfig, DiscoveryConfig, PolitenessConfig, SiteConfig
from tenax.crawl.discovery_candidates import (
    FEED_PATHS,
    INITIAL_VISITS,
    MIN_PAGES_BEFORE_FEEDS,
    SITEMAP_PATHS,
    guess_urls,
    repeat_reason,
    robots_sitemap_candidates,
)
from tenax.crawl.reader.messages import ExtractedPage
from tenax.discovery.archives import Listing
from tenax.discovery.paged_urls import Numbering
from tenax.model import (
    Budget,
    Candidate,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    GuessState,
    HostRecord,
    Lease,
    Outcome,
    PageKind,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    SiteSigns,
    Source,
    Task,
)
from tenax.urls.admit import Rules, build_rules
from tests.visit_ends import visit_end

SITE = "https://a.test"
NOW = 1_772_000_000.0
ALL = DiscoveryConfig(guesses="always")
AUTO = DiscoveryConfig()
NOTHING = GuessState()
MISSING = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)


def rules_for(*seeds: str, **crawl: Any) -> Rules:
    return build_rules(seeds or (SITE,), Config(crawl=CrawlConfig(**crawl)), 2026)


RULES = rules_for()


def sources(*names: Any) -> DiscoveryConfig:
    return DiscoveryConfig(sources=names, guesses="always")


def robots(text: str = "", verdict: RobotsVerdict = RobotsVerdict.RULES) -> RobotsCopy:
    return RobotsCopy(verdict, NOW, NOW + 3600, text, 200)


def task(path: str = "/", **changes: Any) -> Task:
    plain = Task(SITE + path, SITE, 0, Priority.HIGH, Source.SEED, None, NOW, NOW)
    return msgspec.structs.replace(plain, **changes)


def paths(candidates: tuple[Candidate, ...]) -> list[str]:
    return [candidate.url.removeprefix(SITE) for candidate in candidates]


# ---- robots.txt -------------------------------------------------------------------------------------------


def test_sitemaps_named_in_robots_txt_are_candidates() -> None:
    text = f"User-agent: *\nSitemap: {SITE}/a.xml\nsitemap: /b.xml\nSitemap: https://maps.test/c.xml\n"
    candidates = robots_sitemap_candidates(SITE, robots(text), RULES, ALL)
    assert paths(candidates) == ["/a.xml", "/b.xml", "https://maps.test/c.xml"]
    assert {(candidate.depth, candidate.source, candidate.via, candidate.is_url_list) for candidate in candidates} == {
        (0, Source.SITEMAP, None, True)
    }
    assert {candidate.budgets for candidate in candidates} == {(Budget("max_sitemaps", "", 1000),)}


def test_all_are_candidates_and_the_budget_limits_how_many_are_read() -> None:
    text = "".join(f"Sitemap: {SITE}/{number}.xml\n" for number in range(9))
    candidates = robots_sitemap_candidates(SITE, robots(text), RULES, DiscoveryConfig(max_sitemaps=4))
    assert [candidate.budgets for candidate in candidates] == [(Budget("max_sitemaps", "", 4),)] * 9


@pytest.mark.parametrize("verdict", [RobotsVerdict.RULES, RobotsVerdict.ALLOW_ALL])
def test_without_a_named_sitemap_the_well_known_path_is_tried(verdict: RobotsVerdict) -> None:
    assert paths(robots_sitemap_candidates(SITE, robots("", verdict), RULES, ALL)) == ["/sitemap.xml"]


@pytest.mark.parametrize(
    ("origin", "copy", "rules", "discovery"),
    [
        (SITE, robots(verdict=RobotsVerdict.UNREACHABLE), RULES, ALL),
        (SITE, robots(), RULES, sources("links", "feeds")),
        (SITE, robots(), rules_for(max_depth=0), ALL),
        ("https://b.test", robots("Sitemap: /a.xml"), rules_for(scope="any"), ALL),
    ],
    ids=["unreachable", "not wanted", "nothing is followed", "not of the seeds"],
)
def test_where_no_sitemap_is_looked_for(
    origin: str, copy: RobotsCopy, rules: Rules, discovery: DiscoveryConfig
) -> None:
    assert robots_sitemap_candidates(origin, copy, rules, discovery) == ()


# ---- well-known paths -------------------------------------------------------------------------------------


def well_known(
    one: Task,
    outcome: Outcome,
    extracted: ExtractedPage | None = None,
    discovery: DiscoveryConfig = ALL,
    guess_state: GuessState = NOTHING,
    waiting: int | None = 5,
) -> tuple[GuessState, list[str]]:
    """The guess state after a visit, and the well-known paths of sitemaps and feeds that are tried."""
    claim = Claim(one, HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), waiting=waiting)
    guess_state, candidates = guess_urls(
        guess_state,
        claim,
        visit_end(outcome, NOW, SiteConfig(discovery=discovery)),
        extracted,
        0,
        RULES,
        similarity=same,
    )
    return guess_state, paths(tuple(candidate for candidate in candidates if candidate.is_url_list))


def after(
    one: Task, outcome: Outcome, extracted: ExtractedPage | None = None, discovery: DiscoveryConfig = ALL
) -> list[str]:
    return well_known(one, outcome, extracted, discovery)[1]


def same(one: bytes, other: bytes) -> float:
    return float(one == other)


def test_a_home_page_without_a_feed_leads_to_the_first_well_known_path_once() -> None:
    claim = Claim(task(), HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60))
    site = SiteConfig(discovery=sources("feeds"))
    end = visit_end(Fetched(200), NOW, site)
    guess_state, [candidate] = guess_urls(GuessState(), claim, end, ExtractedPage(), 0, RULES, similarity=same)
    assert (candidate.url, candidate.source, candidate.via) == (SITE + FEED_PATHS[0], Source.FEED, SITE + "/")
    assert candidate.budgets == (Budget("min_guesses", "feeds", 3),)
    assert guess_urls(guess_state, claim, end, ExtractedPage(), 0, RULES, similarity=same)[1] == ()


@pytest.mark.parametrize(
    ("one", "extracted", "discovery"),
    [
        (task("/blog"), ExtractedPage(), ALL),
        (task(), ExtractedPage(has_feeds=True), ALL),
        (task(), ExtractedPage(rejection=Rejected("a wall")), ALL),
        (task(), None, ALL),
        (task(), ExtractedPage(), sources("links")),
        (task(), ExtractedPage(), AUTO),
        (task(), ExtractedPage(), DiscoveryConfig(guesses="never")),
        (task(url="https://b.test/", origin="https://b.test"), ExtractedPage(), ALL),
    ],
    ids=[
        *("another page", "it names one", "no page", "nothing read", "not wanted", "no news site", "never"),
        "not of the seeds",
    ],
)
def test_no_other_page_does(one: Task, extracted: ExtractedPage | None, discovery: DiscoveryConfig) -> None:
    assert after(one, Fetched(200), extracted, discovery) == []


@pytest.mark.parametrize(
    "outcome",
    [MISSING, Failed("", FailureKind.GONE), Failed("", FailureKind.CLIENT_ERROR), Rejected("url_list: html")],
    ids=["404", "410", "403", "html"],
)
@pytest.mark.parametrize(("well_known_paths", "source"), [(SITEMAP_PATHS, Source.SITEMAP), (FEED_PATHS, Source.FEED)])
def test_the_next_well_known_path_follows_a_missing_one(
    well_known_paths: tuple[str, ...], source: Source, outcome: Outcome
) -> None:
    guesses = [task(path, source=source, is_url_list=True) for path in well_known_paths]
    assert [after(guess, outcome) for guess in guesses] == [[path] for path in well_known_paths[1:]] + [[]]


@pytest.mark.parametrize(
    ("path", "source", "outcome"),
    [
        ("/sitemap.xml", Source.SITEMAP, Fetched(200, "sitemap")),
        ("/sitemap.xml", Source.SITEMAP, Failed("", FailureKind.SERVER_ERROR)),
        ("/sitemap.xml", Source.SITEMAP, Refused("robots: closed")),
        ("/other.xml", Source.SITEMAP, MISSING),
        ("/sitemap.xml", Source.FEED, MISSING),
        ("/feed", Source.SITEMAP, MISSING),
    ],
)
def test_after_other_outcomes_no_further_path_is_tried(path: str, source: Source, outcome: Outcome) -> None:
    assert after(task(path, source=source, is_url_list=True), outcome) == []


def test_a_page_that_is_missing_leads_nowhere() -> None:
    assert after(task("/sitemap.xml", source=Source.LINK), MISSING) == []


ARTICLE = ExtractedPage(kind=PageKind.ARTICLE, published="2026-02-01")


def test_unrequested_paths_are_tried_once_the_site_is_a_news_site() -> None:
    missing = task("/sitemap.xml", source=Source.SITEMAP, is_url_list=True)
    guess_state, tried = well_known(missing, MISSING, None, AUTO)
    guess_state, more = well_known(task(), Fetched(200), ExtractedPage(), AUTO, guess_state)
    assert (guess_state.verdict, tried, more) == ("no_signs", [], [])
    for number in range(2):
        guess_state, tried = well_known(task(f"/a{number}"), Fetched(200), ARTICLE, AUTO, guess_state)
        assert tried == []
    guess_state, tried = well_known(task("/a2"), Fetched(200), ARTICLE, AUTO, guess_state)
    assert (guess_state.verdict, tried) == ("news", ["/sitemap_index.xml"]), "a feed may be named yet"
    visits = 0
    while not tried or visits == 0:
        guess_state, tried = well_known(task(f"/b{visits}"), Fetched(200), ARTICLE, AUTO, guess_state)
        visits += 1
        assert visits <= MIN_PAGES_BEFORE_FEEDS
    assert tried == ["/feed"]


def test_a_small_news_site_is_asked_for_its_feed_when_nothing_is_left() -> None:
    guess_state = GuessState(verdict="news", signs=SiteSigns(has_home=True))
    assert well_known(task("/a"), Fetched(200), ARTICLE, AUTO, guess_state, waiting=3)[1] == []
    assert well_known(task("/a"), Fetched(200), ARTICLE, AUTO, guess_state, waiting=0)[1] == ["/feed"]
    named = msgspec.structs.replace(guess_state, signs=SiteSigns(has_home=True, has_feed=True))
    assert well_known(task("/a"), Fetched(200), ARTICLE, AUTO, named, waiting=0)[1] == []


# ---- guesses ----------------------------------------------------------------------------------------------

PAGE = Fetched(200)
LIST = ExtractedPage(content_hash="x", listing=Listing(Numbering("/news?page={n}", 4, 4), link_fingerprint=b"\x01"))


def guess(
    guess_state: GuessState = NOTHING,
    one: Task | None = None,
    outcome: Outcome = PAGE,
    extracted: ExtractedPage | None = LIST,
    rules: Rules = RULES,
    discovery: DiscoveryConfig | None = None,
    waiting: int | None = None,
    new_urls: int = 5,
    rate: float = 1.0,
) -> tuple[GuessState, tuple[Candidate, ...]]:
    claim = Claim(
        one or task("/news?page=4", depth=2), HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), waiting=waiting
    )
    site = SiteConfig(
        discovery=discovery or sources("links", "pagination"), politeness=PolitenessConfig(rate_per_second=rate)
    )
    return guess_urls(guess_state, claim, visit_end(outcome, NOW, site), extracted, new_urls, rules, similarity=same)


def test_the_page_after_the_last_one_known_is_guessed_at_the_depth_of_its_list() -> None:
    guess_state, [candidate] = guess()
    assert (candidate.url, candidate.depth, candidate.priority) == (f"{SITE}/news?page=5", 2, Priority.DISCOVERY)
    assert (candidate.source, candidate.via) == (Source.PAGINATION, f"{SITE}/news?page=4")
    assert (guess_state.guesses_made, guess_state.requests) == (1, 1)


@pytest.mark.parametrize(
    ("visits", "waiting", "new_urls", "is_guessed"),
    [
        (INITIAL_VISITS, 2, 5, True),
        (INITIAL_VISITS, 100, 5, False),
        (INITIAL_VISITS, 2, 100, False),
        (INITIAL_VISITS, None, 5, False),
        (0, 2, 5, False),
        (0, 0, 0, True),
    ],
    ids=["little waits", "much waits", "it led to much", "not counted", "it has just begun", "nothing is left"],
)
def test_archives_are_guessed_when_little_is_left(
    visits: int, waiting: int | None, new_urls: int, is_guessed: bool
) -> None:
    guess_state, candidates = guess(
        GuessState(requests=visits),
        extracted=ExtractedPage(),
        discovery=sources("archives"),
        waiting=waiting,
        new_urls=new_urls,
    )
    assert bool(candidates) is is_guessed
    assert {(candidate.source, candidate.depth, candidate.priority) for candidate in candidates} <= {
        (Source.ARCHIVE, 1, Priority.DISCOVERY)
    }
    assert guess_state.guesses_made == len(candidates) <= 2


def test_what_asked_for_nothing_says_nothing_of_how_much_is_left() -> None:
    for outcome in (Deferred(NOW, "robots.txt was asked first"), Refused("robots: closed")):
        guess_state, candidates = guess(
            outcome=outcome, extracted=None, discovery=sources("archives"), waiting=0, new_urls=0
        )
        assert (guess_state.guesses_made, candidates) == (0, ())


def test_what_is_refused_may_be_the_last_there_is() -> None:
    known = GuessState(requests=30)
    for outcome, is_guessed in ((Refused("robots: closed"), True), (Deferred(NOW, "turn: not yet"), False)):
        _, candidates = guess(
            known, outcome=outcome, extracted=None, discovery=sources("archives"), waiting=0, new_urls=0
        )
        assert bool(candidates) is is_guessed


def test_a_guess_that_the_rules_refuse_costs_none() -> None:
    guess_state, candidates = guess(rules=rules_for(exclude=("*page=*",)))
    assert (guess_state.guesses_made, candidates) == (0, ())


@pytest.mark.parametrize(
    ("rules", "discovery"),
    [
        (RULES, sources("links")),
        (rules_for("https://b.test", scope="any"), sources("pagination")),
        (rules_for(max_depth=0), sources("pagination")),
    ],
    ids=["not wanted", "not of the seeds", "nothing is followed"],
)
def test_where_nothing_is_guessed_nothing_is_remembered(rules: Rules, discovery: DiscoveryConfig) -> None:
    guess_state = GuessState()
    after_it, candidates = guess(guess_state, rules=rules, discovery=discovery)
    assert after_it is guess_state
    assert candidates == ()


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (MISSING, "no such page"),
        (Rejected("soft 404"), "no such page"),
        (Redirected(302, SITE + "/"), "redirected"),
    ],
)
def test_an_answer_that_is_no_page_ends_a_list(outcome: Outcome, why: str) -> None:
    guess_state, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION, depth=2)
    guess_state, candidates = guess(guess_state, answered, outcome, None)
    assert (guess_state.lists["/news?page={n}"].why, candidates) == (why, ())


@pytest.mark.parametrize(
    ("path", "source", "extracted", "why"),
    [
        ("/news?page=5", Source.PAGINATION, ExtractedPage(content_hash="x"), "the same as the page before"),
        ("/news?page=5", Source.PAGINATION, ExtractedPage(content_hash="y", fingerprint=b"p"), "like the page before"),
        ("/news?page=5", Source.PAGINATION, ExtractedPage(content_hash="y", fingerprint=b"q"), ""),
        ("/news?page=5", Source.LINK, ExtractedPage(content_hash="x"), ""),
        ("/news?page=9", Source.PAGINATION, ExtractedPage(content_hash="x"), ""),
        ("/archive", Source.ARCHIVE, ExtractedPage(content_hash="a"), "the same as another guess"),
        ("/archive", Source.ARCHIVE, ExtractedPage(content_hash="b"), ""),
        ("/archive", Source.ARCHIVE, ExtractedPage(), ""),
    ],
)
def test_a_guess_that_shows_what_another_page_shows_is_none(
    path: str, source: Source, extracted: ExtractedPage, why: str
) -> None:
    guess_state, _ = guess(extracted=msgspec.structs.replace(LIST, fingerprint=b"p"))
    guess_state = msgspec.structs.replace(guess_state, archive_hash="a")
    assert repeat_reason(task(path, source=source), extracted, guess_state, same) == why


def test_a_list_ends_where_it_repeats_itself() -> None:
    guess_state, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION, depth=2)
    guess_state, candidates = guess(guess_state, answered, Rejected("guess: the same as the page before"), LIST)
    assert (guess_state.lists["/news?page={n}"].why, candidates) == ("the same as the page before", ())


def test_trouble_says_nothing_of_a_list() -> None:
    before, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION)
    for outcome in (Failed("", FailureKind.SERVER_ERROR), Fetched(200, "feed"), Refused("robots: closed")):
        guess_state, _ = guess(before, answered, outcome, None)
        assert guess_state.lists == before.lists


# ---- where guesses are made -------------------------------------------------------------------------------

NEWS = GuessState(signs=SiteSigns(dated_articles=3))


@pytest.mark.parametrize(
    ("guess_state", "discovery", "rate", "verdict"),
    [
        (NOTHING, AUTO, 1.0, "no_signs"),
        (NEWS, AUTO, 1.0, "news"),
        (NEWS, AUTO, 0.0, "own_site"),
        (NOTHING, ALL, 0.0, "asked"),
        (NEWS, DiscoveryConfig(guesses="never"), 1.0, "never"),
    ],
)
def test_guesses_are_made_where_they_are_asked_for_or_the_site_is_a_news_site(
    guess_state: GuessState, discovery: DiscoveryConfig, rate: float, verdict: str
) -> None:
    guess_state, candidates = guess(guess_state, discovery=discovery, rate=rate)
    assert guess_state.verdict == verdict
    assert paths(candidates) == (["/news?page=5"] if verdict in ("asked", "news") else [])


def test_what_was_read_before_a_site_was_found_to_be_a_news_site_is_not_lost() -> None:
    guess_state, candidates = guess(discovery=AUTO)
    assert (guess_state.verdict, candidates) == ("no_signs", ())
    dated = [task(f"/a{number}") for number in range(3)]
    for number, one in enumerate(dated):
        guess_state, candidates = guess(guess_state, one, PAGE, ARTICLE, discovery=AUTO, waiting=0, new_urls=0)
        assert bool(candidates) is (number == 2)
    assert "/news?page=5" in paths(candidates)


def test_lists_of_an_own_site_are_not_tracked() -> None:
    guess_state, _ = guess(discovery=AUTO, rate=0.0)
    assert (guess_state.lists, guess_state.pending, guess_state.guesses_made) == ({}, {}, 0)
