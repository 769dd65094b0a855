"""PostgreSQL outages: every group of commits is written exactly once, and no caller gets an error."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database.postgres import PostgresDatabase
from tenax.database.postgres.connection import COMMAND_SECONDS
from tenax.errors import CommitUnknown, DatabaseError, DatabaseUnusable, LeaseLost
from tenax.model import Claim
from tests.contracts.database import FixedPace, candidate, claim_soon, claimed, visit_of
from tests.database.postgres_databases import CONFIG, Databases
from tests.database.postgres_proxy import Proxy
from tests.loops import rounds, turn
from tests.servers.postgres import PostgresServer


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses between attempts, and a short wait at the end."""
    monkeypatch.setattr("tenax.database.postgres.store.RETRY_SECONDS", 0.2)
    monkeypatch.setattr("tenax.database.postgres.store.CLOSE_SECONDS", 2.0)


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with Proxy(database_url) as proxy:
        yield proxy


Execute = Callable[..., Awaitable[str]]


@pytest.mark.parametrize("is_before", [True, False], ids=["before it is made", "before it is answered"])
async def test_a_connection_lost_at_the_commit(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, is_before: bool
) -> None:
    database, witness = await databases.open(), await databases.open()
    await database.admit([candidate(f"https://h{n}.test/") for n in range(3)])
    visits = [
        visit_of(await claimed(database), databases.clock, candidates=(candidate("https://new.test/"),))
        for _ in range(3)
    ]
    execute: Execute = asyncpg.Connection.execute
    lost: list[str] = []
    counting: list[asyncio.Task[None]] = []

    async def losing(self: Any, query: str, *args: object, **options: Any) -> str:
        if query.endswith("COMMIT") and "outbox" in query and not lost:
            lost.append(query)
            counting.append(asyncio.ensure_future(database._update_counts()))  # it waits for the connection
            answer = None if is_before else await execute(self, query, *args, **options)
            pid = self.get_server_pid()
            await witness._query_connection.run_idempotent(
                lambda db: db.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
            )
            if answer is not None:
                raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        return await execute(self, query, *args, **options)

    monkeypatch.setattr(asyncpg.Connection, "execute", losing)
    admissions = await asyncio.gather(*(database.commit(visit) for visit in visits))
    assert len(lost) == 1
    assert sum(one.admitted for one in admissions) == 1
    assert [event.seq for event in await database.events(0, 10)] == [1, 2, 3]
    status = await database.status()
    assert (status.pages, status.waiting, status.settled) == (3, 1, 3)
    await asyncio.gather(*counting)
    assert (database.counts().pages, database.counts().waiting) == (3, 1), "nothing is counted twice"


SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(77, 2); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER {event} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow();
"""
"""Makes the COMMIT of some changes wait for the holder of a lock."""
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND (locktype, classid) {} ('advisory', 77)"


@asynccontextmanager
async def slow_commits(databases: Databases, event: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Block the COMMIT of such changes while the block runs. Yields a wait for one that has begun."""
    holder = await asyncpg.connect(databases.url)
    await holder.execute(f'SET search_path TO "{databases.config.schema}";' + SLOW.format(event=event))
    await holder.execute("SELECT pg_advisory_lock(77, 2)")

    async def begun() -> None:
        await until_waiting(holder, "=")

    try:
        yield begun
        # The next connection comes while the COMMIT is being executed, and waits for its end.
        await until_waiting(holder, "<>")
    finally:
        await holder.close()


async def until_waiting(db: Any, how: str) -> None:
    async with asyncio.timeout(60):
        while not await db.fetchval(WAITING.format(how)):  # noqa: ASYNC110 - the server has no event for us
            await asyncio.sleep(0.01)


async def test_a_commit_that_is_still_being_made_when_the_connection_is_lost(
    databases: Databases, proxy: Proxy
) -> None:
    """The server does not know that the client is gone, and continues; the next connection must wait for it."""
    database = await databases.open(proxy.url)
    await database.admit([candidate("https://a.test/")])
    claim = await claimed(database)
    async with slow_commits(databases, "INSERT ON visit") as begun:
        commit = asyncio.ensure_future(database.commit(visit_of(claim, databases.clock)))
        await begun()
        proxy.cut()
    async with asyncio.timeout(60):
        await commit
    assert [event.seq for event in await database.events(0, 10)] == [1]
    assert (await database.status()).outcomes == {"fetched": 1}


