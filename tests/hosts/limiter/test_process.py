from __future__ import annotations

import pytest

from tenax.hosts import Permit, RateLimiter
from tenax.hosts.limiter.process import ProcessRateLimiter
from tests.contracts.rate_limiter import NOW, RateLimiterContract


@pytest.fixture
def limiter() -> RateLimiter:
    return ProcessRateLimiter()


class TestProcessRateLimiter(RateLimiterContract): ...


async def test_what_has_passed_is_forgotten() -> None:
    rate_limiter = ProcessRateLimiter()
    for number in range(1000):
        await rate_limiter.acquire([Permit(f"host http://{number}.example", 1.0)], NOW + number / 10)
    assert len(rate_limiter) <= 11


async def test_when_it_is_full_new_hosts_wait_and_nobody_is_forgotten() -> None:
    rate_limiter = ProcessRateLimiter(max_entries=10)
    hosts = [Permit(f"host http://{number}.example", 5.0 + number) for number in range(11)]
    for host in hosts[:10]:
        assert await rate_limiter.acquire([host], NOW) == NOW
    assert await rate_limiter.acquire([hosts[10]], NOW + 1) == NOW + 5.0, "when the first of them is free"
    assert all([await rate_limiter.acquire([host], NOW + 1) > NOW + 1 for host in hosts[:10]])
    assert await rate_limiter.acquire([hosts[10]], NOW + 5.0) == NOW + 5.0


async def test_permits_released_at_once_do_not_pile_up() -> None:
    rate_limiter = ProcessRateLimiter(max_entries=500)
    host = Permit("host http://a.example", 0.1, 30.0)
    now = NOW
    for _ in range(2000):
        assert await rate_limiter.acquire([host], now) == now
        await rate_limiter.release([host], now)
        now += 0.2
