"""Contract of every database about pages that are visited again, a suite that each backend must pass.

It goes with `tests.contracts.database.DatabaseContract`: a backend's test class inherits both.
"""

from __future__ import annotations

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database, PageFilter, TaskState, UrlHistory
from tenax.model import (
    Claim,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    FetchRecord,
    Hop,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Source,
    StoredCopy,
    TransportKind,
    Unchanged,
    Visit,
)
from tests.contracts.database import FixedPace, Opened, candidate, claim_soon, claimed, drain, page_of, visit_of

URL = "https://a.test/1"
NOT_FOUND = Failed("HTTP 404", FailureKind.NOT_FOUND, status=404)
TROUBLE = Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503)


async def stored(database: Database, clock: ManualClock, url: str = URL, **fields: object) -> Page:
    """A page in the database, visited a moment ago."""
    await database.admit([candidate(url)])
    claim = await claimed(database)
    page = page_of(claim, clock, **fields)
    await database.commit(visit_of(claim, clock, page=page))
    clock.advance(60)
    return page


async def visited_again(
    database: Database, clock: ManualClock, outcome: Outcome, plan: Plan | None = None, **fields: object
) -> Claim:
    """The next visit of a task that is settled or waits."""
    await database.start_recrawl(clock.now())
    claim = await claimed(database)
    visit = visit_of(claim, clock, outcome, plan)
    await database.commit(msgspec.structs.replace(visit, **fields))
    clock.advance(60)
    return claim


async def came_again(database: Database, clock: ManualClock, **fields: object) -> Visit:
    await database.start_recrawl(clock.now())
    claim = await claimed(database)
    visit = visit_of(claim, clock, page=page_of(claim, clock, **fields))
    await database.commit(visit)
    clock.advance(60)
    return visit


async def life_of(database: Database, url: str = URL) -> UrlHistory:
    history = await database.url_history(url)
    assert history is not None
    return history


async def only_page(database: Database) -> Page:
    (page,) = [page async for page in database.pages(PageFilter())]
    return page


