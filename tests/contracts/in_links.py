"""Contract of every database about in-links of tasks, a suite that each backend must pass."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database
from tenax.model import SECONDS_PER_POINT, Candidate, Claim, Plan, Priority, Reschedule, Source, in_link_points
from tests.contracts.database import FixedPace, Opened, candidate, claim_soon, claimed, drain, visit_of
from tests.contracts.stored_copies import life_of
from tests.contracts.url_lists import reopened

A, B = "https://a.test", "https://b.test"
PAGES = [f"{A}/{number}" for number in range(30)]
"""More than the loaded tasks of one host."""
LAST = PAGES[-1]
FOUR_LINKS = in_link_points(4) * SECONDS_PER_POINT


async def linked_from(
    database: Database,
    clock: ManualClock,
    *urls: str,
    source: Source = Source.LINK,
    plan: Plan | None = None,
    linked: dict[str, int] | None = None,
) -> str:
    """Visit the next page, which links to these; returns its URL."""
    claim = await claimed(database)
    candidates = tuple(candidate(url, source=source, via=claim.task.url) for url in urls)
    visit = visit_of(claim, clock, plan=plan, candidates=candidates)
    await database.commit(msgspec.structs.replace(visit, new_in_links=linked or {}))
    clock.advance(1)
    return claim.task.url


async def hubs(database: Database, number: int) -> None:
    """Admit this many pages that come before what they link to."""
    found = [candidate(f"{A}/hub{one}", priority=Priority.HIGH, lead_seconds=10_000.0) for one in range(number)]
    await database.admit(found)


async def found_last(database: Database, clock: ManualClock) -> float:
    """One page links to all but the last, then another to that; returns when it is due."""
    await linked_from(database, clock, *PAGES[:-1])
    await linked_from(database, clock, LAST)
    return await due_of(database, LAST)


async def due_of(database: Database, url: str) -> float:
    due = (await life_of(database, url)).due
    assert due is not None
    return due


class InLinksContract:
    """Inherited by each backend's test class."""

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_what_many_pages_link_to_goes_first(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        await hubs(database, 5)
        due = await found_last(database, clock)
        for links in (2, 3, 4):
            assert await due_of(database, LAST) == due, links
            await linked_from(database, clock, LAST)
        assert await due_of(database, LAST) == due - FOUR_LINKS
        if is_reopened:
            database = await reopened(database, opened)
            clock.advance(5)
        order = await drain(database, clock)
        assert sorted(order) == sorted(PAGES)
        # Loaded tasks come first, regardless of the others' links.
        assert order.index(LAST) < 9
        assert await database.find_problems() == []

    async def test_what_readers_have_counted_is_added(self, opened: Opened, clock: ManualClock) -> None:
        """They name many pages at once, and some that no longer wait."""
        database = await opened()
        await hubs(database, 4)
        due = await found_last(database, clock)
        await linked_from(database, clock, linked={LAST: 2, f"{A}/hub0": 3, f"{A}/gone": 60})
        assert await due_of(database, LAST) == due
        await linked_from(database, clock, linked={LAST: 1})
        assert await due_of(database, LAST) == due - FOUR_LINKS

    async def test_pages_that_come_together_count_each(
        self, opened: Opened, clock: ManualClock, pace_rules: FixedPace
    ) -> None:
        """As many as one transaction has, for a task that is new in it."""
        pace_rules.most, pace_rules.pace = 8, 0.0
        database = await opened()
        await hubs(database, 8)
        claims = [await claimed(database) for _ in range(8)]
        candidates = tuple(candidate(url, via=claims[0].task.url) for url in PAGES)
        await asyncio.gather(*(database.commit(visit_of(claim, clock, candidates=candidates)) for claim in claims))
        assert {await due_of(database, url) for url in PAGES} == {clock.now() - FOUR_LINKS}

    @pytest.mark.parametrize("source", [Source.SITEMAP, Source.FEED])
    async def test_only_links_count(self, opened: Opened, clock: ManualClock, source: Source) -> None:
        database = await opened()
        await hubs(database, 7)
        due = await found_last(database, clock)
        for _ in range(5):
            await linked_from(database, clock, LAST, source=source)
        assert await due_of(database, LAST) == due

    async def test_a_page_that_comes_again_does_not_count_again(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await hubs(database, 3)
        due = await found_last(database, clock)
        plan = Reschedule(clock.now(), why="at once")
        sources = {await linked_from(database, clock, LAST, plan=plan) for _ in range(6)}
        assert len(sources) == 1
        assert await due_of(database, LAST) == due

    async def test_what_is_not_due_yet_is_not_brought_ahead(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await hubs(database, 6)
        later = clock.now() + 1000
        await database.admit([candidate(LAST, due=later)])
        for _ in range(6):
            await linked_from(database, clock, LAST)
        assert await due_of(database, LAST) == later

    async def test_loaded_tasks_are_not_moved(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await hubs(database, 6)
        await linked_from(database, clock, PAGES[0])
        await linked_from(database, clock, PAGES[1])
        due = await due_of(database, PAGES[1])
        for _ in range(4):
            await linked_from(database, clock, PAGES[1])
        assert await due_of(database, PAGES[1]) == due
        assert await drain(database, clock) == PAGES[:2]

    @pytest.mark.parametrize("seed", range(4))
    async def test_whatever_links_to_what_each_is_visited_once(
        self, opened: Opened, clock: ManualClock, pace_rules: FixedPace, seed: int
    ) -> None:
        """Several visits at a time, at two hosts that link to each other."""
        rng = random.Random(seed)
        pace_rules.most, pace_rules.pace = 3, 0.0
        urls = [f"{rng.choice((A, B))}/{number}" for number in range(150)]
        database = await opened()
        await database.admit([candidate(urls[0]), candidate(urls[1])])
        visits: Counter[str] = Counter()
        flying: list[Claim] = []
        for _ in range(5000):
            claim = await claim_soon(database) if len(flying) < 5 and rng.random() < 0.7 else None
            if claim is not None:
                visits[claim.task.url] += 1
                flying.append(claim)
            elif flying:
                claim = flying.pop(rng.randrange(len(flying)))
                some: list[Candidate] = [candidate(url, via=claim.task.url) for url in rng.sample(urls, 12)]
                # A few are linked to from everywhere.
                some += [candidate(url, via=claim.task.url) for url in urls[-5:]]
                await database.commit(visit_of(claim, clock, candidates=tuple(some), next_at=clock.now()))
            elif not database.counts().waiting:
                break
            clock.advance(0.1)
        assert set(visits.values()) == {1}
        assert len(visits) > 140
        assert await database.find_problems() == []
