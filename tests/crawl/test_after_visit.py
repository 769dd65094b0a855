"""Updates after a visit: the host, candidates from discovery, and the next visit of the page."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, DiscoveryConfig, RecrawlConfig, SiteConfig, Sites
from tenax.crawl.after_visit import VisitUpdate, apply_visit
from tenax.crawl.reader.messages import ExtractedPage
from tenax.fetch import Response
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import Headers
from tenax.model import (
    Candidate,
    Claim,
    DeadLetter,
    Done,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Lease,
    Outcome,
    PageKind,
    Plan,
    Priority,
    Rejected,
    Reschedule,
    RobotsCopy,
    RobotsVerdict,
    Source,
    StoredCopy,
    Task,
    TransportKind,
)
from tenax.text.fingerprint import near_fingerprint
from tenax.urls.admit import build_rules
from tests.visit_ends import visit_end

SITE = "https://a.test"
NOW = 1_772_000_000.0
RULES = build_rules([SITE], Config(), 2026)
HOST = HostRecord(SITE, "a.test")
PAGE = ExtractedPage(kind=PageKind.HUB, content_hash="h")


def site(continuous: bool = False, **discovery: Any) -> SiteConfig:
    config = Config(discovery=DiscoveryConfig(**discovery), recrawl=RecrawlConfig(continuous=continuous))
    return Sites(config).for_origin(SITE)


def claim(path: str = "/", **changes: Any) -> Claim:
    task = Task(SITE + path, SITE, 1, Priority.HIGH, Source.LINK, None, NOW, NOW)
    return Claim(msgspec.structs.replace(task, **changes), HOST, Lease(1, 1, NOW + 60))


def visit_update(
    one: Claim,
    outcome: Outcome,
    reading: ExtractedPage | None = PAGE,
    new: tuple[Candidate, ...] = (),
    settings: SiteConfig | None = None,
    robots: RobotsCopy | None = None,
    host: HostRecord = HOST,
) -> VisitUpdate:
    response = Response(one.task.url, 200, Headers(()), b"", 0, NOW, NOW, NOW)
    answer = FetchResult(outcome, NOW, 1, TransportKind.HTTP, robots, response=response)
    end = visit_end(outcome, NOW, settings or site(), answer=answer, jitter=0.5)
    return apply_visit(host, one, end, reading, new, RULES)


def candidates_of(found: VisitUpdate) -> list[str]:
    return [candidate.url.removeprefix(SITE) for candidate in found.candidates]


def test_the_host_is_learned_of_as_ever() -> None:
    found = visit_update(claim("/a"), Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500), None)
    assert found.host.error_count == 1
    assert (found.candidates, found.change_history, found.next_visit_at) == ((), None, None)


def test_a_robots_txt_that_came_leads_to_sitemaps_and_not_to_feeds() -> None:
    copy = RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 60, "Sitemap: /maps.xml", 200)
    assert candidates_of(visit_update(claim(), Fetched(200), None, robots=copy)) == ["/maps.xml"]


def test_a_home_page_leads_to_a_well_known_feed_path() -> None:
    assert candidates_of(visit_update(claim(), Fetched(200), settings=site(sources=("feeds",), guesses="always"))) == [
        "/feed"
    ]


# ---- selections -------------------------------------------------------------------------------------------


def test_a_selection_is_counted_and_fruitful_only_by_what_lies_beyond_its_path() -> None:
    own = Candidate(f"{SITE}/shop?colour=blue", SITE)
    beyond = Candidate(f"{SITE}/item", SITE)
    found = visit_update(claim("/shop?colour=red"), Fetched(200), new=(own,))
    assert (found.host.guess_state.facets["/shop"].visited, found.host.guess_state.facets["/shop"].useful_ratio) == (
        1,
        0,
    )
    found = visit_update(claim("/shop?colour=red"), Fetched(200), new=(own, beyond), host=found.host)
    assert (found.host.guess_state.facets["/shop"].visited, found.host.guess_state.facets["/shop"].useful_ratio) == (
        2,
        0.5,
    )


@pytest.mark.parametrize(
    ("path", "outcome", "reading"),
    [
        ("/shop", Fetched(200), PAGE),
        ("/shop?colour=red", Failed("", FailureKind.NOT_FOUND), None),
        ("/shop?page=2", Fetched(200), PAGE),
    ],
)
def test_nothing_else_is(path: str, outcome: Outcome, reading: ExtractedPage | None) -> None:
    assert visit_update(claim(path), outcome, reading).host.guess_state.facets == {}


# ---- again ------------------------------------------------------------------------------------------------


def test_a_page_is_rescheduled_only_in_a_continuous_crawl() -> None:
    once = visit_update(claim("/a"), Fetched(200))
    assert (once.change_history, once.next_visit_at, once.adjust_plan(Done())) == (None, None, Done())
    kept = visit_update(claim("/a"), Fetched(200), settings=site(continuous=True))
    assert kept.change_history is not None and kept.next_visit_at is not None and kept.next_visit_at > NOW
    assert kept.adjust_plan(Done()) == Reschedule(kept.next_visit_at, why=kept.why)
    assert kept.host.recrawl_cost.planned_per_day > 0


def test_what_is_to_be_tried_again_soon_is() -> None:
    plan = Reschedule(NOW + 5, spends_attempt=True)
    assert visit_update(claim("/a"), Fetched(200), settings=site(continuous=True)).adjust_plan(plan) is plan


@pytest.mark.parametrize(
    ("outcome", "plan"),
    [
        (Failed("HTTP 403", FailureKind.CLIENT_ERROR, status=403), DeadLetter("HTTP 403")),
        (Rejected("blocked: the site blocks us", is_hard=True), DeadLetter("blocked")),
        (Rejected("soft 404"), Done()),
    ],
)
def test_a_page_that_was_there_is_not_given_up(outcome: Outcome, plan: Plan) -> None:
    settings = site(continuous=True)
    first = visit_update(claim("/a"), Fetched(200), settings=settings)
    assert visit_update(claim("/a"), outcome, None, settings=settings).adjust_plan(plan) is plan, (
        "one that never was is"
    )
    again = msgspec.structs.replace(
        claim("/a"), stored_copy=StoredCopy(NOW - 86_400, 200, PageKind.HUB, change_history=first.change_history)
    )
    found = visit_update(again, outcome, None, settings=settings)
    later = found.adjust_plan(plan)
    assert isinstance(later, Reschedule) and later.at > NOW and later.why.startswith("failed once")
    assert found.change_history is not None and first.change_history is not None
    assert (found.change_history.misses, found.change_history.rates) == (1, first.change_history.rates)


def test_a_text_very_similar_to_the_stored_copy_has_not_changed() -> None:
    words = " ".join(f"word{number}" for number in range(600))
    settings = site(continuous=True)
    first = visit_update(claim("/a"), Fetched(200), settings=settings)
    prints = [near_fingerprint(text) for text in (words, words + " 41 visitors", "another text altogether " * 50)]
    stored_copy_page, counter, other = (
        msgspec.structs.replace(PAGE, content_hash=str(number), fingerprint=mark) for number, mark in enumerate(prints)
    )
    copy = StoredCopy(
        NOW - 86_400,
        200,
        PageKind.HUB,
        change_history=first.change_history,
        content_hash="0",
        fingerprint=stored_copy_page.fingerprint,
    )
    for extracted, changed in ((counter, 0), (other, 1)):
        again = msgspec.structs.replace(claim("/a"), stored_copy=copy)
        found = visit_update(again, Fetched(200), extracted, settings=settings)
        assert found.change_history is not None and found.change_history.changes == changed
