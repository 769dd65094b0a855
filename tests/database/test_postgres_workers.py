"""Many workers on one PostgreSQL database: one lease per host at a time, nothing lost, nothing done twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import asyncpg
import msgspec
import pytest

from tenax.clock import SteadyClock
from tenax.database import TaskState
from tenax.database.postgres import PostgresDatabase
from tenax.errors import LeaseLost
from tenax.model import Candidate, Claim, Reschedule
from tests.contracts.database import FixedPace, candidate, claim_soon, claimed, drain, visit_of
from tests.database.postgres_databases import Databases, fall_asleep, vanish

DEAD_SECONDS = 121.0


async def let_time_pass(databases: Databases, *workers: PostgresDatabase, seconds: float = 1.1) -> None:
    """Advance the clock, and let each worker exchange hosts."""
    databases.clock.advance(seconds)
    for worker in workers:
        await worker._frontier.start_refill()


# ---- sharing ----------------------------------------------------------------------------------------------


async def test_a_host_is_never_visited_by_two(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    await one.admit([candidate(f"https://a.test/{n}") for n in range(5)])
    claim = await claimed(one)
    databases.clock.advance(5)
    assert await claim_soon(two) is None
    await one.commit(visit_of(claim, databases.clock))
    databases.clock.advance(5)
    assert await claim_soon(two) is None, "it is still the first one's"
    await one.close()
    databases.clock.advance(5)
    assert (await claimed(two)).task.origin == "https://a.test"


async def test_what_one_adds_another_may_claim(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    assert await claim_soon(two) is None
    await one.admit([candidate("https://a.test/")])
    async with asyncio.timeout(60):
        while (claim := await two.claim()) is None:  # it is notified, and need not wait for the clock
            await two.wait_for_work(600)
    assert claim.task.url == "https://a.test/"


async def test_each_has_its_share_of_the_hosts(databases: Databases) -> None:
    first = await databases.open()
    await first.admit([candidate(f"https://h{n}.test/{m}") for n in range(12) for m in range(9)])
    await first.commit(visit_of(await claimed(first), databases.clock))
    assert len(first._schedule) == 12
    others = [await databases.open() for _ in range(2)]
    for _ in range(4):
        for database in (first, *others):
            while (claim := await database.claim()) is not None:
                await database.commit(visit_of(claim, databases.clock))
        await let_time_pass(databases, first, *others)
    assert [len(database._schedule) for database in (first, *others)] == [4, 4, 4]
    await others[0].close()
    await let_time_pass(databases, first, others[1])
    assert sorted(len(database._schedule) for database in (first, others[1])) == [6, 6]


async def test_who_only_adds_takes_no_share(databases: Databases) -> None:
    worker, seeder = await databases.open(), await databases.open()
    await seeder.admit([candidate(f"https://h{n}.test/") for n in range(8)])
    assert await claim_soon(worker) is not None
    assert len(worker._schedule) == 8


async def test_a_host_that_is_given_away_keeps_its_pace(databases: Databases) -> None:
    one = await databases.open()
    await one.admit([candidate("https://a.test/1"), candidate("https://a.test/2")])
    await one.commit(visit_of(await claimed(one), databases.clock, next_at=databases.clock.now() + 3))
    await one.close()
    two = await databases.open()
    await two.admit([candidate("https://a.test/3")])  # no notification of new work
    databases.clock.advance(2.9)
    assert await claim_soon(two) is None
    databases.clock.advance(0.2)
    assert await claim_soon(two) is not None


async def test_counts_are_those_of_everyone(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    await one.admit([candidate("https://a.test/"), candidate("https://b.test/")])
    await one.commit(visit_of(await claimed(one), databases.clock))
    await two._update_counts()
    assert (two.counts().pages, two.counts().waiting) == (1, 1)
    await one.close()
    await two._update_counts()
    assert (two.counts().pages, two.counts().waiting) == (1, 1), "what it counted stays when a worker leaves"


async def test_a_round_that_one_begins_counts_for_all(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    await one.admit([candidate("https://a.test/")])
    await one.commit(visit_of(await claimed(one), databases.clock))
    await one.close()
    databases.clock.advance(60)
    three = await databases.open()
    assert await three.start_recrawl(databases.clock.now()) == 1
    databases.clock.advance(1)
    await two.commit(visit_of(await claimed(two), databases.clock))
    await three._update_counts()
    assert (three.counts().pages, three.counts().pages_this_round) == (1, 1)


# ---- dead workers -----------------------------------------------------------------------------------------


async def test_hosts_of_a_killed_worker_are_released_and_its_late_commit_is_refused(databases: Databases) -> None:
    killed = await databases.open()
    await killed.admit([candidate("https://a.test/1")])
    claim = await claimed(killed)
    await killed.commit(visit_of(claim, databases.clock, plan=Reschedule(databases.clock.now())))
    databases.clock.advance(2)
    late = await claimed(killed)
    vanish(killed)
    heir = await databases.open()
    databases.clock.advance(DEAD_SECONDS - 2)
    assert await claim_soon(heir) is None, "it may yet be alive"
    databases.clock.advance(3)
    assert await heir.recover() == 1
    assert await heir.recover() == 0
    assert await claim_soon(heir) is None, "its last request may have been sent just now"
    databases.clock.advance(1.0)
    second = await claimed(heir)
    assert second.task.url == late.task.url
    with pytest.raises(LeaseLost):
        await heir.commit(visit_of(late, databases.clock))
    await heir.commit(visit_of(second, databases.clock))
    await heir._update_counts()
    assert (heir.counts().pages, heir.counts().outcomes) == (1, {"fetched": 2})


async def test_the_dead_are_found_on_opening(databases: Databases) -> None:
    killed = await databases.open()
    await killed.admit([candidate("https://a.test/1")])
    await claimed(killed)
    vanish(killed)
    databases.clock.advance(DEAD_SECONDS)
    heir = await databases.open()
    databases.clock.advance(1.0)
    assert (await claimed(heir)).task.url == "https://a.test/1"


async def test_a_worker_whose_lease_expired_writes_nothing_and_registers_again(databases: Databases) -> None:
    """It was stopped for minutes and continues: its claims are void, also those being committed."""
    sleeper, other = await databases.open(), await databases.open()
    await sleeper.admit([candidate("https://a.test/1"), candidate("https://b.test/1")])
    first, second = await claimed(sleeper), await claimed(sleeper)
    before = sleeper._worker.id
    await fall_asleep(sleeper)
    databases.clock.advance(DEAD_SECONDS)
    assert await other.recover() == 1
    databases.clock.advance(1.0)
    others = [await claimed(other), await claimed(other)]
    commits = [sleeper.commit(visit_of(claim, databases.clock)) for claim in (first, second)]
    results = await asyncio.gather(*commits, return_exceptions=True)
    assert [type(result) for result in results] == [LeaseLost, LeaseLost]
    assert sleeper._worker.id > before
    assert (await sleeper.admit([candidate("https://c.test/1")])).admitted == 1
    assert (await claimed(sleeper)).task.url == "https://c.test/1"
    for claim in others:
        await other.commit(visit_of(claim, databases.clock))
    assert (await other.status()).pages == 2


async def test_a_worker_that_slept_claims_nothing_it_no_longer_holds(databases: Databases) -> None:
    sleeper, other = await databases.open(), await databases.open()
    await sleeper.admit([candidate(f"https://a.test/{n}") for n in range(3)])
    await sleeper.release(await claimed(sleeper))
    await fall_asleep(sleeper)
    databases.clock.advance(DEAD_SECONDS)
    await other.recover()
    databases.clock.advance(1.0)
    claim = await claimed(other)
    assert claim.task.origin == "https://a.test"
    assert await claim_soon(sleeper) is None, "its loaded tasks belong to the other"
    assert (await sleeper.admit([candidate("https://b.test/")])).admitted == 1


async def test_candidates_are_added_by_a_worker_that_was_taken_for_dead(databases: Databases) -> None:
    sleeper, other = await databases.open(), await databases.open()
    await fall_asleep(sleeper)
    databases.clock.advance(DEAD_SECONDS)
    await other.recover()
    assert (await sleeper.admit([candidate("https://a.test/")])).admitted == 1
    assert await sleeper.replay(None) == 0


async def test_one_who_may_be_silent_for_longer_is_not_taken_for_dead_by_others(databases: Databases) -> None:
    usual = databases.config
    databases.config = msgspec.structs.replace(usual, dead_after_seconds=3600.0)
    patient = await databases.open()
    await patient.admit([candidate("https://a.test/")])
    claim = await claimed(patient)
    databases.config = usual
    other = await databases.open()
    databases.clock.advance(usual.dead_after_seconds * 2)
    assert await other.recover() == 0
    await patient.commit(visit_of(claim, databases.clock))


async def test_one_who_is_alive_is_not_taken_for_dead(databases: Databases) -> None:
    one, two = await databases.open(), await databases.open()
    for _ in range(5):
        databases.clock.advance(60)
        await one._query_connection.run_idempotent(one._worker.send_heartbeat)
        assert await two.recover() == 0
        await two._query_connection.run_idempotent(two._worker.send_heartbeat)


# ---- under load -------------------------------------------------------------------------------------------


class WorkerGroup:
    """Several workers that visit all tasks at once, in real time."""

    def __init__(self, workers: list[PostgresDatabase], clock: SteadyClock) -> None:
        self.workers = workers
        self.clock = clock
        self.visited: Counter[str] = Counter()
        self.flying: Counter[str] = Counter()
        self.most_at_once = 0
        self.by: list[Counter[str]] = [Counter() for _ in workers]

    async def run(self, links: dict[str, tuple[Candidate, ...]], enough: int, in_flight: int = 8) -> None:
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            for number, database in enumerate(self.workers):
                for _ in range(in_flight):
                    tasks.create_task(self._work(number, database, links, enough))

    async def _work(
        self, number: int, database: PostgresDatabase, links: dict[str, tuple[Candidate, ...]], enough: int
    ) -> None:
        while sum(self.visited.values()) < enough:
            claim = await database.claim()
            if claim is None:
                await database.wait_for_work(0.05)
                continue
            self._note(claim)
            await asyncio.sleep(random.uniform(0, 0.005))
            self.flying[claim.task.origin] -= 1
            visit = visit_of(claim, self.clock, candidates=links.get(claim.task.url, ()), next_at=self.clock.now())
            await database.commit(visit)
            self.visited[claim.task.url] += 1
            self.by[number][claim.task.origin] += 1

    def _note(self, claim: Claim) -> None:
        self.flying[claim.task.origin] += 1
        self.most_at_once = max(self.most_at_once, self.flying[claim.task.origin])


async def open_workers(databases: Databases, count: int) -> WorkerGroup:
    clock, pace_rules = SteadyClock(), FixedPace()
    pace_rules.pace = 0.0
    databases.config = type(databases.config)(schema=databases.config.schema, window_hosts=30, tasks_per_host=4)
    return WorkerGroup([await databases.open(clock=clock, pace_rules=pace_rules) for _ in range(count)], clock)


async def test_four_workers_visit_everything_once_and_wait_in_no_circle(databases: Databases) -> None:
    """Every page links to the same hosts and pages as the others, in another order, so that commits collide."""
    group = await open_workers(databases, 4)
    urls = [f"https://h{n}.test/{m}" for n in range(40) for m in range(25)]
    chance = random.Random(7)
    links = {url: tuple(candidate(to) for to in chance.sample(urls, 60)) for url in urls}
    await group.workers[0].admit([candidate(url) for url in urls[::50]])
    before = await deadlocks(group.workers[0])
    await group.run(links, len(urls))
    assert set(group.visited) == set(urls)
    assert set(group.visited.values()) == {1}
    assert group.most_at_once == 1
    assert sum(map(bool, group.by)) > 1, "else nothing collides; who gets which share is tested above"
    assert await deadlocks(group.workers[0]) == before
    events = await group.workers[0].events(0, 2000)
    assert [event.seq for event in events] == list(range(1, len(urls) + 1))
    assert (await group.workers[0].status()).waiting == 0


async def deadlocks(database: PostgresDatabase) -> int:
    count: int = await database._query_connection.run_idempotent(
        lambda db: db.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    )
    return count


async def test_no_event_appears_behind_one_that_was_read(databases: Databases) -> None:
    group = await open_workers(databases, 4)
    urls = [f"https://h{n}.test/{m}" for n in range(60) for m in range(10)]
    await group.workers[0].admit([candidate(url) for url in urls])
    reader = await databases.open(read_only=True)
    seen: list[int] = []

    async def read() -> None:
        while len(seen) < len(urls):
            seen.extend(event.seq for event in await reader.events(seen[-1] if seen else 0, 7))

    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        tasks.create_task(group.run({}, len(urls)))
    assert all(one < after for one, after in pairwise(seen))
    everything = [event.seq for event in await reader.events(0, 2000)]
    assert seen == everything, "nothing came later than something with a higher number"
    await reader.close()


async def test_work_for_a_host_that_is_just_let_go_is_never_forgotten(databases: Databases) -> None:
    """One worker releases hosts as soon as they are idle; another adds tasks to them at the same moment."""
    group = await open_workers(databases, 2)
    visitor, adder = group.workers
    chance = random.Random(3)
    added: list[str] = []

    async def add() -> None:
        for number in range(120):
            batch = [f"https://h{chance.randrange(4)}.test/{number}.{n}" for n in range(2)]
            added.extend(batch)
            await adder.admit([candidate(url) for url in batch])
            await asyncio.sleep(chance.choice((0.0, 0.001, 0.01)))

    async def let_go() -> None:
        while len(group.visited) < 240:
            visitor._window._poll_at = 0.0
            await visitor._frontier.start_refill()
            await asyncio.sleep(0)

    only_visitor = WorkerGroup([visitor], group.clock)
    only_visitor.visited = group.visited
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        tasks.create_task(add())
        tasks.create_task(let_go())
        tasks.create_task(only_visitor.run({}, 240, in_flight=2))
    assert set(group.visited) == set(added)
    assert set(group.visited.values()) == {1}


# ---- histories --------------------------------------------------------------------------------------------


class Model:
    """The invariants of any history, kept in memory."""

    def __init__(self) -> None:
        self.waiting: dict[str, float] = {}
        self.done: Counter[str] = Counter()
        self.claimed: dict[str, int] = {}
        """By URL: the worker that has it."""


@pytest.mark.parametrize("seed", range(4))
async def test_any_history_of_some_workers_is_one_of_a_simple_queue(databases: Databases, seed: int) -> None:
    chance, model, clock = random.Random(seed), Model(), databases.clock
    workers: list[PostgresDatabase] = [await databases.open() for _ in range(3)]
    claims: list[list[Claim]] = [[], [], []]

    def some_candidates() -> list[Candidate]:
        return [
            candidate(f"https://h{chance.randrange(6)}.test/{chance.randrange(12)}") for _ in range(chance.randrange(5))
        ]

    def noted(candidates: list[Candidate]) -> list[Candidate]:
        for one in candidates:
            if one.url not in model.waiting and one.url not in model.done:
                model.waiting[one.url] = clock.now()
        return candidates

    async def step(number: int) -> None:
        database, mine = workers[number], claims[number]
        match chance.choices(["add", "claim", "commit", "release", "wait", "leave", "die"], [2, 8, 8, 1, 3, 0.4, 0.4])[
            0
        ]:
            case "add":
                candidates = some_candidates()
                await database.admit(noted(candidates))
            case "claim":
                claim = await claim_soon(database)
                if claim is not None:
                    assert model.waiting[claim.task.url] <= clock.now()
                    assert claim.task.origin not in {url.rpartition("/")[0] for url in model.claimed}
                    model.claimed[claim.task.url] = number
                    mine.append(claim)
            case "commit" if mine:
                claim = mine.pop(chance.randrange(len(mine)))
                again = clock.now() + 3 if chance.random() < 0.3 else None
                candidates = some_candidates()
                plan = Reschedule(again) if again is not None else None
                await database.commit(visit_of(claim, clock, plan=plan, candidates=tuple(candidates)))
                del model.claimed[claim.task.url]
                if again is None:
                    del model.waiting[claim.task.url]
                    model.done[claim.task.url] += 1
                else:
                    model.waiting[claim.task.url] = again
                noted(candidates)
            case "release" if mine:
                claim = mine.pop()
                await database.release(claim)
                del model.claimed[claim.task.url]
            case "wait":
                await let_time_pass(databases, *workers, seconds=chance.choice((0.3, 1.1)))
            case "leave" | "die" as how:
                for claim in mine:
                    del model.claimed[claim.task.url]
                if how == "leave":
                    await database.close()
                else:
                    vanish(database)
                    for other in range(3):  # the others continue meanwhile
                        if other != number:
                            clock.advance(61)
                            await workers[other]._query_connection.run_idempotent(workers[other]._worker.send_heartbeat)
                    for other in range(3):
                        if other != number:
                            await workers[other]._query_connection.run_idempotent(workers[other]._worker.send_heartbeat)
                workers[number], claims[number] = await databases.open(), []

    for _ in range(150):
        await step(chance.randrange(3))
    for number, mine in enumerate(claims):
        for claim in mine:
            await workers[number].release(claim)
    model.claimed.clear()
    for _ in range(200):
        if not model.waiting:
            break
        await let_time_pass(databases, *workers)
        for database in workers:
            while (last := await database.claim()) is not None:
                await database.commit(visit_of(last, clock))
                del model.waiting[last.task.url]
                model.done[last.task.url] += 1
    assert not model.waiting
    assert set(model.done.values()) <= {1}
    status = await workers[0].status()
    assert (status.waiting, status.settled, status.pages) == (0, len(model.done), len(model.done))
    for url in model.done:
        history = await workers[0].url_history(url)
        assert history is not None and history.state is TaskState.SETTLED


async def test_a_worker_alone_drains_what_others_left(databases: Databases) -> None:
    first = await databases.open()
    await first.admit([candidate(f"https://h{n}.test/{m}") for n in range(30) for m in range(2)])
    await drain(first, databases.clock, most=10)
    vanish(first)
    databases.clock.advance(DEAD_SECONDS)
    last = await databases.open()
    assert len(await drain(last, databases.clock)) == 50


async def test_a_refill_in_progress_at_the_end_leaves_no_lease(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has leased it hosts, and it ends before it knows."""
    database, witness = await databases.open(), await databases.open()
    await witness.admit([candidate("https://a.test/")])
    fetch: Callable[..., Awaitable[Any]] = asyncpg.Connection.fetch
    has_taken = asyncio.Event()

    async def slow(self: Any, query: str, *args: object, **options: Any) -> Any:
        answer = await fetch(self, query, *args, **options)
        if "SET holder = me.id" in query and not has_taken.is_set():
            has_taken.set()
            await asyncio.sleep(60)
        return answer

    monkeypatch.setattr(asyncpg.Connection, "fetch", slow)
    database._frontier.start_refill()
    await has_taken.wait()
    await database.close()
    assert await witness.find_problems() == []
    databases.clock.advance(1.1)
    assert (await claimed(witness)).task.url == "https://a.test/"


async def test_a_claim_says_how_long_nobody_else_can_have_its_host(databases: Databases) -> None:
    """A worker suspended for longer must send nothing more: its lease expired, and others visit the host."""
    sleeper, other = await databases.open(), await databases.open()
    await sleeper.admit([candidate("https://a.test/")])
    claim = await claimed(sleeper)
    await fall_asleep(sleeper)
    databases.clock.advance(60)
    await other._query_connection.run_idempotent(other._worker.send_heartbeat)
    databases.clock.advance(claim.lease.host_until - databases.clock.now())
    assert await other.recover() == 0
    assert await claim_soon(other) is None
    databases.clock.advance(0.001)
    assert await other.recover() == 1
    databases.clock.advance(1.0)
    assert (await claimed(other)).task.url == "https://a.test/"
    with pytest.raises(LeaseLost):
        await sleeper.commit(visit_of(claim, databases.clock))
