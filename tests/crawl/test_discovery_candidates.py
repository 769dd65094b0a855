"""Where a visit leads besides links: sitemaps that robots.txt names, usual places, guesses within their bounds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, CrawlConfig, DiscoveryConfig, PolitenessConfig, SiteConfig
from tenax.crawl.discovery_candidates import (
    BEGINNING_VISITS,
    FEED_PATHS,
    PAGES_BEFORE_FEEDS,
    SITEMAP_PATHS,
    guessed,
    of_robots,
    why_repeated,
)
from tenax.crawl.reader.messages import Reading
from tenax.discovery.listing import Listing
from tenax.discovery.page_numbers import Numbering
from tenax.model import (
    Budget,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Finds,
    HostRecord,
    Lease,
    Offer,
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
from tenax.urls.admit import Rules, rules_of

SITE = "https://a.test"
NOW = 1_772_000_000.0
ALL = DiscoveryConfig(guesses="always")
AUTO = DiscoveryConfig()
NOTHING = Finds()
MISSING = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)


def rules_for(*seeds: str, **crawl: Any) -> Rules:
    return rules_of(seeds or (SITE,), Config(crawl=CrawlConfig(**crawl)), 2026)


RULES = rules_for()


def sources(*names: Any) -> DiscoveryConfig:
    return DiscoveryConfig(sources=names, guesses="always")


def robots(text: str = "", verdict: RobotsVerdict = RobotsVerdict.RULES) -> RobotsCopy:
    return RobotsCopy(verdict, NOW, NOW + 3600, text, 200)


def task(path: str = "/", **changes: Any) -> Task:
    plain = Task(SITE + path, SITE, 0, Priority.HIGH, Source.SEED, None, NOW, NOW)
    return msgspec.structs.replace(plain, **changes)


def paths(offers: tuple[Offer, ...]) -> list[str]:
    return [offer.url.removeprefix(SITE) for offer in offers]


# ---- robots.txt -------------------------------------------------------------------------------------------


def test_the_sitemaps_that_robots_txt_names_are_offered() -> None:
    text = f"User-agent: *\nSitemap: {SITE}/a.xml\nsitemap: /b.xml\nSitemap: https://maps.test/c.xml\n"
    offers = of_robots(SITE, robots(text), RULES, ALL)
    assert paths(offers) == ["/a.xml", "/b.xml", "https://maps.test/c.xml"]
    assert {(offer.depth, offer.source, offer.via, offer.is_catalogue) for offer in offers} == {
        (0, Source.SITEMAP, None, True)
    }
    assert {offer.budgets for offer in offers} == {(Budget("max_sitemaps", "", 1000),)}


def test_all_are_offered_and_the_budget_says_how_many_will_be_read() -> None:
    text = "".join(f"Sitemap: {SITE}/{number}.xml\n" for number in range(9))
    offers = of_robots(SITE, robots(text), RULES, DiscoveryConfig(max_sitemaps=4))
    assert [offer.budgets for offer in offers] == [(Budget("max_sitemaps", "", 4),)] * 9


@pytest.mark.parametrize("verdict", [RobotsVerdict.RULES, RobotsVerdict.ALLOW_ALL])
def test_where_none_is_named_the_usual_place_is(verdict: RobotsVerdict) -> None:
    assert paths(of_robots(SITE, robots("", verdict), RULES, ALL)) == ["/sitemap.xml"]


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
    assert of_robots(origin, copy, rules, discovery) == ()


# ---- usual places -----------------------------------------------------------------------------------------


def places(
    one: Task,
    outcome: Outcome,
    reading: Reading | None = None,
    discovery: DiscoveryConfig = ALL,
    finds: Finds = NOTHING,
    waiting: int | None = 5,
) -> tuple[Finds, list[str]]:
    """What is known of the host after a visit, and which places of sitemaps and feeds are tried."""
    claim = Claim(one, HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), waiting=waiting)
    finds, offers = guessed(finds, claim, outcome, reading, 0, NOW, RULES, SiteConfig(discovery=discovery), same)
    return finds, paths(tuple(offer for offer in offers if offer.is_catalogue))


def after(one: Task, outcome: Outcome, reading: Reading | None = None, discovery: DiscoveryConfig = ALL) -> list[str]:
    return places(one, outcome, reading, discovery)[1]


def same(one: bytes, other: bytes) -> float:
    return float(one == other)


def test_a_home_page_that_names_no_feed_leads_to_the_first_usual_place_once() -> None:
    claim = Claim(task(), HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60))
    site = SiteConfig(discovery=sources("feeds"))
    finds, [offer] = guessed(Finds(), claim, Fetched(200), Reading(), 0, NOW, RULES, site, same)
    assert (offer.url, offer.source, offer.via) == (SITE + FEED_PATHS[0], Source.FEED, SITE + "/")
    assert offer.budgets == (Budget("guess_least", "feeds", 3),)
    assert guessed(finds, claim, Fetched(200), Reading(), 0, NOW, RULES, site, same)[1] == ()


@pytest.mark.parametrize(
    ("one", "reading", "discovery"),
    [
        (task("/blog"), Reading(), ALL),
        (task(), Reading(has_feeds=True), ALL),
        (task(), Reading(rejected=Rejected("a wall")), ALL),
        (task(), None, ALL),
        (task(), Reading(), sources("links")),
        (task(), Reading(), AUTO),
        (task(), Reading(), DiscoveryConfig(guesses="never")),
        (task(url="https://b.test/", origin="https://b.test"), Reading(), ALL),
    ],
    ids=[
        *("another page", "it names one", "no page", "nothing read", "not wanted", "no news site", "never"),
        "not of the seeds",
    ],
)
def test_no_other_page_does(one: Task, reading: Reading | None, discovery: DiscoveryConfig) -> None:
    assert after(one, Fetched(200), reading, discovery) == []


@pytest.mark.parametrize(
    "outcome",
    [MISSING, Failed("", FailureKind.GONE), Failed("", FailureKind.CLIENT_ERROR), Rejected("catalogue: html")],
    ids=["404", "410", "403", "html"],
)
@pytest.mark.parametrize(("places", "source"), [(SITEMAP_PATHS, Source.SITEMAP), (FEED_PATHS, Source.FEED)])
def test_the_next_usual_place_follows_one_where_nothing_was(
    places: tuple[str, ...], source: Source, outcome: Outcome
) -> None:
    guesses = [task(path, source=source, is_catalogue=True) for path in places]
    assert [after(guess, outcome) for guess in guesses] == [[path] for path in places[1:]] + [[]]


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
def test_after_what_else_no_further_place_is_tried(path: str, source: Source, outcome: Outcome) -> None:
    assert after(task(path, source=source, is_catalogue=True), outcome) == []


def test_a_page_that_is_missing_leads_nowhere() -> None:
    assert after(task("/sitemap.xml", source=Source.LINK), MISSING) == []


ARTICLE = Reading(kind=PageKind.ARTICLE, published="2026-02-01")


def test_where_nobody_asked_places_are_tried_when_the_site_turns_out_to_be_a_news_site() -> None:
    missing = task("/sitemap.xml", source=Source.SITEMAP, is_catalogue=True)
    finds, tried = places(missing, MISSING, None, AUTO)
    finds, more = places(task(), Fetched(200), Reading(), AUTO, finds)
    assert (finds.verdict, tried, more) == ("no_signs", [], [])
    for number in range(2):
        finds, tried = places(task(f"/a{number}"), Fetched(200), ARTICLE, AUTO, finds)
        assert tried == []
    finds, tried = places(task("/a2"), Fetched(200), ARTICLE, AUTO, finds)
    assert (finds.verdict, tried) == ("news", ["/sitemap_index.xml"]), "a feed may be named yet"
    visits = 0
    while not tried or visits == 0:
        finds, tried = places(task(f"/b{visits}"), Fetched(200), ARTICLE, AUTO, finds)
        visits += 1
        assert visits <= PAGES_BEFORE_FEEDS
    assert tried == ["/feed"]


def test_a_small_news_site_is_asked_for_its_feed_when_nothing_is_left() -> None:
    finds = Finds(verdict="news", signs=SiteSigns(has_home=True))
    assert places(task("/a"), Fetched(200), ARTICLE, AUTO, finds, waiting=3)[1] == []
    assert places(task("/a"), Fetched(200), ARTICLE, AUTO, finds, waiting=0)[1] == ["/feed"]
    named = msgspec.structs.replace(finds, signs=SiteSigns(has_home=True, has_feed=True))
    assert places(task("/a"), Fetched(200), ARTICLE, AUTO, named, waiting=0)[1] == []


# ---- guesses ----------------------------------------------------------------------------------------------

PAGE = Fetched(200)
LIST = Reading(content_hash="x", listing=Listing(Numbering("/news?page={n}", 4, 4), trace=b"\x01"))


def guess(
    finds: Finds = NOTHING,
    one: Task | None = None,
    outcome: Outcome = PAGE,
    reading: Reading | None = LIST,
    rules: Rules = RULES,
    discovery: DiscoveryConfig | None = None,
    waiting: int | None = None,
    new_urls: int = 5,
    rate: float = 1.0,
) -> tuple[Finds, tuple[Offer, ...]]:
    claim = Claim(
        one or task("/news?page=4", depth=2), HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), waiting=waiting
    )
    site = SiteConfig(
        discovery=discovery or sources("links", "pagination"), politeness=PolitenessConfig(rate_per_second=rate)
    )
    return guessed(finds, claim, outcome, reading, new_urls, NOW, rules, site, same)


def test_the_page_after_the_last_one_known_is_guessed_at_the_depth_of_its_list() -> None:
    finds, [offer] = guess()
    assert (offer.url, offer.depth, offer.priority) == (f"{SITE}/news?page=5", 2, Priority.DISCOVERY)
    assert (offer.source, offer.via) == (Source.PAGINATION, f"{SITE}/news?page=4")
    assert (finds.made, finds.requests) == (1, 1)


@pytest.mark.parametrize(
    ("visits", "waiting", "new_urls", "is_guessed"),
    [
        (BEGINNING_VISITS, 2, 5, True),
        (BEGINNING_VISITS, 100, 5, False),
        (BEGINNING_VISITS, 2, 100, False),
        (BEGINNING_VISITS, None, 5, False),
        (0, 2, 5, False),
        (0, 0, 0, True),
    ],
    ids=["little waits", "much waits", "it led to much", "not counted", "it has just begun", "nothing is left"],
)
def test_archives_are_guessed_when_little_is_left(
    visits: int, waiting: int | None, new_urls: int, is_guessed: bool
) -> None:
    finds, offers = guess(
        Finds(requests=visits), reading=Reading(), discovery=sources("archives"), waiting=waiting, new_urls=new_urls
    )
    assert bool(offers) is is_guessed
    assert {(offer.source, offer.depth, offer.priority) for offer in offers} <= {
        (Source.ARCHIVE, 1, Priority.DISCOVERY)
    }
    assert finds.made == len(offers) <= 2


def test_what_asked_for_nothing_says_nothing_of_how_much_is_left() -> None:
    for outcome in (Deferred(NOW, "robots.txt was asked first"), Refused("robots: closed")):
        finds, offers = guess(outcome=outcome, reading=None, discovery=sources("archives"), waiting=0, new_urls=0)
        assert (finds.made, offers) == (0, ())


def test_what_is_refused_may_be_the_last_there_is() -> None:
    known = Finds(requests=30)
    for outcome, is_guessed in ((Refused("robots: closed"), True), (Deferred(NOW, "turn: not yet"), False)):
        _, offers = guess(known, outcome=outcome, reading=None, discovery=sources("archives"), waiting=0, new_urls=0)
        assert bool(offers) is is_guessed


def test_a_guess_that_the_rules_refuse_costs_none() -> None:
    finds, offers = guess(rules=rules_for(exclude=("*page=*",)))
    assert (finds.made, offers) == (0, ())


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
    finds = Finds()
    after_it, offers = guess(finds, rules=rules, discovery=discovery)
    assert after_it is finds
    assert offers == ()


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (MISSING, "no such page"),
        (Rejected("soft 404"), "no such page"),
        (Redirected(302, SITE + "/"), "redirected"),
    ],
)
def test_an_answer_that_is_no_page_ends_a_list(outcome: Outcome, why: str) -> None:
    finds, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION, depth=2)
    finds, offers = guess(finds, answered, outcome, None)
    assert (finds.lists["/news?page={n}"].why, offers) == (why, ())


@pytest.mark.parametrize(
    ("path", "source", "reading", "why"),
    [
        ("/news?page=5", Source.PAGINATION, Reading(content_hash="x"), "the same as the page before"),
        ("/news?page=5", Source.PAGINATION, Reading(content_hash="y", fingerprint=b"p"), "like the page before"),
        ("/news?page=5", Source.PAGINATION, Reading(content_hash="y", fingerprint=b"q"), ""),
        ("/news?page=5", Source.LINK, Reading(content_hash="x"), ""),
        ("/news?page=9", Source.PAGINATION, Reading(content_hash="x"), ""),
        ("/archive", Source.ARCHIVE, Reading(content_hash="a"), "the same as another guess"),
        ("/archive", Source.ARCHIVE, Reading(content_hash="b"), ""),
        ("/archive", Source.ARCHIVE, Reading(), ""),
    ],
)
def test_a_guess_that_shows_what_another_page_shows_is_none(
    path: str, source: Source, reading: Reading, why: str
) -> None:
    finds, _ = guess(reading=msgspec.structs.replace(LIST, fingerprint=b"p"))
    finds = msgspec.structs.replace(finds, archive_hash="a")
    assert why_repeated(task(path, source=source), reading, finds, same) == why


def test_a_list_ends_where_it_repeats_itself() -> None:
    finds, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION, depth=2)
    finds, offers = guess(finds, answered, Rejected("guess: the same as the page before"), LIST)
    assert (finds.lists["/news?page={n}"].why, offers) == ("the same as the page before", ())


def test_trouble_says_nothing_of_a_list() -> None:
    before, _ = guess()
    answered = task("/news?page=5", source=Source.PAGINATION)
    for outcome in (Failed("", FailureKind.SERVER_ERROR), Fetched(200, "feed"), Refused("robots: closed")):
        finds, _ = guess(before, answered, outcome, None)
        assert finds.lists == before.lists


# ---- where guesses are made -------------------------------------------------------------------------------

NEWS = Finds(signs=SiteSigns(dated_articles=3))


@pytest.mark.parametrize(
    ("finds", "discovery", "rate", "verdict"),
    [
        (NOTHING, AUTO, 1.0, "no_signs"),
        (NEWS, AUTO, 1.0, "news"),
        (NEWS, AUTO, 0.0, "own_site"),
        (NOTHING, ALL, 0.0, "asked"),
        (NEWS, DiscoveryConfig(guesses="never"), 1.0, "never"),
    ],
)
def test_guesses_are_made_where_they_are_asked_for_or_the_site_is_a_news_site(
    finds: Finds, discovery: DiscoveryConfig, rate: float, verdict: str
) -> None:
    finds, offers = guess(finds, discovery=discovery, rate=rate)
    assert finds.verdict == verdict
    assert paths(offers) == (["/news?page=5"] if verdict in ("asked", "news") else [])


def test_what_was_read_before_a_site_was_found_to_be_a_news_site_is_not_lost() -> None:
    finds, offers = guess(discovery=AUTO)
    assert (finds.verdict, offers) == ("no_signs", ())
    dated = [task(f"/a{number}") for number in range(3)]
    for number, one in enumerate(dated):
        finds, offers = guess(finds, one, PAGE, ARTICLE, discovery=AUTO, waiting=0, new_urls=0)
        assert bool(offers) is (number == 2)
    assert "/news?page=5" in paths(offers)


def test_a_site_of_ones_own_is_not_kept_in_mind() -> None:
    finds, _ = guess(discovery=AUTO, rate=0.0)
    assert (finds.lists, finds.owed, finds.made) == ({}, {}, 0)
