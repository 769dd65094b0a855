"""The filter in front of the ledger: it may save look-ups, and with no history whatever does it cost a URL."""

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
from tenax.database.postgres import PostgresLedger, refill
from tenax.database.postgres.visited import Members
from tenax.errors import ConfigError, LedgerMissing
from tenax.hosts.redis import VisitedUrls, keys
from tenax.hosts.redis.reach import REST_SECONDS
from tenax.model import Budget
from tests.contracts.ledger import Manners, claimed, offer, visit_of
from tests.database.postgres_ledgers import CONFIG, Ledgers
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

_numbers = count(1)


async def opened(ledgers: Ledgers, redis: str) -> PostgresLedger:
    visited = await VisitedUrls.open(redis, ManualClock())
    ledger = await PostgresLedger.open(ledgers.url, ledgers.config, ledgers.clock, ledgers.manners, visited=visited)
    ledgers._opened.append(ledger)
    return ledger


async def has_told(ledger: PostgresLedger) -> None:
    """What it committed is in the set."""
    assert ledger._visited is not None
    if ledger._visited._telling is not None:
        await ledger._visited._telling


async def hinted(ledger: PostgresLedger, *urls: str) -> list[str]:
    return sorted(await ledger._writer.hints([offer(url) for url in urls]))


# ---- a hint -------------------------------------------------------------------------------------------------


async def test_what_one_worker_admits_another_need_not_look_up(ledgers: Ledgers, redis: str) -> None:
    one, two = await opened(ledgers, redis), await opened(ledgers, redis)
    await one.admit([offer("https://a.test/1"), offer("https://b.test/1")])
    await has_told(one)
    assert await hinted(two, "https://a.test/1", "https://a.test/2", "https://b.test/1") == [
        "https://a.test/1",
        "https://b.test/1",
    ]
    assert await two.admit([offer("https://a.test/1"), offer("https://a.test/2")]) == Admission(1, 1)
    assert await hinted(two, "https://a.test/1") == [], "it knows that by itself now"


async def test_links_of_a_page_are_asked_for_too(ledgers: Ledgers, redis: str) -> None:
    one, two = await opened(ledgers, redis), await opened(ledgers, redis)
    await one.admit([offer("https://a.test/1"), offer("https://b.test/1")])
    await has_told(one)
    links = (offer("https://b.test/1"), offer("https://b.test/2"))
    assert await two.commit(visit_of(await claimed(two), ledgers.clock, offers=links)) == Admission(1, 1)
    await has_told(two)
    three = await opened(ledgers, redis)
    assert await hinted(three, "https://b.test/2") == ["https://b.test/2"]


async def test_the_set_is_the_one_that_neighbours_know_and_lasts_a_day(
    ledgers: Ledgers, redis: str, redis_server: RedisServer
) -> None:
    one = await opened(ledgers, redis)
    for number in range(3):
        await one.admit([offer(f"https://a.test/{number}")])
        await has_told(one)
    assert redis_server.say("SCARD", "crawler:visited_urls") == b":3\r\n"
    assert 86_390 < int(redis_server.say("TTL", keys.VISITED)[1:]) <= 86_400
    redis_server.say("EXPIRE", keys.VISITED, "50")
    await one.admit([offer("https://a.test/3")])
    await has_told(one)
    assert int(redis_server.say("TTL", keys.VISITED)[1:]) <= 50, "it begins anew each day, however busy it is"


async def test_what_a_budget_refused_is_not_known(ledgers: Ledgers, redis: str) -> None:
    one, two = await opened(ledgers, redis), await opened(ledgers, redis)
    small = (Budget("facets", "a.test /", 1),)
    links = [offer("https://a.test/?1", budgets=small), offer("https://a.test/?2", budgets=small)]
    assert await one.admit(links) == Admission(1, 0, {"facets": 1})
    await has_told(one)
    assert await hinted(two, "https://a.test/?1", "https://a.test/?2") == ["https://a.test/?1"]


