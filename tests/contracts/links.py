"""What every ledger promises about the link graph, as a suite that any backend must pass."""

from __future__ import annotations

import msgspec

from tenax.clock import ManualClock
from tenax.database import Ledger, PageLinks, TaskState
from tenax.database.links import pack_links, unpack_links
from tenax.model import DeadLetter, Failed, FailureKind, Outcome, PageLink, Plan, Priority, Source, Unchanged
from tests.contracts.held_pages import life_of
from tests.contracts.ledger import Opened, claim_soon, claimed, drain, offer, visit_of

A = "https://a.test"
LINKS = (
    PageLink(f"{A}/two", "the second", "next", False, True),
    PageLink("https://b.test/", "elsewhere", "", True, False),
)


def packed(*links: PageLink) -> bytes:
    return pack_links(A, [link.url for link in links], links)


async def visited(
    ledger: Ledger,
    clock: ManualClock,
    leads_to: bytes | None,
    outcome: Outcome | None = None,
    plan: Plan | None = None,
) -> None:
    """The next task brings a page that leads there, or ends so; its host may be asked again a second later."""
    visit = visit_of(await claimed(ledger), clock, outcome, plan)
    await ledger.commit(msgspec.structs.replace(visit, leads_to=leads_to))
    clock.advance(1)


async def rows_of(ledger: Ledger) -> list[PageLinks]:
    return [row async for row in ledger.links.all()]


async def priorities(ledger: Ledger, *urls: str) -> list[Priority]:
    return [(await life_of(ledger, url)).priority for url in urls]


class LinksContract:
    """Inherited by each backend's test class."""

    async def test_links_are_kept_with_their_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one"), offer(f"{A}/two", due=clock.now() + 0.5)])
        await visited(ledger, clock, packed(*LINKS))
        row = await ledger.links.of(f"{A}/one")
        assert row == PageLinks(f"{A}/one", A, packed(*LINKS))
        assert unpack_links(row.origin, row.packed) == LINKS
        assert await ledger.links.of(f"{A}/two") is None
        await visited(ledger, clock, b"")
        assert await ledger.links.of(f"{A}/two") == PageLinks(f"{A}/two", A, b"")
        assert [row.url for row in await rows_of(ledger)] == [f"{A}/one", f"{A}/two"]

    async def test_links_are_those_of_the_page_as_it_last_came(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        await visited(ledger, clock, packed(*LINKS))
        await ledger.revisit(clock.now())
        await visited(ledger, clock, packed(LINKS[1]))  # the same text, and other links
        assert [row.packed for row in await rows_of(ledger)] == [packed(LINKS[1])]
        for outcome in (Unchanged(), Failed("gone", FailureKind.NOT_FOUND, status=404)):
            await ledger.revisit(clock.now())
            await visited(ledger, clock, None, outcome)
            assert [row.packed for row in await rows_of(ledger)] == [packed(LINKS[1])], outcome

    async def test_links_that_nobody_keeps_change_nothing(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        await visited(ledger, clock, packed(*LINKS))
        await ledger.revisit(clock.now())
        await visited(ledger, clock, None)
        assert [row.packed for row in await rows_of(ledger)] == [packed(*LINKS)]

    async def test_links_are_there_when_it_is_opened_again(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        await visited(ledger, clock, packed(*LINKS))
        await ledger.close()
        assert [row.packed for row in await rows_of(await opened())] == [packed(*LINKS)]

    async def test_the_states_of_targets(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/{name}", due=clock.now() + at) for at, name in enumerate(("done", "dead"))])
        await ledger.admit([offer("https://b.test/waiting", due=clock.now() + 1000)])
        await visited(ledger, clock, None)
        await visited(ledger, clock, None, Failed("x", FailureKind.DNS), DeadLetter("x"))
        urls = [f"{A}/done", f"{A}/dead", "https://b.test/waiting", "https://b.test/never", "https://nobody.test/"]
        assert await ledger.links.states(urls * 700) == {
            f"{A}/done": TaskState.SETTLED,
            f"{A}/dead": TaskState.DEAD,
            "https://b.test/waiting": TaskState.WAITING,
        }
        assert await ledger.links.states([]) == {}

    async def test_levels_of_waiting_tasks(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        wanted = {f"{A}/{n}": Priority.HIGH if n in (3, 7) else Priority.LOW for n in range(10)}
        await ledger.admit([offer(url, priority=Priority.MEDIUM) for url in wanted])
        await ledger.admit([offer("https://b.test/", priority=Priority.HIGH, source=Source.SEED)])
        asked: list[tuple[str, Source, Priority]] = []

        def level_of(url: str, source: Source, now: Priority) -> Priority:
            asked.append((url, source, now))
            return now if source is Source.SEED else wanted[url]

        assert await ledger.links.prioritize(level_of) == 10
        assert ("https://b.test/", Source.SEED, Priority.HIGH) in asked
        assert await priorities(ledger, *wanted) == list(wanted.values())
        assert await ledger.links.prioritize(level_of) == 0
        order = [url for url in await drain(ledger, clock) if url.startswith(A)]
        assert set(order[:2]) == {f"{A}/3", f"{A}/7"}
        assert len(order) == 10

    async def test_levels_of_more_tasks_than_one_part(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"https://{host}.test/{n}") for host in "abc" for n in range(2000)])
        level = {Priority.LOW: Priority.HIGH, Priority.HIGH: Priority.HIGH}
        assert await ledger.links.prioritize(lambda url, source, now: level[now]) == 6000
        assert await ledger.links.prioritize(lambda url, source, now: Priority.LOW) == 6000
        assert ledger.counts().waiting == (await ledger.status()).waiting == 6000

    async def test_levels_of_what_is_being_visited_stay(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/{n}", due=clock.now() + n) for n in range(3)])
        claim = await claimed(ledger)
        await ledger.admit([offer("https://b.test/", due=clock.now() + 5)])
        assert await ledger.links.prioritize(lambda url, source, now: Priority.HIGH) == 1
        await ledger.commit(visit_of(claim, clock))
        assert (await ledger.links.states([claim.task.url]))[claim.task.url] is TaskState.SETTLED
        clock.advance(10)
        assert sorted(await drain(ledger, clock)) == [f"{A}/1", f"{A}/2", "https://b.test/"]
        assert await claim_soon(ledger) is None
        assert await ledger.problems() == []
