"""Redis out of reach of some workers and not of others: together they keep the pace, whatever each of them knows."""

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
from tenax.model import Peers
from tenax.runtime.redis import CALL_SECONDS, RETRY_SECONDS

NOW = 1_750_000_000.0
TURN = Permit("address 93.184.216.34", pace_seconds=1.0)
STEP_SECONDS = 0.25


# ---- the shares -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peers", "slower"),
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
def test_who_reaches_redis_leaves_the_others_their_share(peers: Peers | None, slower: float) -> None:
    assert connected_pace_factor(peers, NOW) == pytest.approx(slower)


@pytest.mark.parametrize(
    ("seen", "peers", "slower"),
    [
        (0, None, 0),
        (3, None, 3),
        (3, Peers(2, 0, NOW), 3),
        (3, Peers(5, 0, NOW), 5),
        (0, Peers(5, 0, NOW), 0),
    ],
)
def test_who_is_cut_off_reckons_with_all_that_anyone_knows_of(seen: int, peers: Peers | None, slower: int) -> None:
    assert isolated_pace_factor(seen, peers) == slower


@pytest.mark.parametrize(
    ("peers", "at"),
    [
        (None, float("-inf")),
        (Peers(4, 0, NOW), float("inf")),
        (Peers(4, 0, NOW, reported_at=NOW - 3), NOW - 3 + ANNOUNCE_SECONDS),
        (Peers(4, 0, NOW - PEERS_TTL_SECONDS - 0.1, reported_at=NOW - 100), float("inf")),
    ],
)
def test_who_is_cut_off_goes_alone_when_the_others_know(peers: Peers | None, at: float) -> None:
    assert isolated_start_at(peers, NOW) == at


def test_no_worker_uses_a_state_older_than_an_announcement() -> None:
    assert ANNOUNCE_SECONDS > PEERS_TTL_SECONDS + CALL_SECONDS


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_all_shares_together_are_one(workers: int) -> None:
    for cut_off in range(workers):
        reaching = 1 / connected_pace_factor(Peers(workers, cut_off, NOW), NOW)
        assert reaching + cut_off / isolated_pace_factor(workers, Peers(workers, cut_off, NOW)) == pytest.approx(1.0)


# ---- permits --------------------------------------------------------------------------------------------------


class Notices:
    """The content of the table of workers, without its database."""

    def __init__(self, workers: int) -> None:
        self.says = [False] * workers

    def meet(self, me: int, is_cut_off: bool, before: Peers, now: float) -> Peers:
        reported_at = before.reported_at if self.says[me] and is_cut_off else None
        if is_cut_off and reported_at is None:
            reported_at = now
        self.says[me] = is_cut_off
        return Peers(len(self.says), sum(self.says) - is_cut_off, now, reported_at)


class Worker:
    """One of several, each with its own connections to Redis and to the database."""

    def __init__(self, url: str, number: int, group: int, clock: ManualClock, notices: Notices) -> None:
        self._reach = BestEffortRedis(url, clock, call_seconds=30.0)
        self._there, self._nowhere = self._reach.client, Redis.from_url("redis://127.0.0.1:1")
        self._limiter = RedisRateLimiter(self._reach, f"worker-{number}", lambda: group, lambda: self.peers)
        self._number = number
        self._clock = clock
        self._notices = notices
        self.peers = Peers(group, 0, clock.now())
        self.hears_database = True
        self.tries_at = 0.0

    @property
    def reaches_redis(self) -> bool:
        return self._reach.client is self._there

    @reaches_redis.setter
    def reaches_redis(self, is_so: bool) -> None:
        self._reach.client = self._there if is_so else self._nowhere

    def heartbeat(self) -> None:
        if self.hears_database:
            now = self._clock.now()
            self.peers = self._notices.meet(self._number, self._reach.is_unavailable, self.peers, now)

    async def goes(self) -> bool:
        """Whether it sends a request now; retries at the returned time."""
        now = self._clock.now()
        if now < self.tries_at:
            return False
        self.tries_at = await self._limiter.acquire([TURN], now)
        return self.tries_at == now

    async def close(self) -> None:
        await self._nowhere.aclose()
        self._reach.client = self._there
        await self._reach.close()


