"""Many workers on one PostgreSQL ledger: each host is one's at a time, nothing is lost, nothing is done twice."""

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
from tenax.database.postgres import PostgresLedger
from tenax.errors import LeaseLost
from tenax.model import Again, Claim, Offer
from tests.contracts.ledger import Manners, claim_soon, claimed, drain, offer, visit_of
from tests.database.postgres_ledgers import Ledgers, fall_asleep, vanish

DEAD_SECONDS = 121.0


async def turn_over(ledgers: Ledgers, *workers: PostgresLedger, seconds: float = 1.1) -> None:
    """Time passes, and each worker looks at what the others hold."""
    ledgers.clock.advance(seconds)
    for worker in workers:
        await worker._frontier.tend_soon()


# ---- sharing ----------------------------------------------------------------------------------------------


async def test_a_host_is_never_visited_by_two(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    await one.admit([offer(f"https://a.test/{n}") for n in range(5)])
    claim = await claimed(one)
    ledgers.clock.advance(5)
    assert await claim_soon(two) is None
    await one.commit(visit_of(claim, ledgers.clock))
    ledgers.clock.advance(5)
    assert await claim_soon(two) is None, "it is still the first one's"
    await one.close()
    ledgers.clock.advance(5)
    assert (await claimed(two)).task.origin == "https://a.test"


async def test_what_one_adds_another_may_claim(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    assert await claim_soon(two) is None
    await one.admit([offer("https://a.test/")])
    async with asyncio.timeout(60):
        while (claim := await two.claim()) is None:  # it is told, and need not wait for the clock
            await two.wait_for_work(600)
    assert claim.task.url == "https://a.test/"


async def test_each_has_its_share_of_the_hosts(ledgers: Ledgers) -> None:
    first = await ledgers.open()
    await first.admit([offer(f"https://h{n}.test/{m}") for n in range(12) for m in range(9)])
    await first.commit(visit_of(await claimed(first), ledgers.clock))
    assert len(first._slots) == 12
    others = [await ledgers.open() for _ in range(2)]
    for _ in range(4):
        for ledger in (first, *others):
            while (claim := await ledger.claim()) is not None:
                await ledger.commit(visit_of(claim, ledgers.clock))
        await turn_over(ledgers, first, *others)
    assert [len(ledger._slots) for ledger in (first, *others)] == [4, 4, 4]
    await others[0].close()
    await turn_over(ledgers, first, others[1])
    assert sorted(len(ledger._slots) for ledger in (first, others[1])) == [6, 6]


async def test_who_only_adds_takes_no_share(ledgers: Ledgers) -> None:
    worker, seeder = await ledgers.open(), await ledgers.open()
    await seeder.admit([offer(f"https://h{n}.test/") for n in range(8)])
    assert await claim_soon(worker) is not None
    assert len(worker._slots) == 8


async def test_a_host_that_is_given_away_keeps_its_pace(ledgers: Ledgers) -> None:
    one = await ledgers.open()
    await one.admit([offer("https://a.test/1"), offer("https://a.test/2")])
    await one.commit(visit_of(await claimed(one), ledgers.clock, next_at=ledgers.clock.now() + 3))
    await one.close()
    two = await ledgers.open()
    await two.admit([offer("https://a.test/3")])  # new work wakes nobody
    ledgers.clock.advance(2.9)
    assert await claim_soon(two) is None
    ledgers.clock.advance(0.2)
    assert await claim_soon(two) is not None


async def test_counts_are_those_of_everyone(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    await one.admit([offer("https://a.test/"), offer("https://b.test/")])
    await one.commit(visit_of(await claimed(one), ledgers.clock))
    await two._count()
    assert (two.counts().pages, two.counts().waiting) == (1, 1)
    await one.close()
    await two._count()
    assert (two.counts().pages, two.counts().waiting) == (1, 1), "what it counted stays when a worker leaves"


async def test_a_round_that_one_begins_counts_for_all(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    await one.admit([offer("https://a.test/")])
    await one.commit(visit_of(await claimed(one), ledgers.clock))
    await one.close()
    ledgers.clock.advance(60)
    three = await ledgers.open()
    assert await three.revisit(ledgers.clock.now()) == 1
    ledgers.clock.advance(1)
    await two.commit(visit_of(await claimed(two), ledgers.clock))
    await three._count()
    assert (three.counts().pages, three.counts().pages_this_round) == (1, 1)


# ---- the dead ---------------------------------------------------------------------------------------------


async def test_what_a_killed_worker_held_is_free_again_and_its_late_commit_is_refused(ledgers: Ledgers) -> None:
    killed = await ledgers.open()
    await killed.admit([offer("https://a.test/1")])
    claim = await claimed(killed)
    await killed.commit(visit_of(claim, ledgers.clock, plan=Again(ledgers.clock.now())))
    ledgers.clock.advance(2)
    late = await claimed(killed)
    vanish(killed)
    heir = await ledgers.open()
    ledgers.clock.advance(DEAD_SECONDS - 2)
    assert await claim_soon(heir) is None, "it may yet be alive"
    ledgers.clock.advance(3)
    assert await heir.recover() == 1
    assert await heir.recover() == 0
    assert await claim_soon(heir) is None, "its last request may have been sent just now"
    ledgers.clock.advance(1.0)
    second = await claimed(heir)
    assert second.task.url == late.task.url
    with pytest.raises(LeaseLost):
        await heir.commit(visit_of(late, ledgers.clock))
    await heir.commit(visit_of(second, ledgers.clock))
    await heir._count()
    assert (heir.counts().pages, heir.counts().outcomes) == (1, {"fetched": 2})


async def test_the_dead_are_found_on_opening(ledgers: Ledgers) -> None:
    killed = await ledgers.open()
    await killed.admit([offer("https://a.test/1")])
    await claimed(killed)
    vanish(killed)
    ledgers.clock.advance(DEAD_SECONDS)
    heir = await ledgers.open()
    ledgers.clock.advance(1.0)
    assert (await claimed(heir)).task.url == "https://a.test/1"


async def test_a_worker_that_slept_past_its_time_writes_nothing_and_joins_anew(ledgers: Ledgers) -> None:
    """It was stopped for minutes and goes on where it was: its claims are void, also those on their way."""
    sleeper, other = await ledgers.open(), await ledgers.open()
    await sleeper.admit([offer("https://a.test/1"), offer("https://b.test/1")])
    first, second = await claimed(sleeper), await claimed(sleeper)
    before = sleeper._worker.id
    await fall_asleep(sleeper)
    ledgers.clock.advance(DEAD_SECONDS)
    assert await other.recover() == 1
    ledgers.clock.advance(1.0)
    others = [await claimed(other), await claimed(other)]
    commits = [sleeper.commit(visit_of(claim, ledgers.clock)) for claim in (first, second)]
    results = await asyncio.gather(*commits, return_exceptions=True)
    assert [type(result) for result in results] == [LeaseLost, LeaseLost]
    assert sleeper._worker.id > before
    assert (await sleeper.admit([offer("https://c.test/1")])).admitted == 1
    assert (await claimed(sleeper)).task.url == "https://c.test/1"
    for claim in others:
        await other.commit(visit_of(claim, ledgers.clock))
    assert (await other.status()).pages == 2


async def test_a_worker_that_slept_claims_nothing_it_no_longer_holds(ledgers: Ledgers) -> None:
    sleeper, other = await ledgers.open(), await ledgers.open()
    await sleeper.admit([offer(f"https://a.test/{n}") for n in range(3)])
    await sleeper.release(await claimed(sleeper))
    await fall_asleep(sleeper)
    ledgers.clock.advance(DEAD_SECONDS)
    await other.recover()
    ledgers.clock.advance(1.0)
    claim = await claimed(other)
    assert claim.task.origin == "https://a.test"
    assert await claim_soon(sleeper) is None, "what it has in hand is the other's"
    assert (await sleeper.admit([offer("https://b.test/")])).admitted == 1


async def test_offers_are_added_by_a_worker_that_was_taken_for_dead(ledgers: Ledgers) -> None:
    sleeper, other = await ledgers.open(), await ledgers.open()
    await fall_asleep(sleeper)
    ledgers.clock.advance(DEAD_SECONDS)
    await other.recover()
    assert (await sleeper.admit([offer("https://a.test/")])).admitted == 1
    assert await sleeper.replay(None) == 0


async def test_one_who_may_be_silent_for_longer_is_not_taken_for_dead_by_others(ledgers: Ledgers) -> None:
    usual = ledgers.config
    ledgers.config = msgspec.structs.replace(usual, dead_after_seconds=3600.0)
    patient = await ledgers.open()
    await patient.admit([offer("https://a.test/")])
    claim = await claimed(patient)
    ledgers.config = usual
    other = await ledgers.open()
    ledgers.clock.advance(usual.dead_after_seconds * 2)
    assert await other.recover() == 0
    await patient.commit(visit_of(claim, ledgers.clock))


async def test_one_who_is_alive_is_not_taken_for_dead(ledgers: Ledgers) -> None:
    one, two = await ledgers.open(), await ledgers.open()
    for _ in range(5):
        ledgers.clock.advance(60)
        await one._ears.ask(one._worker.beat)
        assert await two.recover() == 0
        await two._ears.ask(two._worker.beat)


# ---- under load -------------------------------------------------------------------------------------------


class Crew:
    """Some workers visiting everything there is at once, in real time."""

    def __init__(self, workers: list[PostgresLedger], clock: SteadyClock) -> None:
        self.workers = workers
        self.clock = clock
        self.visited: Counter[str] = Counter()
        self.flying: Counter[str] = Counter()
        self.most_at_once = 0
        self.by: list[Counter[str]] = [Counter() for _ in workers]

    async def run(self, links: dict[str, tuple[Offer, ...]], enough: int, in_flight: int = 8) -> None:
        async with asyncio.timeout(120), asyncio.TaskGroup() as group:
            for number, ledger in enumerate(self.workers):
                for _ in range(in_flight):
                    group.create_task(self._work(number, ledger, links, enough))

    async def _work(
        self, number: int, ledger: PostgresLedger, links: dict[str, tuple[Offer, ...]], enough: int
    ) -> None:
        while sum(self.visited.values()) < enough:
            claim = await ledger.claim()
            if claim is None:
                await ledger.wait_for_work(0.05)
                continue
            self._note(claim)
            await asyncio.sleep(random.uniform(0, 0.005))
            self.flying[claim.task.origin] -= 1
            visit = visit_of(claim, self.clock, offers=links.get(claim.task.url, ()), next_at=self.clock.now())
            await ledger.commit(visit)
            self.visited[claim.task.url] += 1
            self.by[number][claim.task.origin] += 1

    def _note(self, claim: Claim) -> None:
        self.flying[claim.task.origin] += 1
        self.most_at_once = max(self.most_at_once, self.flying[claim.task.origin])


async def crew_of(ledgers: Ledgers, count: int) -> Crew:
    clock, manners = SteadyClock(), Manners()
    manners.pace = 0.0
    ledgers.config = type(ledgers.config)(schema=ledgers.config.schema, window_hosts=30, look_ahead=4)
    return Crew([await ledgers.open(clock=clock, manners=manners) for _ in range(count)], clock)


async def test_four_workers_visit_everything_once_and_wait_in_no_circle(ledgers: Ledgers) -> None:
    """Every page links to the same hosts and pages as the others, in another order, so that commits collide."""
    crew = await crew_of(ledgers, 4)
    urls = [f"https://h{n}.test/{m}" for n in range(40) for m in range(25)]
    chance = random.Random(7)
    links = {url: tuple(offer(to) for to in chance.sample(urls, 60)) for url in urls}
    await crew.workers[0].admit([offer(url) for url in urls[::50]])
    before = await deadlocks(crew.workers[0])
    await crew.run(links, len(urls))
    assert set(crew.visited) == set(urls)
    assert set(crew.visited.values()) == {1}
    assert crew.most_at_once == 1
    assert sum(map(bool, crew.by)) > 1, "else nothing collides; who gets which share is tested above"
    assert await deadlocks(crew.workers[0]) == before
    events = await crew.workers[0].events(0, 2000)
    assert [event.seq for event in events] == list(range(1, len(urls) + 1))
    assert (await crew.workers[0].status()).waiting == 0


async def deadlocks(ledger: PostgresLedger) -> int:
    count: int = await ledger._ears.ask(
        lambda db: db.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    )
    return count


async def test_no_event_appears_behind_one_that_was_read(ledgers: Ledgers) -> None:
    crew = await crew_of(ledgers, 4)
    urls = [f"https://h{n}.test/{m}" for n in range(60) for m in range(10)]
    await crew.workers[0].admit([offer(url) for url in urls])
    reader = await ledgers.open(read_only=True)
    seen: list[int] = []

    async def read() -> None:
        while len(seen) < len(urls):
            seen.extend(event.seq for event in await reader.events(seen[-1] if seen else 0, 7))

    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(read())
        group.create_task(crew.run({}, len(urls)))
    assert all(one < after for one, after in pairwise(seen))
    everything = [event.seq for event in await reader.events(0, 2000)]
    assert seen == everything, "nothing came later than something with a higher number"
    await reader.close()


async def test_work_for_a_host_that_is_just_let_go_is_never_forgotten(ledgers: Ledgers) -> None:
    """One worker lets hosts go as soon as they are idle; another adds tasks to them at the same moment."""
    crew = await crew_of(ledgers, 2)
    visitor, adder = crew.workers
    chance = random.Random(3)
    added: list[str] = []

    async def add() -> None:
        for number in range(120):
            batch = [f"https://h{chance.randrange(4)}.test/{number}.{n}" for n in range(2)]
            added.extend(batch)
            await adder.admit([offer(url) for url in batch])
            await asyncio.sleep(chance.choice((0.0, 0.001, 0.01)))

    async def let_go() -> None:
        while len(crew.visited) < 240:
            visitor._window._poll_at = 0.0
            await visitor._frontier.tend_soon()
            await asyncio.sleep(0)

    only_visitor = Crew([visitor], crew.clock)
    only_visitor.visited = crew.visited
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        group.create_task(add())
        group.create_task(let_go())
        group.create_task(only_visitor.run({}, 240, in_flight=2))
    assert set(crew.visited) == set(added)
    assert set(crew.visited.values()) == {1}


# ---- histories --------------------------------------------------------------------------------------------


class Model:
    """What must be true of any history, kept in memory."""

    def __init__(self) -> None:
        self.waiting: dict[str, float] = {}
        self.done: Counter[str] = Counter()
        self.claimed: dict[str, int] = {}
        """By URL: the worker that has it."""


@pytest.mark.parametrize("seed", range(4))
async def test_any_history_of_some_workers_is_one_of_a_simple_queue(ledgers: Ledgers, seed: int) -> None:
    chance, model, clock = random.Random(seed), Model(), ledgers.clock
    workers: list[PostgresLedger] = [await ledgers.open() for _ in range(3)]
    claims: list[list[Claim]] = [[], [], []]

    def some_offers() -> list[Offer]:
        return [
            offer(f"https://h{chance.randrange(6)}.test/{chance.randrange(12)}") for _ in range(chance.randrange(5))
        ]

    def noted(offers: list[Offer]) -> list[Offer]:
        for one in offers:
            if one.url not in model.waiting and one.url not in model.done:
                model.waiting[one.url] = clock.now()
        return offers

    async def step(number: int) -> None:
        ledger, mine = workers[number], claims[number]
        match chance.choices(["add", "claim", "commit", "release", "wait", "leave", "die"], [2, 8, 8, 1, 3, 0.4, 0.4])[
            0
        ]:
            case "add":
                offers = some_offers()
                await ledger.admit(noted(offers))
            case "claim":
                claim = await claim_soon(ledger)
                if claim is not None:
                    assert model.waiting[claim.task.url] <= clock.now()
                    assert claim.task.origin not in {url.rpartition("/")[0] for url in model.claimed}
                    model.claimed[claim.task.url] = number
                    mine.append(claim)
            case "commit" if mine:
                claim = mine.pop(chance.randrange(len(mine)))
                again = clock.now() + 3 if chance.random() < 0.3 else None
                offers = some_offers()
                plan = Again(again) if again is not None else None
                await ledger.commit(visit_of(claim, clock, plan=plan, offers=tuple(offers)))
                del model.claimed[claim.task.url]
                if again is None:
                    del model.waiting[claim.task.url]
                    model.done[claim.task.url] += 1
                else:
                    model.waiting[claim.task.url] = again
                noted(offers)
            case "release" if mine:
                claim = mine.pop()
                await ledger.release(claim)
                del model.claimed[claim.task.url]
            case "wait":
                await turn_over(ledgers, *workers, seconds=chance.choice((0.3, 1.1)))
            case "leave" | "die" as how:
                for claim in mine:
                    del model.claimed[claim.task.url]
                if how == "leave":
                    await ledger.close()
                else:
                    vanish(ledger)
                    for other in range(3):  # the others live on meanwhile
                        if other != number:
                            clock.advance(61)
                            await workers[other]._ears.ask(workers[other]._worker.beat)
                    for other in range(3):
                        if other != number:
                            await workers[other]._ears.ask(workers[other]._worker.beat)
                workers[number], claims[number] = await ledgers.open(), []

    for _ in range(150):
        await step(chance.randrange(3))
    for number, mine in enumerate(claims):
        for claim in mine:
            await workers[number].release(claim)
    model.claimed.clear()
    for _ in range(200):
        if not model.waiting:
            break
        await turn_over(ledgers, *workers)
        for ledger in workers:
            while (last := await ledger.claim()) is not None:
                await ledger.commit(visit_of(last, clock))
                del model.waiting[last.task.url]
                model.done[last.task.url] += 1
    assert not model.waiting
    assert set(model.done.values()) <= {1}
    status = await workers[0].status()
    assert (status.waiting, status.settled, status.pages) == (0, len(model.done), len(model.done))
    for url in model.done:
        life = await workers[0].life(url)
        assert life is not None and life.state is TaskState.SETTLED


async def test_a_worker_alone_drains_what_others_left(ledgers: Ledgers) -> None:
    first = await ledgers.open()
    await first.admit([offer(f"https://h{n}.test/{m}") for n in range(30) for m in range(2)])
    await drain(first, ledgers.clock, most=10)
    vanish(first)
    ledgers.clock.advance(DEAD_SECONDS)
    last = await ledgers.open()
    assert len(await drain(last, ledgers.clock)) == 50


async def test_a_look_that_is_under_way_at_the_end_leaves_nothing_held(
    ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has given it hosts, and it ends before it knows."""
    ledger, witness = await ledgers.open(), await ledgers.open()
    await witness.admit([offer("https://a.test/")])
    fetch: Callable[..., Awaitable[Any]] = asyncpg.Connection.fetch
    has_taken = asyncio.Event()

    async def slow(self: Any, query: str, *args: object, **options: Any) -> Any:
        answer = await fetch(self, query, *args, **options)
        if "SET holder = me.id" in query and not has_taken.is_set():
            has_taken.set()
            await asyncio.sleep(60)
        return answer

    monkeypatch.setattr(asyncpg.Connection, "fetch", slow)
    ledger._frontier.tend_soon()
    await has_taken.wait()
    await ledger.close()
    assert await witness.problems() == []
    ledgers.clock.advance(1.1)
    assert (await claimed(witness)).task.url == "https://a.test/"


async def test_a_claim_says_how_long_nobody_else_can_have_its_host(ledgers: Ledgers) -> None:
    """Whoever slept for longer must send nothing more: others have found it dead, and visit the host."""
    sleeper, other = await ledgers.open(), await ledgers.open()
    await sleeper.admit([offer("https://a.test/")])
    claim = await claimed(sleeper)
    await fall_asleep(sleeper)
    ledgers.clock.advance(60)
    await other._ears.ask(other._worker.beat)
    ledgers.clock.advance(claim.lease.host_until - ledgers.clock.now())
    assert await other.recover() == 0
    assert await claim_soon(other) is None
    ledgers.clock.advance(0.001)
    assert await other.recover() == 1
    ledgers.clock.advance(1.0)
    assert (await claimed(other)).task.url == "https://a.test/"
    with pytest.raises(LeaseLost):
        await sleeper.commit(visit_of(claim, ledgers.clock))
