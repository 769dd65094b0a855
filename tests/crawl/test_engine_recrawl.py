"""Recrawls on real parts: the clock is manual, and each page is visited again at its own rate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import Config, CrawlConfig, DiscoveryConfig, RecrawlConfig, Sites
from tenax.database import TaskState
from tenax.model import Ending, Failed, FailureKind, Reschedule
from tests.crawling import BY_LINKS, HURRIED, SITE, Answered, Crawl, Sent, begun, linking

DAY = 86_400.0
HOUR = 3600.0
KEEP = RecrawlConfig(continuous=True)
Making = Callable[..., Awaitable[Crawl]]


def text(version: int, name: str = "") -> str:
    """A page whose words differ in each version."""
    words = " ".join(f"{name}word{version}x{number}" for number in range(80))
    return f"<title>{name}</title><p>{words}"


def urlset(path: str, at: float) -> Sent:
    stamp = datetime.fromtimestamp(at, UTC).isoformat()
    body = f"<urlset><url><loc>{SITE}{path}</loc><lastmod>{stamp}</lastmod></url></urlset>"
    return Sent(body.encode(), "application/xml")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def crawl_of(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Making]:
    crawls: list[Crawl] = []

    async def made(
        pages: Mapping[str, Answered],
        recrawl: RecrawlConfig = KEEP,
        discovery: DiscoveryConfig = BY_LINKS,
        overrides: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Crawl:
        config = Config(
            crawl=CrawlConfig(max_idle_seconds=0.0),
            politeness=HURRIED,
            discovery=discovery,
            recrawl=recrawl,
            sites={name: dict(own) for name, own in (overrides or {}).items()},
        )
        crawls.append(await begun(tmp_path, clock, pages, config, sites=Sites(config)))
        return crawls[-1]

    yield made
    for one in crawls:
        await one.database.close()


async def days_pass(crawl: Crawl, clock: ManualClock, days: float, step: float = HOUR) -> dict[str, int]:
    """Run the crawl after each hour; how often each path was requested."""
    before = len(crawl.asked)
    for _ in range(round(days * DAY / step)):
        clock.advance(step)
        assert await crawl.run() is Ending.MAX_IDLE, "what is kept fresh is never complete"
    asked = crawl.asked[before:]
    return {path: asked.count(path) for path in dict.fromkeys(asked)}


async def test_each_page_is_visited_at_its_own_pace(crawl_of: Making, clock: ManualClock) -> None:
    crawl = await crawl_of({"/": linking("/lively", "/calm"), "/lively": text(0, "l"), "/calm": text(0, "c")})
    assert await crawl.run() is Ending.MAX_IDLE
    assert sorted(crawl.stored) == ["/", "/calm", "/lively"]
    lively = calm = 0
    for day in range(1, 41):
        crawl.web.pages[SITE + "/lively"] = text(day, "l")
        asked = await days_pass(crawl, clock, 1, 4 * HOUR)
        if day > 20:
            lively += asked.get("/lively", 0)
            calm += asked.get("/calm", 0)
    assert lively > 2 * calm > 0
    history = await crawl.life("/calm")
    assert history.state is TaskState.WAITING
    plan = history.visits[-1].plan
    assert isinstance(plan, Reschedule) and plan.why.startswith("changed in 0 of ")
    assert history.attempt == 0
    # A changed page is stored again; an unchanged one causes no event.
    assert crawl.stored.count("/lively") > 20


async def test_a_page_that_is_gone_is_looked_for_less_and_less_often_and_may_come_back(
    crawl_of: Making, clock: ManualClock
) -> None:
    crawl = await crawl_of({"/": linking("/a"), "/a": text(0)})
    await crawl.run()
    crawl.web.pages[SITE + "/a"] = (404, "")
    asked = [(await days_pass(crawl, clock, 14, 12 * HOUR)).get("/a", 0) for _ in range(4)]
    assert asked[0] >= 3
    assert sum(asked[1:]) <= 3
    assert crawl.outcomes["/a"] == "failed:not_found"
    crawl.web.pages[SITE + "/a"] = text(1)
    await days_pass(crawl, clock, 90, 5 * DAY)
    assert crawl.outcomes["/a"] == "fetched"
    assert await crawl.database.find_problems() == []


async def test_a_link_that_never_led_anywhere_is_not_asked_for_again(crawl_of: Making, clock: ManualClock) -> None:
    crawl = await crawl_of({"/": linking("/lost")})
    await crawl.run()
    assert "/lost" not in await days_pass(crawl, clock, 30, DAY)


async def test_a_change_reported_by_the_sitemap_makes_a_page_due_at_once(crawl_of: Making, clock: ManualClock) -> None:
    config = RecrawlConfig(continuous=True, min_interval_seconds=HOUR, max_interval_seconds=60 * DAY)
    sitemaps = DiscoveryConfig(sources=("sitemaps",))
    old = clock.now() - 200 * DAY
    crawl = await crawl_of({"/": text(0), "/sitemap.xml": urlset("/a", old), "/a": text(0, "a")}, config, sitemaps)
    await crawl.run()
    await days_pass(crawl, clock, 60, 6 * HOUR)
    due = (await crawl.life("/a")).due
    assert due is not None and due > clock.now() + HOUR, "by itself it would wait"
    crawl.web.pages[SITE + "/a"] = text(1, "a")
    crawl.web.pages[SITE + "/sitemap.xml"] = urlset("/a", clock.now() + 60)
    clock.advance(120)
    before = len(crawl.visits)
    while "/sitemap.xml" not in [visit.claim.task.url.removeprefix(SITE) for visit in crawl.visits[before:]]:
        clock.advance(HOUR)
        await crawl.run()
    await crawl.run()
    visits = [visit for visit in crawl.visits[before:] if visit.claim.task.url == SITE + "/a"]
    assert visits and visits[-1].claim.task.is_announced
    assert visits[-1].finished_at == clock.now()


async def test_failures_do_not_count_for_its_pace(crawl_of: Making, clock: ManualClock) -> None:
    crawl = await crawl_of({"/": linking("/a"), "/a": text(0)})
    await crawl.run()
    await days_pass(crawl, clock, 10, 12 * HOUR)
    [before] = [visit.change_history for visit in crawl.visits if visit.claim.task.url == SITE + "/a"][-1:]
    crawl.web.pages[SITE + "/a"] = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500)
    while crawl.outcomes["/a"] != "failed:server_error":
        await days_pass(crawl, clock, 1, 6 * HOUR)
    failed = crawl.visits[-1]
    assert failed.change_history is not None and before is not None
    assert failed.change_history.rates == before.rates
    crawl.web.pages[SITE + "/a"] = text(0)
    await days_pass(crawl, clock, 1, 6 * HOUR)
    assert crawl.outcomes["/a"] == "fetched"
    history = await crawl.life("/a")
    assert (history.state, history.attempt) == (TaskState.WAITING, 0)


async def test_a_page_that_failed_too_often_is_still_recrawled(crawl_of: Making, clock: ManualClock) -> None:
    """One bad day must not end its recrawls."""
    crawl = await crawl_of({"/": linking("/a"), "/a": text(0)})
    await crawl.run()
    crawl.web.pages[SITE + "/a"] = Failed("HTTP 403", FailureKind.CLIENT_ERROR, status=403)
    await days_pass(crawl, clock, 10, 12 * HOUR)
    crawl.web.pages[SITE + "/a"] = text(1)
    await days_pass(crawl, clock, 30, DAY)
    assert crawl.outcomes["/a"] == "fetched"


async def test_a_304_says_as_much_as_the_same_text(crawl_of: Making, clock: ManualClock) -> None:
    page = Sent(text(0).encode(), headers={"ETag": '"1"'})
    crawl = await crawl_of({"/": page})
    await crawl.run()
    await days_pass(crawl, clock, 20, 6 * HOUR)
    assert crawl.outcomes["/"] == "unchanged"
    change_history = crawl.visits[-1].change_history
    assert change_history is not None
    assert change_history.changes == 0 and change_history.visits > 3
    assert crawl.stored == ["/"]


async def test_interval_bounds_hold_and_a_site_may_have_its_own(crawl_of: Making, clock: ManualClock) -> None:
    slow = RecrawlConfig(continuous=True, min_interval_seconds=10 * DAY, max_interval_seconds=10 * DAY)
    crawl = await crawl_of(
        {"/": text(0)},
        slow,
        overrides={"a.test": {"recrawl.min_interval_seconds": 2 * DAY, "recrawl.max_interval_seconds": 2 * DAY}},
    )
    await crawl.run()
    asked = await days_pass(crawl, clock, 20, DAY)
    assert asked == {"/": 10}


async def test_the_schedule_says_what_is_due_when_and_why(crawl_of: Making, clock: ManualClock) -> None:
    crawl = await crawl_of({"/": linking("/a"), "/a": text(0)})
    await crawl.run()
    due_tasks = await crawl.database.due_tasks(5)
    assert sum(due_tasks.due_within.values()) == 2
    assert due_tasks.due_within["now"] == 0
    assert [line.why.partition(",")[0] for line in due_tasks.tasks] == ["new", "new"]
    assert [line.due for line in due_tasks.tasks] == sorted(line.due for line in due_tasks.tasks)
    clock.advance(90 * DAY)
    assert (await crawl.database.due_tasks(0)).due_within["now"] == 2