class WorkerGroup:
    """Workers, the clock they agree on, and when the server saw a request."""

    def __init__(self, url: str, count: int) -> None:
        self.clock = ManualClock(NOW)
        notices = Notices(count)
        self.workers = [Worker(url, number, count, self.clock, notices) for number in range(count)]
        self.seen: list[float] = []

    async def live(self, seconds: float) -> None:
        """Each reads the database every second, and requests a permit as soon as it may."""
        for step in range(int(seconds / STEP_SECONDS)):
            self.clock.advance(STEP_SECONDS)
            for number, worker in enumerate(self.workers):
                if step % 4 == number % 4:
                    worker.heartbeat()
                if await worker.goes():
                    self.seen.append(self.clock.now())

    def excess(self) -> float:
        """How many requests more than the pace allows there were at the worst moment."""
        pairs = ((last - first + 1, self.seen[last] - at) for first, at in enumerate(self.seen)
                 for last in range(first, len(self.seen)))  # fmt: skip
        return max((count - seconds / TURN.pace_seconds for count, seconds in pairs), default=0.0)

    async def close(self) -> None:
        for worker in self.workers:
            await worker.close()


@pytest.fixture
async def opened(redis: str) -> AsyncIterator[list[WorkerGroup]]:
    client = Redis.from_url(redis)
    await client.hset(keys.RATE_LIMITS_SINCE, mapping={"at": 0, "is_lost": 0})
    await client.aclose()
    groups: list[WorkerGroup] = []
    yield groups
    for group in groups:
        await group.close()


@pytest.mark.parametrize("seed", range(40))
async def test_whoever_reaches_redis_the_server_sees_one_pace(redis: str, opened: list[WorkerGroup], seed: int) -> None:
    chance = random.Random(seed)
    group = WorkerGroup(redis, chance.randint(2, 4))
    opened.append(group)
    for _ in range(5):
        for worker in group.workers:
            worker.reaches_redis = chance.random() < 0.6
            worker.hears_database = chance.random() < 0.85
        await group.live(chance.uniform(5, 60))
    assert group.excess() <= 1 + len(group.workers)
    assert len(group.seen) > 20


async def test_one_that_is_cut_off_has_its_share_and_the_others_theirs(redis: str, opened: list[WorkerGroup]) -> None:
    group = WorkerGroup(redis, 4)
    opened.append(group)
    await group.live(20)
    assert len(group.seen) == 20
    group.workers[3].reaches_redis = False
    await group.live(ANNOUNCE_SECONDS + RETRY_SECONDS)
    group.seen.clear()
    await group.live(80)
    assert 70 <= len(group.seen) <= 85
    group.seen.clear()
    only = group.workers[3:]
    group.workers[3:] = []
    await group.live(80)
    assert len(group.seen) == pytest.approx(60, abs=8), "three of four shares"
    group.workers[:] = [*group.workers, *only]


async def test_a_pace_set_by_another_worker_is_shared_out_too(redis: str, opened: list[WorkerGroup]) -> None:
    group = WorkerGroup(redis, 2)
    opened.append(group)
    one, two = group.workers
    await one._limiter.back_off(TURN.key, NOW, NOW, pace_seconds=10.0)
    two.peers = Peers(2, 1, NOW)
    assert await two._limiter.acquire([TURN], NOW + 1) == NOW + 1
    assert await two._limiter.acquire([TURN], NOW + 2) == pytest.approx(NOW + 21)
    permit = Permit("host https://a.example", 1.0, 30.0)
    await one._limiter.back_off(permit.key, NOW, NOW, pace_seconds=10.0)
    await two._limiter.acquire([permit], NOW + 1)
    await two._limiter.release([permit], NOW + 2)
    assert await two._limiter.acquire([permit], NOW + 3) == pytest.approx(NOW + 22)


async def test_all_are_cut_off_and_go_on_slowly(redis: str, opened: list[WorkerGroup]) -> None:
    group = WorkerGroup(redis, 3)
    opened.append(group)
    for worker in group.workers:
        worker.reaches_redis = False
    await group.live(ANNOUNCE_SECONDS + RETRY_SECONDS)
    group.seen.clear()
    await group.live(60)
    assert len(group.seen) == pytest.approx(60, abs=4)


async def test_who_reaches_neither_sends_nothing(redis: str, opened: list[WorkerGroup]) -> None:
    group = WorkerGroup(redis, 2)
    opened.append(group)
    lost = group.workers.pop()
    other, group.workers[:] = group.workers[0], [lost]
    await group.live(5)
    lost.reaches_redis = False
    lost.hears_database = False
    await group.live(1)
    group.seen.clear()
    await group.live(120)
    assert group.seen == []
    lost.hears_database = True
    await group.live(30)
    assert 5 <= len(group.seen) <= 15, "half the pace, once the other may know"
    group.workers.append(other)
