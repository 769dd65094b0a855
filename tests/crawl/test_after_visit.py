"""What a visit teaches: of its host, of where more may be, and of when its page is visited again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, DiscoveryConfig, FreshnessConfig, SiteConfig, Sites
from tenax.crawl.after_visit import Lesson, lesson_of
from tenax.crawl.reader.messages import Reading
from tenax.extract.text.fingerprint import near_fingerprint
from tenax.fetch import Response
from tenax.fetch.answer import Answer
from tenax.fetch.headers import Headers
from tenax.model import (
    Again,
    Claim,
    DeadLetter,
    Done,
    Failed,
    FailureKind,
    Fetched,
    Held,
    HostRecord,
    Lease,
    Offer,
    Outcome,
    PageKind,
    Plan,
    Priority,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
    Way,
)
from tenax.urls.admit import rules_of

SITE = "https://a.test"
NOW = 1_772_000_000.0
RULES = rules_of([SITE], Config(), 2026)
HOST = HostRecord(SITE, "a.test")
PAGE = Reading(kind=PageKind.HUB, content_hash="h")


def site(keep: bool = False, **discovery: Any) -> SiteConfig:
    config = Config(discovery=DiscoveryConfig(**discovery), freshness=FreshnessConfig(keep=keep))
    return Sites(config).of_origin(SITE)


def claim(path: str = "/", **changes: Any) -> Claim:
    task = Task(SITE + path, SITE, 1, Priority.HIGH, Source.LINK, None, NOW, NOW)
    return Claim(msgspec.structs.replace(task, **changes), HOST, Lease(1, 1, NOW + 60))


def lesson(
    one: Claim,
    outcome: Outcome,
    reading: Reading | None = PAGE,
    new: tuple[Offer, ...] = (),
    settings: SiteConfig | None = None,
    robots: RobotsCopy | None = None,
    host: HostRecord = HOST,
) -> Lesson:
    response = Response(one.task.url, 200, Headers(()), b"", 0, NOW, NOW, NOW)
    answer = Answer(outcome, NOW, 1, Way.HTTP, robots, response=response)
    return lesson_of(
        host, one, answer, outcome, reading, new, NOW, 0.5, frozenset({Way.HTTP}), RULES, settings or site()
    )


def offers_of(found: Lesson) -> list[str]:
    return [offer.url.removeprefix(SITE) for offer in found.offers]


def test_the_host_is_learned_of_as_ever() -> None:
    found = lesson(claim("/a"), Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500), None)
    assert found.host.error_count == 1
    assert (found.offers, found.freshness, found.again_at) == ((), None, None)


def test_a_robots_txt_that_came_leads_to_sitemaps_and_not_to_feeds() -> None:
    copy = RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 60, "Sitemap: /maps.xml", 200)
    assert offers_of(lesson(claim(), Fetched(200), None, robots=copy)) == ["/maps.xml"]


def test_a_home_page_leads_to_the_usual_place_of_a_feed() -> None:
    assert offers_of(lesson(claim(), Fetched(200), settings=site(sources=("feeds",), guesses="always"))) == ["/feed"]


# ---- selections -------------------------------------------------------------------------------------------


def test_a_selection_is_counted_and_fruitful_only_by_what_lies_beyond_its_path() -> None:
    own = Offer(f"{SITE}/shop?colour=blue", SITE)
    beyond = Offer(f"{SITE}/item", SITE)
    found = lesson(claim("/shop?colour=red"), Fetched(200), new=(own,))
    assert (found.host.finds.facets["/shop"].seen, found.host.finds.facets["/shop"].fruitful) == (1, 0)
    found = lesson(claim("/shop?colour=red"), Fetched(200), new=(own, beyond), host=found.host)
    assert (found.host.finds.facets["/shop"].seen, found.host.finds.facets["/shop"].fruitful) == (2, 0.5)


@pytest.mark.parametrize(
    ("path", "outcome", "reading"),
    [
        ("/shop", Fetched(200), PAGE),
        ("/shop?colour=red", Failed("", FailureKind.NOT_FOUND), None),
        ("/shop?page=2", Fetched(200), PAGE),
    ],
)
def test_nothing_else_is(path: str, outcome: Outcome, reading: Reading | None) -> None:
    assert lesson(claim(path), outcome, reading).host.finds.facets == {}


# ---- again ------------------------------------------------------------------------------------------------


def test_a_page_comes_back_in_its_time_only_where_pages_are_kept_fresh() -> None:
    once = lesson(claim("/a"), Fetched(200))
    assert (once.freshness, once.again_at, once.plan(Done())) == (None, None, Done())
    kept = lesson(claim("/a"), Fetched(200), settings=site(keep=True))
    assert kept.freshness is not None and kept.again_at is not None and kept.again_at > NOW
    assert kept.plan(Done()) == Again(kept.again_at, why=kept.why)
    assert kept.host.upkeep.planned_per_day > 0


def test_what_is_to_be_tried_again_soon_is() -> None:
    plan = Again(NOW + 5, spends_attempt=True)
    assert lesson(claim("/a"), Fetched(200), settings=site(keep=True)).plan(plan) is plan


@pytest.mark.parametrize(
    ("outcome", "plan"),
    [
        (Failed("HTTP 403", FailureKind.CLIENT_ERROR, status=403), DeadLetter("HTTP 403")),
        (Rejected("blocked: the site shuts us out", is_hard=True), DeadLetter("blocked")),
        (Rejected("soft 404"), Done()),
    ],
)
def test_a_page_that_was_there_is_not_given_up(outcome: Outcome, plan: Plan) -> None:
    settings = site(keep=True)
    first = lesson(claim("/a"), Fetched(200), settings=settings)
    assert lesson(claim("/a"), outcome, None, settings=settings).plan(plan) is plan, "one that never was is"
    again = msgspec.structs.replace(claim("/a"), held=Held(NOW - 86_400, 200, PageKind.HUB, freshness=first.freshness))
    found = lesson(again, outcome, None, settings=settings)
    later = found.plan(plan)
    assert isinstance(later, Again) and later.at > NOW and later.why.startswith("failed once")
    assert found.freshness is not None and first.freshness is not None
    assert (found.freshness.misses, found.freshness.rates) == (1, first.freshness.rates)


def test_a_text_that_is_nearly_the_one_we_held_has_not_changed() -> None:
    words = " ".join(f"word{number}" for number in range(600))
    settings = site(keep=True)
    first = lesson(claim("/a"), Fetched(200), settings=settings)
    prints = [near_fingerprint(text) for text in (words, words + " 41 visitors", "another text altogether " * 50)]
    held, counter, other = (
        msgspec.structs.replace(PAGE, content_hash=str(place), fingerprint=mark) for place, mark in enumerate(prints)
    )
    copy = Held(
        NOW - 86_400, 200, PageKind.HUB, freshness=first.freshness, content_hash="0", fingerprint=held.fingerprint
    )
    for reading, changed in ((counter, 0), (other, 1)):
        again = msgspec.structs.replace(claim("/a"), held=copy)
        found = lesson(again, Fetched(200), reading, settings=settings)
        assert found.freshness is not None and found.freshness.changed == changed
