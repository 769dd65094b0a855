"""What every ledger promises about tasks that many pages link to, as a suite that any backend must pass."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Ledger
from tenax.model import SECONDS_PER_POINT, Again, Claim, Offer, Plan, Priority, Source, points_of_links
from tests.contracts.catalogues import reopened
from tests.contracts.held_pages import life_of
from tests.contracts.ledger import Manners, Opened, claim_soon, claimed, drain, offer, visit_of

A, B = "https://a.test", "https://b.test"
PAGES = [f"{A}/{number}" for number in range(30)]
"""More than a ledger holds in hand of one host."""
LAST = PAGES[-1]
FOUR_LINKS = points_of_links(4) * SECONDS_PER_POINT


async def linked_from(
    ledger: Ledger,
    clock: ManualClock,
    *urls: str,
    source: Source = Source.LINK,
    plan: Plan | None = None,
    linked: dict[str, int] | None = None,
) -> str:
    """The next page links to these; its URL."""
    claim = await claimed(ledger)
    offers = tuple(offer(url, source=source, via=claim.task.url) for url in urls)
    visit = visit_of(claim, clock, plan=plan, offers=offers)
    await ledger.commit(msgspec.structs.replace(visit, linked=linked or {}))
    clock.advance(1)
    return claim.task.url


async def hubs(ledger: Ledger, number: int) -> None:
    """So many pages wait, and go before what they link to."""
    found = [offer(f"{A}/hub{one}", priority=Priority.HIGH, lead_seconds=10_000.0) for one in range(number)]
    await ledger.admit(found)


async def found_last(ledger: Ledger, clock: ManualClock) -> float:
    """One page links to all but the last, and then another one to that; when it is due."""
    await linked_from(ledger, clock, *PAGES[:-1])
    await linked_from(ledger, clock, LAST)
    return await due_of(ledger, LAST)


async def due_of(ledger: Ledger, url: str) -> float:
    due = (await life_of(ledger, url)).due
    assert due is not None
    return due


class InLinksContract:
    """Inherited by each backend's test class."""

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_what_many_pages_link_to_goes_first(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await hubs(ledger, 5)
        due = await found_last(ledger, clock)
        for links in (2, 3, 4):
            assert await due_of(ledger, LAST) == due, links
            await linked_from(ledger, clock, LAST)
        assert await due_of(ledger, LAST) == due - FOUR_LINKS
        if is_reopened:
            ledger = await reopened(ledger, opened)
            clock.advance(5)
        order = await drain(ledger, clock)
        assert sorted(order) == sorted(PAGES)
        # Those in hand are next, whatever is said of others.
        assert order.index(LAST) < 9
        assert await ledger.problems() == []

    async def test_what_readers_have_counted_is_added(self, opened: Opened, clock: ManualClock) -> None:
        """They tell of many pages at once, and of some that wait no longer."""
        ledger = await opened()
        await hubs(ledger, 4)
        due = await found_last(ledger, clock)
        await linked_from(ledger, clock, linked={LAST: 2, f"{A}/hub0": 3, f"{A}/gone": 60})
        assert await due_of(ledger, LAST) == due
        await linked_from(ledger, clock, linked={LAST: 1})
        assert await due_of(ledger, LAST) == due - FOUR_LINKS

    async def test_pages_that_come_together_count_each(
        self, opened: Opened, clock: ManualClock, manners: Manners
    ) -> None:
        """As many as one transaction has, for a task that is new in it."""
        manners.most, manners.pace = 8, 0.0
        ledger = await opened()
        await hubs(ledger, 8)
        claims = [await claimed(ledger) for _ in range(8)]
        offers = tuple(offer(url, via=claims[0].task.url) for url in PAGES)
        await asyncio.gather(*(ledger.commit(visit_of(claim, clock, offers=offers)) for claim in claims))
        assert {await due_of(ledger, url) for url in PAGES} == {clock.now() - FOUR_LINKS}

    @pytest.mark.parametrize("source", [Source.SITEMAP, Source.FEED])
    async def test_only_links_count(self, opened: Opened, clock: ManualClock, source: Source) -> None:
        ledger = await opened()
        await hubs(ledger, 7)
        due = await found_last(ledger, clock)
        for _ in range(5):
            await linked_from(ledger, clock, LAST, source=source)
        assert await due_of(ledger, LAST) == due

    async def test_a_page_that_comes_again_does_not_count_again(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await hubs(ledger, 3)
        due = await found_last(ledger, clock)
        plan = Again(clock.now(), why="at once")
        sources = {await linked_from(ledger, clock, LAST, plan=plan) for _ in range(6)}
        assert len(sources) == 1
        assert await due_of(ledger, LAST) == due

    async def test_what_is_not_due_yet_is_not_brought_ahead(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await hubs(ledger, 6)
        later = clock.now() + 1000
        await ledger.admit([offer(LAST, due=later)])
        for _ in range(6):
            await linked_from(ledger, clock, LAST)
        assert await due_of(ledger, LAST) == later

    async def test_what_is_in_hand_stays_where_it_is(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await hubs(ledger, 6)
        await linked_from(ledger, clock, PAGES[0])
        await linked_from(ledger, clock, PAGES[1])
        due = await due_of(ledger, PAGES[1])
        for _ in range(4):
            await linked_from(ledger, clock, PAGES[1])
        assert await due_of(ledger, PAGES[1]) == due
        assert await drain(ledger, clock) == PAGES[:2]

    @pytest.mark.parametrize("seed", range(4))
    async def test_whatever_links_to_what_each_is_visited_once(
        self, opened: Opened, clock: ManualClock, manners: Manners, seed: int
    ) -> None:
        """Several visits at a time, at two hosts that link to each other."""
        rng = random.Random(seed)
        manners.most, manners.pace = 3, 0.0
        urls = [f"{rng.choice((A, B))}/{number}" for number in range(150)]
        ledger = await opened()
        await ledger.admit([offer(urls[0]), offer(urls[1])])
        visits: Counter[str] = Counter()
        flying: list[Claim] = []
        for _ in range(5000):
            claim = await claim_soon(ledger) if len(flying) < 5 and rng.random() < 0.7 else None
            if claim is not None:
                visits[claim.task.url] += 1
                flying.append(claim)
            elif flying:
                claim = flying.pop(rng.randrange(len(flying)))
                some: list[Offer] = [offer(url, via=claim.task.url) for url in rng.sample(urls, 12)]
                # A few are linked to from everywhere.
                some += [offer(url, via=claim.task.url) for url in urls[-5:]]
                await ledger.commit(visit_of(claim, clock, offers=tuple(some), next_at=clock.now()))
            elif not ledger.counts().waiting:
                break
            clock.advance(0.1)
        assert set(visits.values()) == {1}
        assert len(visits) > 140
        assert await ledger.problems() == []
