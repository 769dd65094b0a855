"""Redis out of reach of some workers and not of others: together they keep the pace, whoever knows what when."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from tenax.clock import ManualClock
from tenax.hosts import Permit
from tenax.hosts.redis import BestEffortRedis, RedisRateLimiter, keys
from tenax.hosts.redis.limiter_shares import (
    ANNOUNCE_SECONDS,
    PEERS_TTL_SECONDS,
    connected_pace_factor,
    isolated_pace_factor,
    isolated_start_at,
)
from tenax.hosts.redis.reach import CALL_SECONDS, RETRY_SECONDS
from tenax.model import Peers

NOW = 1_750_000_000.0
TURN = Permit("address 93.184.216.34", pace_seconds=1.0)
STEP_SECONDS = 0.25


# ---- the shares -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("company", "slower"),
    [
        (None, 1.0),
        (Peers(1, 0, NOW), 1.0),
        (Peers(4, 0, NOW), 1.0),
        (Peers(4, 1, NOW), 4 / 3),
        (Peers(4, 3, NOW), 4.0),
        (Peers(4, 4, NOW), 4.0),
        (Peers(0, 0, NOW), 1.0),
        (Peers(4, 1, NOW - PEERS_TTL_SECONDS - 0.1), 4.0),
        (Peers(0, 0, NOW - PEERS_TTL_SECONDS - 0.1), 1.0),
    ],
)
def test_who_reaches_redis_leaves_the_others_their_share(company: Peers | None, slower: float) -> None:
    assert connected_pace_factor(company, NOW) == pytest.approx(slower)


@pytest.mark.parametrize(
    ("seen", "company", "slower"),
    [
        (0, None, 0),
        (3, None, 3),
        (3, Peers(2, 0, NOW), 3),
        (3, Peers(5, 0, NOW), 5),
        (0, Peers(5, 0, NOW), 0),
    ],
)
def test_who_is_cut_off_reckons_with_all_that_anyone_knows_of(seen: int, company: Peers | None, slower: int) -> None:
    assert isolated_pace_factor(seen, company) == slower


@pytest.mark.parametrize(
    ("company", "at"),
    [
        (None, float("-inf")),
        (Peers(4, 0, NOW), float("inf")),
        (Peers(4, 0, NOW, reported_at=NOW - 3), NOW - 3 + ANNOUNCE_SECONDS),
        (Peers(4, 0, NOW - PEERS_TTL_SECONDS - 0.1, reported_at=NOW - 100), float("inf")),
    ],
)
def test_who_is_cut_off_goes_alone_when_the_others_know(company: Peers | None, at: float) -> None:
    assert isolated_start_at(company, NOW) == at


def test_nobody_acts_on_older_news_than_what_was_told() -> None:
    assert ANNOUNCE_SECONDS > PEERS_TTL_SECONDS + CALL_SECONDS


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_all_shares_together_are_one(workers: int) -> None:
    for cut_off in range(workers):
        reaching = 1 / connected_pace_factor(Peers(workers, cut_off, NOW), NOW)
        assert reaching + cut_off / isolated_pace_factor(workers, Peers(workers, cut_off, NOW)) == pytest.approx(1.0)


# ---- turns ----------------------------------------------------------------------------------------------------


class Notices:
    """What the table of workers says, without its database."""

    def __init__(self, workers: int) -> None:
        self.says = [False] * workers

    def meet(self, me: int, is_cut_off: bool, before: Peers, now: float) -> Peers:
        told_at = before.reported_at if self.says[me] and is_cut_off else None
        if is_cut_off and told_at is None:
            told_at = now
        self.says[me] = is_cut_off
        return Peers(len(self.says), sum(self.says) - is_cut_off, now, told_at)


class Worker:
    """One of several, each with its own way to Redis and to the database."""

    def __init__(self, url: str, number: int, crew: int, clock: ManualClock, notices: Notices) -> None:
        self._reach = BestEffortRedis(url, clock, call_seconds=30.0)
        self._there, self._nowhere = self._reach.client, Redis.from_url("redis://127.0.0.1:1")
        self._turns = RedisRateLimiter(self._reach, f"worker-{number}", lambda: crew, lambda: self.company)
        self._number = number
        self._clock = clock
        self._notices = notices
        self.company = Peers(crew, 0, clock.now())
        self.hears_database = True
        self.tries_at = 0.0

    @property
    def reaches_redis(self) -> bool:
        return self._reach.client is self._there

    @reaches_redis.setter
    def reaches_redis(self, is_so: bool) -> None:
        self._reach.client = self._there if is_so else self._nowhere

    def pulse(self) -> None:
        if self.hears_database:
            now = self._clock.now()
            self.company = self._notices.meet(self._number, self._reach.is_unavailable, self.company, now)

    async def goes(self) -> bool:
        """Whether it sends a request now; comes back when it was told to."""
        now = self._clock.now()
        if now < self.tries_at:
            return False
        self.tries_at = await self._turns.acquire([TURN], now)
        return self.tries_at == now

    async def close(self) -> None:
        await self._nowhere.aclose()
        self._reach.client = self._there
        await self._reach.close()


class Crew:
    """Workers, the clock they agree on, and when the server saw a request."""

    def __init__(self, url: str, count: int) -> None:
        self.clock = ManualClock(NOW)
        notices = Notices(count)
        self.workers = [Worker(url, number, count, self.clock, notices) for number in range(count)]
        self.seen: list[float] = []

    async def live(self, seconds: float) -> None:
        """Each hears the database every second, and asks for the turn as soon as it may."""
        for step in range(int(seconds / STEP_SECONDS)):
            self.clock.advance(STEP_SECONDS)
            for number, worker in enumerate(self.workers):
                if step % 4 == number % 4:
                    worker.pulse()
                if await worker.goes():
                    self.seen.append(self.clock.now())

    def excess(self) -> float:
        """By how many requests more than the pace allows the worst moments saw."""
        pairs = ((last - first + 1, self.seen[last] - at) for first, at in enumerate(self.seen)
                 for last in range(first, len(self.seen)))  # fmt: skip
        return max((count - seconds / TURN.pace_seconds for count, seconds in pairs), default=0.0)

    async def close(self) -> None:
        for worker in self.workers:
            await worker.close()


@pytest.fixture
async def opened(redis: str) -> AsyncIterator[list[Crew]]:
    client = Redis.from_url(redis)
    await client.hset(keys.RATE_LIMITS_SINCE, mapping={"at": 0, "is_lost": 0})
    await client.aclose()
    crews: list[Crew] = []
    yield crews
    for crew in crews:
        await crew.close()


@pytest.mark.parametrize("seed", range(40))
async def test_whoever_reaches_redis_the_server_sees_one_pace(redis: str, opened: list[Crew], seed: int) -> None:
    chance = random.Random(seed)
    crew = Crew(redis, chance.randint(2, 4))
    opened.append(crew)
    for _ in range(5):
        for worker in crew.workers:
            worker.reaches_redis = chance.random() < 0.6
            worker.hears_database = chance.random() < 0.85
        await crew.live(chance.uniform(5, 60))
    assert crew.excess() <= 1 + len(crew.workers)
    assert len(crew.seen) > 20


async def test_one_that_is_cut_off_has_its_share_and_the_others_theirs(redis: str, opened: list[Crew]) -> None:
    crew = Crew(redis, 4)
    opened.append(crew)
    await crew.live(20)
    assert len(crew.seen) == 20
    crew.workers[3].reaches_redis = False
    await crew.live(ANNOUNCE_SECONDS + RETRY_SECONDS)
    crew.seen.clear()
    await crew.live(80)
    assert 70 <= len(crew.seen) <= 85
    crew.seen.clear()
    only = crew.workers[3:]
    crew.workers[3:] = []
    await crew.live(80)
    assert len(crew.seen) == pytest.approx(60, abs=8), "three of four shares"
    crew.workers[:] = [*crew.workers, *only]


async def test_a_pace_that_another_has_learned_is_shared_out_too(redis: str, opened: list[Crew]) -> None:
    crew = Crew(redis, 2)
    opened.append(crew)
    one, two = crew.workers
    await one._turns.back_off(TURN.key, NOW, NOW, pace_seconds=10.0)
    two.company = Peers(2, 1, NOW)
    assert await two._turns.acquire([TURN], NOW + 1) == NOW + 1
    assert await two._turns.acquire([TURN], NOW + 2) == pytest.approx(NOW + 21)
    held = Permit("host https://a.example", 1.0, 30.0)
    await one._turns.back_off(held.key, NOW, NOW, pace_seconds=10.0)
    await two._turns.acquire([held], NOW + 1)
    await two._turns.release([held], NOW + 2)
    assert await two._turns.acquire([held], NOW + 3) == pytest.approx(NOW + 22)


async def test_all_are_cut_off_and_go_on_slowly(redis: str, opened: list[Crew]) -> None:
    crew = Crew(redis, 3)
    opened.append(crew)
    for worker in crew.workers:
        worker.reaches_redis = False
    await crew.live(ANNOUNCE_SECONDS + RETRY_SECONDS)
    crew.seen.clear()
    await crew.live(60)
    assert len(crew.seen) == pytest.approx(60, abs=4)


async def test_who_reaches_neither_sends_nothing(redis: str, opened: list[Crew]) -> None:
    crew = Crew(redis, 2)
    opened.append(crew)
    lost = crew.workers.pop()
    other, crew.workers[:] = crew.workers[0], [lost]
    await crew.live(5)
    lost.reaches_redis = False
    lost.hears_database = False
    await crew.live(1)
    crew.seen.clear()
    await crew.live(120)
    assert crew.seen == []
    lost.hears_database = True
    await crew.live(30)
    assert 5 <= len(crew.seen) <= 15, "half the pace, once the other may know"
    crew.workers.append(other)