def test_members_of_two_ledgers_or_of_two_copies_of_one_never_match() -> None:
    here = Members(b"1" * 16, "server 1")
    member = here.of_url("https://a.test", "https://a.test/1")
    assert member == Members(b"1" * 16, "server 1").of_url("https://a.test", "https://a.test/1")
    assert len(member) == 16 and member.startswith(here.tag)
    restored = Members(b"1" * 16, "server 2")
    assert restored.tag == here.tag, "so that they can be taken out"
    others = [
        restored.of_url("https://a.test", "https://a.test/1"),
        Members(b"2" * 16, "server 1").of_url("https://a.test", "https://a.test/1"),
        here.of_url("https://b.test", "https://a.test/1"),
        here.of_url("https://a.test", "https://a.test/2"),
    ]
    assert len({member, *others}) == 5


# ---- never a loss -------------------------------------------------------------------------------------------


class World:
    """Two workers of one ledger and one of another, which all have the same Redis; and what each ledger should know."""

    def __init__(self, url: str, server: RedisServer) -> None:
        self._url = url
        self._server = server
        self._schemas = [f"world {next(_numbers)}" for _ in range(2)]
        self._clock = ManualClock()
        self._is_up = True
        self._ledgers: dict[int, PostgresLedger] = {}
        self._known: tuple[set[str], set[str]] = (set(), set())

    async def do(self, step: tuple[str, int, list[int]]) -> None:
        what, which, numbers = step
        match what:
            case "offer":
                await self._offer(which, [f"https://h{n % 2}.test/{n}" for n in numbers])
            case "flush" if self._is_up:
                self._server.say("FLUSHALL")
            case "down" if self._is_up:
                self._server.kill()
                self._is_up = False
            case "up" if not self._is_up:
                self._server.start()
                self._clock.advance(REST_SECONDS + 1)
                self._is_up = True
            case "begin anew" if which in self._ledgers and self._is_up:
                await self._ledgers.pop(which).close()
            case "refill" if self._is_up and self._known[which // 2]:
                await self._refill(which // 2)

    async def _offer(self, which: int, urls: list[str]) -> None:
        known = self._known[which // 2]
        new = set(urls) - known
        if which not in self._ledgers and not self._is_up:
            return
        ledger = self._ledgers.get(which) or await self._open(which)
        told = await ledger.admit([offer(url) for url in urls])
        assert (told.admitted, told.known) == (len(new), len(urls) - len(new))
        known.update(new)
        await has_told(ledger)

    async def _open(self, which: int) -> PostgresLedger:
        visited = await VisitedUrls.open(self._server.url, self._clock)
        config = msgspec.structs.replace(CONFIG, schema=self._schemas[which // 2])
        self._ledgers[which] = await PostgresLedger.open(self._url, config, ManualClock(), Manners(), visited=visited)
        return self._ledgers[which]

    async def _refill(self, which: int) -> None:
        visited = await VisitedUrls.open(self._server.url, self._clock)
        _, there = await refill(self._url, self._schemas[which], visited, lambda done, total: None)
        assert there == len(self._known[which])
        await visited.close()

    async def close(self) -> None:
        await self.do(("up", 0, []))
        for ledger in self._ledgers.values():
            await ledger.close()


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


_steps = st.lists(
    st.tuples(
        st.sampled_from(["offer", "offer", "offer", "flush", "down", "up", "begin anew", "refill"]),
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
    ledger_database: str, own_redis: RedisServer, steps: list[tuple[str, int, list[int]]]
) -> None:
    """Redis is flushed, killed and started, workers come with empty memories, and another ledger offers the same."""

    async def live() -> None:
        own_redis.say("FLUSHALL")
        world = World(ledger_database, own_redis)
        try:
            for step in steps:
                await world.do(step)
        finally:
            await world.close()

    asyncio.run(live())


async def test_without_redis_the_ledger_alone_decides(ledgers: Ledgers, caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer() as server, caplog.at_level(logging.WARNING):
        one = await opened(ledgers, server.url)
        await one.admit([offer("https://a.test/1")])
        server.kill()
        assert await one.admit([offer("https://a.test/1"), offer("https://a.test/2")]) == Admission(1, 1)
        await has_told(one)
    assert caplog.text.count("Redis is away; the ledger alone says what is known") == 1


# ---- filled anew --------------------------------------------------------------------------------------------


@asynccontextmanager
async def visited_of(redis: str) -> AsyncIterator[VisitedUrls]:
    visited = await VisitedUrls.open(redis, ManualClock())
    try:
        yield visited
    finally:
        await visited.close()


async def test_it_is_filled_from_the_ledger_and_leaves_others_alone(
    ledgers: Ledgers, redis: str, redis_server: RedisServer
) -> None:
    one = await opened(ledgers, redis)
    urls = [f"https://h{n % 7}.test/{n}" for n in range(40)]
    await one.admit([offer(url) for url in urls])
    await one.commit(visit_of(await claimed(one), ledgers.clock))
    await has_told(one)
    redis_server.say("SADD", keys.VISITED, "someone else's")
    seen: list[tuple[int, int]] = []
    async with visited_of(redis) as visited:
        assert await refill(ledgers.url, ledgers.config.schema, visited, lambda *told: seen.append(told)) == (40, 40)
    assert seen == [(40, 40)]
    assert redis_server.say("SCARD", keys.VISITED) == b":41\r\n"
    assert await hinted(await opened(ledgers, redis), *urls, "https://new.test/") == sorted(urls)


async def test_more_than_one_portion_is_filled_in(
    ledgers: Ledgers, redis: str, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenax.database.postgres.visited.AT_ONCE", 7)
    one = await ledgers.open()
    await one.admit([offer(f"https://h{n % 3}.test/{n}") for n in range(30)])
    seen: list[tuple[int, int]] = []
    async with visited_of(redis) as visited:
        assert await refill(ledgers.url, ledgers.config.schema, visited, lambda *told: seen.append(told)) == (0, 30)
    assert seen == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    assert redis_server.say("SCARD", keys.VISITED) == b":30\r\n"


async def go_back(ledgers: Ledgers, redis: str, postgres_server: PostgresServer, emptied_by: str) -> None:
    """Two URLs are admitted and told to the filter; then the ledger knows nothing of them."""
    one = await opened(ledgers, redis)
    await one.admit([offer("https://a.test/1"), offer("https://a.test/2")])
    await has_told(one)
    await one.close()
    schema = f'"{ledgers.config.schema}"'
    postgres_server.psql(
        f"{emptied_by} {schema}.seen; DELETE FROM {schema}.queue; "
        f"UPDATE {schema}.tally SET count = 0 WHERE name IN ('admitted', 'waiting')",
        "ledgers",
    )


async def test_a_ledger_that_went_back_is_believed(
    ledgers: Ledgers, redis: str, postgres_server: PostgresServer
) -> None:
    """As when a dump is loaded: its tables are made anew, and hold less than the filter remembers."""
    await go_back(ledgers, redis, postgres_server, "TRUNCATE")
    assert await (await opened(ledgers, redis)).admit([offer("https://a.test/1")]) == Admission(1, 0)


async def test_files_of_the_server_that_were_put_back_need_it(
    ledgers: Ledgers, redis: str, postgres_server: PostgresServer
) -> None:
    """The one way back that leaves no trace; the page on events says so."""
    await go_back(ledgers, redis, postgres_server, "DELETE FROM")
    async with visited_of(redis) as visited:
        assert await refill(ledgers.url, ledgers.config.schema, visited, lambda done, total: None) == (2, 0)
    assert await (await opened(ledgers, redis)).admit([offer("https://a.test/1")]) == Admission(1, 0)


async def test_it_says_what_is_missing(ledgers: Ledgers) -> None:
    await ledgers.open()
    with RedisServer() as server:
        async with visited_of(server.url) as visited:
            with pytest.raises(LedgerMissing):
                await refill(ledgers.url, "nothing here", visited, lambda done, total: None)
            server.kill()
            with pytest.raises(ConfigError, match="went away; run the same command again"):
                await refill(ledgers.url, ledgers.config.schema, visited, lambda done, total: None)
