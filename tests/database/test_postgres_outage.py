"""PostgreSQL goes away and comes back: every group of commits is written exactly once, and nobody is told an error."""

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
from tenax.database.postgres import PostgresLedger
from tenax.database.postgres.connection import COMMAND_SECONDS
from tenax.errors import CommitUnknown, LeaseLost, LedgerError, LedgerUnusable
from tenax.model import Claim
from tests.contracts.ledger import Manners, claim_soon, claimed, offer, visit_of
from tests.database.postgres_ledgers import CONFIG, Ledgers
from tests.database.postgres_proxy import Proxy
from tests.loops import rounds, turn
from tests.servers.postgres import PostgresServer


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between two tries to reach the server are short, and so is waiting for it in the end."""
    monkeypatch.setattr("tenax.database.postgres.store.REST_SECONDS", 0.2)
    monkeypatch.setattr("tenax.database.postgres.store.CLOSE_SECONDS", 2.0)


@pytest.fixture
async def proxy(ledger_database: str) -> AsyncIterator[Proxy]:
    async with Proxy(ledger_database) as proxy:
        yield proxy


Execute = Callable[..., Awaitable[str]]


@pytest.mark.parametrize("is_before", [True, False], ids=["before it is made", "before it is answered"])
async def test_a_connection_lost_at_the_commit(
    ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch, is_before: bool
) -> None:
    ledger, witness = await ledgers.open(), await ledgers.open()
    await ledger.admit([offer(f"https://h{n}.test/") for n in range(3)])
    visits = [visit_of(await claimed(ledger), ledgers.clock, offers=(offer("https://new.test/"),)) for _ in range(3)]
    execute: Execute = asyncpg.Connection.execute
    lost: list[str] = []
    counting: list[asyncio.Task[None]] = []

    async def losing(self: Any, query: str, *args: object, **options: Any) -> str:
        if query.endswith("COMMIT") and "outbox" in query and not lost:
            lost.append(query)
            counting.append(asyncio.ensure_future(ledger._count()))  # it waits for the connection
            answer = None if is_before else await execute(self, query, *args, **options)
            pid = self.get_server_pid()
            await witness._ears.ask(lambda db: db.fetchval("SELECT pg_terminate_backend($1, 5000)", pid))
            if answer is not None:
                raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        return await execute(self, query, *args, **options)

    monkeypatch.setattr(asyncpg.Connection, "execute", losing)
    admissions = await asyncio.gather(*(ledger.commit(visit) for visit in visits))
    assert len(lost) == 1
    assert sum(one.admitted for one in admissions) == 1
    assert [event.seq for event in await ledger.events(0, 10)] == [1, 2, 3]
    status = await ledger.status()
    assert (status.pages, status.waiting, status.settled) == (3, 1, 3)
    await asyncio.gather(*counting)
    assert (ledger.counts().pages, ledger.counts().waiting) == (3, 1), "nothing is counted twice"


SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(77, 2); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER {event} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow();
"""
"""Makes the COMMIT of some changes wait for whoever holds a lock."""
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND (locktype, classid) {} ('advisory', 77)"


