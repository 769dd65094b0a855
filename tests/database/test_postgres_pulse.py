"""What workers of one ledger tell each other of themselves: how many they are, and who is cut off from Redis."""

from __future__ import annotations

import asyncio

import pytest

from tenax.clock import ManualClock, SteadyClock
from tenax.database.postgres import PostgresLedger, migrate
from tenax.database.postgres.schema import migrations, newest
from tenax.model import Company
from tests.contracts.ledger import offer
from tests.database.postgres_ledgers import Ledgers, vanish

DEAD_SECONDS = 121.0


def at_rest(*opened: PostgresLedger) -> None:
    """From here on they meet when a test says so."""
    for ledger in opened:
        for task in ledger._tasks:
            task.cancel()


async def test_who_is_cut_off_is_known_to_the_others(ledgers: Ledgers) -> None:
    crew = [await ledgers.open() for _ in range(3)]
    at_rest(*crew)
    one, two, _ = crew
    await two._pulse.meet()
    assert two.company() == Company(3, 0, ledgers.clock.now())
    is_away = True
    one.tell_when(lambda: is_away)
    assert one.company().told_at is None
    await one._pulse.meet()
    told_at = ledgers.clock.now()
    assert one.company().told_at == told_at
    ledgers.clock.advance(1)
    await one._pulse.meet()
    await two._pulse.meet()
    assert one.company() == Company(3, 0, ledgers.clock.now(), told_at), "it counts the others, and stays told"
    assert two.company() == Company(3, 1, ledgers.clock.now())
    is_away = False
    await one._pulse.meet()
    await two._pulse.meet()
    assert one.company().told_at is None
    assert two.company().cut_off == 0


async def test_who_was_taken_for_dead_tells_it_anew(ledgers: Ledgers) -> None:
    """The row that said so counts no more: nobody may rely on it."""
    one, two = await ledgers.open(), await ledgers.open()
    at_rest(one, two)
    one.tell_when(lambda: True)
    await one._pulse.meet()
    ledgers.clock.advance(DEAD_SECONDS)
    await two.recover()
    await one._pulse.meet()
    assert (one.company().workers, one.company().told_at) == (1, None)
    await one._pulse._beat()
    await one._pulse.meet()
    await two._pulse.meet()
    assert one.company().told_at == ledgers.clock.now()
    assert two.company() == Company(2, 1, ledgers.clock.now())


async def test_the_dead_and_those_who_left_are_counted_no_more(ledgers: Ledgers) -> None:
    one, two, three = [await ledgers.open() for _ in range(3)]
    at_rest(one)
    two.tell_when(lambda: True)
    await two._pulse.meet()
    await three.close()
    await one._pulse.meet()
    assert (one.company().workers, one.company().cut_off) == (2, 1)
    vanish(two)
    ledgers.clock.advance(DEAD_SECONDS)
    await one._pulse._beat()
    await one._pulse.meet()
    assert (one.company().workers, one.company().cut_off) == (1, 0)


async def test_what_was_told_when_the_answer_was_lost_counts_once_it_is_read(ledgers: Ledgers) -> None:
    ledger = await ledgers.open()
    at_rest(ledger)
    ledger.tell_when(lambda: True)
    await ledger._hands.ask(lambda db: db.execute("UPDATE worker SET is_cut_off = true"))
    ledgers.clock.advance(3)
    await ledger._pulse.meet()
    assert ledger.company().told_at == ledgers.clock.now()


async def test_they_hear_of_each_other_by_themselves(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    one.tell_when(lambda: True)
    async with asyncio.timeout(60):
        while not (one.company().told_at and two.company().cut_off):
            await two.wait_for_work(0.05)
    assert (one.company().workers, two.company().workers) == (2, 2)


async def test_the_servers_clock_is_compared_again(ledgers: Ledgers) -> None:
    ledger = await ledgers.open(clock=ManualClock(1000.0))
    assert await ledger.ahead_seconds() == pytest.approx(SteadyClock().now() - 1000.0, abs=30)


async def test_a_ledger_of_the_first_version_is_brought_up_to_date(
    ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {1: migrations()[1]}
    with monkeypatch.context() as patched:
        patched.setattr("tenax.database.postgres.schema.migrations", lambda: first)
        assert await migrate(ledgers.url, ledgers.config.schema) == (0, 1)
    assert await migrate(ledgers.url, ledgers.config.schema) == (1, newest())
    ledger = await ledgers.open()
    await ledger.admit([offer("https://a.test/")])
    assert ledger.company() == Company(1, 0, ledgers.clock.now())