BEGINS = b"BEGIN; UPDATE worker SET last_write"
COMMITS = b"INSERT INTO outbox"
"""Sent with the COMMIT of a page."""


@pytest.mark.parametrize(
    ("last_words", "are_heard", "error", "is_written"),
    [
        pytest.param(BEGINS, True, LeaseLost, False, id="not sent"),
        pytest.param(COMMITS, False, CommitUnknown, False, id="sent and not made"),
        pytest.param(COMMITS, True, CommitUnknown, True, id="sent and made"),
    ],
)
async def test_a_commit_without_an_answer_until_its_lease_is_over(
    databases: Databases,
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    last_words: bytes,
    are_heard: bool,
    error: type[DatabaseError],
    is_written: bool,
) -> None:
    """`LeaseLost` is a promise that nothing was written; an unknown result is reported as such, and known later."""
    caplog.set_level("INFO", "tenax")
    database = await databases.open(proxy.url)
    await database.admit([candidate("https://a.test/")])
    claim = await claimed(database)
    proxy.fall_at(last_words, are_heard=are_heard)
    commit = asyncio.ensure_future(database.commit(visit_of(claim, databases.clock)))
    await until_away(database)
    assert not commit.done()
    databases.clock.advance(claim.lease.expires_at - databases.clock.now() + 1)
    with pytest.raises(error, match="not written" if error is LeaseLost else "never written twice"):
        async with asyncio.timeout(60):
            await commit
    assert database.counts().waiting == 1
    proxy.rise()
    again = await _claim_or_settled(database, databases.clock)
    assert (again is None) is is_written
    assert ("abandoned commit was written" in caplog.text) is is_written
    if again is not None:
        await database.commit(visit_of(again, databases.clock))
    assert [event.page.url for event in await database.events(0, 10)] == [claim.task.url]
    assert database.counts().outcomes == {"fetched": 1}


async def _claim_or_settled(database: PostgresDatabase, clock: ManualClock) -> Claim | None:
    """The next claim; None when no task waits."""
    async with asyncio.timeout(60):
        while (claim := await database.claim()) is None and database.counts().waiting:
            await database.wait_for_work(0.02)
            clock.advance(0.1)
    return claim