class StoredCopiesContract:
    """Inherited by each backend's test class, beside `DatabaseContract`."""

    # -- another transport ----------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("is_unconditional", [False, True])
    @pytest.mark.parametrize("transport", [None, *TransportKind])
    async def test_how_to_visit_it_again_is_remembered(
        self,
        opened: Opened,
        clock: ManualClock,
        transport: TransportKind | None,
        is_unconditional: bool,
        is_reopened: bool,
    ) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        claim = await claimed(database)
        assert (claim.task.transport, claim.task.is_unconditional, claim.stored_copy) == (None, False, None)
        plan = Reschedule(clock.now() + 5, transport=transport, is_unconditional=is_unconditional)
        await database.commit(visit_of(claim, clock, Rejected("javascript: an empty page"), plan))
        clock.advance(6)
        if is_reopened:
            await database.close()
            database = await opened()
        again = await claimed(database)
        assert (again.task.transport, again.task.is_unconditional, again.task.attempt) == (
            transport,
            is_unconditional,
            0,
        )
        assert (await life_of(database)).visits[0].plan == plan
        await database.commit(visit_of(again, clock, Deferred(clock.now(), "backing off"), Reschedule(clock.now())))
        clock.advance(2)
        last = await claimed(database)
        assert (last.task.transport, last.task.is_unconditional) == (None, False)

    # -- stored copies --------------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_a_claim_of_a_page_visited_before_has_its_stored_copy(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        page = await stored(
            database, clock, kind=PageKind.ARTICLE, etag='"1"', last_modified="Mon", content_length=4000
        )
        await database.start_recrawl(clock.now())
        if is_reopened:
            await database.close()
            database = await opened()
        claim = await claimed(database)
        assert claim.stored_copy == StoredCopy(
            page.fetched_at, 200, PageKind.ARTICLE, '"1"', "Mon", 4000,
            content_hash=page.content_hash, fingerprint=page.fingerprint,
        )  # fmt: skip
        failed = visit_of(claim, clock, TROUBLE, Reschedule(clock.now() + 1))
        await database.commit(failed)
        clock.advance(60)
        assert (await claimed(database)).stored_copy == claim.stored_copy

    async def test_a_page_to_be_visited_again_at_once_has_its_stored_copy(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        claim = await claimed(database)
        page = page_of(claim, clock, etag='"2"')
        await database.commit(visit_of(claim, clock, plan=Reschedule(clock.now() + 1), page=page))
        clock.advance(2)
        stored_copy = StoredCopy(page.fetched_at, 200, PageKind.OTHER, '"2"', None, 5, content_hash=page.content_hash)
        assert (await claimed(database)).stored_copy == stored_copy

    @pytest.mark.parametrize("status", [404, 410])
    async def test_a_url_that_had_no_page_has_a_copy_that_says_so(
        self, opened: Opened, clock: ManualClock, status: int
    ) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        missing = Failed(f"HTTP {status}", FailureKind.NOT_FOUND, status=status)
        asked_at = clock.now()
        await database.commit(visit_of(await claimed(database), clock, missing, Done()))
        clock.advance(60)
        stored_copy = StoredCopy(asked_at, status)
        claim = await visited_again(database, clock, Refused("known: it answered recently"), Done())
        assert claim.stored_copy == stored_copy
        # A visit without a request neither renews the answer nor settles the task.
        claim = await visited_again(database, clock, Deferred(clock.now(), "backing off"), Reschedule(clock.now()))
        assert claim.stored_copy == stored_copy
        assert (await claimed(database)).stored_copy == stored_copy

    async def test_a_page_that_is_gone_has_a_404_copy_and_is_kept_as_stale(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await stored(database, clock, etag='"1"')
        gone_at = clock.now()
        await visited_again(database, clock, NOT_FOUND, Done())
        page = await only_page(database)
        assert (page.status, page.stale_since, page.stale_why) == (200, gone_at, "HTTP 404")
        claim = await visited_again(database, clock, TROUBLE, Reschedule(clock.now()))
        assert claim.stored_copy == StoredCopy(gone_at, 404)
        back = await claimed(database)
        assert back.stored_copy is not None and back.stored_copy.etag == '"1"'

    # -- unchanged pages ------------------------------------------------------------------------------------

    async def test_an_unchanged_page_stays_with_a_new_time_and_no_event(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        page = await stored(database, clock, etag='"1"', last_modified="Mon", content_length=30_000, links_count=3)
        events = await database.events(0, 10)
        checked_at = clock.now()
        fetch = FetchRecord(status=304, saved_bytes=30_000)
        await visited_again(database, clock, Unchanged(), fetch=fetch)
        assert await database.events(0, 10) == events
        assert await only_page(database) == msgspec.structs.replace(page, fetched_at=checked_at)
        history = await life_of(database)
        assert history.state is TaskState.SETTLED
        assert [visit.is_conditional for visit in history.visits] == [False, True]
        counts, status = database.counts(), await database.status()
        assert (counts.pages, counts.saved_bytes, counts.outcomes["unchanged"]) == (1, 30_000, 1)
        assert (status.pages, status.saved_bytes, status.settled, status.waiting) == (1, 30_000, 1, 0)

    async def test_a_304_may_bring_new_validators(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await stored(database, clock, etag='"1"', last_modified="Mon")
        await visited_again(database, clock, Unchanged(), etag='W/"2"')
        page = await only_page(database)
        assert (page.etag, page.last_modified) == ('W/"2"', "Mon")

    async def test_a_copy_that_served_unasked_is_not_younger_for_it(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        page = await stored(database, clock)
        await visited_again(database, clock, TROUBLE, Done())
        stale = await only_page(database)
        await visited_again(database, clock, Unchanged("the stored copy is young enough to serve"))
        assert await only_page(database) == stale
        assert (stale.fetched_at, stale.stale_why) == (page.fetched_at, "HTTP 503")

    # -- pages fetched again---------------------------------------------------------------------------------

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
    async def test_a_page_that_changed_replaces_the_old_one_with_an_event(
        self, opened: Opened, clock: ManualClock, changes: dict[str, object]
    ) -> None:
        database = await opened()
        first = await stored(database, clock, etag='"1"')
        second = (await came_again(database, clock, etag=None, **changes)).page
        assert second is not None
        assert [event.page for event in await database.events(0, 10)] == [first, second]
        assert await only_page(database) == second
        counts = database.counts()
        assert (counts.pages, counts.articles) == (1, int(second.kind is PageKind.ARTICLE))

    async def test_a_page_that_came_again_the_same_is_refreshed_without_an_event(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        first = await stored(database, clock, etag='"1"', kind=PageKind.ARTICLE)
        second = (await came_again(database, clock, etag='"2"', content_length=7, kind=PageKind.ARTICLE)).page
        assert [event.page for event in await database.events(0, 10)] == [first]
        assert await only_page(database) == second
        assert (database.counts().pages, database.counts().articles) == (1, 1)
        assert database.counts().outcomes["fetched"] == 2

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
        database = await opened()
        page = await stored(database, clock, etag='"1"')
        failed_at = clock.now()
        await visited_again(database, clock, outcome, plan)
        stale = msgspec.structs.replace(page, stale_since=failed_at, stale_why=why)
        assert (await life_of(database)).page == await only_page(database) == stale
        assert len(await database.events(0, 10)) == 1

    async def test_stale_since_the_first_failure_in_a_row(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await stored(database, clock)
        first = clock.now()
        await visited_again(database, clock, TROUBLE, Reschedule(clock.now()))
        await visited_again(database, clock, Deferred(clock.now(), "backing off"), Reschedule(clock.now()))
        await visited_again(database, clock, Failed("cut short", FailureKind.TRUNCATED), Done())
        page = await only_page(database)
        assert (page.stale_since, page.stale_why) == (first, "cut short")

    @pytest.mark.parametrize("is_unchanged", [False, True])
    async def test_a_page_that_came_or_stands_is_not_stale_any_more(
        self, opened: Opened, clock: ManualClock, is_unchanged: bool
    ) -> None:
        database = await opened()
        await stored(database, clock)
        await visited_again(database, clock, TROUBLE, Done())
        if is_unchanged:
            await visited_again(database, clock, Unchanged())
        else:
            await came_again(database, clock)
        page = await only_page(database)
        assert (page.stale_since, page.stale_why) == (None, "")
        later = clock.now()
        await visited_again(database, clock, TROUBLE, Done())
        assert (await only_page(database)).stale_since == later

    async def test_without_a_page_nothing_is_stale(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        await database.commit(visit_of(await claimed(database), clock, TROUBLE, Reschedule(clock.now())))
        clock.advance(60)
        page = page_of(claim := await claimed(database), clock)
        await database.commit(visit_of(claim, clock, page=page))
        assert await only_page(database) == page

    # -- recrawls -------------------------------------------------------------------------------------------

    async def test_a_recrawl_makes_every_settled_page_wait_again(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        chain = (Hop("http://a.test/", 301),)
        await database.admit([candidate("https://a.test/", source=Source.SEED, priority=Priority.HIGH, chain=chain)])
        link = candidate("https://a.test/2", depth=4, via="https://a.test/")
        before = [first := await claimed(database)]
        await database.commit(visit_of(first, clock, candidates=(link,)))
        clock.advance(2)
        before.append(second := await claimed(database))
        await database.commit(visit_of(second, clock))
        clock.advance(2)
        assert await database.start_recrawl(clock.now()) == 2
        assert await database.start_recrawl(clock.now()) == 0
        assert (await database.admit([candidate("https://a.test/2")])).known == 1
        assert (await database.status()).waiting == database.counts().waiting == 2
        for claim in before:
            again = await claimed(database)
            assert again.task.due <= clock.now()
            assert msgspec.structs.replace(again.task, due=claim.task.due) == claim.task
            await database.commit(visit_of(again, clock))
            clock.advance(2)
        status = await database.status()
        assert (status.settled, status.waiting, status.pages) == (2, 0, 2)

    async def test_a_recrawl_leaves_alone_what_waits_is_claimed_dead_or_had_no_page(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        endings: dict[str, tuple[Outcome | None, Plan]] = {
            "https://page.test/": (None, Done()),
            "https://missing.test/": (NOT_FOUND, Done()),
            "https://dead.test/": (TROUBLE, DeadLetter("HTTP 503")),
            "https://again.test/": (TROUBLE, Reschedule(clock.now() + 600)),
            "https://refused.test/": (Refused("robots: no"), Done()),
            "https://away.test/": (Redirected(301, "https://page.test/"), Done()),
            "https://picture.test/": (Rejected("content: image/png"), Done()),
        }
        await database.admit([candidate(url) for url in endings])
        for _ in endings:
            claim = await claimed(database)
            outcome, plan = endings[claim.task.url]
            await database.commit(visit_of(claim, clock, outcome, plan))
        await database.admit([candidate("https://claimed.test/")])
        in_flight = await claimed(database)
        await database.admit([candidate("https://new.test/", due=clock.now() + 600)])
        clock.advance(60)
        assert await database.start_recrawl(clock.now()) == 2
        urls = {(await claimed(database)).task.url, (await claimed(database)).task.url}
        assert urls == {"https://page.test/", "https://missing.test/"}
        assert await claim_soon(database) is None
        assert (await life_of(database, "https://dead.test/")).state is TaskState.DEAD
        await database.commit(visit_of(in_flight, clock))
        assert await database.start_recrawl(clock.now() - 1) == 0, "it was visited after that"

    async def test_a_recrawl_of_many_hosts_beyond_the_window(
        self, opened: Opened, clock: ManualClock, pace_rules: FixedPace
    ) -> None:
        pace_rules.pace = 0.0
        database = await opened()
        urls = {f"https://h{n}.test/{m}" for n in range(60) for m in range(4)}
        await database.admit([candidate(url) for url in urls])
        await drain(database, clock)
        clock.advance(60)
        assert await database.start_recrawl(clock.now()) == len(urls)
        assert set(await drain(database, clock)) == urls
        assert database.counts().pages == len(urls)

    async def test_what_was_found_first_is_recrawled_before_what_was_never_visited(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate(f"https://a.test/old{n}") for n in range(3)])
        await drain(database, clock)
        clock.advance(60)
        await database.admit([candidate("https://a.test/new")])
        await database.start_recrawl(clock.now())
        assert (await drain(database, clock))[-1] == "https://a.test/new"

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_pages_are_counted_once_and_again_in_each_round(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate(f"https://a.test/{n}") for n in range(3)])
        await drain(database, clock)
        clock.advance(60)
        assert (database.counts().pages, database.counts().pages_this_round) == (3, 3)
        await database.start_recrawl(clock.now())
        if is_reopened:
            await database.close()
            database = await opened()
        assert (database.counts().pages, database.counts().pages_this_round) == (3, 0)
        clock.advance(2)
        for outcome in (Unchanged(), TROUBLE, None):
            await database.commit(visit_of(await claimed(database), clock, outcome))
            clock.advance(2)
        assert (database.counts().pages, database.counts().pages_this_round) == (3, 2)

    async def test_a_page_that_comes_again_in_the_same_round_counts_once(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        for outcome in (None, None, Unchanged()):
            await database.commit(visit_of(await claimed(database), clock, outcome, Reschedule(clock.now() + 1)))
            clock.advance(60)
        assert (database.counts().pages, database.counts().pages_this_round) == (1, 1)

    async def test_a_replayed_dead_letter_has_its_stored_copy(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await stored(database, clock, etag='"1"')
        await visited_again(database, clock, TROUBLE, DeadLetter("HTTP 503"))
        assert await database.replay(None) == 1
        claim = await claimed(database)
        assert claim.stored_copy is not None and claim.stored_copy.etag == '"1"'

    # -- any bytes of a site --------------------------------------------------------------------------------

    async def test_bytes_that_are_no_text_stop_nothing(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/"), candidate("https://b.test/")])
        odd = "text/html; \udcff"
        for _ in range(2):
            claim = await claimed(database)
            page = page_of(claim, clock, content_type=odd, etag=odd)
            visit = visit_of(claim, clock, page=page, candidates=(candidate(claim.task.url + "x"),), backoff_reason=odd)
            admission = await database.commit(msgspec.structs.replace(visit, fetch=FetchRecord(200, odd)))
            assert admission.admitted == 1
        read = [page async for page in database.pages(PageFilter())]
        assert [page.content_type for page in read] == ["text/html; ?"] * 2
        assert [event.page for event in await database.events(0, 10)] == read
