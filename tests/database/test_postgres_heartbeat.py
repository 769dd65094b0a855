"""What workers of one database know of each other: how many there are, and which are cut off from Redis."""

from __future__ import annotations

import asyncio

import pytest

from tenax.clock import ManualClock, SteadyClock
from tenax.database.postgres import PostgresDatabase
from tenax.model import Peers
from tests.database.postgres_databases import Databases, vanish

DEAD_SECONDS = 121.0


def stop_background_tasks(*opened: PostgresDatabase) -> None:
    """From here on they exchange their state only when the test says so."""
    for database in opened:
        for task in database._tasks:
            task.cancel()


async def test_who_is_cut_off_is_known_to_the_others(databases: Databases) -> None:
    workers = [await databases.open() for _ in range(3)]
    stop_background_tasks(*workers)
    one, two, _ = workers
    await two._heartbeat.update_peers()
    assert two.peers() == Peers(3, 0, databases.clock.now())
    is_away = True
    one.set_cut_off_check(lambda: is_away)
    assert one.peers().reported_at is None
    await one._heartbeat.update_peers()
    reported_at = databases.clock.now()
    assert one.peers().reported_at == reported_at
    databases.clock.advance(1)
    await one._heartbeat.update_peers()
    await two._heartbeat.update_peers()
    assert one.peers() == Peers(3, 0, databases.clock.now(), reported_at), "it counts the others, and stays announced"
    assert two.peers() == Peers(3, 1, databases.clock.now())
    is_away = False
    await one._heartbeat.update_peers()
    await two._heartbeat.update_peers()
    assert one.peers().reported_at is None
    assert two.peers().without_redis == 0


async def test_a_worker_that_registered_again_announces_it_again(databases: Databases) -> None:
    """The row with the announcement has ended: nobody may rely on it."""
    one, two = await databases.open(), await databases.open()
    stop_background_tasks(one, two)
    one.set_cut_off_check(lambda: True)
    await one._heartbeat.update_peers()
    databases.clock.advance(DEAD_SECONDS)
    await two.recover()
    await one._heartbeat.update_peers()
    assert (one.peers().workers, one.peers().reported_at) == (1, None)
    await one._heartbeat._send_heartbeat()
    await one._heartbeat.update_peers()
    await two._heartbeat.update_peers()
    assert one.peers().reported_at == databases.clock.now()
    assert two.peers() == Peers(2, 1, databases.clock.now())


async def test_the_dead_and_those_who_left_are_counted_no_more(databases: Databases) -> None:
    one, two, three = [await databases.open() for _ in range(3)]
    stop_background_tasks(one)
    two.set_cut_off_check(lambda: True)
    await two._heartbeat.update_peers()
    await three.close()
    await one._heartbeat.update_peers()
    assert (one.peers().workers, one.peers().without_redis) == (2, 1)
    vanish(two)
    databases.clock.advance(DEAD_SECONDS)
    await one._heartbeat._send_heartbeat()
    await one._heartbeat.update_peers()
    assert (one.peers().workers, one.peers().without_redis) == (1, 0)


async def test_an_announcement_whose_answer_was_lost_counts_once_it_is_read(databases: Databases) -> None:
    database = await databases.open()
    stop_background_tasks(database)
    database.set_cut_off_check(lambda: True)
    await database._write_connection.run_idempotent(lambda db: db.execute("UPDATE worker SET is_cut_off = true"))
    databases.clock.advance(3)
    await database._heartbeat.update_peers()
    assert database.peers().reported_at == databases.clock.now()


async def test_they_hear_of_each_other_by_themselves(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    one.set_cut_off_check(lambda: True)
    async with asyncio.timeout(60):
        while not (one.peers().reported_at and two.peers().without_redis):
            await two.wait_for_work(0.05)
    assert (one.peers().workers, two.peers().workers) == (2, 2)


async def test_the_servers_clock_is_compared_again(databases: Databases) -> None:
    database = await databases.open(clock=ManualClock(1000.0))
    assert await database.clock_offset_seconds() == pytest.approx(SteadyClock().now() - 1000.0, abs=30)
