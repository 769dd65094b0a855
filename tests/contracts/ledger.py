"""What every ledger promises, as a suite that any backend must pass.

A backend's test file subclasses `LedgerContract` and gives it an `opened` fixture: an async function that opens the
same ledger again each time it is called, as a new process would.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tenax.clock import Clock, ManualClock
from tenax.database import Ledger, PageFilter, TaskState
from tenax.errors import LeaseLost
from tenax.model import (
    Again,
    Budget,
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
    Offer,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Refused,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Visit,
)
from tests.loops import FAULT_SECONDS

Opened = Callable[[], Awaitable[Ledger]]


class Manners:
    """The simplest manners: one visit of a host at a time, a second apart."""

    def __init__(self) -> None:
        self.pace = 1.0
        self.most = 1

    def pace_seconds(self, host: HostRecord) -> float:
        return self.pace

    def connections(self, host: HostRecord, now: float) -> int:
        return self.most


def offer(url: str, **fields: object) -> Offer:
    origin = "/".join(url.split("/", 3)[:3])
    return msgspec.structs.replace(Offer(url=url, origin=origin), **fields)


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
    offers: tuple[Offer, ...] = (),
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
        page=page,
        offers=offers,
        fetch=FetchRecord(status=200, wire_bytes=3, body_bytes=5),
    )


async def claim_soon(ledger: Ledger, looks: int = 8) -> Claim | None:
    """A claim, once the ledger has looked; None when it has nothing to give at this time.

    It is asked so many times at least, for what others tell it needs a moment to come.
    """
    until = time.monotonic() + FAULT_SECONDS
    while looks > 0 or (_is_looking(ledger) and time.monotonic() < until):
        claim = await ledger.claim()
        if claim is not None:
            return claim
        looks -= 1
        if looks > 0 or _is_looking(ledger):
            await ledger.wait_for_work(0.01)
    return None


def _is_looking(ledger: Ledger) -> bool:
    """It may have something to give, and does not know yet: another thread or its server has not answered."""
    clock: Clock = vars(ledger)["_clock"]
    turn = ledger.next_turn()
    tending = getattr(vars(ledger).get("_frontier"), "_tending", None)
    return (turn is not None and turn <= clock.now()) or (tending is not None and not tending.done())


async def claimed(ledger: Ledger) -> Claim:
    """A claim, of a ledger that has one to give, however long a busy machine takes to find it."""
    for _ in range(100):
        if (claim := await claim_soon(ledger)) is not None:
            return claim
    raise AssertionError("there is nothing to claim")


async def drain(ledger: Ledger, clock: ManualClock, most: int = 1000) -> list[str]:
    """Visit everything there is, a second at a time; the URLs in the order they were claimed."""
    urls: list[str] = []
    while ledger.counts().waiting and len(urls) < most:
        claim = await claim_soon(ledger, looks=1)
        if claim is None:
            clock.advance(1.0)
            await asyncio.sleep(0)
            continue
        urls.append(claim.task.url)
        await ledger.commit(visit_of(claim, clock))
    return urls


class LedgerContract:
    """Subclassed by each backend."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def manners(self) -> Manners:
        return Manners()

    # -- once -----------------------------------------------------------------------------------------------

    async def test_a_url_is_admitted_once(self, opened: Opened) -> None:
        ledger = await opened()
        first = await ledger.admit([offer("https://a.test/1"), offer("https://a.test/1"), offer("https://a.test/2")])
        again = await ledger.admit([offer("https://a.test/2"), offer("https://b.test/2")])
        assert (first.admitted, first.known) == (2, 1)
        assert (again.admitted, again.known) == (1, 1)
        assert ledger.counts().waiting == 3

    async def test_a_visited_url_is_never_admitted_again_not_even_after_reopening(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        await ledger.commit(visit_of(await claimed(ledger), clock, offers=(offer("https://a.test/1"),)))
        await ledger.close()
        ledger = await opened()
        assert (await ledger.admit([offer("https://a.test/1")])).known == 1
        assert await claim_soon(ledger) is None

    async def test_many_pages_offering_the_same_links_admit_each_once(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://h{n}.test/") for n in range(10)])
        links = tuple(offer(f"https://h{n % 10}.test/{n}") for n in range(100))
        for _ in range(10):
            await ledger.commit(visit_of(await claimed(ledger), clock, offers=links))
        assert ledger.counts().waiting == 100
        assert len(set(await drain(ledger, clock))) == 100

    # -- fair -----------------------------------------------------------------------------------------------

    async def test_within_a_host_priority_comes_first_then_the_earlier_time(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/low", priority=Priority.LOW)])
        clock.advance(1)
        await ledger.admit([offer("https://a.test/first", priority=Priority.MEDIUM)])
        clock.advance(1)
        await ledger.admit(
            [
                offer("https://a.test/second", priority=Priority.MEDIUM),
                offer("https://a.test/top", priority=Priority.HIGH),
            ]
        )
        urls = await drain(ledger, clock)
        assert [url.rpartition("/")[2] for url in urls] == ["top", "first", "second", "low"]

    async def test_a_better_task_that_arrives_later_is_served_first(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/{n}") for n in range(5)])
        claim = await claimed(ledger)
        await ledger.commit(visit_of(claim, clock, offers=(offer("https://a.test/top", priority=Priority.HIGH),)))
        clock.advance(1)
        assert (await claimed(ledger)).task.url == "https://a.test/top"

    async def test_a_host_has_no_turn_before_its_time(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2")])
        await ledger.commit(visit_of(await claimed(ledger), clock))
        assert await claim_soon(ledger) is None
        assert ledger.next_turn() == pytest.approx(clock.now() + 1.0, abs=0.01)
        clock.advance(0.9)
        assert await claim_soon(ledger) is None
        clock.advance(0.11)
        assert await claim_soon(ledger) is not None

    async def test_a_new_host_is_due_at_once_beside_one_that_rests(self, opened: Opened, clock: ManualClock) -> None:
        """Whoever asks when the next turn comes hears of it at every moment until it is claimed."""
        ledger = await opened()
        await ledger.admit([offer("https://a.test/"), offer("https://a.test/later")])
        found = (offer("https://new.test/"),)
        await ledger.commit(visit_of(await claimed(ledger), clock, offers=found, next_at=clock.now() + 3600))
        claim: Claim | None = None
        async with asyncio.timeout(FAULT_SECONDS):
            while claim is None:
                turn = ledger.next_turn()
                assert turn is not None and turn <= clock.now()
                claim = await ledger.claim()
                await asyncio.sleep(0)
        assert claim.task.url == "https://new.test/"

    async def test_a_host_rests_across_reopening(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2")])
        rest = visit_of(await claimed(ledger), clock, next_at=clock.now() + 600, resting_why="rate limited")
        await ledger.commit(rest)
        await ledger.close()
        ledger = await opened()
        assert await claim_soon(ledger) is None
        turn = ledger.next_turn()
        assert turn is not None and turn == pytest.approx(clock.now() + 600, abs=1)
        clock.advance(601)
        claim = await claimed(ledger)
        assert claim.host.resting_why == "rate limited"

    async def test_a_wall_clock_set_back_between_two_runs_holds_nobody_up(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """By a day: what is due is due, a rest lasts as long as it did, and robots.txt is asked for again in time."""
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2")])
        robots = RobotsCopy(RobotsVerdict.RULES, clock.now() - 600, clock.now() + 3000, "User-agent: *\nDisallow: /x")
        rest = visit_of(
            await claimed(ledger), clock, Failed("HTTP 429", FailureKind.RATE_LIMITED), Again(clock.now() + 600),
            next_at=clock.now() + 600, resting_why="rate limited", robots=robots, recent_failures=(clock.now(),),
        )  # fmt: skip
        await ledger.commit(rest)
        await ledger.admit([offer("https://b.test/1"), offer("https://c.test/1", due=clock.now() + 60)])
        await ledger.close()
        clock.advance(-86_400)
        ledger = await opened()
        assert await drain(ledger, clock, most=1) == ["https://b.test/1"]
        assert await claim_soon(ledger) is None
        host = await ledger.host("https://a.test")
        assert host is not None and host.robots is not None
        assert host.next_at == pytest.approx(clock.now() + 600)
        assert host.robots.expires_at == pytest.approx(clock.now() + 3000)
        assert host.robots.text == robots.text
        assert host.recent_failures == pytest.approx((clock.now(),))
        clock.advance(61)
        assert await drain(ledger, clock, most=1) == ["https://c.test/1"]
        clock.advance(538)
        assert await claim_soon(ledger) is None
        clock.advance(2)
        assert (await claimed(ledger)).task.origin == "https://a.test"

    async def test_a_clock_that_is_set_back_is_noticed_after_a_crash_and_only_once(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        for hour in range(3):
            clock.advance(3600)
            await ledger.admit([offer(f"https://a{hour}.test/1")])
        await claimed(ledger)  # so that it does not end well
        await ledger.close()
        clock.advance(-5000)
        ledger = await opened()
        await ledger.admit([offer("https://b.test/1", due=clock.now() + 4000)])
        assert sorted(await drain(ledger, clock, most=3)) == [f"https://a{hour}.test/1" for hour in range(3)]
        await ledger.close()
        clock.advance(-100)
        ledger = await opened()
        life = await ledger.life("https://b.test/1")
        assert life is not None and life.due is not None
        assert life.due > clock.now() + 4000, "a small correction moves nothing"

    async def test_one_visit_of_a_host_at_a_time(self, opened: Opened, clock: ManualClock, manners: Manners) -> None:
        manners.pace = 0.0
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2"), offer("https://b.test/1")])
        first, second = await claimed(ledger), await claimed(ledger)
        assert {first.task.origin, second.task.origin} == {"https://a.test", "https://b.test"}
        assert await claim_soon(ledger) is None

    async def test_as_many_visits_of_a_host_as_its_manners_allow(
        self, opened: Opened, clock: ManualClock, manners: Manners
    ) -> None:
        manners.pace, manners.most = 0.0, 3
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/{n}") for n in range(9)])
        claims = [await claimed(ledger) for _ in range(3)]
        assert await claim_soon(ledger) is None
        await ledger.commit(visit_of(claims[0], clock, next_at=clock.now()))
        assert await claim_soon(ledger) is not None
        assert await claim_soon(ledger) is None

    async def test_a_large_host_does_not_starve_small_ones(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://large.test/{n}", priority=Priority.HIGH) for n in range(500)])
        await ledger.admit([offer(f"https://small{n}.test/") for n in range(50)])
        urls = await drain(ledger, clock, most=60)
        assert sum("small" in url for url in urls) == 50

    async def test_hosts_beyond_the_window_get_their_turns(self, opened: Opened, clock: ManualClock) -> None:
        """The backend's window is 20 hosts in these tests."""
        ledger = await opened()
        await ledger.admit([offer(f"https://h{n}.test/{m}") for n in range(70) for m in range(3)])
        assert Counter(await drain(ledger, clock)).total() == 210

    async def test_large_hosts_that_fill_the_window_do_not_starve_small_ones(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://large{n}.test/{m}") for n in range(20) for m in range(100)])
        await drain(ledger, clock, most=40)
        await ledger.admit([offer(f"https://small{n}.test/{m}") for n in range(30) for m in range(2)])
        urls = await drain(ledger, clock, most=400)
        assert sum("small" in url for url in urls) == 60

    async def test_hosts_that_rest_leave_the_window_to_others(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://tired{n}.test/{m}") for n in range(40) for m in range(3)])
        until = clock.now() + 3600
        for _ in range(40):
            clock.advance(0.2)
            await ledger.commit(visit_of(await claimed(ledger), clock, next_at=until, resting_why="rate limited"))
        await ledger.admit([offer("https://awake.test/1"), offer("https://tired1.test/new")])
        clock.advance(1.0)
        awake = await claimed(ledger)
        assert awake.task.url == "https://awake.test/1"
        await ledger.commit(visit_of(awake, clock))
        assert await claim_soon(ledger) is None, "new work wakes nobody"
        turn = ledger.next_turn()
        assert turn is not None and turn <= until
        clock.advance(until - clock.now() + 1)
        assert (await claimed(ledger)).task.origin.startswith("https://tired")

    async def test_a_task_is_not_claimed_before_it_is_due(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/later", due=clock.now() + 50)])
        assert await claim_soon(ledger) is None
        clock.advance(51)
        assert (await claimed(ledger)).task.url == "https://a.test/later"

    # -- leases ---------------------------------------------------------------------------------------------

    async def test_what_a_dead_process_claimed_waits_again_at_once(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        claim = await claimed(ledger)
        await ledger.close()
        ledger = await opened()
        assert ledger.counts().waiting == 1
        clock.advance(1.0)
        assert (await claimed(ledger)).task.url == claim.task.url

    async def test_the_pace_holds_though_a_dead_process_could_not_write_down_its_last_request(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2")])
        await claimed(ledger)
        await ledger.close()
        clock.advance(0.4)
        ledger = await opened()
        assert await claim_soon(ledger) is None
        clock.advance(0.5)
        assert await claim_soon(ledger) is None
        clock.advance(0.6)
        assert await claim_soon(ledger) is not None

    async def test_a_process_that_ended_well_leaves_no_doubt(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        await ledger.close()
        ledger = await opened()
        assert await claim_soon(ledger) is not None

    async def test_a_commit_of_a_dead_process_is_refused(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        late = await claimed(ledger)
        await ledger.close()
        ledger = await opened()
        clock.advance(1.0)
        await claimed(ledger)
        with pytest.raises(LeaseLost):
            await ledger.commit(visit_of(late, clock))
        assert ledger.counts().pages == 0

    async def test_an_expired_lease_is_given_to_another_and_its_late_commit_refused(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        late = await claimed(ledger)
        clock.advance(late.lease.expires_at - clock.now() + 1)
        second = await claimed(ledger)
        assert second.task.url == late.task.url
        with pytest.raises(LeaseLost):
            await ledger.commit(visit_of(late, clock))
        await ledger.commit(visit_of(second, clock))
        assert ledger.counts().pages == 1

    async def test_a_visit_is_committed_once(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        visit = visit_of(await claimed(ledger), clock)
        await ledger.commit(visit)
        with pytest.raises(LeaseLost):
            await ledger.commit(visit)
        assert len(await ledger.events(0, 10)) == 1

    async def test_a_released_task_is_claimed_again(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        await ledger.release(await claimed(ledger))
        clock.advance(2)
        assert (await claimed(ledger)).task.url == "https://a.test/1"

    async def test_a_host_is_free_a_pace_after_its_task_was_given_back(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """A request may have been sent right before; nobody wrote that down."""
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        claim = await claimed(ledger)
        clock.advance(20)
        await ledger.release(claim)
        assert await claim_soon(ledger) is None
        clock.advance(0.9)
        assert await claim_soon(ledger) is None
        clock.advance(0.2)
        assert (await claimed(ledger)).task.url == "https://a.test/1"

    async def test_a_claim_is_given_back_once(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://a.test/2")])
        claim = await claimed(ledger)
        await ledger.release(claim)
        await ledger.release(claim)
        with pytest.raises(LeaseLost):
            await ledger.commit(visit_of(claim, clock))
        assert sorted(await drain(ledger, clock)) == ["https://a.test/1", "https://a.test/2"]

    @pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 20, 100])
    async def test_a_visit_whose_commit_is_cancelled_is_written_once_or_not_at_all(
        self, opened: Opened, clock: ManualClock, steps: int
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://h{n}.test/") for n in range(4)])
        claims = [await claimed(ledger) for _ in range(4)]
        commits = [asyncio.ensure_future(ledger.commit(visit_of(claim, clock))) for claim in claims]
        for _ in range(steps):
            await asyncio.sleep(0)
        for commit, claim in zip(commits[::2], claims[::2], strict=True):
            commit.cancel()
            await asyncio.gather(commit, return_exceptions=True)
            await ledger.release(claim)  # as whoever gives a visit up does
        await asyncio.gather(*commits[1::2])
        clock.advance(2)
        again = await drain(ledger, clock)
        assert len(again) <= 2
        events = [event.page.url for event in await ledger.events(0, 10)]
        assert sorted(events) == [f"https://h{n}.test/" for n in range(4)]
        assert ledger.counts().waiting == 0

    # -- plans ----------------------------------------------------------------------------------------------

    async def test_again_waits_for_its_time_and_remembers_attempts(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1", depth=3, priority=Priority.MEDIUM)])
        failed = Failed("no answer", FailureKind.TIMEOUT_TOTAL)
        claim = await claimed(ledger)
        await ledger.commit(visit_of(claim, clock, failed, Again(clock.now() + 8, spends_attempt=True)))
        clock.advance(7)
        assert await claim_soon(ledger) is None
        clock.advance(2)
        second = await claimed(ledger)
        assert (second.task.attempt, second.task.depth, second.task.priority) == (1, 3, Priority.MEDIUM)
        assert second.task.discovered_at == pytest.approx(claim.task.discovered_at, abs=0.01)

    async def test_deferring_spends_no_attempt(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1")])
        for _ in range(5):
            claim = await claimed(ledger)
            await ledger.commit(visit_of(claim, clock, Deferred(clock.now(), "resting"), Again(clock.now())))
            clock.advance(2)
        assert (await claimed(ledger)).task.attempt == 0

    async def test_dead_letters_keep_their_cause_and_can_be_replayed(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/{n}") for n in range(3)])
        for _ in range(3):
            claim = await claimed(ledger)
            failed = Failed("HTTP 403", FailureKind.BLOCKED, status=403)
            await ledger.commit(visit_of(claim, clock, failed, DeadLetter("HTTP 403")))
            clock.advance(2)
        letters = [letter async for letter in ledger.dead_letters()]
        assert [letter.cause for letter in letters] == ["HTTP 403"] * 3
        assert ledger.counts().waiting == 0
        assert await ledger.replay(["https://a.test/1", "https://nowhere.test/"]) == 1
        assert await ledger.replay(None) == 2
        assert ledger.counts().waiting == 3
        assert {letter.url async for letter in ledger.dead_letters()} == set()
        assert len(await drain(ledger, clock)) == 3
        life = await ledger.life("https://a.test/1")
        assert life is not None and life.state is TaskState.SETTLED and len(life.visits) == 2

    # -- what is kept ---------------------------------------------------------------------------------------

    async def test_a_page_is_read_back_whole(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        chain = (Hop("http://a.test/", 301),)
        await ledger.admit([offer("https://a.test/"), offer("https://b.test/x?y=1", chain=chain, depth=2)])
        pages = {}
        for _ in range(2):
            claim = await claimed(ledger)
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
            await ledger.commit(visit_of(claim, clock, page=page))
        read = {page.url: page async for page in ledger.pages(PageFilter())}
        assert read == pages
        assert [event.page for event in await ledger.events(0, 10)] == list(pages.values())

    async def test_pages_can_be_filtered(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/news/1"), offer("https://b.test:8080/2")])
        for _ in range(2):
            claim = await claimed(ledger)
            kind = PageKind.ARTICLE if "news" in claim.task.url else PageKind.OTHER
            page = page_of(claim, clock, kind=kind, language="en-GB" if "news" in claim.task.url else None)
            await ledger.commit(visit_of(claim, clock, page=page))

        async def urls(where: PageFilter) -> list[str]:
            return [page.url async for page in ledger.pages(where)]

        assert await urls(PageFilter(host="b.test")) == ["https://b.test:8080/2"]
        assert await urls(PageFilter(kind="article")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(language="en")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(url_glob="*/news/*")) == ["https://a.test/news/1"]
        assert await urls(PageFilter(status=404)) == []
        assert await urls(PageFilter(since=clock.now() + 60)) == []

    async def test_the_life_of_a_url(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/", source=Source.SEED)])
        link = offer("https://a.test/x", depth=1, via="https://a.test/")
        await ledger.commit(visit_of(await claimed(ledger), clock, offers=(link,)))
        waiting = await ledger.life("https://a.test/x")
        assert waiting is not None
        assert (waiting.state, waiting.via, waiting.depth) == (TaskState.WAITING, "https://a.test/", 1)
        clock.advance(2)
        claim = await claimed(ledger)
        assert claim.task.via == "https://a.test/"
        await ledger.commit(visit_of(claim, clock, Refused("robots: no")))
        refused = await ledger.life("https://a.test/x")
        assert refused is not None and refused.state is TaskState.SETTLED
        assert [visit.outcome for visit in refused.visits] == [Refused("robots: no")]
        assert refused.host is not None and refused.host.origin == "https://a.test"
        assert await ledger.life("https://a.test/never") is None
        assert await ledger.life("https://unknown.test/") is None

    async def test_a_host_record_is_read_back_whole(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/")])
        robots = RobotsCopy(RobotsVerdict.RULES, clock.now(), clock.now() + 3600, "User-agent: *\nDisallow: /x", 200)
        visit = visit_of(
            await claimed(ledger), clock, robots=robots, crawl_delay_seconds=2.5, page_count=1, is_allowed=False
        )
        await ledger.commit(visit)
        assert await ledger.host("https://a.test") == visit.host
        await ledger.close()
        ledger = await opened()
        assert await ledger.host("https://a.test") == visit.host
        assert await ledger.host("https://b.test") is None

    async def test_status_counts_by_state(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/{n}") for n in range(4)] + [offer("https://b.test/")])
        plans: list[tuple[Outcome | None, Plan | None]] = [
            (None, None),
            (Failed("HTTP 403", FailureKind.BLOCKED), DeadLetter("HTTP 403")),
        ]
        for outcome, plan in plans:
            claim = await claimed(ledger)
            await ledger.commit(visit_of(claim, clock, outcome, plan))
            clock.advance(2)
        status = await ledger.status()
        assert (status.waiting, status.settled, status.dead, status.pages, status.hosts) == (3, 1, 1, 1, 2)
        assert status.outcomes == {"fetched": 1, "failed:blocked": 1}
        assert status.busiest[0].host.origin == "https://a.test"
        assert status.busiest[0].waiting >= 2

    async def test_budgets_limit_new_tasks_and_new_hosts(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        facets = Budget("facets_per_path", "/list", 3)
        first = await ledger.admit([offer(f"https://a.test/list?{n}", budgets=(facets,)) for n in range(5)])
        assert (first.admitted, first.refusals) == (3, {"facets_per_path": 2})
        other_host = await ledger.admit([offer("https://b.test/list?1", budgets=(facets,))])
        assert other_host.admitted == 1
        known = await ledger.admit([offer("https://a.test/list?0", budgets=(facets,))])
        assert known.known == 1
        names = Budget("hosts_per_domain", "wild.test", 2, counts_hosts=True)
        wild = await ledger.admit([offer(f"https://{n}.wild.test/", budgets=(names,)) for n in range(4)])
        assert (wild.admitted, wild.refusals) == (2, {"hosts_per_domain": 2})
        more = await ledger.admit([offer("https://0.wild.test/more", budgets=(names,))])
        assert more.admitted == 1

    async def test_what_was_remembered_is_recalled(self, opened: Opened) -> None:
        ledger = await opened()
        assert await ledger.recall("rules") is None
        await ledger.remember("rules", b"1")
        await ledger.remember("rules", b"2")
        await ledger.close()
        assert await (await opened()).recall("rules") == b"2"

    async def test_what_is_not_as_expected_is_left_as_it_is(self, opened: Opened) -> None:
        ledger = await opened()
        assert not await ledger.remember_if("rules", b"0", b"1"), "there is none yet"
        assert await ledger.recall("rules") is None
        assert await ledger.remember_if("rules", None, b"1")
        assert not await ledger.remember_if("rules", None, b"2"), "there is one already"
        assert not await ledger.remember_if("rules", b"0", b"2")
        assert await ledger.recall("rules") == b"1"
        assert await ledger.remember_if("rules", b"1", b"2")
        await ledger.close()
        assert await (await opened()).recall("rules") == b"2"

    async def test_of_those_who_expect_the_same_one_has_its_way(self, opened: Opened) -> None:
        ledger = await opened()
        for before in (None, b"0"):
            values = [bytes([number]) for number in range(20)]
            done = await asyncio.gather(*(ledger.remember_if("rules", before, value) for value in values))
            assert done.count(True) == 1
            assert await ledger.recall("rules") == values[done.index(True)]
            await ledger.remember("rules", b"0")

    # -- told in order --------------------------------------------------------------------------------------

    async def test_events_have_growing_numbers_and_each_sink_its_cursor(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://h{n}.test/") for n in range(6)])
        await drain(ledger, clock)
        events = await ledger.events(0, 100)
        numbers = [event.seq for event in events]
        assert len(numbers) == 6 and numbers == sorted(set(numbers))
        assert [event.seq for event in await ledger.events(numbers[2], 2)] == numbers[3:5]
        assert [await ledger.subscribe("one"), await ledger.subscribe("two")] == [Cursor(), Cursor()]
        await ledger.advance("one", Cursor(numbers[3], 400))
        await ledger.advance("two", Cursor(numbers[1], 20))
        await ledger.close()
        ledger = await opened()
        assert await ledger.subscribe("one") == Cursor(numbers[3], 400)
        assert [event.seq for event in await ledger.events(numbers[1], 100)] == numbers[2:]

    async def test_a_cursor_never_goes_back_and_someone_leads(self, opened: Opened) -> None:
        """For a moment two may believe that they lead: the slower one must not undo what the other has told."""
        ledger = await opened()
        await ledger.subscribe("one")
        for cursor in (Cursor(5, 500), Cursor(3, 900), Cursor(5, 510)):
            await ledger.advance("one", cursor)
        assert await ledger.subscribe("one") == Cursor(5, 510)
        assert [await ledger.lead("one"), await ledger.lead("two"), await ledger.lead("one")] == [True] * 3

    async def test_numbers_are_not_used_again_after_everything_was_told(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1"), offer("https://b.test/2")])
        await ledger.commit(visit_of(await claimed(ledger), clock))
        last = (await ledger.events(0, 10))[-1].seq
        await ledger.advance("one", Cursor(last, 1))
        await ledger.close()
        ledger = await opened()
        await ledger.commit(visit_of(await claimed(ledger), clock))
        assert (await ledger.events(last, 10))[0].seq > last
