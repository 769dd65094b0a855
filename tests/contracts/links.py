"""Contract of every database about the link graph, a suite that each backend must pass."""

from __future__ import annotations

import msgspec

from tenax.clock import ManualClock
from tenax.database import Database, PageLinks, TaskState
from tenax.database.page_codec import pack_links, unpack_links
from tenax.model import DeadLetter, Failed, FailureKind, Outcome, PageLink, Plan, Priority, Source, Unchanged
from tests.contracts.database import Opened, candidate, claim_soon, claimed, drain, visit_of
from tests.contracts.stored_copies import life_of
from tests.link_columns import link_columns

A = "https://a.test"
LINKS = (
    PageLink(f"{A}/two", "the second", "next", False, True),
    PageLink("https://b.test/", "elsewhere", "", True, False),
)


def packed(*links: PageLink) -> bytes:
    return pack_links(A, link_columns(links))


async def visited(
    database: Database,
    clock: ManualClock,
    leads_to: bytes | None,
    outcome: Outcome | None = None,
    plan: Plan | None = None,
) -> None:
    """Commit a page with these links, or this outcome, for the next task; its host is ready a second later."""
    visit = visit_of(await claimed(database), clock, outcome, plan)
    await database.commit(msgspec.structs.replace(visit, link_targets=leads_to))
    clock.advance(1)


async def rows_of(database: Database) -> list[PageLinks]:
    return [row async for row in database.links.read_all()]


async def priorities(database: Database, *urls: str) -> list[Priority]:
    return [(await life_of(database, url)).priority for url in urls]


class LinksContract:
    """Inherited by each backend's test class."""

    async def test_links_are_kept_with_their_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one"), candidate(f"{A}/two", due=clock.now() + 0.5)])
        await visited(database, clock, packed(*LINKS))
        row = await database.links.get(f"{A}/one")
        assert row == PageLinks(f"{A}/one", A, packed(*LINKS))
        assert unpack_links(row.origin, row.packed) == LINKS
        assert await database.links.get(f"{A}/two") is None
        await visited(database, clock, b"")
        assert await database.links.get(f"{A}/two") == PageLinks(f"{A}/two", A, b"")
        assert [row.url for row in await rows_of(database)] == [f"{A}/one", f"{A}/two"]

    async def test_links_are_those_of_the_page_as_it_last_came(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        await visited(database, clock, packed(*LINKS))
        await database.start_recrawl(clock.now())
        await visited(database, clock, packed(LINKS[1]))  # the same text, and other links
        assert [row.packed for row in await rows_of(database)] == [packed(LINKS[1])]
        for outcome in (Unchanged(), Failed("gone", FailureKind.NOT_FOUND, status=404)):
            await database.start_recrawl(clock.now())
            await visited(database, clock, None, outcome)
            assert [row.packed for row in await rows_of(database)] == [packed(LINKS[1])], outcome

    async def test_links_that_nobody_keeps_change_nothing(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        await visited(database, clock, packed(*LINKS))
        await database.start_recrawl(clock.now())
        await visited(database, clock, None)
        assert [row.packed for row in await rows_of(database)] == [packed(*LINKS)]

    async def test_links_are_there_when_it_is_opened_again(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        await visited(database, clock, packed(*LINKS))
        await database.close()
        assert [row.packed for row in await rows_of(await opened())] == [packed(*LINKS)]

    async def test_the_states_of_targets(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit(
            [candidate(f"{A}/{name}", due=clock.now() + at) for at, name in enumerate(("done", "dead"))]
        )
        await database.admit([candidate("https://b.test/waiting", due=clock.now() + 1000)])
        await visited(database, clock, None)
        await visited(database, clock, None, Failed("x", FailureKind.DNS), DeadLetter("x"))
        urls = [f"{A}/done", f"{A}/dead", "https://b.test/waiting", "https://b.test/never", "https://nobody.test/"]
        assert await database.links.states(urls * 700) == {
            f"{A}/done": TaskState.SETTLED,
            f"{A}/dead": TaskState.DEAD,
            "https://b.test/waiting": TaskState.WAITING,
        }
        assert await database.links.states([]) == {}

    async def test_levels_of_waiting_tasks(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        wanted = {f"{A}/{n}": Priority.HIGH if n in (3, 7) else Priority.LOW for n in range(10)}
        await database.admit([candidate(url, priority=Priority.MEDIUM) for url in wanted])
        await database.admit([candidate("https://b.test/", priority=Priority.HIGH, source=Source.SEED)])
        asked: list[tuple[str, Source, Priority]] = []

        def level_of(url: str, source: Source, now: Priority) -> Priority:
            asked.append((url, source, now))
            return now if source is Source.SEED else wanted[url]

        assert await database.links.prioritize(level_of) == 10
        assert ("https://b.test/", Source.SEED, Priority.HIGH) in asked
        assert await priorities(database, *wanted) == list(wanted.values())
        assert await database.links.prioritize(level_of) == 0
        order = [url for url in await drain(database, clock) if url.startswith(A)]
        assert set(order[:2]) == {f"{A}/3", f"{A}/7"}
        assert len(order) == 10

    async def test_levels_of_more_tasks_than_one_part(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"https://{host}.test/{n}") for host in "abc" for n in range(2000)])
        level = {Priority.LOW: Priority.HIGH, Priority.HIGH: Priority.HIGH}
        assert await database.links.prioritize(lambda url, source, now: level[now]) == 6000
        assert await database.links.prioritize(lambda url, source, now: Priority.LOW) == 6000
        assert database.counts().waiting == (await database.status()).waiting == 6000

    async def test_levels_of_what_is_being_visited_stay(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/{n}", due=clock.now() + n) for n in range(3)])
        claim = await claimed(database)
        await database.admit([candidate("https://b.test/", due=clock.now() + 5)])
        assert await database.links.prioritize(lambda url, source, now: Priority.HIGH) == 1
        await database.commit(visit_of(claim, clock))
        assert (await database.links.states([claim.task.url]))[claim.task.url] is TaskState.SETTLED
        clock.advance(10)
        assert sorted(await drain(database, clock)) == [f"{A}/1", f"{A}/2", "https://b.test/"]
        assert await claim_soon(database) is None
        assert await database.find_problems() == []
