"""Recrawl plans: what a visit says about how often a page changes, and when it is visited again.

The clock is manual; the crawl decides how much time lies between two visits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tenax.config import RecrawlConfig, SiteConfig
from tenax.crawl.after_visit import DAY_SECONDS, MIN_PRICE, RecrawlPlan, parse_http_time, parse_iso_time, plan_recrawl
from tenax.crawl.reader.messages import ExtractedPage
from tenax.fetch import Response
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import Headers
from tenax.model import (
    ChangeHistory,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Lease,
    Outcome,
    PageKind,
    Priority,
    RecrawlCost,
    Redirected,
    Refused,
    Rejected,
    Source,
    StoredCopy,
    Task,
    Unchanged,
)
from tests.visit_ends import visit_end

SITE = "https://a.test"
NOW = 1_772_000_000.0
KEEP = RecrawlConfig(continuous=True)
MISSING = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)
NOT_MODIFIED = Unchanged()
OK = Fetched(200)


class Page:
    """A page that is recrawled, visited whenever it is due."""

    def __init__(
        self, kind: PageKind = PageKind.OTHER, config: RecrawlConfig = KEEP, recrawl_cost: RecrawlCost | None = None
    ) -> None:
        self.kind = kind
        self.config = config
        self.recrawl_cost = recrawl_cost or RecrawlCost()
        self.now = NOW
        self.due = NOW
        self.text = 0
        self.stored_copy: StoredCopy | None = None
        self.waiting = 0

    def visit(
        self, outcome: Outcome = OK, *, is_changed: bool = False, similarity: float | None = None, **task: Any
    ) -> RecrawlPlan:
        """Visit it when it is due; its next visit follows the returned plan."""
        self.now = max(self.due, self.now)
        self.text += is_changed
        extracted = None
        if isinstance(outcome, Fetched):
            extracted = ExtractedPage(
                kind=self.kind,
                content_hash=str(self.text),
                url_list=outcome.url_list,
                candidates=task.pop("candidates", ()),
                published=task.pop("published", None),
                modified=task.pop("modified", None),
            )
        headers = task.pop("headers", {})
        plain = Task(f"{SITE}/a", SITE, 1, Priority.MEDIUM, Source.LINK, None, NOW, self.due)
        claim = Claim(
            msgspec.structs.replace(plain, **task), HostRecord(SITE, "a.test"), Lease(1, 1, self.now + 60),
            self.stored_copy, self.waiting,
        )  # fmt: skip
        answer = _answer(outcome, headers, self.now)
        end = visit_end(outcome, self.now, SiteConfig(recrawl=self.config), answer=answer)
        plan = plan_recrawl(self.recrawl_cost, claim, end, extracted, similarity)
        self.recrawl_cost = plan.recrawl_cost
        if plan.change_history is not None:
            self.stored_copy = StoredCopy(
                self.now, 200, self.kind, change_history=plan.change_history, content_hash=str(self.text),
                url_list=outcome.url_list if isinstance(outcome, Fetched) else "",
            )  # fmt: skip
        if plan.next_visit_at is not None:
            self.due = plan.next_visit_at
        return plan

    @property
    def change_history(self) -> ChangeHistory:
        assert self.stored_copy is not None and self.stored_copy.change_history is not None
        return self.stored_copy.change_history

    def pauses(self, visits: int, is_changed: Callable[[int], bool], outcome: Outcome = OK) -> list[float]:
        """Days until the next visit after each of these."""
        days = []
        for number in range(visits):
            plan = self.visit(outcome, is_changed=is_changed(number))
            assert plan.next_visit_at is not None
            days.append((plan.next_visit_at - self.now) / DAY_SECONDS)
        return days


def _answer(outcome: Outcome, headers: dict[str, str], now: float) -> FetchResult:
    pairs = Headers((name.encode(), value.encode()) for name, value in headers.items())
    status = outcome.status if isinstance(outcome, Fetched) else 200
    return FetchResult(outcome, now, response=Response(f"{SITE}/a", status or 200, pairs, b"", 0, now, now, now))


def always(_: int) -> bool:
    return True


def never(_: int) -> bool:
    return False


# ---- at its own pace --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [OK, NOT_MODIFIED], ids=["the same text", "304"])
def test_a_page_that_does_not_change_is_visited_less_and_less_often(outcome: Outcome) -> None:
    page = Page()
    page.visit()
    pauses = page.pauses(30, never, outcome)
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]
    assert (page.change_history.visits, page.change_history.changes) == (31, 0)


def test_a_page_that_changes_each_time_is_visited_more_often() -> None:
    page = Page()
    page.visit()
    quiet = page.pauses(10, never)
    busy = page.pauses(10, always)
    assert busy[0] < quiet[-1]
    assert busy[-1] < quiet[0]
    assert page.change_history.changes == 10


def test_what_is_nearly_the_same_is_the_same() -> None:
    page = Page()
    page.visit()
    page.visit(is_changed=True, similarity=0.985)
    assert page.change_history.changes == 0
    page.visit(is_changed=True, similarity=0.97)
    assert page.change_history.changes == 1
    page.visit(is_changed=True, similarity=None)
    assert page.change_history.changes == 2


def test_a_hub_is_visited_more_often_than_an_article_that_lives_alike() -> None:
    hub, article = Page(PageKind.HUB), Page(PageKind.ARTICLE)
    for page in (hub, article):
        page.visit()
    assert hub.due < article.due
    ahead = [sum(page.pauses(12, lambda number: number % 3 == 0)) for page in (hub, article)]
    assert ahead[0] < ahead[1]


@pytest.mark.parametrize(
    ("changes", "bound"),
    [(always, "min_interval_seconds"), (never, "max_interval_seconds")],
    ids=["changes always", "never changes"],
)
def test_no_page_is_visited_sooner_or_later_than_the_bounds_of_its_site(
    changes: Callable[[int], bool], bound: str
) -> None:
    config = RecrawlConfig(continuous=True, min_interval_seconds=2 * DAY_SECONDS, max_interval_seconds=3 * DAY_SECONDS)
    page = Page(config=config)
    page.visit()
    pauses = page.pauses(80, changes)
    assert all(2 <= days <= 3 for days in pauses)
    assert pauses[-1] * DAY_SECONDS == pytest.approx(getattr(config, bound))


def test_a_sitemap_or_a_feed_is_taken_for_a_hub_that_changes_when_it_lists_something_else() -> None:
    page = Page()
    page.visit(Fetched(200, "sitemap"))
    assert page.change_history.is_hub
    page.visit(
        Fetched(200, "sitemap"), candidates=(object(),)
    )  # a reader that has just started reports known links as candidates, too
    page.visit(Unchanged())
    page.visit(Fetched(200, "sitemap"))
    assert page.change_history.changes == 0
    page.visit(Fetched(200, "sitemap"), is_changed=True)
    assert page.change_history.changes == 1


def test_why_is_said_for_people() -> None:
    page = Page()
    assert page.visit().why.startswith("new, assumed to change about every ")
    page.visit()
    assert page.visit(is_changed=True).why.startswith("changed in 1 of 2 visits, about every ")
    assert page.visit(MISSING).why.startswith("gone, found so once; next visit after ")


# ---- what is not there, and what failed -------------------------------------------------------------------


def test_a_page_that_is_gone_is_looked_for_again_later_and_less_often() -> None:
    page = Page()
    page.visit()
    pauses = page.pauses(4, never, MISSING)
    assert pauses == [1.0, 3.0, 9.0, 27.0]
    assert page.change_history.visits == 1, "it says nothing about how often the page changes"
    page.visit()
    assert page.change_history.gone == 0, "it is back"


def test_what_was_never_there_is_not_looked_for_again() -> None:
    page = Page()
    assert page.visit(MISSING) == RecrawlPlan(RecrawlCost())


@pytest.mark.parametrize(
    "outcome",
    [
        Deferred(NOW, "robots.txt was asked first"),
        Refused("robots: closed"),
        Redirected(302, SITE),
        Unchanged(why="the stored copy is young enough"),
    ],
    ids=["later", "refused", "redirected", "not asked"],
)
def test_what_was_not_looked_at_changes_nothing(outcome: Outcome) -> None:
    page = Page()
    page.visit()
    page.visit()
    change_history, recrawl_cost = page.change_history, page.recrawl_cost
    assert page.visit(outcome) == RecrawlPlan(recrawl_cost, change_history)


@pytest.mark.parametrize(
    "outcome",
    [
        Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500),
        Failed("", FailureKind.TIMEOUT_BODY),
        Rejected("soft 404"),
    ],
    ids=["500", "timeout", "rejected"],
)
def test_a_page_that_was_there_and_failed_is_tried_again_ever_later_and_nothing_is_learned(outcome: Outcome) -> None:
    page = Page()
    assert page.visit(outcome) == RecrawlPlan(RecrawlCost()), "one that never was there is not"
    page.visit()
    page.visit()
    before, recrawl_cost, pause = page.change_history, page.recrawl_cost, page.due - page.now
    for failures, attempts in ((1, 3), (2, 1), (3, 2)):
        for attempt in range(attempts):  # in quick succession, which is one failure
            plan = page.visit(outcome, attempt=attempt)
            assert plan.next_visit_at is not None
            assert plan.next_visit_at - page.now == pytest.approx(2**failures * pause, rel=0.01)
            assert page.change_history.misses == failures
    assert plan.why.startswith("failed 3 times in a row")
    assert page.recrawl_cost == recrawl_cost
    assert (page.change_history.seen_at, page.change_history.rates) == (before.seen_at, before.rates)
    page.visit()
    assert page.change_history.misses == 0


@pytest.mark.parametrize(
    "outcome",
    [Failed("", FailureKind.CONNECT, is_site_wide=True), Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429)],
    ids=["the host is down", "we were too quick"],
)
def test_failures_not_caused_by_the_page_do_not_count(outcome: Outcome) -> None:
    page = Page()
    page.visit()
    change_history, recrawl_cost = page.change_history, page.recrawl_cost
    assert page.visit(outcome) == RecrawlPlan(recrawl_cost, change_history)


# ---- what is said of it -----------------------------------------------------------------------------------


def test_a_sitemap_with_false_reports_is_ignored() -> None:
    page = Page()
    page.visit()
    heard = []
    for is_changed in (False, False, True):  # at last it changes after all
        page.visit(is_announced=True, is_changed=is_changed)
        heard.append(page.change_history.is_sitemap_trusted)
    assert heard == [True, False, True]


def test_a_hint_counts_only_before_the_second_visit() -> None:
    pages = {frequency: Page() for frequency in ("hourly", "", "yearly")}
    for frequency, page in pages.items():
        page.visit(changefreq=frequency)
    dues = [page.due for page in pages.values()]
    assert dues == sorted(dues) and len(set(dues)) == 3
    hinted, unhinted = Page(), Page()
    for page in (hinted, unhinted):
        page.visit()
    hinted.visit(changefreq="hourly")
    unhinted.visit()
    assert hinted.due == unhinted.due


@pytest.mark.parametrize(
    "said",
    [{"modified": "2025-01-01"}, {"headers": {"Last-Modified": "Wed, 01 Jan 2025 00:00:00 GMT"}}],
    ids=["in the page", "in a header"],
)
def test_a_page_that_says_it_is_old_gets_a_longer_pause(said: dict[str, Any]) -> None:
    old, plain = Page(), Page()
    old.visit(**said)
    plain.visit()
    assert old.due > plain.due


def test_a_page_with_a_validator_costs_less_and_is_visited_sooner() -> None:
    cheap, dear = Page(), Page()
    cheap.visit(headers={"ETag": '"1"'})
    dear.visit()
    assert cheap.due < dear.due


def test_an_article_settles() -> None:
    """The days since its publication count, so an article of last year waits longer than one of today."""
    new, old = Page(PageKind.ARTICLE), Page(PageKind.ARTICLE)
    new.visit(published="2026-02-25T00:00:00Z")
    old.visit(published="2025-02-25T00:00:00Z")
    assert new.due < old.due


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-02-25", 1_771_977_600.0), ("2026-02-25T01:00:00+01:00", 1_771_977_600.0),
        ("2026-02-25T00:00:00Z", 1_771_977_600.0), ("yesterday", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_dates_of_pages(text: str | None, at: float | None) -> None:
    assert parse_iso_time(text) == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Wed, 25 Feb 2026 00:00:00 GMT", 1_771_977_600.0), ("yesterday", None), ("", None), (None, None),
        ("Wed, 25 Feb 99999 00:00:00 GMT", None),
    ],
)  # fmt: skip
def test_dates_of_http(text: str | None, at: float | None) -> None:
    assert parse_http_time(text) == at


# ---- the budget of a host ---------------------------------------------------------------------------------


def run_host(pages: int, config: RecrawlConfig, days: float) -> tuple[RecrawlCost, float]:
    """This many pages of one host, which change at every visit, for some days; visits a day in the last ten."""
    recrawl_cost, all_of_them = RecrawlCost(), [Page(config=config) for _ in range(pages)]
    now, visits = NOW, 0
    while now < NOW + days * DAY_SECONDS:
        page = min(all_of_them, key=lambda page: page.due)
        now = max(now, page.due)
        page.recrawl_cost, page.now = recrawl_cost, now
        page.visit(is_changed=True)
        recrawl_cost = page.recrawl_cost
        visits += now >= NOW + (days - 10) * DAY_SECONDS
    return recrawl_cost, visits / 10


def test_the_price_rises_while_pages_ask_for_more_than_the_host_may_be_asked() -> None:
    dear, visits = run_host(30, RecrawlConfig(continuous=True, visits_per_day=10), 40)
    assert dear.price > 10 * MIN_PRICE
    assert 5 <= visits <= 20, "about as many as are allowed"
    cheap, more = run_host(30, RecrawlConfig(continuous=True, visits_per_day=2000), 40)
    assert cheap.price == MIN_PRICE
    assert more > 2 * visits


def test_what_waits_makes_visits_dearer() -> None:
    idle, behind = Page(config=RecrawlConfig(continuous=True, visits_per_day=5)), Page()
    behind.config, behind.waiting = idle.config, 500
    for page in (idle, behind):
        page.visit()
        page.visit()
    assert behind.recrawl_cost.price > idle.recrawl_cost.price


def test_what_a_page_takes_of_the_budget_is_given_back_when_it_is_planned_anew() -> None:
    """Whether its sitemap brought the visit forward or a failure delayed it, the sum stays right."""
    page = Page()
    page.visit()
    for number in range(50):
        if number % 3 == 0:
            page.due = page.now + 60.0
            page.visit(is_announced=True)
        elif number % 3 == 1:
            page.visit(Failed("", FailureKind.TIMEOUT_BODY))
        else:
            page.visit(is_changed=True)
        own = DAY_SECONDS / page.change_history.planned_seconds
        assert page.recrawl_cost.planned_per_day == pytest.approx(own, rel=0.01)


def test_what_pages_of_a_kind_did_is_believed_of_the_next() -> None:
    lively, calm = Page(), Page()
    lively.visit()
    calm.visit()
    lively.pauses(20, always)
    calm.pauses(20, never)
    after_lively, after_calm = Page(recrawl_cost=lively.recrawl_cost), Page(recrawl_cost=calm.recrawl_cost)
    after_lively.visit()
    after_calm.visit()
    assert after_lively.due < after_calm.due
    assert set(lively.recrawl_cost.priors) == {PageKind.OTHER}
