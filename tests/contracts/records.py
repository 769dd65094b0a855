"""Contract of every database about stored visits and answers, a suite that each backend must pass.

It goes with `tests.contracts.database.DatabaseContract`: a backend's test class inherits both, and gives it a `crawled`
fixture: an async function that reads the row of a URL in the view `crawled_pages`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database
from tenax.model import (
    NEEDS_BROWSER,
    Claim,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    Outcome,
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Source,
    Unchanged,
)
from tests.contracts.database import Opened, candidate, claimed, drain, page_of, visit_of
from tests.contracts.stored_copies import life_of

URL = "https://a.test/1"
Crawled = Callable[[Database, str], Awaitable[dict[str, object]]]
SHELL = Rejected("shell: the page is built by scripts")
NO_ANSWER = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
GONE = Failed("HTTP 410", FailureKind.GONE, status=410)
VIEWED = ("status", "status_code", "validation_status", "rejection_reason")


async def visited(
    database: Database, clock: ManualClock, outcome: Outcome, fetch: FetchRecord, plan: Plan | None = None
) -> None:
    """The next visit of the only task."""
    if await database.url_history(URL) is None:
        await database.admit([candidate(URL)])
    else:
        await database.start_recrawl(clock.now())
    visit = visit_of(await claimed(database), clock, outcome, plan or Done())
    await database.commit(msgspec.structs.replace(visit, fetch=fetch))
    clock.advance(60)


NEEDS = DeadLetter(f"{NEEDS_BROWSER}: {SHELL.why}")


async def settled(database: Database, clock: ManualClock, ends: dict[str, tuple[Outcome, Plan]]) -> None:
    """URLs that were visited once with these outcomes, by their last path segment."""
    for name, (outcome, plan) in ends.items():
        await database.admit([candidate(f"https://a.test/{name}", depth=3)])
        await database.commit(visit_of(await claimed(database), clock, outcome, plan))
        clock.advance(60)


async def claimed_soon(database: Database, clock: ManualClock) -> Claim:
    """Visit the next task; its host has one connection."""
    claim = await claimed(database)
    await database.commit(visit_of(claim, clock, GONE, Done()))
    clock.advance(60)
    return claim


class RecordsContract:
    """Inherited by each backend's test class, beside `DatabaseContract`."""

    @pytest.mark.parametrize(
        ("outcome", "fetch", "viewed"),
        [
            (Fetched(200), FetchRecord(200, validation="valid"), ("fetched", 200, "valid", None)),
            (SHELL, FetchRecord(200, validation="soft"), ("rejected", 200, "soft", SHELL.why)),
            (
                Rejected("blocked: the site blocks us", is_hard=True),
                FetchRecord(203, validation="hard"),
                ("rejected", 203, "hard", "blocked: the site blocks us"),
            ),
            (
                Rejected("noindex: the page asks not to be kept"),
                FetchRecord(200, validation="valid"),
                ("rejected", 200, "valid", "noindex: the page asks not to be kept"),
            ),
            (GONE, FetchRecord(410), ("failed", 410, None, None)),
            (NO_ANSWER, FetchRecord(), ("failed", None, None, None)),
            (Redirected(301, "https://a.test/2"), FetchRecord(301), ("fetched", 301, None, None)),
            (Refused("robots: closed"), FetchRecord(), ("blocked", None, None, None)),
        ],
        ids=["page", "soft", "hard", "noindex", "gone", "no answer", "redirect", "refused"],
    )
    async def test_the_view_says_what_was_answered_and_what_was_thought_of_it(
        self,
        opened: Opened,
        clock: ManualClock,
        crawled: Crawled,
        outcome: Outcome,
        fetch: FetchRecord,
        viewed: tuple[object, ...],
    ) -> None:
        database = await opened()
        await visited(database, clock, outcome, fetch)
        row = await crawled(database, URL)
        assert tuple(row[name] for name in VIEWED) == viewed

    async def test_the_last_answer_counts(self, opened: Opened, clock: ManualClock, crawled: Crawled) -> None:
        database = await opened()

        async def viewed() -> tuple[object, ...]:
            row = await crawled(database, URL)
            return tuple(row[name] for name in VIEWED)

        await visited(database, clock, Fetched(200), FetchRecord(200, validation="valid"))
        await visited(database, clock, SHELL, FetchRecord(200, validation="soft"))
        assert await viewed() == ("rejected", 200, "soft", SHELL.why)
        await visited(database, clock, Deferred(clock.now(), "backing off"), FetchRecord())
        assert await viewed() == ("rejected", 200, "soft", SHELL.why), "nothing was asked"
        await visited(database, clock, Unchanged(), FetchRecord(304))
        assert await viewed() == ("fetched", 200, None, None), "a 304 has no body to judge"
        await visited(database, clock, Fetched(200), FetchRecord(200, validation="valid"))
        await visited(database, clock, Unchanged(), FetchRecord(304))
        assert await viewed() == ("fetched", 200, "valid", None)
        await visited(database, clock, NO_ANSWER, FetchRecord())
        assert await viewed() == ("failed", None, None, None)

    async def test_a_dead_letter_shows_the_last_answer(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await visited(database, clock, SHELL, FetchRecord(200, validation="soft"), DeadLetter("given up"))
        (dead_letter,) = [dead_letter async for dead_letter in database.dead_letters()]
        assert (dead_letter.http_status, dead_letter.validation_status, dead_letter.rejection_reason) == (
            200,
            "soft",
            SHELL.why,
        )

    async def test_headers_and_the_body_of_an_error_are_kept_with_the_visit(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        fetch = FetchRecord(410, headers={"server": "nginx", "x-ü": "Grüße"}, error_body="gone\nfor good \x00 世界")
        await visited(database, clock, GONE, fetch)
        (visit,) = (await life_of(database, URL)).visits
        assert visit.fetch == fetch

    # -- what comes back ------------------------------------------------------------------------------------

    async def test_what_waits_for_a_browser_is_counted_and_comes_back_by_itself(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await settled(database, clock, {"1": (SHELL, NEEDS), "2": (GONE, DeadLetter("given up")), "3": (SHELL, NEEDS)})
        status = await database.status()
        assert (status.waiting, status.dead, status.needs_browser) == (0, 3, 2)
        assert database.counts().needs_browser == 2
        assert await database.replay(None, needs_browser=True) == 2
        assert (database.counts().waiting, database.counts().needs_browser) == (2, 0)
        status = await database.status()
        assert (status.waiting, status.dead, status.needs_browser) == (2, 1, 0)
        assert [dead_letter.url async for dead_letter in database.dead_letters()] == ["https://a.test/2"]
        assert sorted(await drain(database, clock)) == ["https://a.test/1", "https://a.test/3"]
        assert await database.replay(None, needs_browser=True) == 0
        assert await database.find_problems() == []

    async def test_a_person_may_replay_it_too(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await settled(database, clock, {"1": (SHELL, NEEDS), "2": (SHELL, NEEDS)})
        assert await database.replay(["https://a.test/2"]) == 1
        assert database.counts().needs_browser == 1
        assert await database.replay(None) == 1
        assert (database.counts().waiting, database.counts().needs_browser) == (2, 0)
        assert await database.find_problems() == []

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_what_has_no_page_is_visited_again_when_a_person_names_it(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        without: dict[str, tuple[Outcome, Plan]] = {
            "rejected": (Rejected("noindex: the page asks not to be kept"), Done()),
            "browser": (SHELL, NEEDS),
            "refused": (Refused("robots: closed"), Done()),
            "gone": (GONE, Done()),
            "dead": (Failed("HTTP 403", FailureKind.BLOCKED, status=403), DeadLetter("HTTP 403")),
            "not-followed": (Redirected(301, "https://b.test/", "scope"), Done()),
        }
        kept: dict[str, tuple[Outcome, Plan]] = {
            "page": (Fetched(200), Done()),
            "moved": (Redirected(301, "https://a.test/page"), Done()),
        }
        await settled(database, clock, without | kept)
        if is_reopened:
            await database.close()
            database = await opened()
        named = [
            candidate(f"https://a.test/{name}", depth=0, priority=Priority.HIGH, source=Source.SEED)
            for name in (*without, *kept, *(f"unknown{n}" for n in range(1200)), *without)
        ]
        assert await database.requeue(named) == len(without)
        status = await database.status()
        assert (status.waiting, status.settled, status.dead, status.needs_browser) == (len(without), len(kept), 0, 0)
        assert await database.requeue(named) == 0, "they wait already"
        claims = [await claimed_soon(database, clock) for _ in without]
        assert {claim.task.url for claim in claims} == {f"https://a.test/{name}" for name in without}
        for claim in claims:
            task = claim.task
            assert (task.depth, task.priority, task.source, task.attempt) == (0, Priority.HIGH, Source.SEED, 0)
            assert task.is_unconditional
        assert await database.find_problems() == []

    async def test_a_stored_page_stays_when_it_is_named_again(self, opened: Opened, clock: ManualClock) -> None:
        """A dead letter is requested again, and its stored copy is kept until it is replaced."""
        database = await opened()
        await visited(database, clock, Fetched(200), FetchRecord(200, validation="valid"))
        await visited(database, clock, SHELL, FetchRecord(200, validation="soft"), NEEDS)
        assert await database.requeue([candidate(URL, source=Source.SEED)]) == 1
        claim = await claimed(database)
        assert claim.stored_copy is not None and claim.stored_copy.kind is not None
        assert database.counts().pages == 1

    # -- by canonical URL -----------------------------------------------------------------------------------

    async def test_a_page_is_found_by_its_canonical_url(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        canonical = "https://a.test/story"
        for name in ("https://a.test/story/print", "http://www.a.test/story", "https://a.test/other"):
            await database.admit([candidate(name)])
            claim = await claimed(database)
            named = None if name.endswith("other") else canonical
            await database.commit(visit_of(claim, clock, page=page_of(claim, clock, canonical=named, etag='"1"')))
            clock.advance(60)
        copy = await database.canonical_copy(canonical)
        assert copy is not None
        assert (copy.url, copy.stored_copy.kind, copy.stored_copy.etag) == (
            "http://www.a.test/story",
            PageKind.OTHER,
            '"1"',
        )
        assert await database.canonical_copy("https://a.test/story/print") is None
        assert await database.canonical_copy("https://a.test/other") is None

    @pytest.mark.parametrize(
        "claims", ["https://b.test/", "https://a.test:8443/", "https://a.test.b.test/", "mailto:x"]
    )
    async def test_no_page_speaks_for_another_site(self, opened: Opened, clock: ManualClock, claims: str) -> None:
        database = await opened()
        await database.admit([candidate(URL)])
        claim = await claimed(database)
        await database.commit(visit_of(claim, clock, page=page_of(claim, clock, canonical=claims)))
        assert await database.canonical_copy(claims) is None

    async def test_a_page_is_found_by_the_canonical_url_that_it_has_now(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        for canonical in ("https://a.test/old", "https://a.test/new"):
            if await database.url_history(URL) is None:
                await database.admit([candidate(URL)])
            else:
                await database.start_recrawl(clock.now())
            claim = await claimed(database)
            await database.commit(visit_of(claim, clock, page=page_of(claim, clock, canonical=canonical)))
            clock.advance(60)
        assert await database.canonical_copy("https://a.test/old") is None
        assert await database.canonical_copy("https://a.test/new") is not None
        await visited(database, clock, GONE, FetchRecord(410))
        copy = await database.canonical_copy("https://a.test/new")
        assert copy is None or copy.stored_copy.kind is None, "it is no longer there"
