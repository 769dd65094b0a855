"""Who carries events: one of all that share a ledger, and another soon after it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tenax.database.postgres import PostgresLedger
from tenax.database.postgres.leader import FRESH_SECONDS
from tenax.events.relay import Relay
from tenax.model import Cursor, Event
from tests.contracts.ledger import drain, offer
from tests.database.postgres_ledgers import Ledgers, vanish
from tests.database.postgres_proxy import Proxy
from tests.servers.postgres import PostgresServer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that takes long on a busy machine is no server that is gone."""
    monkeypatch.setattr("tenax.database.postgres.leader.ANSWER_SECONDS", 60.0)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(3000):
        if await is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come to that")


async def leads_soon(ledger: PostgresLedger, sink: str = "kafka") -> None:
    await until(lambda: ledger.lead(sink))


async def loses_soon(ledger: PostgresLedger, sink: str = "kafka") -> None:
    async def is_lost() -> bool:
        return not await ledger.lead(sink)

    await until(is_lost)


async def test_one_leads_each_sink_until_it_is_closed(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    assert [await one.lead("kafka"), await two.lead("kafka"), await one.lead("kafka")] == [True, False, True]
    assert [await two.lead("redis"), await one.lead("redis")] == [True, False], "each sink has its own"
    await one.close()
    assert [await two.lead("kafka"), await two.lead("redis")] == [True, True]


async def test_a_connection_of_its_own_is_there_only_for_those_who_lead(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    assert await one.lead("kafka") and not await two.lead("kafka")
    assert (one._lead._link is not None, two._lead._link is None) == (True, True)


async def test_when_the_leader_is_killed_another_takes_over(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    assert await one.lead("kafka") and not await two.lead("kafka")
    vanish(one)
    await leads_soon(two)


async def test_who_loses_its_connection_hears_of_it_before_it_leads_again(ledgers: Ledgers) -> None:
    async with Proxy(ledgers.url) as proxy:
        one, two = await ledgers.open(proxy.url), await ledgers.open()
        assert await one.lead("kafka") and await one.lead("redis") and not await two.lead("kafka")
        proxy.cut()
        await leads_soon(two)
        assert [await one.lead("kafka"), await one.lead("kafka")] == [False, False], "it is someone else's by now"
        await loses_soon(one, "redis")
        await leads_soon(one, "redis")
        await one.close()


async def test_a_session_that_the_server_ended_is_noticed(ledgers: Ledgers, postgres_server: PostgresServer) -> None:
    """Nothing tells us of it but the next question."""
    one = await ledgers.open()
    assert await one.lead("kafka")
    postgres_server.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = 'ledgers')"
    )
    await asyncio.sleep(0)
    one._lead._heard_at -= FRESH_SECONDS
    await loses_soon(one)
    await leads_soon(one)


class Told:
    """A sink that all workers reach: what each of them told it, in one list."""

    name = "shared"

    def __init__(self, told: list[int]) -> None:
        self.told = told

    async def open(self, cursor: Cursor, is_behind: bool) -> None: ...

    async def write(self, events: Sequence[Event]) -> Cursor:
        self.told.extend(event.seq for event in events)
        return Cursor(events[-1].seq)

    async def close(self) -> None: ...


async def test_events_of_all_are_told_once_each_while_leaders_come_and_go(ledgers: Ledgers) -> None:
    told: list[int] = []
    workers = [await ledgers.open() for _ in range(3)]
    relays = [Relay(one, Told(told), 0.01, look_seconds=0.02, is_shared=True) for one in workers]
    for relay in relays:
        await relay.open()
    running = [asyncio.ensure_future(relay.run()) for relay in relays]
    for which, worker in enumerate(workers):
        await workers[2].admit([offer(f"https://h{which}{n}.test/") for n in range(10)])
        await drain(workers[2], ledgers.clock)
        await told_up_to(workers[2], 10 * which + 10)
        relays[which].end()
        await running[which]
        await worker.close()
    assert told == list(range(1, 31)), "whoever led ended well"


async def told_up_to(ledger: PostgresLedger, seq: int) -> None:
    async def is_there() -> bool:
        return (await ledger.subscribe(Told.name)).seq >= seq

    await until(is_there)


async def test_a_leader_that_is_killed_loses_no_event(ledgers: Ledgers) -> None:
    told: list[int] = []
    one, two = await ledgers.open(), await ledgers.open()
    first = Relay(one, Told(told), 0.01)
    second = Relay(two, Told(told), 0.01, look_seconds=0.02)
    await first.open()
    await second.open()
    await two.admit([offer(f"https://h{n}.test/") for n in range(5)])
    await drain(two, ledgers.clock)
    # Killed between telling and remembering it.
    await Told(told).write(await one.events(0, 3))
    vanish(one)
    running = asyncio.ensure_future(second.run())
    await told_up_to(two, 5)
    second.end()
    await running
    assert told == [1, 2, 3, 1, 2, 3, 4, 5]
