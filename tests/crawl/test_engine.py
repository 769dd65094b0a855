"""The engine on real parts over a web in memory: claimed tasks are visited, visits are committed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import CacheConfig, Config, CrawlConfig, DatabaseConfig, DuplicatesConfig, FetchConfig
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.crawl.reader.pool import InlineReaderPool, ReaderFailed
from tenax.database import Admission, TaskState
from tenax.errors import CommitUnknown, NoSeedReachable
from tenax.fetch.answer import FetchResult
from tenax.model import (
    Candidate,
    Claim,
    Deferred,
    Ending,
    Failed,
    FailureKind,
    Fetched,
    Hop,
    HostRecord,
    Park,
    Redirected,
    Rejected,
    Source,
    StoredCopy,
    Task,
    Unchanged,
    Visit,
)
from tenax.urls.admit import Rules
from tests.crawling import BY_LINKS, HURRIED, SITE, Answered, Crawl, begun, linking, until

DEFAULTS = Config()
Making = Callable[..., Awaitable[Crawl]]
TRIED_ONCE = FetchConfig(max_attempts=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def crawl_of(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Making]:
    """Makes a crawl of these pages, started at the front page, without a rate limit."""
    crawls: list[Crawl] = []

    async def made(
        pages: Mapping[str, Answered],
        crawl: CrawlConfig = DEFAULTS.crawl,
        fetch: FetchConfig = DEFAULTS.fetch,
        readers: InlineReaderPool | None = None,
        duplicates: DuplicatesConfig = DEFAULTS.duplicates,
        cache: CacheConfig = DEFAULTS.cache,
    ) -> Crawl:
        config = Config(
            crawl=crawl, fetch=fetch, politeness=HURRIED, duplicates=duplicates, discovery=BY_LINKS, cache=cache
        )
        crawls.append(await begun(tmp_path, clock, pages, config, readers))
        return crawls[-1]

    yield made
    for one in crawls:
        await one.database.close()


SMALL: dict[str, Answered] = {
    "/": linking("/a", "/b", "/lost"),
    "/a": linking("/", "/b", "/a/deep"),
    "/b": linking("/a"),
    "/a/deep": linking("/"),
}


# ---- claim, visit, commit ---------------------------------------------------------------------------------


async def test_a_url_that_is_claimed_again_before_its_visit_has_ended_here_is_in_flight(
    crawl_of: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The visit that deferred it is written, so it is due again; that visit ends here a moment later."""
    crawl = await crawl_of({"/robots.txt": "", "/": linking()})
    commit, is_claimed_again = crawl.database.commit, asyncio.Event()

    async def late(visit: Visit) -> Admission:
        admission = await commit(visit)
        if visit.label == "deferred":
            await is_claimed_again.wait()
        return admission

    async def claim() -> Claim | None:
        claimed = await database_claim()
        if claimed is not None and claimed.lease.number > 1:
            is_claimed_again.set()
        return claimed

    database_claim = crawl.database.claim
    monkeypatch.setattr(crawl.database, "commit", late)
    monkeypatch.setattr(crawl.database, "claim", claim)
    crawl.web.gate.clear()
    running = asyncio.ensure_future(crawl.run())
    await until(lambda: len(crawl.visits) == 1 and crawl.web.at_once == 1)
    assert [url for url, _ in crawl.engine.in_flight.values()] == [SITE + "/"]
    crawl.web.gate.set()
    assert await running is Ending.COMPLETE
    assert [visit.label for visit in crawl.visits] == ["deferred", "fetched"]
    assert crawl.engine.in_flight == {}


async def test_everything_that_can_be_reached_is_visited_once(crawl_of: Making) -> None:
    crawl = await crawl_of(SMALL)
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["/", "/a", "/a/deep", "/b"]
    assert crawl.outcomes["/lost"] == "failed:not_found"
    assert sorted(crawl.web.asked) == sorted(SITE + path for path in (*SMALL, "/lost", "/robots.txt"))
    assert crawl.engine.in_flight == {}
    assert crawl.database.counts().waiting == 0


