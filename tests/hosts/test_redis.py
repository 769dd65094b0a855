"""Hosts in Redis: the rate limiter contract, records that several workers change at once, and outages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from itertools import count

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenax.clock import ManualClock, SteadyClock
from tenax.config import PageFetcherConfig
from tenax.errors import ConfigError, ServerUnavailable
from tenax.hosts import Permit, RateLimiter
from tenax.hosts.limiter.process import ProcessRateLimiter
from tenax.hosts.redis import BestEffortRedis, Presence, RedisHosts, RedisRateLimiter, keys
from tenax.hosts.redis.limiter import SETTLE_SECONDS
from tenax.hosts.redis.sharing import COUNT_DELAY_SECONDS
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tenax.runtime.redis import CONNECTIONS, RETRY_SECONDS
from tenax.services.page_fetcher.redis_queue import RedisQueue
from tests import loops
from tests.contracts.hosts import updated_record
from tests.contracts.rate_limiter import RateLimiterContract
from tests.servers.redis import RedisServer

ORIGIN = "https://a.example"


async def as_ever(reach: BestEffortRedis) -> None:
    """A Redis that has been up for long: no request can be older than its recorded permits."""
    await reach.client.hset(keys.RATE_LIMITS_SINCE, mapping={"at": 0, "is_lost": 0})


@pytest.fixture
async def limiter(redis: str) -> AsyncIterator[RateLimiter]:
    reach = BestEffortRedis(redis, SteadyClock())
    await as_ever(reach)
    rate_limiter = RedisRateLimiter(reach, "one", lambda: 1)
    yield rate_limiter
    await rate_limiter.close()
    await reach.close()


class TestRedisRateLimiter(RateLimiterContract): ...


Step = tuple[str, int, float, float, float]
"""Action, permit, time passed, pace, busy seconds."""
_names = count(1)
_steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "end", "hold"]),
        st.integers(0, 2),
        st.floats(0.0, 5.0),
        st.sampled_from([0.1, 1.0, 2.5]),
        st.sampled_from([0.0, 3.0]),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_steps)
async def test_random_histories_give_the_same_answers_as_the_process_limiter(
    limiter: RateLimiter, steps: list[Step]
) -> None:
    local_limiter, prefix = ProcessRateLimiter(), f"host https://h{next(_names)}-"
    now = 1_750_000_000.0
    for what, which, later, pace, busy in steps:
        now += later
        permit = Permit(f"{prefix}{which}", pace, busy)
        if what == "take":
            assert await limiter.acquire([permit], now) == pytest.approx(
                await local_limiter.acquire([permit], now), abs=1e-5
            )
        elif what == "end":
            await limiter.release([permit], now)
            await local_limiter.release([permit], now)
        else:
            await limiter.back_off(permit.key, now + later, now)
            await local_limiter.back_off(permit.key, now + later, now)


# ---- several workers ----------------------------------------------------------------------------------------


async def test_a_pace_set_by_one_worker_is_kept_by_the_others(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    one, two = (RedisRateLimiter(reaches(redis), name, lambda: 2) for name in ("one", "two"))
    await as_ever(reaches(redis))
    permit, now = Permit(f"host {ORIGIN}", 1.0, 30.0), 1_750_000_000.0
    await one.back_off(permit.key, now, now, pace_seconds=10.0)
    assert await two.acquire([permit], now + 1) == now + 1
    await two.release([permit], now + 2)
    assert await two.acquire([permit], now + 5) == pytest.approx(now + 12, abs=1e-5)


async def test_keys_are_the_ones_that_neighbours_know(redis: str, reaches: Callable[[str], BestEffortRedis]) -> None:
    reach = reaches(redis)
    hosts, rate_limiter = RedisHosts(reach), RedisRateLimiter(reach, "worker-1", lambda: 1)
    robots = RobotsCopy(RobotsVerdict.RULES, 1.0, 2.0, "User-agent: *\nCrawl-delay: 3", 200)
    record = HostRecord(ORIGIN, "a.example")
    await hosts.acquire(record)
    await updated_record(hosts,
        ORIGIN,
        record,
        lambda host: msgspec.structs.replace(
            host, robots=robots, crawl_delay_seconds=3.0, breaker="half_open", failures_in_a_row=5, probes_passed=1,
            recent_failures=(7.5,),
        ),
    )  # fmt: skip
    await as_ever(reach)
    await rate_limiter.acquire(
        [Permit(f"host {ORIGIN}", 1.0, 30.0), Permit("address 93.184.216.34", 0.1)], 1_750_000_000.0
    )
    client = reach.client
    assert await client.hmget("circuit:a.example", "state", "failureCount", "successCount", "lastFailureAt") == [
        b"half-open", b"5", b"1", b"7500",
    ]  # fmt: skip
    assert await client.get("crawler:domain:a.example:robots") == robots.text.encode()
    assert await client.get("crawler:domain:a.example:delay") == b"3.0"
    assert await client.get("crawler:domain:a.example:lock") == b"worker-1"
    lives = {
        "circuit:a.example": 3600, "robots:a.example": 86_400, "crawler:domain:a.example:robots": 3600,
        "rate_limit:a.example": 60, "rate_limit:address:93.184.216.34": 60, "crawler:domain:a.example:lock": 30,
    }  # fmt: skip
    assert {name: await client.ttl(name) for name in lives} == pytest.approx(lives, abs=2)


async def test_workers_that_stop_are_counted_no_longer(redis: str, reaches: Callable[[str], BestEffortRedis]) -> None:
    reach, clock = reaches(redis), ManualClock()
    one, two = Presence(reach, "one", clock), Presence(reach, "two", clock)
    await one.send_heartbeat()
    two.add_counts(pages=3, failures=1, downloaded_bytes=500)
    await two.send_heartbeat("https://a.example/1")
    assert await reach.client.hget("crawler:worker:two", "currentUrl") == b"https://a.example/1"
    assert await reach.client.mget("crawler:stats:pages_crawled", "crawler:stats:bytes_downloaded") == [b"3", b"500"]
    assert 110 < await reach.client.ttl("crawler:worker:two") <= 120
    clock.advance(COUNT_DELAY_SECONDS)
    assert two.workers == 2
    await reach.client.delete("crawler:worker:one")  # as after two minutes without a heartbeat
    for _ in range(5):
        clock.advance(keys.HEARTBEAT_SECONDS)
        await two.send_heartbeat()
    assert two.workers == 1
    assert await reach.client.smembers("crawler:active_workers") == {b"two"}
    assert await reach.client.get("crawler:stats:pages_crawled") == b"3"
    await two.unregister()
    assert await reach.client.keys("crawler:*worker*") == []


async def test_how_many_work_is_not_said_before_the_others_know_of_us(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    clock = ManualClock()
    presence = Presence(reaches(redis), "one", clock)
    assert presence.workers == 0
    await presence.send_heartbeat()
    clock.advance(keys.HEARTBEAT_SECONDS)
    assert presence.workers == 0
    clock.advance(COUNT_DELAY_SECONDS - keys.HEARTBEAT_SECONDS)
    assert presence.workers == 1


async def test_workers_are_not_forgotten_with_a_flush(redis: str, reaches: Callable[[str], BestEffortRedis]) -> None:
    reach, clock = reaches(redis), ManualClock()
    workers_present = [Presence(reach, f"worker-{number}", clock) for number in range(3)]
    for one in workers_present:
        await one.send_heartbeat()
    clock.advance(COUNT_DELAY_SECONDS)
    await reach.client.flushall()
    await workers_present[2].send_heartbeat()
    assert workers_present[2].workers == 3


# ---- outages ------------------------------------------------------------------------------------------------


async def test_without_redis_permits_are_slower_and_never_too_early(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    permit = Permit(f"host {ORIGIN}", 2.0, 30.0)
    with RedisServer() as server:
        reach = BestEffortRedis(server.url, clock, call_seconds=60.0)
        rate_limiter = RedisRateLimiter(reach, "one", lambda: 3)
        await as_ever(reach)
        assert await rate_limiter.acquire([permit], clock.now()) == clock.now()
        await rate_limiter.release([permit], clock.now())
        server.kill()
        with caplog.at_level(logging.WARNING):
            clock.advance(2.0)
            went = clock.now()
            assert await rate_limiter.acquire([permit], went) >= went + 4.0, "three workers: a third of the pace"
            other_permit = Permit("host https://b.example", 2.0, 30.0)
            assert await rate_limiter.acquire([other_permit], went) == pytest.approx(went + 6.0), (
                "who asked it last, nobody knows"
            )
            clock.advance(6.0)
            assert await rate_limiter.acquire([other_permit], clock.now()) == clock.now()
            assert await rate_limiter.acquire([other_permit], clock.now()) > clock.now()
        assert caplog.text.count("Redis unavailable, using slower local rate limits") == 1
        server.start()
        clock.advance(RETRY_SECONDS)
        await rate_limiter.acquire([other_permit], clock.now())
        assert not reach.is_unavailable
        await as_ever(reach)  # like one with persistence
        late = Permit("host https://c.example", 2.0, 30.0)
        assert await rate_limiter.acquire([late], clock.now()) == clock.now()
        await rate_limiter.release([late], clock.now())
        clock.advance(2.5)
        assert await rate_limiter.acquire([late], clock.now()) > clock.now(), (
            "not everyone may know yet that it is back"
        )
        clock.advance(SETTLE_SECONDS)
        assert await rate_limiter.acquire([late], clock.now()) == clock.now()
        await rate_limiter.release([late], clock.now())
        clock.advance(2.0)
        assert await rate_limiter.acquire([late], clock.now()) == clock.now(), "at the pace they share"
        await reach.close()


async def test_a_worker_that_does_not_know_the_number_of_workers_gives_out_no_permits() -> None:
    clock = ManualClock()
    reach = BestEffortRedis("redis://127.0.0.1:1", clock, call_seconds=60.0)
    rate_limiter, permit = RedisRateLimiter(reach, "one", lambda: 0), Permit(f"host {ORIGIN}", 1.0, 30.0)
    for _ in range(10):
        assert await rate_limiter.acquire([permit], clock.now()) > clock.now()
        clock.advance(5.0)
    await reach.close()


async def test_nobody_waits_for_a_redis_that_says_nothing() -> None:
    """After some failures only one of many calls probes it; the others return at once."""
    clock, taken = ManualClock(), asyncio.Event()
    connections: list[asyncio.StreamWriter] = []

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        taken.set()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        reach = BestEffortRedis(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", clock, call_seconds=30.0)

        async def all_at_once() -> list[object]:
            return await asyncio.gather(*(reach.call(lambda redis: redis.ping()) for _ in range(64)))

        assert await loops.outlasted(all_at_once(), 30.0, taken.is_set) == [None] * 64
        clock.advance(RETRY_SECONDS)
        taken.clear()
        trying = asyncio.ensure_future(reach.call(lambda redis: redis.ping()))
        await taken.wait()
        before = len(connections)
        for _ in range(1000):
            assert await reach.call(lambda redis: redis.ping()) is None
        assert not trying.done()
        await loops.rounds()
        loops.turn(30.0)
        assert await trying is None
        assert len(connections) == before
        await reach.close()
        for writer in connections:
            writer.transport.abort()


async def test_after_a_flush_nobody_is_too_early(redis: str, reaches: Callable[[str], BestEffortRedis]) -> None:
    """The latest requests are lost, and may still be in flight."""
    one, two, new = (RedisRateLimiter(reaches(redis), name, lambda: 3) for name in ("one", "two", "new"))
    host, address = Permit(f"host {ORIGIN}", 1.0, 30.0), Permit("address 93.184.216.34", 0.5)
    now, client = 1_750_000_000.0, reaches(redis).client
    assert await one.acquire([host, address], now) == now + 1.0, "a Redis that knows nothing may have been flushed"
    assert await one.acquire([address], now + 0.5) == now + 0.5
    assert await one.acquire([host], now + 1.0) == now + 1.0
    await client.flushall()
    assert await two.acquire([host], now + 1.1) == pytest.approx(now + 2.1, abs=1e-5), "two asks for the first time"
    await client.flushall()
    assert await one.acquire([Permit("host https://b.example", 1.0, 30.0)], now + 1.3) == pytest.approx(
        now + 32.3, abs=1e-5
    )
    assert await new.acquire([host], now + 2.4) == pytest.approx(now + 32.3, abs=1e-5)
    assert await new.acquire([address], now + 1.4) == pytest.approx(now + 1.8, abs=1e-5)
    await one.release([host], now + 3.0)
    assert await new.acquire([host], now + 4.5) == pytest.approx(now + 32.3, abs=1e-5)
    assert await new.acquire([host], now + 32.4) == now + 32.4


async def test_more_calls_than_connections_wait_for_each_other(
    redis: str, reaches: Callable[[str], BestEffortRedis]
) -> None:
    reach = reaches(redis)
    rate_limiter = RedisRateLimiter(reach, "one", lambda: 4)
    await as_ever(reach)
    taken = await asyncio.gather(
        *(
            rate_limiter.acquire([Permit(f"host https://{number}.example", 1.0)], 1000.0)
            for number in range(CONNECTIONS * 4)
        )
    )
    assert set(taken) == {1000.0}
    assert not reach.is_unavailable


async def test_of_what_the_server_says_the_time_is_the_quickest_answer_counts(redis: str) -> None:
    clock = SlowOnce()
    reach = await BestEffortRedis.open(redis, clock)
    clock.slow_down()
    assert await reach.clock_offset_seconds() == pytest.approx(-SlowOnce.SECONDS, abs=SlowOnce.SECONDS / 2)
    await reach.close()


class SlowOnce(SteadyClock):
    """A clock that makes the next answer seem slow."""

    SECONDS = 5.0

    def __init__(self) -> None:
        super().__init__()
        self._readings: int | None = None

    def slow_down(self) -> None:
        self._readings = 0

    def now(self) -> float:
        if self._readings is None:
            return super().now()
        self._readings += 1
        return super().now() + (self.SECONDS if self._readings > 1 else 0.0)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1", "is not the address of a Redis"),
        ("redis://:secret@127.0.0.1:1", "does not answer"),
    ],
)
async def test_a_redis_that_cannot_be_is_one_clear_line(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as raised:
        await BestEffortRedis.open(url, ManualClock())
    assert "secret" not in str(raised.value)
    assert isinstance(raised.value, ServerUnavailable) is (says == "does not answer"), (
        "only that may be cured by waiting"
    )


async def test_another_program_is_not_waited_for() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ConfigError, match="is not Redis; check the address") as raised:
            await BestEffortRedis.open(url, ManualClock())
        with pytest.raises(ConfigError, match="Protocol") as refused:
            await RedisQueue.open(PageFetcherConfig(redis_url=url), "me")
    assert not isinstance(raised.value, ServerUnavailable) and not isinstance(refused.value, ServerUnavailable)


async def test_a_wrong_password_is_one_clear_line() -> None:
    with RedisServer("--requirepass", "right") as server:
        for url in (server.url, server.url.replace("redis://", "redis://:wrong@")):
            with pytest.raises(ConfigError, match=r"does not know this user and password|refuses us") as raised:
                await BestEffortRedis.open(url, ManualClock())
            assert "wrong@" not in str(raised.value)
