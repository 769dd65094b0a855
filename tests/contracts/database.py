"""The contract of every database, a suite that each backend must pass.

A backend's test file subclasses `DatabaseContract` and gives it an `opened` fixture: an async function that opens the
same database again each time it is called, as a new process would.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tenax.clock import Clock, ManualClock
from tenax.crawl.visits import visit_label
from tenax.database import Database, PageFilter, TaskState
from tenax.errors import LeaseLost
from tenax.model import (
    Budget,
    Candidate,
    Claim,
    Cursor,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    Hop,
    HostRecord,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Refused,
    Reschedule,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Visit,
)
from tests.loops import FAULT_SECONDS

Opened = Callable[[], Awaitable[Database]]


class FixedPace:
    """The simplest pace rules: one visit of a host at a time, a second apart."""

    def __init__(self) -> None:
        self.pace = 1.0
        self.most = 1

    def pace_seconds(self, host: HostRecord) -> float:
        return self.pace

    def connections(self, host: HostRecord, now: float) -> int:
        return self.most


def candidate(url: str, **fields: object) -> Candidate:
    origin = "/".join(url.split("/", 3)[:3])
    return msgspec.structs.replace(Candidate(url=url, origin=origin), **fields)


def page_of(claim: Claim, clock: Clock, **fields: object) -> Page:
    page = Page(
        url=claim.task.url,
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=5,
        fetched_at=clock.now(),
        title="Ein Titel",
        text="Grüße, мир, 世界",
        depth=claim.task.depth,
        via=claim.task.via,
        chain=claim.task.chain,
    )
    return msgspec.structs.replace(page, **fields)


def visit_of(
    claim: Claim,
    clock: Clock,
    outcome: Outcome | None = None,
    plan: Plan | None = None,
    candidates: tuple[Candidate, ...] = (),
    page: Page | None = None,
    **host: object,
) -> Visit:
    outcome = outcome or Fetched(200)
    if page is None and isinstance(outcome, Fetched):
        page = page_of(claim, clock)
    record = msgspec.structs.replace(claim.host, next_at=clock.now() + 1.0)
    return Visit(
        claim=claim,
        outcome=outcome,
        plan=plan or Done(),
        host=msgspec.structs.replace(record, **host),
        started_at=clock.now(),
        finished_at=clock.now(),
        label=visit_label(claim.task, outcome),
        page=page,
        candidates=candidates,
        fetch=FetchRecord(status=200, wire_bytes=3, body_bytes=5),
    )


async def claim_soon(database: Database, looks: int = 8) -> Claim | None:
    """A claim, after the database has had time to look; None when it has no task at this time.

    Called at least this many times, because notifications of others take a moment.
    """
    until = time.monotonic() + FAULT_SECONDS
    while looks > 0 or (_is_looking(database) and time.monotonic() < until):
        claim = await database.claim()
        if claim is not None:
            return claim
        looks -= 1
        if looks > 0 or _is_looking(database):
            await database.wait_for_work(0.01)
    return None


def _is_looking(database: Database) -> bool:
    """It may have a task and not know yet: another thread or its server has not answered."""
    clock: Clock = vars(database)["_clock"]
    claim_at = database.next_claim_at()
    tending = getattr(vars(database).get("_frontier"), "_tending", None)
    return (claim_at is not None and claim_at <= clock.now()) or (tending is not None and not tending.done())


async def claimed(database: Database) -> Claim:
    """A claim from a database that has a task, however long a busy machine takes."""
    for _ in range(100):
        if (claim := await claim_soon(database)) is not None:
            return claim
    raise AssertionError("there is nothing to claim")


async def drain(database: Database, clock: ManualClock, most: int = 1000) -> list[str]:
    """Visit all tasks, a second at a time; the URLs in the order they were claimed."""
    urls: list[str] = []
    while database.counts().waiting and len(urls) < most:
        claim = await claim_soon(database, looks=1)
        if claim is None:
            clock.advance(1.0)
            await asyncio.sleep(0)
            continue
        urls.append(claim.task.url)
        await database.commit(visit_of(claim, clock))
    return urls


class DatabaseContract:
    """Subclassed by each backend."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def pace_rules(self) -> FixedPace:
        return FixedPace()

    # -- once -----------------------------------------------------------------------------------------------

    async def test_a_url_is_admitted_once(self, opened: Opened) -> None:
        database = await opened()
        first = await database.admit(
            [candidate("https://a.test/1"), candidate("https://a.test/1"), candidate("https://a.test/2")]
        )
        again = await database.admit([candidate("https://a.test/2"), candidate("https://b.test/2")])
        assert (first.admitted, first.known) == (2, 1)
        assert (again.admitted, again.known) == (1, 1)
        assert database.counts().waiting == 3

    async def test_a_visited_url_is_never_admitted_again_not_even_after_reopening(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        await database.commit(visit_of(await claimed(database), clock, candidates=(candidate("https://a.test/1"),)))
        await database.close()
        database = await opened()
        assert (await database.admit([candidate("https://a.test/1")])).known == 1
        assert await claim_soon(database) is None

    async def test_many_pages_with_the_same_links_admit_each_once(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://h{n}.test/") for n in range(10)])
        links = tuple(candidate(f"https://h{n % 10}.test/{n}") for n in range(100))
        for _ in range(10):
            await database.commit(visit_of(await claimed(database), clock, candidates=links))
        assert database.counts().waiting == 100
        assert len(set(await drain(database, clock))) == 100

    # -- fair -----------------------------------------------------------------------------------------------

    async def test_within_a_host_priority_comes_first_then_the_earlier_time(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/low", priority=Priority.LOW)])
        clock.advance(1)
        await database.admit([candidate("https://a.test/first", priority=Priority.MEDIUM)])
        clock.advance(1)
        await database.admit(
            [
                candidate("https://a.test/second", priority=Priority.MEDIUM),
                candidate("https://a.test/top", priority=Priority.HIGH),
            ]
        )
        urls = await drain(database, clock)
        assert [url.rpartition("/")[2] for url in urls] == ["top", "first", "second", "low"]

    async def test_a_better_task_that_arrives_later_is_served_first(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://a.test/{n}") for n in range(5)])
        claim = await claimed(database)
        await database.commit(
            visit_of(claim, clock, candidates=(candidate("https://a.test/top", priority=Priority.HIGH),))
        )
        clock.advance(1)
        assert (await claimed(database)).task.url == "https://a.test/top"

    async def test_a_host_is_not_claimed_before_its_time(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
        await database.commit(visit_of(await claimed(database), clock))
        assert await claim_soon(database) is None
        assert database.next_claim_at() == pytest.approx(clock.now() + 1.0, abs=0.01)
        clock.advance(0.9)
        assert await claim_soon(database) is None
        clock.advance(0.11)
        assert await claim_soon(database) is not None

    async def test_a_new_host_is_due_at_once_beside_one_that_backs_off(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """`next_claim_at` includes the task at every moment until it is claimed."""
        database = await opened()
        await database.admit([candidate("https://a.test/"), candidate("https://a.test/later")])
        found = (candidate("https://new.test/"),)
        await database.commit(visit_of(await claimed(database), clock, candidates=found, next_at=clock.now() + 3600))
        claim: Claim | None = None
        async with asyncio.timeout(FAULT_SECONDS):
            while claim is None:
                claim_at = database.next_claim_at()
                assert claim_at is not None and claim_at <= clock.now()
                claim = await database.claim()
                await asyncio.sleep(0)
        assert claim.task.url == "https://new.test/"

    async def test_a_host_backs_off_across_reopening(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
        backoff = visit_of(await claimed(database), clock, next_at=clock.now() + 600, backoff_reason="rate limited")
        await database.commit(backoff)
        await database.close()
        database = await opened()
        assert await claim_soon(database) is None
        claim_at = database.next_claim_at()
        assert claim_at is not None and claim_at == pytest.approx(clock.now() + 600, abs=1)
        clock.advance(601)
        claim = await claimed(database)
        assert claim.host.backoff_reason == "rate limited"

    async def test_a_wall_clock_set_back_between_two_runs_holds_nobody_up(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """By a day: what is due is due, a backoff keeps its length, and robots.txt is requested again in time."""
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
        robots = RobotsCopy(RobotsVerdict.RULES, clock.now() - 600, clock.now() + 3000, "User-agent: *\nDisallow: /x")
        backoff = visit_of(
            await claimed(database), clock, Failed("HTTP 429", FailureKind.RATE_LIMITED), Reschedule(clock.now() + 600),
            next_at=clock.now() + 600, backoff_reason="rate limited", robots=robots, recent_failures=(clock.now(),),
        )  # fmt: skip
        await database.commit(backoff)
        await database.admit([candidate("https://b.test/1"), candidate("https://c.test/1", due=clock.now() + 60)])
        await database.close()
        clock.advance(-86_400)
        database = await opened()
        assert await drain(database, clock, most=1) == ["https://b.test/1"]
        assert await claim_soon(database) is None
        host = await database.host("https://a.test")
        assert host is not None and host.robots is not None
        assert host.next_at == pytest.approx(clock.now() + 600)
        assert host.robots.expires_at == pytest.approx(clock.now() + 3000)
        assert host.robots.text == robots.text
        assert host.recent_failures == pytest.approx((clock.now(),))
        clock.advance(61)
        assert await drain(database, clock, most=1) == ["https://c.test/1"]
        clock.advance(538)
        assert await claim_soon(database) is None
        clock.advance(2)
        assert (await claimed(database)).task.origin == "https://a.test"

    async def test_a_clock_that_is_set_back_is_noticed_after_a_crash_and_only_once(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        for hour in range(3):
            clock.advance(3600)
            await database.admit([candidate(f"https://a{hour}.test/1")])
        await claimed(database)  # so that it does not end cleanly
        await database.close()
        clock.advance(-5000)
        database = await opened()
        await database.admit([candidate("https://b.test/1", due=clock.now() + 4000)])
        assert sorted(await drain(database, clock, most=3)) == [f"https://a{hour}.test/1" for hour in range(3)]
        await database.close()
        clock.advance(-100)
        database = await opened()
        history = await database.url_history("https://b.test/1")
        assert history is not None and history.due is not None
        assert history.due > clock.now() + 4000, "a small correction moves nothing"

    async def test_one_visit_of_a_host_at_a_time(
        self, opened: Opened, clock: ManualClock, pace_rules: FixedPace
    ) -> None:
        pace_rules.pace = 0.0
        database = await opened()
        await database.admit(
            [candidate("https://a.test/1"), candidate("https://a.test/2"), candidate("https://b.test/1")]
        )
        first, second = await claimed(database), await claimed(database)
        assert {first.task.origin, second.task.origin} == {"https://a.test", "https://b.test"}
        assert await claim_soon(database) is None

    async def test_as_many_visits_of_a_host_as_its_connections_allow(
        self, opened: Opened, clock: ManualClock, pace_rules: FixedPace
    ) -> None:
        pace_rules.pace, pace_rules.most = 0.0, 3
        database = await opened()
        await database.admit([candidate(f"https://a.test/{n}") for n in range(9)])
        claims = [await claimed(database) for _ in range(3)]
        assert await claim_soon(database) is None
        await database.commit(visit_of(claims[0], clock, next_at=clock.now()))
        assert await claim_soon(database) is not None
        assert await claim_soon(database) is None

    async def test_a_large_host_does_not_starve_small_ones(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://large.test/{n}", priority=Priority.HIGH) for n in range(500)])
        await database.admit([candidate(f"https://small{n}.test/") for n in range(50)])
        urls = await drain(database, clock, most=60)
        assert sum("small" in url for url in urls) == 50

    async def test_hosts_beyond_the_window_are_served(self, opened: Opened, clock: ManualClock) -> None:
        """The backend's window is 20 hosts in these tests."""
        database = await opened()
        await database.admit([candidate(f"https://h{n}.test/{m}") for n in range(70) for m in range(3)])
        assert Counter(await drain(database, clock)).total() == 210

    async def test_large_hosts_that_fill_the_window_do_not_starve_small_ones(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate(f"https://large{n}.test/{m}") for n in range(20) for m in range(100)])
        await drain(database, clock, most=40)
        await database.admit([candidate(f"https://small{n}.test/{m}") for n in range(30) for m in range(2)])
        urls = await drain(database, clock, most=400)
        assert sum("small" in url for url in urls) == 60

    async def test_hosts_that_back_off_leave_the_window_to_others(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://tired{n}.test/{m}") for n in range(40) for m in range(3)])
        until = clock.now() + 3600
        for _ in range(40):
            clock.advance(0.2)
            await database.commit(
                visit_of(await claimed(database), clock, next_at=until, backoff_reason="rate limited")
            )
        await database.admit([candidate("https://awake.test/1"), candidate("https://tired1.test/new")])
        clock.advance(1.0)
        awake = await claimed(database)
        assert awake.task.url == "https://awake.test/1"
        await database.commit(visit_of(awake, clock))
        assert await claim_soon(database) is None, "new work wakes nobody"
        claim_at = database.next_claim_at()
        assert claim_at is not None and claim_at <= until
        clock.advance(until - clock.now() + 1)
        assert (await claimed(database)).task.origin.startswith("https://tired")

    async def test_a_task_is_not_claimed_before_it_is_due(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/later", due=clock.now() + 50)])
        assert await claim_soon(database) is None
        clock.advance(51)
        assert (await claimed(database)).task.url == "https://a.test/later"

    # -- leases ---------------------------------------------------------------------------------------------

    async def test_what_a_dead_process_claimed_waits_again_at_once(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        claim = await claimed(database)
        await database.close()
        database = await opened()
        assert database.counts().waiting == 1
        clock.advance(1.0)
        assert (await claimed(database)).task.url == claim.task.url

    async def test_the_pace_holds_though_a_dead_process_could_not_write_down_its_last_request(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
        await claimed(database)
        await database.close()
        clock.advance(0.4)
        database = await opened()
        assert await claim_soon(database) is None
        clock.advance(0.5)
        assert await claim_soon(database) is None
        clock.advance(0.6)
        assert await claim_soon(database) is not None

    async def test_a_process_that_ended_well_leaves_no_doubt(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        await database.close()
        database = await opened()
        assert await claim_soon(database) is not None

    async def test_a_commit_of_a_dead_process_is_refused(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        late = await claimed(database)
        await database.close()
        database = await opened()
        clock.advance(1.0)
        await claimed(database)
        with pytest.raises(LeaseLost):
            await database.commit(visit_of(late, clock))
        assert database.counts().pages == 0

    async def test_an_expired_lease_is_given_to_another_and_its_late_commit_refused(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        late = await claimed(database)
        clock.advance(late.lease.expires_at - clock.now() + 1)
        second = await claimed(database)
        assert second.task.url == late.task.url
        with pytest.raises(LeaseLost):
            await database.commit(visit_of(late, clock))
        await database.commit(visit_of(second, clock))
        assert database.counts().pages == 1

    async def test_a_visit_is_committed_once(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        visit = visit_of(await claimed(database), clock)
        await database.commit(visit)
        with pytest.raises(LeaseLost):
            await database.commit(visit)
        assert len(await database.events(0, 10)) == 1

    async def test_a_released_task_is_claimed_again(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        await database.release(await claimed(database))
        clock.advance(2)
        assert (await claimed(database)).task.url == "https://a.test/1"

    async def test_a_host_is_free_a_pace_after_its_task_was_given_back(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """A request may have been sent right before, without being recorded."""
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        claim = await claimed(database)
        clock.advance(20)
        await database.release(claim)
        assert await claim_soon(database) is None
        clock.advance(0.9)
        assert await claim_soon(database) is None
        clock.advance(0.2)
        assert (await claimed(database)).task.url == "https://a.test/1"

    async def test_a_claim_is_given_back_once(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
        claim = await claimed(database)
        await database.release(claim)
        await database.release(claim)
        with pytest.raises(LeaseLost):
            await database.commit(visit_of(claim, clock))
        assert sorted(await drain(database, clock)) == ["https://a.test/1", "https://a.test/2"]

    @pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 20, 100])
    async def test_a_visit_whose_commit_is_cancelled_is_written_once_or_not_at_all(
        self, opened: Opened, clock: ManualClock, steps: int
    ) -> None:
        database = await opened()
        await database.admit([candidate(f"https://h{n}.test/") for n in range(4)])
        claims = [await claimed(database) for _ in range(4)]
        commits = [asyncio.ensure_future(database.commit(visit_of(claim, clock))) for claim in claims]
        for _ in range(steps):
            await asyncio.sleep(0)
        for commit, claim in zip(commits[::2], claims[::2], strict=True):
            commit.cancel()
            await asyncio.gather(commit, return_exceptions=True)
            await database.release(claim)  # as a caller that abandons a visit does
        await asyncio.gather(*commits[1::2])
        clock.advance(2)
        again = await drain(database, clock)
        assert len(again) <= 2
        events = [event.page.url for event in await database.events(0, 10)]
        assert sorted(events) == [f"https://h{n}.test/" for n in range(4)]
        assert database.counts().waiting == 0

    # -- plans ----------------------------------------------------------------------------------------------

    async def test_again_waits_for_its_time_and_remembers_attempts(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1", depth=3, priority=Priority.MEDIUM)])
        failed = Failed("no answer", FailureKind.TIMEOUT_TOTAL)
        claim = await claimed(database)
        await database.commit(visit_of(claim, clock, failed, Reschedule(clock.now() + 8, spends_attempt=True)))
        clock.advance(7)
        assert await claim_soon(database) is None
        clock.advance(2)
        second = await claimed(database)
        assert (second.task.attempt, second.task.depth, second.task.priority) == (1, 3, Priority.MEDIUM)
        assert second.task.discovered_at == pytest.approx(claim.task.discovered_at, abs=0.01)

    async def test_deferring_spends_no_attempt(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1")])
        for _ in range(5):
            claim = await claimed(database)
            await database.commit(visit_of(claim, clock, Deferred(clock.now(), "backing off"), Reschedule(clock.now())))
            clock.advance(2)
        assert (await claimed(database)).task.attempt == 0

    async def test_dead_letters_keep_their_cause_and_can_be_replayed(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://a.test/{n}") for n in range(3)])
        for _ in range(3):
            claim = await claimed(database)
            failed = Failed("HTTP 403", FailureKind.BLOCKED, status=403)
            await database.commit(visit_of(claim, clock, failed, DeadLetter("HTTP 403")))
            clock.advance(2)
        dead_letters = [dead_letter async for dead_letter in database.dead_letters()]
        assert [dead_letter.cause for dead_letter in dead_letters] == ["HTTP 403"] * 3
        assert database.counts().waiting == 0
        assert await database.replay(["https://a.test/1", "https://nowhere.test/"]) == 1
        assert await database.replay(None) == 2
        assert database.counts().waiting == 3
        assert {dead_letter.url async for dead_letter in database.dead_letters()} == set()
        assert len(await drain(database, clock)) == 3
        history = await database.url_history("https://a.test/1")
        assert history is not None and history.state is TaskState.SETTLED and len(history.visits) == 2

    # -- stored data ---------------------------------------------------------------------------------------

    async def test_a_page_is_read_back_whole(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        chain = (Hop("http://a.test/", 301),)
        await database.admit([candidate("https://a.test/"), candidate("https://b.test/x?y=1", chain=chain, depth=2)])
        pages = {}
        for _ in range(2):
            claim = await claimed(database)
            page = page_of(
                claim,
                clock,
                description="D",
                canonical="https://a.test/",
                language="de",
                kind=PageKind.ARTICLE,
                links_count=7,
                charset="shift_jis",
                charset_source="meta",
            )
            pages[page.url] = page
            await database.commit(visit_of(claim, clock, page=page))
        read = {page.url: page async for page in database.pages(PageFilter())}
        assert read == pages
        assert [event.page for event in await database.events(0, 10)] == list(pages.values())

    async def test_pages_can_be_filtered(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/news/1"), candidate("https://b.test:8080/2")])
        for _ in range(2):
            claim = await claimed(database)
            kind = PageKind.ARTICLE if "news" in claim.task.url else PageKind.OTHER
            page = page_of(claim, clock, kind=kind, language="en-GB" if "news" in claim.task.url else None)
            await database.commit(visit_of(claim, clock, page=page))

        async def urls(where: PageFilter) -> list[str]:
            return [page.url async for page in database.pages(where)]

        assert await urls(PageFilter(host="b.test")) == ["https://b.test:8080/2"]
        assert await urls(PageFilter(kind="article")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(language="en")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(url_glob="*/news/*")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(status=404)) == []
        assert await urls(PageFilter(since=clock.now() + 60)) == []

    async def test_the_life_of_a_url(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/", source=Source.SEED)])
        link = candidate("https://a.test/x", depth=1, via="https://a.test/")
        await database.commit(visit_of(await claimed(database), clock, candidates=(link,)))
        waiting = await database.url_history("https://a.test/x")
        assert waiting is not None
        assert (waiting.state, waiting.via, waiting.depth) == (TaskState.WAITING, "https://a.test/", 1)
        clock.advance(2)
        claim = await claimed(database)
        assert claim.task.via == "https://a.test/"
        await database.commit(visit_of(claim, clock, Refused("robots: no")))
        refused = await database.url_history("https://a.test/x")
        assert refused is not None and refused.state is TaskState.SETTLED
        assert [visit.outcome for visit in refused.visits] == [Refused("robots: no")]
        assert refused.host is not None and refused.host.origin == "https://a.test"
        assert await database.url_history("https://a.test/never") is None
        assert await database.url_history("https://unknown.test/") is None

    async def test_a_host_record_is_read_back_whole(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/")])
        robots = RobotsCopy(RobotsVerdict.RULES, clock.now(), clock.now() + 3600, "User-agent: *\nDisallow: /x", 200)
        visit = visit_of(
            await claimed(database), clock, robots=robots, crawl_delay_seconds=2.5, page_count=1, is_allowed=False
        )
        await database.commit(visit)
        assert await database.host("https://a.test") == visit.host
        await database.close()
        database = await opened()
        assert await database.host("https://a.test") == visit.host
        assert await database.host("https://b.test") is None

    async def test_status_counts_by_state(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://a.test/{n}") for n in range(4)] + [candidate("https://b.test/")])
        plans: list[tuple[Outcome | None, Plan | None]] = [
            (None, None),
            (Failed("HTTP 403", FailureKind.BLOCKED), DeadLetter("HTTP 403")),
        ]
        for outcome, plan in plans:
            claim = await claimed(database)
            await database.commit(visit_of(claim, clock, outcome, plan))
            clock.advance(2)
        status = await database.status()
        assert (status.waiting, status.settled, status.dead, status.pages, status.hosts) == (3, 1, 1, 1, 2)
        assert status.outcomes == {"fetched": 1, "failed:blocked": 1}
        assert status.busiest[0].host.origin == "https://a.test"
        assert status.busiest[0].waiting >= 2

    async def test_budgets_limit_new_tasks_and_new_hosts(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        facets = Budget("facets_per_path", "/list", 3)
        first = await database.admit([candidate(f"https://a.test/list?{n}", budgets=(facets,)) for n in range(5)])
        assert (first.admitted, first.refusals) == (3, {"facets_per_path": 2})
        other_host = await database.admit([candidate("https://b.test/list?1", budgets=(facets,))])
        assert other_host.admitted == 1
        known = await database.admit([candidate("https://a.test/list?0", budgets=(facets,))])
        assert known.known == 1
        names = Budget("hosts_per_domain", "wild.test", 2, counts_hosts=True)
        wild = await database.admit([candidate(f"https://{n}.wild.test/", budgets=(names,)) for n in range(4)])
        assert (wild.admitted, wild.refusals) == (2, {"hosts_per_domain": 2})
        more = await database.admit([candidate("https://0.wild.test/more", budgets=(names,))])
        assert more.admitted == 1

    async def test_what_was_remembered_is_recalled(self, opened: Opened) -> None:
        database = await opened()
        assert await database.get_meta("rules") is None
        await database.set_meta("rules", b"1")
        await database.set_meta("rules", b"2")
        await database.close()
        assert await (await opened()).get_meta("rules") == b"2"

    async def test_what_is_not_as_expected_is_left_as_it_is(self, opened: Opened) -> None:
        database = await opened()
        assert not await database.compare_and_set_meta("rules", b"0", b"1"), "there is none yet"
        assert await database.get_meta("rules") is None
        assert await database.compare_and_set_meta("rules", None, b"1")
        assert not await database.compare_and_set_meta("rules", None, b"2"), "there is one already"
        assert not await database.compare_and_set_meta("rules", b"0", b"2")
        assert await database.get_meta("rules") == b"1"
        assert await database.compare_and_set_meta("rules", b"1", b"2")
        await database.close()
        assert await (await opened()).get_meta("rules") == b"2"

    async def test_of_those_who_expect_the_same_one_succeeds(self, opened: Opened) -> None:
        database = await opened()
        for before in (None, b"0"):
            values = [bytes([number]) for number in range(20)]
            done = await asyncio.gather(*(database.compare_and_set_meta("rules", before, value) for value in values))
            assert done.count(True) == 1
            assert await database.get_meta("rules") == values[done.index(True)]
            await database.set_meta("rules", b"0")

    # -- events in order -----------------------------------------------------------------------------------

    async def test_events_have_growing_numbers_and_each_sink_its_cursor(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate(f"https://h{n}.test/") for n in range(6)])
        await drain(database, clock)
        events = await database.events(0, 100)
        numbers = [event.seq for event in events]
        assert len(numbers) == 6 and numbers == sorted(set(numbers))
        assert [event.seq for event in await database.events(numbers[2], 2)] == numbers[3:5]
        assert [await database.subscribe("one"), await database.subscribe("two")] == [Cursor(), Cursor()]
        await database.advance("one", Cursor(numbers[3], 400))
        await database.advance("two", Cursor(numbers[1], 20))
        await database.close()
        database = await opened()
        assert await database.subscribe("one") == Cursor(numbers[3], 400)
        assert [event.seq for event in await database.events(numbers[1], 100)] == numbers[2:]

    async def test_a_cursor_never_goes_back_and_someone_leads(self, opened: Opened) -> None:
        """For a moment two may believe that they lead: the slower one must not move the cursor back."""
        database = await opened()
        await database.subscribe("one")
        for cursor in (Cursor(5, 500), Cursor(3, 900), Cursor(5, 510)):
            await database.advance("one", cursor)
        assert await database.subscribe("one") == Cursor(5, 510)
        assert [await database.is_leader("one"), await database.is_leader("two"), await database.is_leader("one")] == [
            True
        ] * 3

    async def test_event_numbers_are_not_reused_after_all_were_written(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1"), candidate("https://b.test/2")])
        await database.commit(visit_of(await claimed(database), clock))
        last = (await database.events(0, 10))[-1].seq
        await database.advance("one", Cursor(last, 1))
        await database.close()
        database = await opened()
        await database.commit(visit_of(await claimed(database), clock))
        assert (await database.events(last, 10))[0].seq > last
