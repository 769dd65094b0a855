"""Leader election: one of all that share a database sends events, and another soon after it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tenax.database.postgres import PostgresDatabase
from tenax.database.postgres.heartbeat import SESSION_TRUST_SECONDS
from tenax.events.relay import Relay
from tenax.model import Cursor, Event
from tests.contracts.database import candidate, drain
from tests.database.postgres_databases import Databases, vanish
from tests.database.postgres_proxy import Proxy
from tests.servers.postgres import PostgresServer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow answer on a busy machine does not mean that the server is gone."""
    monkeypatch.setattr("tenax.database.postgres.heartbeat.ANSWER_TIMEOUT_SECONDS", 60.0)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(3000):
        if await is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come to that")


async def leads_soon(database: PostgresDatabase, sink: str = "kafka") -> None:
    await until(lambda: database.is_leader(sink))


async def loses_soon(database: PostgresDatabase, sink: str = "kafka") -> None:
    async def is_lost() -> bool:
        return not await database.is_leader(sink)

    await until(is_lost)


async def test_one_leads_each_sink_until_it_is_closed(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    assert [await one.is_leader("kafka"), await two.is_leader("kafka"), await one.is_leader("kafka")] == [
        True,
        False,
        True,
    ]
    assert [await two.is_leader("redis"), await one.is_leader("redis")] == [True, False], "each sink has its own"
    await one.close()
    assert [await two.is_leader("kafka"), await two.is_leader("redis")] == [True, True]


async def test_a_connection_of_its_own_is_there_only_for_those_who_lead(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    assert await one.is_leader("kafka") and not await two.is_leader("kafka")
    assert (one._leader._connection is not None, two._leader._connection is None) == (True, True)


async def test_when_the_leader_is_killed_another_takes_over(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    assert await one.is_leader("kafka") and not await two.is_leader("kafka")
    vanish(one)
    await leads_soon(two)


async def test_who_loses_its_connection_hears_of_it_before_it_leads_again(databases: Databases) -> None:
    async with Proxy(databases.url) as proxy:
        one, two = await databases.open(proxy.url), await databases.open()
        assert await one.is_leader("kafka") and await one.is_leader("redis") and not await two.is_leader("kafka")
        proxy.cut()
        await leads_soon(two)
        assert [await one.is_leader("kafka"), await one.is_leader("kafka")] == [False, False], (
            "it is someone else's by now"
        )
        await loses_soon(one, "redis")
        await leads_soon(one, "redis")
        await one.close()


async def test_a_session_that_the_server_ended_is_noticed(
    databases: Databases, postgres_server: PostgresServer
) -> None:
    """Only the next query shows it."""
    one = await databases.open()
    assert await one.is_leader("kafka")
    postgres_server.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = 'databases')"
    )
    await asyncio.sleep(0)
    one._leader._answered_at -= SESSION_TRUST_SECONDS
    await loses_soon(one)
    await leads_soon(one)


class ListSink:
    """A sink of all workers that collects the event numbers in one list."""

    name = "shared"

    def __init__(self, written: list[int]) -> None:
        self.written = written

    async def open(self, cursor: Cursor, is_behind: bool) -> None: ...

    async def write(self, events: Sequence[Event]) -> Cursor:
        self.written.extend(event.seq for event in events)
        return Cursor(events[-1].seq)

    async def close(self) -> None: ...


async def test_events_of_all_are_written_once_each_while_leaders_change(databases: Databases) -> None:
    written: list[int] = []
    workers = [await databases.open() for _ in range(3)]
    relays = [Relay(one, ListSink(written), 0.01, leader_check_seconds=0.02, is_shared=True) for one in workers]
    for relay in relays:
        await relay.open()
    running = [asyncio.ensure_future(relay.run()) for relay in relays]
    for which, worker in enumerate(workers):
        await workers[2].admit([candidate(f"https://h{which}{n}.test/") for n in range(10)])
        await drain(workers[2], databases.clock)
        await written_up_to(workers[2], 10 * which + 10)
        relays[which].stop()
        await running[which]
        await worker.close()
    assert written == list(range(1, 31)), "every leader ended cleanly"


async def written_up_to(database: PostgresDatabase, seq: int) -> None:
    async def is_there() -> bool:
        return (await database.subscribe(ListSink.name)).seq >= seq

    await until(is_there)


async def test_a_leader_that_is_killed_loses_no_event(databases: Databases) -> None:
    written: list[int] = []
    one, two = await databases.open(), await databases.open()
    first = Relay(one, ListSink(written), 0.01)
    second = Relay(two, ListSink(written), 0.01, leader_check_seconds=0.02)
    await first.open()
    await second.open()
    await two.admit([candidate(f"https://h{n}.test/") for n in range(5)])
    await drain(two, databases.clock)
    # Killed after writing the events and before storing the cursor.
    await ListSink(written).write(await one.events(0, 3))
    vanish(one)
    running = asyncio.ensure_future(second.run())
    await written_up_to(two, 5)
    second.stop()
    await running
    assert written == [1, 2, 3, 1, 2, 3, 4, 5]
