"""Contract of every database about URL lists and guesses, a suite that each backend must pass."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database, PageFilter, TaskState
from tenax.database.schedule import OLDEST_TASK_EVERY
from tenax.model import (
    Claim,
    DeadLetter,
    Failed,
    FailureKind,
    Fetched,
    Outcome,
    PageKind,
    Plan,
    Priority,
    Reschedule,
    Source,
    StoredCopy,
    Unchanged,
)
from tests.contracts.database import Opened, candidate, claim_soon, claimed, drain, visit_of
from tests.contracts.stored_copies import NOT_FOUND, TROUBLE, life_of, only_page

SITEMAP = "https://a.test/sitemap.xml"
LISTED = Fetched(200, "sitemap")


async def reopened(database: Database, opened: Opened) -> Database:
    await database.close()
    return await opened()


async def asked(
    database: Database, clock: ManualClock, outcome: Outcome = LISTED, plan: Plan | None = None, **fields: object
) -> Claim:
    """Visit the next task without a page: by default it is a URL list."""
    claim = await claimed(database)
    visit = visit_of(claim, clock, outcome, plan)
    await database.commit(msgspec.structs.replace(visit, page=None, **fields))
    clock.advance(60)
    return claim


async def admit_list(database: Database, url: str = SITEMAP) -> None:
    await database.admit([candidate(url, source=Source.SITEMAP, is_url_list=True)])


class UrlListsContract:
    """Inherited by each backend's test class."""

    # -- lists of URLs ----------------------------------------------------------------------------------------

    async def test_a_list_of_urls_is_settled_and_is_no_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await admit_list(database)
        links = (candidate("https://a.test/1", due=clock.now() + 1e6, source=Source.SITEMAP),)
        claim = await asked(database, clock, candidates=links)
        assert (claim.task.is_url_list, claim.task.is_guess, claim.stored_copy) == (True, True, None)
        history = await life_of(database, SITEMAP)
        assert (history.state, history.page, [visit.outcome for visit in history.visits]) == (
            TaskState.SETTLED,
            None,
            [LISTED],
        )
        assert (await life_of(database, "https://a.test/1")).via == SITEMAP
        counts, status = database.counts(), await database.status()
        assert (counts.pages, counts.pages_this_round, counts.outcomes) == (0, 0, {"fetched": 1})
        assert (status.pages, status.settled, status.waiting, status.events) == (0, 1, 1, 0)
        assert [page async for page in database.pages(PageFilter())] == []
        assert await database.events(0, 10) == []

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("kind", ["sitemap", "feed"])
    async def test_a_list_of_urls_is_stored_with_its_validators(
        self, opened: Opened, clock: ManualClock, kind: str, is_reopened: bool
    ) -> None:
        database = await opened()
        await admit_list(database)
        came_at = clock.now()
        outcome = msgspec.structs.replace(LISTED, url_list=kind)
        await asked(database, clock, outcome, etag='"1"', last_modified="Mon")
        assert await database.start_recrawl(clock.now()) == 1
        if is_reopened:
            database = await reopened(database, opened)
        claim = await claimed(database)
        stored_copy = msgspec.structs.replace(StoredCopy(came_at, 200, None, '"1"', "Mon"), url_list=kind)
        assert (claim.stored_copy, claim.task.is_url_list) == (stored_copy, True)
        assert claim.task.url == SITEMAP

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("wait", [0.0, 30.0])
    async def test_a_list_of_urls_that_is_recrawled_has_a_stored_copy_too(
        self, opened: Opened, clock: ManualClock, wait: float, is_reopened: bool
    ) -> None:
        """Both when it is due at once and stays in memory, and when it is read back later."""
        database = await opened()
        await admit_list(database)
        came_at = clock.now()
        await asked(database, clock, plan=Reschedule(clock.now() + wait, why="kept fresh"), etag='"1"')
        if is_reopened:
            database = await reopened(database, opened)
        claim = await claimed(database)
        assert claim.stored_copy == StoredCopy(came_at, 200, None, '"1"', url_list="sitemap")
        assert claim.task.is_url_list

    async def test_a_list_of_urls_that_came_again_has_other_validators(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await admit_list(database)
        await asked(database, clock, etag='"1"', last_modified="Mon")
        await database.start_recrawl(clock.now())
        came_at = clock.now()
        await asked(database, clock, etag='"2"')
        await database.start_recrawl(clock.now())
        assert (await claimed(database)).stored_copy == StoredCopy(came_at, 200, None, '"2"', url_list="sitemap")

    @pytest.mark.parametrize(("etag", "kept"), [(None, '"1"'), ('W/"2"', 'W/"2"')])
    async def test_a_304_for_a_list_of_urls_keeps_its_stored_copy(
        self, opened: Opened, clock: ManualClock, etag: str | None, kept: str
    ) -> None:
        database = await opened()
        await admit_list(database)
        await asked(database, clock, etag='"1"', last_modified="Mon")
        await database.start_recrawl(clock.now())
        checked_at = clock.now()
        await asked(database, clock, Unchanged(), etag=etag)
        assert (database.counts().pages, database.counts().pages_this_round) == (0, 0)
        assert (await life_of(database, SITEMAP)).state is TaskState.SETTLED
        assert await database.start_recrawl(clock.now()) == 1
        claim = await claimed(database)
        assert claim.stored_copy == StoredCopy(checked_at, 200, None, kept, "Mon", url_list="sitemap")

    async def test_a_list_of_urls_that_is_gone_has_a_404_copy(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await admit_list(database)
        await asked(database, clock, etag='"1"')
        await database.start_recrawl(clock.now())
        gone_at = clock.now()
        await asked(database, clock, NOT_FOUND)
        await database.start_recrawl(clock.now())
        claim = await claimed(database)
        assert (claim.stored_copy, claim.task.is_url_list) == (StoredCopy(gone_at, 404), True)

    async def test_a_page_where_a_list_of_urls_was_is_a_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await admit_list(database)
        await asked(database, clock, etag='"1"')
        await database.start_recrawl(clock.now())
        await database.commit(visit_of(await claimed(database), clock))
        clock.advance(60)
        page = await only_page(database)
        await database.start_recrawl(clock.now())
        claim = await claimed(database)
        assert claim.stored_copy == StoredCopy(
            page.fetched_at, 200, PageKind.OTHER, body_bytes=5, content_hash=page.content_hash
        )  # fmt: skip
        assert not claim.task.is_url_list

    # -- hints of a task are kept -----------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("outcome", [LISTED, TROUBLE, NOT_FOUND, Failed("no answer", FailureKind.CONNECT)])
    async def test_a_task_keeps_what_was_said_of_it_when_it_is_planned_again(
        self, opened: Opened, clock: ManualClock, outcome: Outcome, is_reopened: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate(SITEMAP, is_url_list=True, changefreq="daily")])
        for _ in range(3):
            claim = await asked(database, clock, outcome, Reschedule(clock.now() + 30, is_unconditional=True))
            assert (claim.task.is_url_list, claim.task.changefreq) == (True, "daily")
            if is_reopened:
                database = await reopened(database, opened)
        assert (await claimed(database)).task.is_unconditional

    async def test_a_list_that_never_came_is_one_to_a_recrawl(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await admit_list(database)
        await asked(database, clock, NOT_FOUND)
        await database.start_recrawl(clock.now())
        claim = await asked(database, clock)
        assert claim.task.is_url_list

    @pytest.mark.parametrize("has_come", [False, True])
    async def test_a_list_that_was_a_dead_letter_is_one_when_it_is_replayed(
        self, opened: Opened, clock: ManualClock, has_come: bool
    ) -> None:
        database = await opened()
        await admit_list(database)
        if has_come:
            await asked(database, clock, etag='"1"')
            await database.start_recrawl(clock.now())
        await asked(database, clock, TROUBLE, DeadLetter("HTTP 503"))
        assert await database.replay(None) == 1
        claim = await claimed(database)
        assert claim.task.is_url_list
        assert (claim.stored_copy is not None) is has_come

    @pytest.mark.parametrize(
        ("said", "known"), [("", ""), ("always", "always"), ("weekly", "weekly"), ("never", "never"), ("often", "")]
    )
    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_how_often_a_sitemap_says_it_changes_comes_with_the_task(
        self, opened: Opened, clock: ManualClock, said: str, known: str, is_reopened: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/1", changefreq=said)])
        if is_reopened:
            database = await reopened(database, opened)
        task = (await claimed(database)).task
        assert (task.changefreq, task.is_url_list, task.is_announced, task.transport) == (known, False, False, None)

    # -- guesses ----------------------------------------------------------------------------------------------

    async def test_a_guess_that_nothing_was_behind_is_missed(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        guesses = [candidate(f"https://{source}.test/2024/", source=source) for source in (Source.ARCHIVE, Source.LINK)]
        await database.admit([*guesses, candidate(SITEMAP, source=Source.SITEMAP, is_url_list=True)])
        for _ in range(3):
            await asked(database, clock, NOT_FOUND)
        assert database.counts().outcomes == (await database.status()).outcomes == {"missed": 2, "failed:not_found": 1}

    async def test_a_guess_that_found_nothing_is_left_alone_by_a_recrawl(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        sources = (Source.ARCHIVE, Source.PAGINATION, Source.LINK)
        await database.admit([candidate(f"https://{source}.test/2024/", source=source) for source in sources])
        for _ in sources:
            await asked(database, clock, NOT_FOUND)
        assert await database.start_recrawl(clock.now()) == 1
        assert (await claimed(database)).task.url == "https://link.test/2024/"

    async def test_what_was_found_is_counted_by_its_source(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/", source=Source.SEED)])
        links = [candidate(f"https://a.test/{source}{n}", source=source) for source in Source for n in range(2)]
        again = (*links, candidate("https://a.test/", source=Source.FEED), candidate(links[0].url, source=Source.FEED))
        await database.commit(visit_of(await claimed(database), clock, candidates=again))
        found = {str(source): 2 for source in Source} | {"seed": 3}
        assert (await database.status()).found == found
        await database.admit(links)
        assert (await (await reopened(database, opened)).status()).found == found

    async def test_guesses_come_last(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/guess", priority=Priority.DISCOVERY, source=Source.ARCHIVE)])
        clock.advance(1)
        levels = (Priority.LOW, Priority.HIGH, Priority.MEDIUM)
        await database.admit([candidate(f"https://a.test/{level.name}", priority=level) for level in levels])
        claims = []
        for _ in range(4):
            claims.append(claim := await claimed(database))
            await database.commit(visit_of(claim, clock))
            clock.advance(1)
        assert [claim.task.priority for claim in claims] == sorted(Priority, reverse=True)
        assert (claims[-1].task.source, claims[-1].task.url) == (Source.ARCHIVE, "https://a.test/guess")

    async def test_of_each_level_the_longest_waiting_is_claimed_in_time(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """Even with more better tasks than are loaded of a host at a time."""
        database = await opened()
        for level in (Priority.DISCOVERY, Priority.LOW):
            await database.admit([candidate(f"https://a.test/{level.name}{n}", priority=level) for n in range(2)])
            clock.advance(1)
        await database.admit([candidate(f"https://a.test/{n}", priority=Priority.HIGH) for n in range(100)])
        urls = await drain(database, clock, most=4 * OLDEST_TASK_EVERY)
        patient = [url.rpartition("/")[2] for url in urls[OLDEST_TASK_EVERY - 1 :: OLDEST_TASK_EVERY]]
        assert [url[:-1] for url in patient] == ["DISCOVERY"] * 2 + ["LOW"] * 2
        assert Counter(url.rpartition("/")[2].isdigit() for url in urls) == {True: 4 * OLDEST_TASK_EVERY - 4, False: 4}

    async def test_who_has_a_lead_goes_before_what_was_found_earlier(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://a.test/earlier")])
        await database.admit([candidate("https://a.test/later", due=clock.now() + 5, lead_seconds=3600.0)])
        clock.advance(10)
        await database.admit(
            [
                candidate("https://a.test/least", lead_seconds=3.0),
                candidate("https://a.test/most", lead_seconds=600.0),
                candidate("https://a.test/low", lead_seconds=9999.0, priority=Priority.DISCOVERY),
            ]
        )
        urls = await drain(database, clock)
        assert [url.rpartition("/")[2] for url in urls] == ["most", "earlier", "later", "least", "low"]
        assert await claim_soon(database) is None
