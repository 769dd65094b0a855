"""What every ledger promises about pages that are visited again, as a suite that any backend must pass.

It goes with `tests.contracts.ledger.LedgerContract`: a backend's test class inherits both.
"""

from __future__ import annotations

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Ledger, Life, PageFilter, TaskState
from tenax.model import (
    Again,
    Claim,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    FetchRecord,
    Held,
    Hop,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Source,
    Unchanged,
    Visit,
    Way,
)
from tests.contracts.ledger import Manners, Opened, claim_soon, claimed, drain, offer, page_of, visit_of

URL = "https://a.test/1"
NOT_FOUND = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)
TROUBLE = Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503)


async def stored(ledger: Ledger, clock: ManualClock, url: str = URL, **fields: object) -> Page:
    """A page in the ledger, visited a moment ago."""
    await ledger.admit([offer(url)])
    claim = await claimed(ledger)
    page = page_of(claim, clock, **fields)
    await ledger.commit(visit_of(claim, clock, page=page))
    clock.advance(60)
    return page


async def visited_again(
    ledger: Ledger, clock: ManualClock, outcome: Outcome, plan: Plan | None = None, **fields: object
) -> Claim:
    """The next visit of a task that is settled or waits."""
    await ledger.revisit(clock.now())
    claim = await claimed(ledger)
    visit = visit_of(claim, clock, outcome, plan)
    await ledger.commit(msgspec.structs.replace(visit, **fields))
    clock.advance(60)
    return claim


async def came_again(ledger: Ledger, clock: ManualClock, **fields: object) -> Visit:
    await ledger.revisit(clock.now())
    claim = await claimed(ledger)
    visit = visit_of(claim, clock, page=page_of(claim, clock, **fields))
    await ledger.commit(visit)
    clock.advance(60)
    return visit


async def life_of(ledger: Ledger, url: str = URL) -> Life:
    life = await ledger.life(url)
    assert life is not None
    return life


async def only_page(ledger: Ledger) -> Page:
    (page,) = [page async for page in ledger.pages(PageFilter())]
    return page