async def test_hosts_that_are_still_being_taken_when_the_connection_is_lost(databases: Databases, proxy: Proxy) -> None:
    database, witness = await databases.open(proxy.url), await databases.open()
    await witness.admit([candidate("https://a.test/")])
    async with slow_commits(databases, "UPDATE OF holder ON host") as begun:
        database._frontier.start_refill()
        await begun()
        proxy.cut()
    claims: list[Claim | None] = []
    for _ in range(4):
        databases.clock.advance(1.1)
        claims.append(await claim_soon(database))
    assert [claim.task.url for claim in claims if claim is not None] == ["https://a.test/"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_connection_that_breaks_all_the_time(databases: Databases, proxy: Proxy, seed: int) -> None:
    """At any moment: during a transaction, a refill, an answer."""
    databases.pace_rules.pace = 0.0
    database = await databases.open(proxy.url)
    urls = {f"https://h{n}.test/{m}" for n in range(25) for m in range(10)}
    await database.admit([candidate(url) for url in urls])
    chance = random.Random(seed)
    visited: list[str] = []

    async def visit() -> None:
        while len(visited) < len(urls):
            claim = await database.claim()
            if claim is None:
                databases.clock.advance(0.2)
                await database.wait_for_work(0.02)
                continue
            await database.commit(visit_of(claim, databases.clock, next_at=databases.clock.now()))
            visited.append(claim.task.url)

    proxy.lasting = lambda: chance.randrange(15, 120)
    async with asyncio.timeout(180), asyncio.TaskGroup() as visits:
        for _ in range(6):
            visits.create_task(visit())
    proxy.lasting = None
    assert proxy.cuts > 5
    assert sorted(visited) == sorted(urls)
    events = await database.events(0, 1000)
    assert sorted(event.page.url for event in events) == sorted(urls)
    status = await database.status()
    assert (status.pages, status.waiting, status.outcomes) == (len(urls), 0, {"fetched": len(urls)})
    await database.close()


async def test_hosts_taken_by_an_answer_that_was_lost_are_given_back(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, witness = await databases.open(), await databases.open()
    await database.admit([candidate("https://a.test/")])
    claims: list[Claim | None] = []
    fetch: Callable[..., Awaitable[Any]] = asyncpg.Connection.fetch
    lost: list[str] = []

    async def losing(self: Any, query: str, *args: object, **options: Any) -> Any:
        answer = await fetch(self, query, *args, **options)
        if "SKIP LOCKED" in query and answer and not lost:
            lost.append(query)
            self.terminate()
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        return answer

    monkeypatch.setattr(asyncpg.Connection, "fetch", losing)
    await claim_soon(database)
    assert len(lost) == 1
    for _ in range(3):  # a refill, and then its pace
        databases.clock.advance(1.1)
        claims += [await claim_soon(database), await claim_soon(witness)]
    assert [claim.task.url for claim in claims if claim is not None] == ["https://a.test/"]


BLOCKED = """
CREATE FUNCTION held_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock(77, 1); RETURN NULL; END $$;
CREATE TRIGGER held_up AFTER UPDATE ON queue EXECUTE FUNCTION held_up();
"""
IS_BLOCKED = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 77 AND NOT granted)"


async def test_bringing_a_clock_back_may_take_longer_than_any_answer(databases: Databases) -> None:
    """Of a large database it does; abandoning and repeating it would never end."""
    first = await databases.open()
    await first.admit([candidate("https://a.test/")])
    await first._query_connection.run_idempotent(lambda db: db.execute(BLOCKED))
    await first.close()
    past = ManualClock(databases.clock.now() - 86_400)
    holder = await asyncpg.connect(databases.url)
    await holder.execute("SELECT pg_advisory_lock(77, 1)")
    opening = asyncio.ensure_future(databases.open(clock=past))
    async with asyncio.timeout(60):
        while not await holder.fetchval(IS_BLOCKED):  # noqa: ASYNC110 - the server has no event for us
            await asyncio.sleep(0.01)
    turn(COMMAND_SECONDS + 1)
    await rounds()
    await holder.close()
    second = await asyncio.wait_for(opening, 60)
    past.advance(1.5)
    assert (await claimed(second)).task.url == "https://a.test/"


# ---- the server itself ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of this test, to be stopped and started."""
    with PostgresServer() as server:
        server.create("databases")
        yield server


@pytest.fixture
async def fragile(server: PostgresServer) -> AsyncIterator[Databases]:
    databases = Databases(
        server.url("databases"), msgspec.structs.replace(CONFIG, schema="fragile"), ManualClock(), FixedPace()
    )
    yield databases
    await databases.close()
    server.psql("DROP SCHEMA fragile CASCADE", "databases")


async def until_away(database: PostgresDatabase) -> None:
    async with asyncio.timeout(60):
        while not database._write_connection.is_unavailable:
            await database.wait_for_work(0.02)


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_the_server_stops_while_claims_and_commits_wait(
    server: PostgresServer, fragile: Databases, how: str
) -> None:
    database = await fragile.open()
    await database.admit([candidate(f"https://h{n}.test/{m}") for n in range(3) for m in range(2)])
    claims = [await claimed(database) for _ in range(2)]
    await asyncio.to_thread(server.stop if how == "stop" else server.kill)
    commits = [asyncio.ensure_future(database.commit(visit_of(claim, fragile.clock))) for claim in claims]
    asked = asyncio.ensure_future(database.get_meta("rules"))
    events = asyncio.ensure_future(database.events(0, 10))
    await until_away(database)
    assert await database.claim() is None
    await database.wait_for_work(0.01)
    assert not any(commit.done() for commit in (*commits, asked, events))
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        await asyncio.gather(*commits, asked, events)
    assert database.counts().pages == 2
    fragile.clock.advance(2)
    assert await claim_soon(database) is not None
    assert [event.seq for event in await database.events(0, 10)] == [1, 2]


async def test_commits_wait_no_longer_than_their_lease(server: PostgresServer, fragile: Databases) -> None:
    database = await fragile.open()
    await database.admit([candidate("https://a.test/1")])
    claim = await claimed(database)
    await asyncio.to_thread(server.stop)
    commit = asyncio.ensure_future(database.commit(visit_of(claim, fragile.clock)))
    await until_away(database)
    assert not commit.done()
    fragile.clock.advance(claim.lease.expires_at - fragile.clock.now() + 1)
    with pytest.raises(LeaseLost):
        async with asyncio.timeout(60):
            await commit
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        while (again := await database.claim()) is None:
            await database.wait_for_work(0.1)
            fragile.clock.advance(0.1)
    assert again.task.url == claim.task.url
    await database.commit(visit_of(again, fragile.clock))
    assert len(await database.events(0, 10)) == 1


async def test_a_database_is_closed_while_the_server_is_away(server: PostgresServer, fragile: Databases) -> None:
    database = await fragile.open()
    await database.admit([candidate("https://a.test/1")])
    claim = await claimed(database)
    await asyncio.to_thread(server.stop)
    commit = asyncio.ensure_future(database.commit(visit_of(claim, fragile.clock)))
    await until_away(database)
    async with asyncio.timeout(60):
        await database.close()
        with pytest.raises(DatabaseUnusable, match="the database is closed"):
            await commit
    await asyncio.to_thread(server.start)
    fragile.clock.advance(121)
    heir = await fragile.open()
    fragile.clock.advance(1)
    assert (await claimed(heir)).task.url == "https://a.test/1"


async def test_a_read_only_database_fails_at_once(server: PostgresServer, fragile: Databases) -> None:
    await fragile.open()
    reader = await fragile.open(read_only=True)
    await asyncio.to_thread(server.stop)
    with pytest.raises(DatabaseUnusable, match="does not answer"):
        await reader.status()
    await asyncio.to_thread(server.start)
    assert (await reader.status()).waiting == 0


async def test_the_server_restarts_under_workers_who_never_notice(server: PostgresServer, fragile: Databases) -> None:
    fragile.pace_rules.pace = 0.0
    workers: list[PostgresDatabase] = [await fragile.open() for _ in range(2)]
    urls = {f"https://h{n}.test/{m}" for n in range(20) for m in range(10)}
    await workers[0].admit([candidate(url) for url in urls])
    visited: list[str] = []

    async def visit(database: PostgresDatabase) -> None:
        while len(visited) < len(urls):
            claim = await database.claim()
            if claim is None:
                await database.wait_for_work(0.05)
                fragile.clock.advance(0.05)
                continue
            await database.commit(visit_of(claim, fragile.clock, next_at=fragile.clock.now()))
            visited.append(claim.task.url)

    async with asyncio.timeout(180), asyncio.TaskGroup() as group:
        for database in workers * 3:
            group.create_task(visit(database))
        for _ in range(2):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.restart)
    assert sorted(visited) == sorted(urls)
    assert sorted(event.page.url for event in await workers[0].events(0, 1000)) == sorted(urls)


async def test_a_server_that_is_away_is_not_hammered(
    server: PostgresServer, fragile: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted at its port: three tries in a row, and after a pause one of each connection."""
    monkeypatch.setattr("tenax.database.postgres.store.RETRY_SECONDS", 2.0)
    database = await fragile.open()
    await database.admit([candidate(f"https://h{n}.test/") for n in range(3)])
    claims = [await claimed(database) for _ in range(3)]
    await asyncio.to_thread(server.stop)
    tries: list[float] = []

    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tries.append(asyncio.get_running_loop().time())
        writer.transport.abort()

    async with await asyncio.start_server(refuse, "127.0.0.1", server.port):
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(database.commit(visit_of(claim, fragile.clock))) for claim in claims
        ]
        waiting += [asyncio.ensure_future(database.get_meta("rules")) for _ in range(20)]
        await until_away(database)
        states = [database.is_unavailable]
        for _ in range(100):
            assert await database.claim() is None
            await database.wait_for_work(0.03)
    pauses = int((tries[-1] - tries[0]) / 1.9) + 1
    assert 3 <= len(tries) <= 4 + 2 * pauses
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting)
    assert [*states, database.is_unavailable] == [True, False]
    assert database.counts().pages == 3