async def test_robots_txt_is_asked_before_anything_else(crawl_of: Making) -> None:
    crawl = await crawl_of({**SMALL, "/robots.txt": "User-agent: *\nDisallow: /a\n"})
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.web.asked[0] == SITE + "/robots.txt"
    assert crawl.outcomes["/a"] == "refused:robots"
    assert sorted(crawl.stored) == ["/", "/b"]
    assert SITE + "/a" not in crawl.web.asked


async def test_a_page_carries_how_it_was_found(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/old"), "/old": (301, "/new"), "/new": linking("/")})
    await crawl.run()
    page = (await crawl.life("/new")).page
    assert page is not None
    assert (page.depth, page.via, page.title) == (1, SITE + "/old", "T")
    assert page.chain == (Hop(SITE + "/old", 301),)
    assert page.text.startswith("words")
    assert len(page.content_hash) == 64


# ---- no page may stop the crawl ---------------------------------------------------------------------------


async def test_a_bug_of_ours_on_a_page_is_an_outcome_of_that_page(
    crawl_of: Making, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = await crawl_of({**SMALL, "/a": ZeroDivisionError("ours")}, fetch=FetchConfig(max_attempts=1))
    assert await crawl.run() is Ending.COMPLETE
    history = await crawl.life("/a")
    assert history.state is TaskState.DEAD
    assert history.visits[-1].outcome == Failed("ZeroDivisionError in Tenax itself", FailureKind.INTERNAL)
    assert sorted(crawl.stored) == ["/", "/b"]
    assert "internal error during visit" in caplog.text


async def test_a_bug_of_ours_keeps_concurrent_updates_of_the_host(crawl_of: Making) -> None:
    class Broken(InlineReaderPool):
        async def extract(self, job: ExtractJob, rules: Rules, others: int = 0) -> ExtractedPage:
            if job.url.endswith("/b"):
                await until(lambda: "/a" in crawl.outcomes)
                raise ZeroDivisionError("ours")
            return await super().extract(job, rules)

    crawl = await crawl_of({"/": linking("/a", "/b"), "/a": (429, "90"), "/b": linking()}, readers=Broken())
    crawl.web.gate.clear()
    running = asyncio.ensure_future(crawl.run())
    await until(lambda: crawl.web.asked[1:] == [SITE + "/"])
    crawl.web.gate.set()
    await until(lambda: crawl.outcomes.get("/") == "fetched")
    crawl.web.gate.clear()
    await until(lambda: len(crawl.web.asked) == 4)
    crawl.web.gate.set()
    await until(lambda: "/b" in crawl.outcomes)
    crawl.engine.stop()
    await running
    assert crawl.outcomes == {"/": "fetched", "/a": "failed:rate_limited", "/b": "failed:internal"}
    host = await crawl.database.host(SITE)
    assert host is not None
    assert (host.limited_in_a_row, host.backoff_reason) == (1, "rate limited: asked to wait 90 s")


async def test_neither_the_host_nor_the_url_pays_for_our_own_network(crawl_of: Making, clock: ManualClock) -> None:
    lost = Failed("no such host", FailureKind.DNS)
    crawl = await crawl_of({"/": lost})
    watch = crawl.engine.network
    watch.record_outcome(Fetched(200), "https://b.test")
    watch.record_probe(True, clock.now())
    for _ in range(3):
        watch.record_outcome(lost, "https://b.test")
    running = asyncio.ensure_future(crawl.run())
    await until(lambda: len(crawl.visits) >= 6)
    crawl.engine.stop()
    await running
    history = await crawl.life("/")
    assert (history.state, history.attempt, history.visits[-1].outcome.label) == (
        TaskState.WAITING,
        0,
        "failed:dns",
    )
    assert history.host is not None
    assert (history.host.failures_in_a_row, history.host.error_count, history.host.backoff_reason) == (0, 0, "")


async def test_a_host_that_goes_down_or_blocks_us_is_logged_once(
    crawl_of: Making, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [f"/{number}" for number in range(8)]
    wrong = Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500)
    pages = {"/": linking(*paths), **dict.fromkeys(paths, wrong)}
    crawl = await crawl_of(pages, CrawlConfig(max_idle_seconds=5.0))
    with caplog.at_level(logging.INFO, "tenax.crawl"):
        assert await crawl.run() is Ending.MAX_IDLE
        [down] = [record for record in caplog.records if "down" in record.message]
        assert (down.__dict__["host"], down.__dict__["why"]) == (SITE, "down: 5 failures in a row, last: HTTP 500")
        crawl.web.pages.update(dict.fromkeys([SITE + path for path in paths], (403, "")))
        while await crawl.run() is Ending.MAX_IDLE:
            clock.advance(1000)
    messages = [record.message for record in caplog.records if record.name == "tenax.crawl.connectivity"]
    assert messages == [
        "host down, probing",
        "host is up again",
        "host backing off",
    ]


async def test_a_document_that_no_reader_survives_is_a_failed_url(crawl_of: Making) -> None:
    class Delicate(InlineReaderPool):
        async def extract(self, job: ExtractJob, rules: Rules, others: int = 0) -> ExtractedPage:
            if job.url.endswith("/a"):
                raise ReaderFailed("unreadable: 2 readers crashed on it, by SIGSEGV")
            return await super().extract(job, rules)

    crawl = await crawl_of(SMALL, readers=Delicate())
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.outcomes["/a"] == "failed:unreadable"
    assert sorted(crawl.stored) == ["/", "/b"]
    dead_letters = [dead_letter async for dead_letter in crawl.database.dead_letters()]
    assert [(dead_letter.url, dead_letter.cause) for dead_letter in dead_letters] == [
        (f"{SITE}/a", "unreadable: 2 readers crashed on it, by SIGSEGV")
    ]


async def test_pages_too_costly_to_read_are_failed_urls_and_their_host_backs_off(crawl_of: Making) -> None:
    """Each is requested once; the third one starts a cooldown, and the other tasks wait for its end."""
    paths, deep = [f"/{n}" for n in range(40)], "<div>" * 20_000
    crawl = await crawl_of({"/": linking(*paths), **dict.fromkeys(paths, deep)}, CrawlConfig(max_idle_seconds=1))
    assert await crawl.run() is Ending.MAX_IDLE
    dead_letters = [dead_letter.cause async for dead_letter in crawl.database.dead_letters()]
    assert set(dead_letters) == {"too costly to read: elements nest more than 10,000 deep"}
    assert 3 <= len(dead_letters) < 3 + HURRIED.connections_per_host, "those under way are still read"
    assert len(crawl.asked) == 1 + len(dead_letters)
    host = await crawl.database.host(SITE)
    assert host is not None
    assert host.backoff_reason == "cooldown: 3 pages too costly to read in 60 min"
    assert crawl.stored == ["/"]


async def test_a_visit_with_a_lost_lease_is_discarded_and_stops_no_other(
    crawl_of: Making, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = await crawl_of({"/robots.txt": "", **SMALL})
    claim = None
    while claim is None:
        claim = await crawl.database.claim()
        await crawl.database.wait_for_work(0.01)
    clock.advance(DatabaseConfig().lease_seconds + 1)
    crawl.engine.in_flight[claim.lease.number] = (claim.task.url, clock.now())
    second = await crawl.database.claim()
    assert second is not None
    await crawl.engine.process_claim(claim)
    assert "lease lost, visit discarded" in caplog.text
    assert crawl.visits == []
    assert crawl.engine.in_flight == {}
    await crawl.engine.process_claim(second)
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["/", "/a", "/a/deep", "/b"]


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_commit_with_an_unknown_result_stops_no_other_visit(
    crawl_of: Making, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_written: bool
) -> None:
    """The database finds out: a committed task is not visited again, others are."""
    crawl = await crawl_of({"/robots.txt": "", **SMALL})
    commit, lost = crawl.database.commit, list[str]()

    async def losing(visit: Visit) -> Admission:
        url = visit.claim.task.url
        if url != SITE + "/a" or lost:
            return await commit(visit)
        lost.append(url)
        await (commit(visit) if is_written else crawl.database.release(visit.claim))
        raise CommitUnknown("the answer was lost")

    monkeypatch.setattr(crawl.database, "commit", losing)
    assert await crawl.run() is Ending.COMPLETE
    assert "database connection lost during commit, result unknown" in caplog.text
    assert crawl.web.asked.count(SITE + "/a") == 2 - is_written
    assert ("/a" in crawl.stored) is not is_written
    assert (await crawl.life("/a")).page is not None
    assert crawl.database.counts().pages == 4


# ---- what becomes of links and redirects ------------------------------------------------------------------


async def test_noindex_drops_the_page_and_nofollow_its_links(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {
            "/": linking("/hidden", "/end"),
            "/hidden": linking("/behind", head='<meta name="robots" content="noindex">'),
            "/behind": linking(),
            "/end": linking("/never", head='<meta name="robots" content="nofollow">'),
        }
    )
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["/", "/behind", "/end"]
    assert crawl.outcomes["/hidden"] == "rejected:noindex"
    assert await crawl.database.url_history(SITE + "/never") is None
    assert (await crawl.life("/end")).visits[-1].refusals == {"nofollow": 1}


async def test_a_link_that_only_duplicates_had_is_taken_from_the_next_page(crawl_of: Making) -> None:
    """Readers leave out links that the database has; it does not have those of a duplicate that is not followed."""
    pages: dict[str, Answered] = {
        "/": "<p>High water at nine.</p><a href=/b></a>",
        "/b": "<p>High water at nine.</p><a href=/only></a>",
        "/later": "<p>Low water at three.</p><a href=/only></a>",
        "/only": "<p>Here.</p>",
    }
    crawl = await crawl_of(pages, CrawlConfig(max_pages=2), duplicates=DuplicatesConfig(follow=False))
    assert await crawl.run() is Ending.COMPLETE
    page = (await crawl.life("/b")).page
    assert page is not None and page.duplicate_of == SITE + "/"
    assert (await crawl.database.status()).refusals == {"duplicate": 1}
    crawl.engine.crawl = CrawlConfig()
    await crawl.database.admit([Candidate(SITE + "/later", SITE)])
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.stored == ["/", "/b", "/later", "/only"]


STORY: dict[str, Answered] = {
    "/": linking("/story/print"),
    "/story/print": linking("/story", head='<link rel=canonical href="/story">'),
    "/story": linking("/"),
}


async def test_a_page_stored_under_its_canonical_url_is_not_requested_if_copies_may_be_used(crawl_of: Making) -> None:
    crawl = await crawl_of(STORY, cache=CacheConfig(max_age_seconds=60))
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/story/print"]
    assert crawl.outcomes["/story"] == "unchanged"
    why = (await crawl.life("/story")).visits[-1].outcome
    assert isinstance(why, Unchanged)
    assert why.why.startswith(f"the stored copy of {SITE}/story/print, which names this as its canonical URL, is ")


async def test_a_page_stored_under_its_canonical_url_is_requested_by_default(crawl_of: Making) -> None:
    crawl = await crawl_of(STORY)
    await crawl.run()
    assert crawl.asked == ["/", "/story/print", "/story"]


async def test_what_is_not_a_page_is_rejected(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/paper"), "/paper": "%PDF-1.7\n" + "\0" * 600})
    await crawl.run()
    assert crawl.outcomes["/paper"] == "rejected:content"


async def test_a_redirect_target_becomes_a_task_of_its_own(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/old"), "/old": (302, "/new"), "/new": linking()})
    await crawl.run()
    assert crawl.outcomes["/old"] == "redirected"
    target = await crawl.life("/new")
    assert (target.source, target.via, target.depth) == (Source.REDIRECT, SITE + "/old", 1)


async def test_a_redirect_out_of_scope_is_not_followed_and_says_why(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/away"), "/away": (302, "https://b.test/")})
    assert await crawl.run() is Ending.COMPLETE
    [visit] = (await crawl.life("/away")).visits
    assert visit.outcome == Redirected(302, "https://b.test/", "scope")
    assert visit.plan == Park("redirect: scope, HTTP 302 to https://b.test/"), "a run with another scope follows it"
    assert not [url for url in crawl.web.asked if "b.test" in url]


async def test_a_redirected_seed_widens_the_scope(crawl_of: Making) -> None:
    pages: dict[str, Answered] = {
        "/": (301, "https://b.test/"),
        "https://b.test/robots.txt": "",
        "https://b.test/": linking("/more"),
        "https://b.test/more": linking(),
    }
    crawl = await crawl_of(pages)
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["https://b.test/", "https://b.test/more"]


# ---- reasons to end ---------------------------------------------------------------------------------------


def many(count: int) -> dict[str, Answered]:
    return {"/": linking(*(f"/{n}" for n in range(count))), **{f"/{n}": linking() for n in range(count)}}


@pytest.mark.parametrize("most", [1, 2, 7])
async def test_the_page_limit_is_exact_however_many_are_in_flight(crawl_of: Making, most: int) -> None:
    crawl = await crawl_of(many(30), CrawlConfig(max_pages=most, concurrency=16))
    assert await crawl.run() is Ending.PAGE_LIMIT
    assert len(crawl.stored) == most


async def test_pages_that_are_none_do_not_count_towards_the_limit(crawl_of: Making) -> None:
    pages = many(20) | {f"/{n}": (404, "") for n in range(0, 20, 2)}
    crawl = await crawl_of(pages, CrawlConfig(max_pages=8, concurrency=4))
    assert await crawl.run() is Ending.PAGE_LIMIT
    assert len(crawl.stored) == 8


async def test_stop_finishes_what_is_in_flight_and_claims_no_more(crawl_of: Making) -> None:
    crawl = await crawl_of(many(30), CrawlConfig(concurrency=4))
    crawl.web.gate.clear()
    running = asyncio.ensure_future(crawl.run())
    await crawl.web.at_the_gate.wait()
    crawl.engine.stop()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    assert crawl.engine.is_stopping
    crawl.web.gate.set()
    assert await running is Ending.INTERRUPTED
    assert crawl.engine.in_flight == {}
    assert crawl.stored == ["/"]
    assert crawl.database.counts().waiting == 30


async def test_abandoned_tasks_are_available_to_others_at_once(crawl_of: Making, clock: ManualClock) -> None:
    crawl = await crawl_of(many(30), CrawlConfig(concurrency=4))
    running = asyncio.ensure_future(crawl.run())
    await until(lambda: len(crawl.stored) > 0)
    crawl.web.gate.clear()
    await until(lambda: crawl.web.at_once == 4)
    begun, stored = {url for url, _ in crawl.engine.in_flight.values()}, len(crawl.stored)
    crawl.engine.stop()
    assert crawl.engine.abandon() == 4
    assert await running is Ending.INTERRUPTED
    assert (crawl.engine.in_flight, len(crawl.stored)) == ({}, stored)
    assert crawl.engine.abandon() == 0
    clock.advance(1.0)
    claimed = {claim.task.url for _ in range(4) if (claim := await crawl.database.claim()) is not None}
    assert claimed == begun, "they are the first of their host again"
    assert await crawl.database.find_problems() == []


async def test_a_paused_crawl_claims_nothing(crawl_of: Making) -> None:
    crawl = await crawl_of(many(10))
    crawl.engine.set_pause("test", True)
    running = asyncio.ensure_future(crawl.run())
    for _ in range(50):
        await asyncio.sleep(0)
    assert crawl.web.asked == []
    crawl.engine.set_pause("test", False)
    assert await running is Ending.COMPLETE
    assert len(crawl.stored) == 11


async def test_a_paused_crawl_can_be_stopped(crawl_of: Making) -> None:
    crawl = await crawl_of(many(10))
    crawl.engine.set_pause("test", True)
    running = asyncio.ensure_future(crawl.run())
    await asyncio.sleep(0)
    crawl.engine.stop()
    assert await running is Ending.INTERRUPTED


async def test_no_more_than_concurrency_are_in_flight(crawl_of: Making) -> None:
    crawl = await crawl_of(many(60), CrawlConfig(concurrency=5))
    assert await crawl.run() is Ending.COMPLETE
    assert 2 <= crawl.web.most_at_once <= 5


async def test_a_crawl_ends_when_every_backoff_exceeds_max_idle_seconds(crawl_of: Making) -> None:
    """The front page is stored already; then the host asks for an hour."""
    limited = Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429, retry_after_seconds=3600)
    crawl = await crawl_of({"/": linking("/a"), "/a": limited}, CrawlConfig(max_idle_seconds=120))
    assert await crawl.run() is Ending.MAX_IDLE
    assert crawl.stored == ["/"]
    assert crawl.database.counts().waiting == 1
    host = await crawl.database.host(SITE)
    assert host is not None
    assert host.backoff_reason == "rate limited: asked to wait 3600 s"


async def test_a_robots_txt_that_never_comes_is_not_waited_for(crawl_of: Making) -> None:
    crawl = await crawl_of({"/robots.txt": (503, "3600"), **SMALL}, CrawlConfig(max_idle_seconds=120))
    assert await crawl.run() is Ending.MAX_IDLE
    assert crawl.web.asked == [SITE + "/robots.txt"]
    assert crawl.stored == []


async def test_seeds_that_do_not_answer_are_said(crawl_of: Making) -> None:
    down = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
    crawl = await crawl_of({"/robots.txt": down}, fetch=TRIED_ONCE)
    with pytest.raises(ExceptionGroup) as raised:
        await crawl.run()
    [error] = raised.value.exceptions
    assert isinstance(error, NoSeedReachable)
    assert str(error) == f"no seed answers: {SITE}: connection refused; check the URL, or run it again later"


@pytest.mark.parametrize("others_seconds", [0.0, 30.0], ids=["it fails then", "it has only been put off"])
async def test_a_permit_taken_by_another_crawl_is_no_answer(crawl_of: Making, others_seconds: float) -> None:
    down = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
    crawl = await crawl_of({"/robots.txt": down}, CrawlConfig(max_idle_seconds=20), fetch=TRIED_ONCE)
    pipeline, fetch = crawl.engine.pipeline, crawl.engine.pipeline.fetch
    fetches = 0

    async def fetch_later(
        task: Task, host: HostRecord, stored_copy: StoredCopy | None, send_by: float, **_: object
    ) -> FetchResult:
        nonlocal fetches
        fetches += 1
        if fetches > 1:
            return await fetch(task, host, stored_copy, send_by)
        now = crawl.engine.clock.now()
        return FetchResult(Deferred(now + others_seconds, "turn: another request to this host goes first"), now)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "fetch", fetch_later)
        if others_seconds:
            assert await crawl.run() is Ending.MAX_IDLE
            assert crawl.web.asked == []
        else:
            with pytest.raises(ExceptionGroup) as raised:
                await crawl.run()
            assert isinstance(raised.value.exceptions[0], NoSeedReachable)


async def test_nothing_to_do_is_complete(crawl_of: Making) -> None:
    crawl = await crawl_of(SMALL)
    assert await crawl.run() is Ending.COMPLETE
    before = list(crawl.web.asked)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.web.asked == before


async def test_rejected_pages_are_settled(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/empty"), "/empty": ""})
    await crawl.run()
    history = await crawl.life("/empty")
    assert (history.state, history.visits[-1].outcome) == (TaskState.SETTLED, Rejected("empty"))