@asynccontextmanager
async def slow_commits(ledgers: Ledgers, event: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """No COMMIT of such changes ends while the block runs. Gives a wait for one that was begun."""
    holder = await asyncpg.connect(ledgers.url)
    await holder.execute(f'SET search_path TO "{ledgers.config.schema}";' + SLOW.format(event=event))
    await holder.execute("SELECT pg_advisory_lock(77, 2)")

    async def begun() -> None:
        await until_waiting(holder, "=")

    try:
        yield begun
        # The next connection comes while it is still being made, and waits for its end.
        await until_waiting(holder, "<>")
    finally:
        await holder.close()


async def until_waiting(db: Any, how: str) -> None:
    async with asyncio.timeout(60):
        while not await db.fetchval(WAITING.format(how)):  # noqa: ASYNC110 - the server has no event for us
            await asyncio.sleep(0.01)


async def test_a_commit_that_is_still_being_made_when_the_connection_is_lost(ledgers: Ledgers, proxy: Proxy) -> None:
    """The server does not know that nobody listens any more, and goes on; the next connection must not be faster."""
    ledger = await ledgers.open(proxy.url)
    await ledger.admit([offer("https://a.test/")])
    claim = await claimed(ledger)
    async with slow_commits(ledgers, "INSERT ON visit") as begun:
        commit = asyncio.ensure_future(ledger.commit(visit_of(claim, ledgers.clock)))
        await begun()
        proxy.cut()
    async with asyncio.timeout(60):
        await commit
    assert [event.seq for event in await ledger.events(0, 10)] == [1]
    assert (await ledger.status()).outcomes == {"fetched": 1}


BEGINS = b"BEGIN; UPDATE worker SET last_write"
COMMITS = b"INSERT INTO outbox"
"""Goes with the COMMIT of a page."""


@pytest.mark.parametrize(
    ("last_words", "are_heard", "error", "is_written"),
    [
        pytest.param(BEGINS, True, LeaseLost, False, id="not sent"),
        pytest.param(COMMITS, False, CommitUnknown, False, id="sent and not made"),
        pytest.param(COMMITS, True, CommitUnknown, True, id="sent and made"),
    ],
)
async def test_a_commit_without_an_answer_until_its_lease_is_over(
    ledgers: Ledgers,
    proxy: Proxy,
    caplog: pytest.LogCaptureFixture,
    last_words: bytes,
    are_heard: bool,
    error: type[LedgerError],
    is_written: bool,
) -> None:
    """`LeaseLost` is a promise that nothing was written; whoever cannot know says so, and finds out later."""
    caplog.set_level("INFO", "tenax")
    ledger = await ledgers.open(proxy.url)
    await ledger.admit([offer("https://a.test/")])
    claim = await claimed(ledger)
    proxy.fall_at(last_words, are_heard=are_heard)
    commit = asyncio.ensure_future(ledger.commit(visit_of(claim, ledgers.clock)))
    await until_away(ledger)
    assert not commit.done()
    ledgers.clock.advance(claim.lease.expires_at - ledgers.clock.now() + 1)
    with pytest.raises(error, match="not written" if error is LeaseLost else "never written twice"):
        async with asyncio.timeout(60):
            await commit
    assert ledger.counts().waiting == 1
    proxy.rise()
    again = await _claim_or_settled(ledger, ledgers.clock)
    assert (again is None) is is_written
    assert ("a commit that nobody waits for any more was made" in caplog.text) is is_written
    if again is not None:
        await ledger.commit(visit_of(again, ledgers.clock))
    assert [event.page.url for event in await ledger.events(0, 10)] == [claim.task.url]
    assert ledger.counts().outcomes == {"fetched": 1}


async def _claim_or_settled(ledger: PostgresLedger, clock: ManualClock) -> Claim | None:
    """The next claim; None when nothing waits any more."""
    async with asyncio.timeout(60):
        while (claim := await ledger.claim()) is None and ledger.counts().waiting:
            await ledger.wait_for_work(0.02)
            clock.advance(0.1)
    return claim


async def test_hosts_that_are_still_being_taken_when_the_connection_is_lost(ledgers: Ledgers, proxy: Proxy) -> None:
    ledger, witness = await ledgers.open(proxy.url), await ledgers.open()
    await witness.admit([offer("https://a.test/")])
    async with slow_commits(ledgers, "UPDATE OF holder ON host") as begun:
        ledger._frontier.tend_soon()
        await begun()
        proxy.cut()
    claims: list[Claim | None] = []
    for _ in range(4):
        ledgers.clock.advance(1.1)
        claims.append(await claim_soon(ledger))
    assert [claim.task.url for claim in claims if claim is not None] == ["https://a.test/"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_way_that_breaks_all_the_time(ledgers: Ledgers, proxy: Proxy, seed: int) -> None:
    """At any moment: in the middle of a transaction, of a look for hosts, of an answer."""
    ledgers.manners.pace = 0.0
    ledger = await ledgers.open(proxy.url)
    urls = {f"https://h{n}.test/{m}" for n in range(25) for m in range(10)}
    await ledger.admit([offer(url) for url in urls])
    chance = random.Random(seed)
    visited: list[str] = []

    async def visit() -> None:
        while len(visited) < len(urls):
            claim = await ledger.claim()
            if claim is None:
                ledgers.clock.advance(0.2)
                await ledger.wait_for_work(0.02)
                continue
            await ledger.commit(visit_of(claim, ledgers.clock, next_at=ledgers.clock.now()))
            visited.append(claim.task.url)

    proxy.lasting = lambda: chance.randrange(15, 120)
    async with asyncio.timeout(180), asyncio.TaskGroup() as visits:
        for _ in range(6):
            visits.create_task(visit())
    proxy.lasting = None
    assert proxy.cuts > 5
    assert sorted(visited) == sorted(urls)
    events = await ledger.events(0, 1000)
    assert sorted(event.page.url for event in events) == sorted(urls)
    status = await ledger.status()
    assert (status.pages, status.waiting, status.outcomes) == (len(urls), 0, {"fetched": len(urls)})
    await ledger.close()


async def test_hosts_taken_by_an_answer_that_was_lost_are_given_back(
    ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, witness = await ledgers.open(), await ledgers.open()
    await ledger.admit([offer("https://a.test/")])
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
    await claim_soon(ledger)
    assert len(lost) == 1
    for _ in range(3):  # a look, and then its pace
        ledgers.clock.advance(1.1)
        claims += [await claim_soon(ledger), await claim_soon(witness)]
    assert [claim.task.url for claim in claims if claim is not None] == ["https://a.test/"]


HELD_UP = """
CREATE FUNCTION held_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock(77, 1); RETURN NULL; END $$;
CREATE TRIGGER held_up AFTER UPDATE ON queue EXECUTE FUNCTION held_up();
"""
IS_HELD_UP = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 77 AND NOT granted)"


async def test_bringing_a_clock_back_may_take_longer_than_any_answer(ledgers: Ledgers) -> None:
    """Of a large ledger it does; to give it up and begin anew would never end."""
    first = await ledgers.open()
    await first.admit([offer("https://a.test/")])
    await first._ears.ask(lambda db: db.execute(HELD_UP))
    await first.close()
    past = ManualClock(ledgers.clock.now() - 86_400)
    holder = await asyncpg.connect(ledgers.url)
    await holder.execute("SELECT pg_advisory_lock(77, 1)")
    opening = asyncio.ensure_future(ledgers.open(clock=past))
    async with asyncio.timeout(60):
        while not await holder.fetchval(IS_HELD_UP):  # noqa: ASYNC110 - the server has no event for us
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
    """One of our own, to be stopped and started."""
    with PostgresServer() as server:
        server.create("ledgers")
        yield server


@pytest.fixture
async def fragile(server: PostgresServer) -> AsyncIterator[Ledgers]:
    ledgers = Ledgers(
        server.url("ledgers"), msgspec.structs.replace(CONFIG, schema="fragile"), ManualClock(), Manners()
    )
    yield ledgers
    await ledgers.close()
    server.psql("DROP SCHEMA fragile CASCADE", "ledgers")


async def until_away(ledger: PostgresLedger) -> None:
    async with asyncio.timeout(60):
        while not ledger._hands.is_away:
            await ledger.wait_for_work(0.02)


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_the_server_stops_while_claims_and_commits_wait(
    server: PostgresServer, fragile: Ledgers, how: str
) -> None:
    ledger = await fragile.open()
    await ledger.admit([offer(f"https://h{n}.test/{m}") for n in range(3) for m in range(2)])
    claims = [await claimed(ledger) for _ in range(2)]
    await asyncio.to_thread(server.stop if how == "stop" else server.kill)
    commits = [asyncio.ensure_future(ledger.commit(visit_of(claim, fragile.clock))) for claim in claims]
    asked = asyncio.ensure_future(ledger.recall("rules"))
    events = asyncio.ensure_future(ledger.events(0, 10))
    await until_away(ledger)
    assert await ledger.claim() is None
    await ledger.wait_for_work(0.01)
    assert not any(commit.done() for commit in (*commits, asked, events))
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        await asyncio.gather(*commits, asked, events)
    assert ledger.counts().pages == 2
    fragile.clock.advance(2)
    assert await claim_soon(ledger) is not None
    assert [event.seq for event in await ledger.events(0, 10)] == [1, 2]


async def test_commits_wait_no_longer_than_their_lease(server: PostgresServer, fragile: Ledgers) -> None:
    ledger = await fragile.open()
    await ledger.admit([offer("https://a.test/1")])
    claim = await claimed(ledger)
    await asyncio.to_thread(server.stop)
    commit = asyncio.ensure_future(ledger.commit(visit_of(claim, fragile.clock)))
    await until_away(ledger)
    assert not commit.done()
    fragile.clock.advance(claim.lease.expires_at - fragile.clock.now() + 1)
    with pytest.raises(LeaseLost):
        async with asyncio.timeout(60):
            await commit
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        while (again := await ledger.claim()) is None:
            await ledger.wait_for_work(0.1)
            fragile.clock.advance(0.1)
    assert again.task.url == claim.task.url
    await ledger.commit(visit_of(again, fragile.clock))
    assert len(await ledger.events(0, 10)) == 1


async def test_a_ledger_is_closed_while_the_server_is_away(server: PostgresServer, fragile: Ledgers) -> None:
    ledger = await fragile.open()
    await ledger.admit([offer("https://a.test/1")])
    claim = await claimed(ledger)
    await asyncio.to_thread(server.stop)
    commit = asyncio.ensure_future(ledger.commit(visit_of(claim, fragile.clock)))
    await until_away(ledger)
    async with asyncio.timeout(60):
        await ledger.close()
        with pytest.raises(LedgerUnusable, match="the ledger is closed"):
            await commit
    await asyncio.to_thread(server.start)
    fragile.clock.advance(121)
    heir = await fragile.open()
    fragile.clock.advance(1)
    assert (await claimed(heir)).task.url == "https://a.test/1"


async def test_whoever_only_looks_is_told_at_once(server: PostgresServer, fragile: Ledgers) -> None:
    await fragile.open()
    reader = await fragile.open(read_only=True)
    await asyncio.to_thread(server.stop)
    with pytest.raises(LedgerUnusable, match="does not answer"):
        await reader.status()
    await asyncio.to_thread(server.start)
    assert (await reader.status()).waiting == 0


async def test_the_server_restarts_under_workers_who_never_notice(server: PostgresServer, fragile: Ledgers) -> None:
    fragile.manners.pace = 0.0
    workers: list[PostgresLedger] = [await fragile.open() for _ in range(2)]
    urls = {f"https://h{n}.test/{m}" for n in range(20) for m in range(10)}
    await workers[0].admit([offer(url) for url in urls])
    visited: list[str] = []

    async def visit(ledger: PostgresLedger) -> None:
        while len(visited) < len(urls):
            claim = await ledger.claim()
            if claim is None:
                await ledger.wait_for_work(0.05)
                fragile.clock.advance(0.05)
                continue
            await ledger.commit(visit_of(claim, fragile.clock, next_at=fragile.clock.now()))
            visited.append(claim.task.url)

    async with asyncio.timeout(180), asyncio.TaskGroup() as group:
        for ledger in workers * 3:
            group.create_task(visit(ledger))
        for _ in range(2):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.restart)
    assert sorted(visited) == sorted(urls)
    assert sorted(event.page.url for event in await workers[0].events(0, 1000)) == sorted(urls)


async def test_a_server_that_is_away_is_not_hammered(
    server: PostgresServer, fragile: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted at its port: three tries in a row, and after a rest one of each connection."""
    monkeypatch.setattr("tenax.database.postgres.store.REST_SECONDS", 2.0)
    ledger = await fragile.open()
    await ledger.admit([offer(f"https://h{n}.test/") for n in range(3)])
    claims = [await claimed(ledger) for _ in range(3)]
    await asyncio.to_thread(server.stop)
    tries: list[float] = []

    async def turn_away(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tries.append(asyncio.get_running_loop().time())
        writer.transport.abort()

    async with await asyncio.start_server(turn_away, "127.0.0.1", server.port):
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(ledger.commit(visit_of(claim, fragile.clock))) for claim in claims
        ]
        waiting += [asyncio.ensure_future(ledger.recall("rules")) for _ in range(20)]
        await until_away(ledger)
        states = [ledger.is_away]
        for _ in range(100):
            assert await ledger.claim() is None
            await ledger.wait_for_work(0.03)
    rests = int((tries[-1] - tries[0]) / 1.9) + 1
    assert 3 <= len(tries) <= 4 + 2 * rests
    await asyncio.to_thread(server.start)
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting)
    assert [*states, ledger.is_away] == [True, False]
    assert ledger.counts().pages == 3
