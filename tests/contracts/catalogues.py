"""What every ledger promises about lists of URLs and about guesses, as a suite that any backend must pass."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Ledger, PageFilter, TaskState
from tenax.database.schedule import PATIENT_TURNS
from tenax.model import (
    Again,
    Claim,
    DeadLetter,
    Failed,
    FailureKind,
    Fetched,
    Held,
    Outcome,
    PageKind,
    Plan,
    Priority,
    Source,
    Unchanged,
)
from tests.contracts.held_pages import NOT_FOUND, TROUBLE, life_of, only_page
from tests.contracts.ledger import Opened, claim_soon, claimed, drain, offer, visit_of

SITEMAP = "https://a.test/sitemap.xml"
LISTED = Fetched(200, "sitemap")


async def reopened(ledger: Ledger, opened: Opened) -> Ledger:
    await ledger.close()
    return await opened()


async def asked(
    ledger: Ledger, clock: ManualClock, outcome: Outcome = LISTED, plan: Plan | None = None, **fields: object
) -> Claim:
    """The next task is visited and brings no page: a list of URLs unless something else is said."""
    claim = await claimed(ledger)
    visit = visit_of(claim, clock, outcome, plan)
    await ledger.commit(msgspec.structs.replace(visit, page=None, **fields))
    clock.advance(60)
    return claim


async def offered(ledger: Ledger, url: str = SITEMAP) -> None:
    await ledger.admit([offer(url, source=Source.SITEMAP, is_catalogue=True)])


class CataloguesContract:
    """Inherited by each backend's test class."""

    # -- lists of URLs ----------------------------------------------------------------------------------------

    async def test_a_list_of_urls_is_settled_and_is_no_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await offered(ledger)
        links = (offer("https://a.test/1", due=clock.now() + 1e6, source=Source.SITEMAP),)
        claim = await asked(ledger, clock, offers=links)
        assert (claim.task.is_catalogue, claim.task.is_guess, claim.held) == (True, True, None)
        life = await life_of(ledger, SITEMAP)
        assert (life.state, life.page, [visit.outcome for visit in life.visits]) == (TaskState.SETTLED, None, [LISTED])
        assert (await life_of(ledger, "https://a.test/1")).via == SITEMAP
        counts, status = ledger.counts(), await ledger.status()
        assert (counts.pages, counts.pages_this_round, counts.outcomes) == (0, 0, {"fetched": 1})
        assert (status.pages, status.settled, status.waiting, status.events) == (0, 1, 1, 0)
        assert [page async for page in ledger.pages(PageFilter())] == []
        assert await ledger.events(0, 10) == []

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("kind", ["sitemap", "feed"])
    async def test_a_list_of_urls_is_held_with_its_validators(
        self, opened: Opened, clock: ManualClock, kind: str, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await offered(ledger)
        came_at = clock.now()
        outcome = msgspec.structs.replace(LISTED, catalogue=kind)
        await asked(ledger, clock, outcome, etag='"1"', last_modified="Mon")
        assert await ledger.revisit(clock.now()) == 1
        if is_reopened:
            ledger = await reopened(ledger, opened)
        claim = await claimed(ledger)
        held = msgspec.structs.replace(Held(came_at, 200, None, '"1"', "Mon"), catalogue=kind)
        assert (claim.held, claim.task.is_catalogue) == (held, True)
        assert claim.task.url == SITEMAP

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("wait", [0.0, 30.0])
    async def test_a_list_of_urls_that_is_kept_up_with_is_held_too(
        self, opened: Opened, clock: ManualClock, wait: float, is_reopened: bool
    ) -> None:
        """When it is due at once, and does not leave the ledger's memory, as when it is read back later."""
        ledger = await opened()
        await offered(ledger)
        came_at = clock.now()
        await asked(ledger, clock, plan=Again(clock.now() + wait, why="kept fresh"), etag='"1"')
        if is_reopened:
            ledger = await reopened(ledger, opened)
        claim = await claimed(ledger)
        assert claim.held == Held(came_at, 200, None, '"1"', catalogue="sitemap")
        assert claim.task.is_catalogue

    async def test_a_list_of_urls_that_came_anew_has_other_validators(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await offered(ledger)
        await asked(ledger, clock, etag='"1"', last_modified="Mon")
        await ledger.revisit(clock.now())
        came_at = clock.now()
        await asked(ledger, clock, etag='"2"')
        await ledger.revisit(clock.now())
        assert (await claimed(ledger)).held == Held(came_at, 200, None, '"2"', catalogue="sitemap")

    @pytest.mark.parametrize(("etag", "kept"), [(None, '"1"'), ('W/"2"', 'W/"2"')])
    async def test_a_304_for_a_list_of_urls_keeps_what_is_held_of_it(
        self, opened: Opened, clock: ManualClock, etag: str | None, kept: str
    ) -> None:
        ledger = await opened()
        await offered(ledger)
        await asked(ledger, clock, etag='"1"', last_modified="Mon")
        await ledger.revisit(clock.now())
        checked_at = clock.now()
        await asked(ledger, clock, Unchanged(), etag=etag)
        assert (ledger.counts().pages, ledger.counts().pages_this_round) == (0, 0)
        assert (await life_of(ledger, SITEMAP)).state is TaskState.SETTLED
        assert await ledger.revisit(clock.now()) == 1
        claim = await claimed(ledger)
        assert claim.held == Held(checked_at, 200, None, kept, "Mon", catalogue="sitemap")

    async def test_a_list_of_urls_that_is_gone_is_held_as_gone(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await offered(ledger)
        await asked(ledger, clock, etag='"1"')
        await ledger.revisit(clock.now())
        gone_at = clock.now()
        await asked(ledger, clock, NOT_FOUND)
        await ledger.revisit(clock.now())
        claim = await claimed(ledger)
        assert (claim.held, claim.task.is_catalogue) == (Held(gone_at, 404), True)

    async def test_a_page_where_a_list_of_urls_was_is_a_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await offered(ledger)
        await asked(ledger, clock, etag='"1"')
        await ledger.revisit(clock.now())
        await ledger.commit(visit_of(await claimed(ledger), clock))
        clock.advance(60)
        page = await only_page(ledger)
        await ledger.revisit(clock.now())
        claim = await claimed(ledger)
        assert claim.held == Held(
            page.fetched_at, 200, PageKind.OTHER, body_bytes=5, content_hash=page.content_hash
        )  # fmt: skip
        assert not claim.task.is_catalogue

    # -- what is said of a task lasts -------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    @pytest.mark.parametrize("outcome", [LISTED, TROUBLE, NOT_FOUND, Failed("no answer", FailureKind.CONNECT)])
    async def test_a_task_keeps_what_was_said_of_it_when_it_is_planned_again(
        self, opened: Opened, clock: ManualClock, outcome: Outcome, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(SITEMAP, is_catalogue=True, changefreq="daily")])
        for _ in range(3):
            claim = await asked(ledger, clock, outcome, Again(clock.now() + 30, is_unconditional=True))
            assert (claim.task.is_catalogue, claim.task.changefreq) == (True, "daily")
            if is_reopened:
                ledger = await reopened(ledger, opened)
        assert (await claimed(ledger)).task.is_unconditional

    async def test_a_list_that_never_came_is_one_to_a_revisit(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await offered(ledger)
        await asked(ledger, clock, NOT_FOUND)
        await ledger.revisit(clock.now())
        claim = await asked(ledger, clock)
        assert claim.task.is_catalogue

    @pytest.mark.parametrize("has_come", [False, True])
    async def test_a_list_whose_letter_was_dead_is_one_when_it_is_replayed(
        self, opened: Opened, clock: ManualClock, has_come: bool
    ) -> None:
        ledger = await opened()
        await offered(ledger)
        if has_come:
            await asked(ledger, clock, etag='"1"')
            await ledger.revisit(clock.now())
        await asked(ledger, clock, TROUBLE, DeadLetter("HTTP 503"))
        assert await ledger.replay(None) == 1
        claim = await claimed(ledger)
        assert claim.task.is_catalogue
        assert (claim.held is not None) is has_come

    @pytest.mark.parametrize(
        ("said", "known"), [("", ""), ("always", "always"), ("weekly", "weekly"), ("never", "never"), ("often", "")]
    )
    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_how_often_a_sitemap_says_it_changes_comes_with_the_task(
        self, opened: Opened, clock: ManualClock, said: str, known: str, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/1", changefreq=said)])
        if is_reopened:
            ledger = await reopened(ledger, opened)
        task = (await claimed(ledger)).task
        assert (task.changefreq, task.is_catalogue, task.is_announced, task.way) == (known, False, False, None)

    # -- guesses ----------------------------------------------------------------------------------------------

    async def test_a_guess_that_nothing_was_behind_is_missed(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        guesses = [offer(f"https://{source}.test/2024/", source=source) for source in (Source.ARCHIVE, Source.LINK)]
        await ledger.admit([*guesses, offer(SITEMAP, source=Source.SITEMAP, is_catalogue=True)])
        for _ in range(3):
            await asked(ledger, clock, NOT_FOUND)
        assert ledger.counts().outcomes == (await ledger.status()).outcomes == {"missed": 2, "failed:not_found": 1}

    async def test_a_guess_that_nothing_was_behind_is_left_alone_by_a_revisit(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        sources = (Source.ARCHIVE, Source.PAGINATION, Source.LINK)
        await ledger.admit([offer(f"https://{source}.test/2024/", source=source) for source in sources])
        for _ in sources:
            await asked(ledger, clock, NOT_FOUND)
        assert await ledger.revisit(clock.now()) == 1
        assert (await claimed(ledger)).task.url == "https://link.test/2024/"

    async def test_what_was_found_is_counted_by_its_source(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/", source=Source.SEED)])
        links = [offer(f"https://a.test/{source}{n}", source=source) for source in Source for n in range(2)]
        again = (*links, offer("https://a.test/", source=Source.FEED), offer(links[0].url, source=Source.FEED))
        await ledger.commit(visit_of(await claimed(ledger), clock, offers=again))
        found = {str(source): 2 for source in Source} | {"seed": 3}
        assert (await ledger.status()).found == found
        await ledger.admit(links)
        assert (await (await reopened(ledger, opened)).status()).found == found

    async def test_guesses_come_last(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/guess", priority=Priority.DISCOVERY, source=Source.ARCHIVE)])
        clock.advance(1)
        levels = (Priority.LOW, Priority.HIGH, Priority.MEDIUM)
        await ledger.admit([offer(f"https://a.test/{level.name}", priority=level) for level in levels])
        claims = []
        for _ in range(4):
            claims.append(claim := await claimed(ledger))
            await ledger.commit(visit_of(claim, clock))
            clock.advance(1)
        assert [claim.task.priority for claim in claims] == sorted(Priority, reverse=True)
        assert (claims[-1].task.source, claims[-1].task.url) == (Source.ARCHIVE, "https://a.test/guess")

    async def test_of_each_level_the_longest_waiting_has_a_turn_in_time(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        """However many better ones there are: more than the ledger holds of a host at a time."""
        ledger = await opened()
        for level in (Priority.DISCOVERY, Priority.LOW):
            await ledger.admit([offer(f"https://a.test/{level.name}{n}", priority=level) for n in range(2)])
            clock.advance(1)
        await ledger.admit([offer(f"https://a.test/{n}", priority=Priority.HIGH) for n in range(100)])
        urls = await drain(ledger, clock, most=4 * PATIENT_TURNS)
        patient = [url.rpartition("/")[2] for url in urls[PATIENT_TURNS - 1 :: PATIENT_TURNS]]
        assert [url[:-1] for url in patient] == ["DISCOVERY"] * 2 + ["LOW"] * 2
        assert Counter(url.rpartition("/")[2].isdigit() for url in urls) == {True: 4 * PATIENT_TURNS - 4, False: 4}

    async def test_who_has_a_lead_goes_before_what_was_found_earlier(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://a.test/earlier")])
        await ledger.admit([offer("https://a.test/later", due=clock.now() + 5, lead_seconds=3600.0)])
        clock.advance(10)
        await ledger.admit(
            [
                offer("https://a.test/least", lead_seconds=3.0),
                offer("https://a.test/most", lead_seconds=600.0),
                offer("https://a.test/low", lead_seconds=9999.0, priority=Priority.DISCOVERY),
            ]
        )
        urls = await drain(ledger, clock)
        assert [url.rpartition("/")[2] for url in urls] == ["most", "earlier", "later", "least", "low"]
        assert await claim_soon(ledger) is None