class HeldPagesContract:
    """Inherited by each backend's test class, beside `LedgerContract`."""

    # -- another way ----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("is_unconditional", [False, True])
    @pytest.mark.parametrize("way", [None, *Way])
    async def test_how_to_visit_it_again_is_remembered(
        self, opened: Opened, clock: ManualClock, way: Way | None, is_unconditional: bool, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(URL)])
        claim = await claimed(ledger)
        assert (claim.task.way, claim.task.is_unconditional, claim.held) == (None, False, None)
        plan = Again(clock.now() + 5, way=way, is_unconditional=is_unconditional)
        await ledger.commit(visit_of(claim, clock, Rejected("javascript: an empty page"), plan))
        clock.advance(6)
        if is_reopened:
            await ledger.close()
            ledger = await opened()
        again = await claimed(ledger)
        assert (again.task.way, again.task.is_unconditional, again.task.attempt) == (way, is_unconditional, 0)
        assert (await life_of(ledger)).visits[0].plan == plan
        await ledger.commit(visit_of(again, clock, Deferred(clock.now(), "rests"), Again(clock.now())))
        clock.advance(2)
        last = await claimed(ledger)
        assert (last.task.way, last.task.is_unconditional) == (None, False)

    # -- what we hold ---------------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_a_claim_of_a_page_visited_before_tells_what_we_hold(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        ledger = await opened()
        page = await stored(ledger, clock, kind=PageKind.ARTICLE, etag='"1"', last_modified="Mon", content_length=4000)
        await ledger.revisit(clock.now())
        if is_reopened:
            await ledger.close()
            ledger = await opened()
        claim = await claimed(ledger)
        assert claim.held == Held(
            page.fetched_at, 200, PageKind.ARTICLE, '"1"', "Mon", 4000,
            content_hash=page.content_hash, fingerprint=page.fingerprint,
        )  # fmt: skip
        failed = visit_of(claim, clock, TROUBLE, Again(clock.now() + 1))
        await ledger.commit(failed)
        clock.advance(60)
        assert (await claimed(ledger)).held == claim.held

    async def test_a_page_to_be_visited_again_at_once_is_held_as_it_came(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(URL)])
        claim = await claimed(ledger)
        page = page_of(claim, clock, etag='"2"')
        await ledger.commit(visit_of(claim, clock, plan=Again(clock.now() + 1), page=page))
        clock.advance(2)
        held = Held(page.fetched_at, 200, PageKind.OTHER, '"2"', None, 5, content_hash=page.content_hash)
        assert (await claimed(ledger)).held == held

    @pytest.mark.parametrize("status", [404, 410])
    async def test_a_url_that_had_no_page_is_held_as_such(
        self, opened: Opened, clock: ManualClock, status: int
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(URL)])
        missing = Failed(f"HTTP {status}", FailureKind.NOT_FOUND, status=status)
        asked_at = clock.now()
        await ledger.commit(visit_of(await claimed(ledger), clock, missing, Done()))
        clock.advance(60)
        held = Held(asked_at, status)
        claim = await visited_again(ledger, clock, Refused("known: it answered a short while ago"), Done())
        assert claim.held == held
        # What asked the site for nothing does not make the answer younger, nor does it settle the matter.
        claim = await visited_again(ledger, clock, Deferred(clock.now(), "rests"), Again(clock.now()))
        assert claim.held == held
        assert (await claimed(ledger)).held == held

    async def test_a_page_that_is_gone_is_held_as_gone_and_kept_as_stale(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await stored(ledger, clock, etag='"1"')
        gone_at = clock.now()
        await visited_again(ledger, clock, NOT_FOUND, Done())
        page = await only_page(ledger)
        assert (page.status, page.stale_since, page.stale_why) == (200, gone_at, "HTTP 404")
        claim = await visited_again(ledger, clock, TROUBLE, Again(clock.now()))
        assert claim.held == Held(gone_at, 404)
        back = await claimed(ledger)
        assert back.held is not None and back.held.etag == '"1"'

    # -- it still stands ------------------------------------------------------------------------------------

    async def test_an_unchanged_page_stays_with_a_new_time_and_no_event(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        page = await stored(ledger, clock, etag='"1"', last_modified="Mon", content_length=30_000, links_count=3)
        told = await ledger.events(0, 10)
        checked_at = clock.now()
        fetch = FetchRecord(status=304, saved_bytes=30_000)
        await visited_again(ledger, clock, Unchanged(), fetch=fetch)
        assert await ledger.events(0, 10) == told
        assert await only_page(ledger) == msgspec.structs.replace(page, fetched_at=checked_at)
        life = await life_of(ledger)
        assert life.state is TaskState.SETTLED
        assert [visit.is_conditional for visit in life.visits] == [False, True]
        counts, status = ledger.counts(), await ledger.status()
        assert (counts.pages, counts.saved_bytes, counts.outcomes["unchanged"]) == (1, 30_000, 1)
        assert (status.pages, status.saved_bytes, status.settled, status.waiting) == (1, 30_000, 1, 0)

    async def test_a_304_may_bring_new_validators(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await stored(ledger, clock, etag='"1"', last_modified="Mon")
        await visited_again(ledger, clock, Unchanged(), etag='W/"2"')
        page = await only_page(ledger)
        assert (page.etag, page.last_modified) == ('W/"2"', "Mon")

    async def test_a_copy_that_served_unasked_is_not_younger_for_it(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        page = await stored(ledger, clock)
        await visited_again(ledger, clock, TROUBLE, Done())
        stale = await only_page(ledger)
        await visited_again(ledger, clock, Unchanged("the stored copy is young enough to serve"))
        assert await only_page(ledger) == stale
        assert (stale.fetched_at, stale.stale_why) == (page.fetched_at, "HTTP 503")

    # -- it came again --------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "changes",
        [
            {"content_hash": "cd" * 32, "text": "Another text"},
            {"title": "Another title"},
            {"description": "Another"},
            {"canonical": "https://a.test/"},
            {"language": "fr"},
            {"kind": PageKind.ARTICLE},
            {"status": 203},
        ],
    )
    async def test_a_page_that_changed_replaces_the_old_one_and_is_told(
        self, opened: Opened, clock: ManualClock, changes: dict[str, object]
    ) -> None:
        ledger = await opened()
        first = await stored(ledger, clock, etag='"1"')
        second = (await came_again(ledger, clock, etag=None, **changes)).page
        assert second is not None
        assert [event.page for event in await ledger.events(0, 10)] == [first, second]
        assert await only_page(ledger) == second
        counts = ledger.counts()
        assert (counts.pages, counts.articles) == (1, int(second.kind is PageKind.ARTICLE))

    async def test_a_page_that_came_again_the_same_is_refreshed_and_not_told(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        first = await stored(ledger, clock, etag='"1"', kind=PageKind.ARTICLE)
        second = (await came_again(ledger, clock, etag='"2"', content_length=7, kind=PageKind.ARTICLE)).page
        assert [event.page for event in await ledger.events(0, 10)] == [first]
        assert await only_page(ledger) == second
        assert (ledger.counts().pages, ledger.counts().articles) == (1, 1)
        assert ledger.counts().outcomes["fetched"] == 2

    # -- stale ----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("outcome", "plan", "why"),
        [
            (TROUBLE, Done(), "HTTP 503"),
            (Failed("no answer", FailureKind.TIMEOUT_TOTAL), DeadLetter("gave up"), "no answer"),
            (Rejected("wall: are you human?", True), Done(), "wall: are you human?"),
            (Redirected(301, "https://b.test/"), Done(), "HTTP 301 to https://b.test/"),
        ],
    )
    async def test_a_page_that_did_not_come_again_is_kept_as_stale(
        self, opened: Opened, clock: ManualClock, outcome: Outcome, plan: Plan, why: str
    ) -> None:
        ledger = await opened()
        page = await stored(ledger, clock, etag='"1"')
        failed_at = clock.now()
        await visited_again(ledger, clock, outcome, plan)
        stale = msgspec.structs.replace(page, stale_since=failed_at, stale_why=why)
        assert (await life_of(ledger)).page == await only_page(ledger) == stale
        assert len(await ledger.events(0, 10)) == 1

    async def test_stale_since_the_first_failure_in_a_row(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await stored(ledger, clock)
        first = clock.now()
        await visited_again(ledger, clock, TROUBLE, Again(clock.now()))
        await visited_again(ledger, clock, Deferred(clock.now(), "rests"), Again(clock.now()))
        await visited_again(ledger, clock, Failed("cut short", FailureKind.TRUNCATED), Done())
        page = await only_page(ledger)
        assert (page.stale_since, page.stale_why) == (first, "cut short")

    @pytest.mark.parametrize("is_unchanged", [False, True])
    async def test_a_page_that_came_or_stands_is_not_stale_any_more(
        self, opened: Opened, clock: ManualClock, is_unchanged: bool
    ) -> None:
        ledger = await opened()
        await stored(ledger, clock)
        await visited_again(ledger, clock, TROUBLE, Done())
        if is_unchanged:
            await visited_again(ledger, clock, Unchanged())
        else:
            await came_again(ledger, clock)
        page = await only_page(ledger)
        assert (page.stale_since, page.stale_why) == (None, "")
        later = clock.now()
        await visited_again(ledger, clock, TROUBLE, Done())
        assert (await only_page(ledger)).stale_since == later

    async def test_without_a_page_nothing_is_stale(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(URL)])
        await ledger.commit(visit_of(await claimed(ledger), clock, TROUBLE, Again(clock.now())))
        clock.advance(60)
        page = page_of(claim := await claimed(ledger), clock)
        await ledger.commit(visit_of(claim, clock, page=page))
        assert await only_page(ledger) == page

    # -- revisits -------------------------------------------------------------------------------------------

    async def test_a_revisit_makes_every_settled_page_wait_again(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        chain = (Hop("http://a.test/", 301),)
        await ledger.admit([offer("https://a.test/", source=Source.SEED, priority=Priority.HIGH, chain=chain)])
        link = offer("https://a.test/2", depth=4, via="https://a.test/")
        before = [first := await claimed(ledger)]
        await ledger.commit(visit_of(first, clock, offers=(link,)))
        clock.advance(2)
        before.append(second := await claimed(ledger))
        await ledger.commit(visit_of(second, clock))
        clock.advance(2)
        assert await ledger.revisit(clock.now()) == 2
        assert await ledger.revisit(clock.now()) == 0
        assert (await ledger.admit([offer("https://a.test/2")])).known == 1
        assert (await ledger.status()).waiting == ledger.counts().waiting == 2
        for claim in before:
            again = await claimed(ledger)
            assert again.task.due <= clock.now()
            assert msgspec.structs.replace(again.task, due=claim.task.due) == claim.task
            await ledger.commit(visit_of(again, clock))
            clock.advance(2)
        status = await ledger.status()
        assert (status.settled, status.waiting, status.pages) == (2, 0, 2)

    async def test_a_revisit_leaves_alone_what_waits_is_claimed_dead_or_had_no_page(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        endings: dict[str, tuple[Outcome | None, Plan]] = {
            "https://page.test/": (None, Done()),
            "https://missing.test/": (NOT_FOUND, Done()),
            "https://dead.test/": (TROUBLE, DeadLetter("HTTP 503")),
            "https://again.test/": (TROUBLE, Again(clock.now() + 600)),
            "https://refused.test/": (Refused("robots: no"), Done()),
            "https://away.test/": (Redirected(301, "https://page.test/"), Done()),
            "https://picture.test/": (Rejected("content: image/png"), Done()),
        }
        await ledger.admit([offer(url) for url in endings])
        for _ in endings:
            claim = await claimed(ledger)
            outcome, plan = endings[claim.task.url]
            await ledger.commit(visit_of(claim, clock, outcome, plan))
        await ledger.admit([offer("https://claimed.test/")])
        in_flight = await claimed(ledger)
        await ledger.admit([offer("https://new.test/", due=clock.now() + 600)])
        clock.advance(60)
        assert await ledger.revisit(clock.now()) == 2
        urls = {(await claimed(ledger)).task.url, (await claimed(ledger)).task.url}
        assert urls == {"https://page.test/", "https://missing.test/"}
        assert await claim_soon(ledger) is None
        assert (await life_of(ledger, "https://dead.test/")).state is TaskState.DEAD
        await ledger.commit(visit_of(in_flight, clock))
        assert await ledger.revisit(clock.now() - 1) == 0, "it was visited after that"

    async def test_a_revisit_of_many_hosts_beyond_the_window(
        self, opened: Opened, clock: ManualClock, manners: Manners
    ) -> None:
        manners.pace = 0.0
        ledger = await opened()
        urls = {f"https://h{n}.test/{m}" for n in range(60) for m in range(4)}
        await ledger.admit([offer(url) for url in urls])
        await drain(ledger, clock)
        clock.advance(60)
        assert await ledger.revisit(clock.now()) == len(urls)
        assert set(await drain(ledger, clock)) == urls
        assert ledger.counts().pages == len(urls)

    async def test_what_was_found_first_is_revisited_before_what_was_never_visited(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/old{n}") for n in range(3)])
        await drain(ledger, clock)
        clock.advance(60)
        await ledger.admit([offer("https://a.test/new")])
        await ledger.revisit(clock.now())
        assert (await drain(ledger, clock))[-1] == "https://a.test/new"

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_pages_are_counted_once_and_anew_in_each_round(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://a.test/{n}") for n in range(3)])
        await drain(ledger, clock)
        clock.advance(60)
        assert (ledger.counts().pages, ledger.counts().pages_this_round) == (3, 3)
        await ledger.revisit(clock.now())
        if is_reopened:
            await ledger.close()
            ledger = await opened()
        assert (ledger.counts().pages, ledger.counts().pages_this_round) == (3, 0)
        clock.advance(2)
        for outcome in (Unchanged(), TROUBLE, None):
            await ledger.commit(visit_of(await claimed(ledger), clock, outcome))
            clock.advance(2)
        assert (ledger.counts().pages, ledger.counts().pages_this_round) == (3, 2)

    async def test_a_page_that_comes_again_in_the_same_round_counts_once(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(URL)])
        for outcome in (None, None, Unchanged()):
            await ledger.commit(visit_of(await claimed(ledger), clock, outcome, Again(clock.now() + 1)))
            clock.advance(60)
        assert (ledger.counts().pages, ledger.counts().pages_this_round) == (1, 1)

    async def test_a_replayed_dead_letter_tells_what_we_hold(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await stored(ledger, clock, etag='"1"')
        await visited_again(ledger, clock, TROUBLE, DeadLetter("HTTP 503"))
        assert await ledger.replay(None) == 1
        claim = await claimed(ledger)
        assert claim.held is not None and claim.held.etag == '"1"'

    # -- whatever a site sends ------------------------------------------------------------------------------

    async def test_bytes_that_are_no_text_stop_nothing(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/"), offer("https://b.test/")])
        odd = "text/html; \udcff"
        for _ in range(2):
            claim = await claimed(ledger)
            page = page_of(claim, clock, content_type=odd, etag=odd)
            visit = visit_of(claim, clock, page=page, offers=(offer(claim.task.url + "x"),), resting_why=odd)
            admission = await ledger.commit(msgspec.structs.replace(visit, fetch=FetchRecord(200, odd)))
            assert admission.admitted == 1
        read = [page async for page in ledger.pages(PageFilter())]
        assert [page.content_type for page in read] == ["text/html; ?"] * 2
        assert [event.page for event in await ledger.events(0, 10)] == read
