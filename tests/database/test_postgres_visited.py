"""The filter in front of the database: it may save lookups, and no history of events loses a URL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tenax.clock import ManualClock
from tenax.database import Admission
from tenax.database.postgres import PostgresDatabase, refill_visited_set
from tenax.database.postgres.visited import MemberEncoder
from tenax.errors import ConfigError, DatabaseNotFound
from tenax.hosts.redis import VisitedUrls, keys
from tenax.model import Budget
from tenax.runtime.redis import RETRY_SECONDS
from tests.contracts.database import FixedPace, candidate, claimed, visit_of
from tests.database.postgres_databases import CONFIG, Databases
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

_numbers = count(1)


async def opened(databases: Databases, redis: str) -> PostgresDatabase:
    visited = await VisitedUrls.open(redis, ManualClock())
    database = await PostgresDatabase.open(
        databases.url, databases.config, databases.clock, databases.pace_rules, visited_set=visited
    )
    databases._opened.append(database)
    return database


async def filter_is_updated(database: PostgresDatabase) -> None:
    """Wait until its committed URLs are in the set."""
    assert database._visited_filter is not None
    if database._visited_filter._add_task is not None:
        await database._visited_filter._add_task


async def hinted(database: PostgresDatabase, *urls: str) -> list[str]:
    return sorted(await database._writer.find_known_urls([candidate(url) for url in urls]))


# ---- lookups saved ------------------------------------------------------------------------------------------


async def test_what_one_worker_admits_another_need_not_look_up(databases: Databases, redis: str) -> None:
    one, two = await opened(databases, redis), await opened(databases, redis)
    await one.admit([candidate("https://a.test/1"), candidate("https://b.test/1")])
    await filter_is_updated(one)
    assert await hinted(two, "https://a.test/1", "https://a.test/2", "https://b.test/1") == [
        "https://a.test/1",
        "https://b.test/1",
    ]
    assert await two.admit([candidate("https://a.test/1"), candidate("https://a.test/2")]) == Admission(1, 1)
    assert await hinted(two, "https://a.test/1") == [], "it knows that by itself now"


async def test_links_of_a_page_are_asked_for_too(databases: Databases, redis: str) -> None:
    one, two = await opened(databases, redis), await opened(databases, redis)
    await one.admit([candidate("https://a.test/1"), candidate("https://b.test/1")])
    await filter_is_updated(one)
    links = (candidate("https://b.test/1"), candidate("https://b.test/2"))
    assert await two.commit(visit_of(await claimed(two), databases.clock, candidates=links)) == Admission(1, 1)
    await filter_is_updated(two)
    three = await opened(databases, redis)
    assert await hinted(three, "https://b.test/2") == ["https://b.test/2"]


async def test_the_set_is_the_one_that_neighbours_know_and_lasts_a_day(
    databases: Databases, redis: str, redis_server: RedisServer
) -> None:
    one = await opened(databases, redis)
    for number in range(3):
        await one.admit([candidate(f"https://a.test/{number}")])
        await filter_is_updated(one)
    assert redis_server.say("SCARD", "crawler:visited_urls") == b":3\r\n"
    assert 86_390 < int(redis_server.say("TTL", keys.VISITED)[1:]) <= 86_400
    redis_server.say("EXPIRE", keys.VISITED, "50")
    await one.admit([candidate("https://a.test/3")])
    await filter_is_updated(one)
    assert int(redis_server.say("TTL", keys.VISITED)[1:]) <= 50, "it expires each day, however busy it is"


async def test_what_a_budget_refused_is_not_known(databases: Databases, redis: str) -> None:
    one, two = await opened(databases, redis), await opened(databases, redis)
    small = (Budget("facets", "a.test /", 1),)
    links = [candidate("https://a.test/?1", budgets=small), candidate("https://a.test/?2", budgets=small)]
    assert await one.admit(links) == Admission(1, 0, {"facets": 1})
    await filter_is_updated(one)
    assert await hinted(two, "https://a.test/?1", "https://a.test/?2") == ["https://a.test/?1"]


def test_members_of_two_databases_or_of_two_copies_of_one_never_match() -> None:
    here = MemberEncoder(b"1" * 16, "server 1")
    member = here.encode_url("https://a.test", "https://a.test/1")
    assert member == MemberEncoder(b"1" * 16, "server 1").encode_url("https://a.test", "https://a.test/1")
    assert len(member) == 16 and member.startswith(here.tag)
    restored = MemberEncoder(b"1" * 16, "server 2")
    assert restored.tag == here.tag, "so that they can be taken out"
    others = [
        restored.encode_url("https://a.test", "https://a.test/1"),
        MemberEncoder(b"2" * 16, "server 1").encode_url("https://a.test", "https://a.test/1"),
        here.encode_url("https://b.test", "https://a.test/1"),
        here.encode_url("https://a.test", "https://a.test/2"),
    ]
    assert len({member, *others}) == 5


# ---- no URL is lost -----------------------------------------------------------------------------------------


class World:
    """Two workers of one database and one of another, with one Redis; and the expected URLs of each database."""

    def __init__(self, url: str, server: RedisServer) -> None:
        self._url = url
        self._server = server
        self._schemas = [f"world {next(_numbers)}" for _ in range(2)]
        self._clock = ManualClock()
        self._is_up = True
        self._databases: dict[int, PostgresDatabase] = {}
        self._known: tuple[set[str], set[str]] = (set(), set())

    async def do(self, step: tuple[str, int, list[int]]) -> None:
        what, which, numbers = step
        match what:
            case "admit":
                await self._candidate(which, [f"https://h{n % 2}.test/{n}" for n in numbers])
            case "flush" if self._is_up:
                self._server.say("FLUSHALL")
            case "down" if self._is_up:
                self._server.kill()
                self._is_up = False
            case "up" if not self._is_up:
                self._server.start()
                self._clock.advance(RETRY_SECONDS + 1)
                self._is_up = True
            case "restart" if which in self._databases and self._is_up:
                await self._databases.pop(which).close()
            case "refill" if self._is_up and self._known[which // 2]:
                await self._refill(which // 2)

    async def _candidate(self, which: int, urls: list[str]) -> None:
        known = self._known[which // 2]
        new = set(urls) - known
        if which not in self._databases and not self._is_up:
            return
        database = self._databases.get(which) or await self._open(which)
        admission = await database.admit([candidate(url) for url in urls])
        assert (admission.admitted, admission.known) == (len(new), len(urls) - len(new))
        known.update(new)
        await filter_is_updated(database)

    async def _open(self, which: int) -> PostgresDatabase:
        visited = await VisitedUrls.open(self._server.url, self._clock)
        config = msgspec.structs.replace(CONFIG, schema=self._schemas[which // 2])
        self._databases[which] = await PostgresDatabase.open(
            self._url, config, ManualClock(), FixedPace(), visited_set=visited
        )
        return self._databases[which]

    async def _refill(self, which: int) -> None:
        visited = await VisitedUrls.open(self._server.url, self._clock)
        _, there = await refill_visited_set(self._url, self._schemas[which], visited, lambda done, total: None)
        assert there == len(self._known[which])
        await visited.close()

    async def close(self) -> None:
        await self.do(("up", 0, []))
        for database in self._databases.values():
            await database.close()


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


_steps = st.lists(
    st.tuples(
        st.sampled_from(["admit", "admit", "admit", "flush", "down", "up", "restart", "refill"]),
        st.integers(0, 2),
        st.lists(st.integers(0, 7), min_size=1, max_size=5, unique=True),
    ),
    min_size=3,
    max_size=14,
)


# A shorter history is not worth the minutes that looking for it takes.
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)],
)
@given(steps=_steps)
def test_with_any_history_every_url_is_admitted_once(
    database_url: str, own_redis: RedisServer, steps: list[tuple[str, int, list[int]]]
) -> None:
    """Redis is flushed, killed and started, workers start with empty caches, and another database admits the same."""

    async def live() -> None:
        own_redis.say("FLUSHALL")
        world = World(database_url, own_redis)
        try:
            for step in steps:
                await world.do(step)
        finally:
            await world.close()

    asyncio.run(live())


async def test_without_redis_the_database_alone_decides(databases: Databases, caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server, caplog.at_level(logging.WARNING):
        one = await opened(databases, server.url)
        await one.admit([candidate("https://a.test/1")])
        server.kill()
        assert await one.admit([candidate("https://a.test/1"), candidate("https://a.test/2")]) == Admission(1, 1)
        await filter_is_updated(one)
    assert caplog.text.count("Redis unavailable, looking up URLs in the database only") == 1


# ---- refill -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def visited_of(redis: str) -> AsyncIterator[VisitedUrls]:
    visited = await VisitedUrls.open(redis, ManualClock())
    try:
        yield visited
    finally:
        await visited.close()


async def test_it_is_filled_from_the_database_and_leaves_others_alone(
    databases: Databases, redis: str, redis_server: RedisServer
) -> None:
    one = await opened(databases, redis)
    urls = [f"https://h{n % 7}.test/{n}" for n in range(40)]
    await one.admit([candidate(url) for url in urls])
    await one.commit(visit_of(await claimed(one), databases.clock))
    await filter_is_updated(one)
    redis_server.say("SADD", keys.VISITED, "someone else's")
    seen: list[tuple[int, int]] = []
    async with visited_of(redis) as visited:
        assert await refill_visited_set(
            databases.url, databases.config.schema, visited, lambda *admission: seen.append(admission)
        ) == (40, 40)
    assert seen == [(40, 40)]
    assert redis_server.say("SCARD", keys.VISITED) == b":41\r\n"
    assert await hinted(await opened(databases, redis), *urls, "https://new.test/") == sorted(urls)


async def test_more_than_one_portion_is_filled_in(
    databases: Databases, redis: str, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenax.database.postgres.visited.MEMBER_BATCH_SIZE", 7)
    one = await databases.open()
    await one.admit([candidate(f"https://h{n % 3}.test/{n}") for n in range(30)])
    seen: list[tuple[int, int]] = []
    async with visited_of(redis) as visited:
        assert await refill_visited_set(
            databases.url, databases.config.schema, visited, lambda *admission: seen.append(admission)
        ) == (0, 30)
    assert seen == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    assert redis_server.say("SCARD", keys.VISITED) == b":30\r\n"


async def go_back(databases: Databases, redis: str, postgres_server: PostgresServer, emptied_by: str) -> None:
    """Two URLs are admitted and added to the filter; then the database knows nothing of them."""
    one = await opened(databases, redis)
    await one.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
    await filter_is_updated(one)
    await one.close()
    schema = f'"{databases.config.schema}"'
    postgres_server.psql(
        f"{emptied_by} {schema}.seen; DELETE FROM {schema}.queue; "
        f"UPDATE {schema}.tally SET count = 0 WHERE name IN ('admitted', 'waiting')",
        "databases",
    )


async def test_a_database_that_went_back_is_believed(
    databases: Databases, redis: str, postgres_server: PostgresServer
) -> None:
    """As when a dump is loaded: its tables are created again, with fewer rows than the filter has."""
    await go_back(databases, redis, postgres_server, "TRUNCATE")
    assert await (await opened(databases, redis)).admit([candidate("https://a.test/1")]) == Admission(1, 0)


async def test_files_of_the_server_that_were_put_back_need_it(
    databases: Databases, redis: str, postgres_server: PostgresServer
) -> None:
    """The one rollback that leaves no trace; docs/events.md says so."""
    await go_back(databases, redis, postgres_server, "DELETE FROM")
    async with visited_of(redis) as visited:
        assert await refill_visited_set(databases.url, databases.config.schema, visited, lambda done, total: None) == (
            2,
            0,
        )
    assert await (await opened(databases, redis)).admit([candidate("https://a.test/1")]) == Admission(1, 0)


async def test_it_says_what_is_missing(databases: Databases) -> None:
    await databases.open()
    with RedisServer() as server:
        async with visited_of(server.url) as visited:
            with pytest.raises(DatabaseNotFound):
                await refill_visited_set(databases.url, "nothing here", visited, lambda done, total: None)
            server.kill()
            with pytest.raises(ConfigError, match="became unavailable; run the same command again"):
                await refill_visited_set(databases.url, databases.config.schema, visited, lambda done, total: None)
