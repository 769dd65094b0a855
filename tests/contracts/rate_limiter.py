"""The contract of every `RateLimiter`, a suite that each backend must pass: process, machine and Redis.

A backend's test file subclasses `RateLimiterContract` and provides a `limiter` fixture.
"""

from __future__ import annotations

import pytest

from tenax.hosts import Permit, RateLimiter

NOW = 1_750_000_000.0
HOST = Permit("host http://a.example", pace_seconds=2.0, busy_seconds=30.0)
ADDRESS = Permit("address 93.184.216.34", pace_seconds=0.1)


class RateLimiterContract:
    async def test_a_free_permit_is_taken_at_once(self, limiter: RateLimiter) -> None:
        assert await limiter.acquire([HOST, ADDRESS], NOW) == NOW

    async def test_a_permit_lasts_until_the_answer_and_is_free_a_pace_later(self, limiter: RateLimiter) -> None:
        await limiter.acquire([HOST], NOW)
        assert await limiter.acquire([HOST], NOW + 5) == pytest.approx(NOW + 7, abs=1e-5), "if it were answered now"
        assert await limiter.acquire([HOST], NOW + 29) == pytest.approx(NOW + 30, abs=1e-5), "in the end it is given up"
        await limiter.release([HOST], NOW + 7)
        assert await limiter.acquire([HOST], NOW + 8.9) == pytest.approx(NOW + 9, abs=1e-5)
        assert await limiter.acquire([HOST], NOW + 9.1) == NOW + 9.1

    @pytest.mark.parametrize("count", [1, 3, 40])
    async def test_many_end_together_each_at_its_own_time(self, limiter: RateLimiter, count: int) -> None:
        permits = [Permit(f"host http://{number}.example", 2.0, 30.0) for number in range(count)]
        for permit in permits:
            await limiter.acquire([permit], NOW)
        for number, permit in enumerate(permits):
            await limiter.release([permit], NOW + 3 + number / 10)
        await limiter.release([ADDRESS], NOW + 3)
        for number, permit in enumerate(permits):
            assert await limiter.acquire([permit], NOW + 4) == pytest.approx(NOW + 5 + number / 10, abs=1e-5)
        assert await limiter.acquire([ADDRESS], NOW + 4) == NOW + 4, "its end moves nothing"

    async def test_a_permit_that_nobody_releases_expires(self, limiter: RateLimiter) -> None:
        await limiter.acquire([HOST], NOW)
        assert await limiter.acquire([HOST], NOW + 29.9) > NOW + 29.9
        assert await limiter.acquire([HOST], NOW + 30.1) == NOW + 30.1

    async def test_who_comes_at_the_time_that_was_named_is_let_in_and_not_too_early(self, limiter: RateLimiter) -> None:
        now = NOW
        for pace in (0.1, 0.3, 1 / 3, 0.7, 2.0, 1e-3):
            permit = Permit("host http://b.example", pace)
            now = await limiter.acquire([permit], now)
            again_at = await limiter.acquire([permit], now)
            assert again_at >= now + pace
            assert await limiter.acquire([permit], again_at) == again_at
            now = again_at + 10

    async def test_starts_that_may_overlap_are_a_pace_apart(self, limiter: RateLimiter) -> None:
        await limiter.acquire([ADDRESS], NOW)
        assert await limiter.acquire([ADDRESS], NOW + 0.05) == pytest.approx(NOW + 0.1, abs=1e-5)
        await limiter.release([ADDRESS], NOW + 0.09)
        assert await limiter.acquire([ADDRESS], NOW + 0.11) == NOW + 0.11, "its end moves nothing"

    async def test_all_permits_or_none(self, limiter: RateLimiter) -> None:
        other = Permit("host http://b.example", 2.0, 30.0)
        slow = Permit(ADDRESS.key, 5.0)
        await limiter.acquire([HOST, slow], NOW)
        assert await limiter.acquire([other, slow], NOW + 1) == pytest.approx(NOW + 5, abs=1e-5)
        assert await limiter.acquire([other], NOW + 1) == NOW + 1, "it was not taken with the one that was not free"
        assert await limiter.acquire([HOST, slow], NOW + 1) == pytest.approx(NOW + 5, abs=1e-5), "the later of the two"

    async def test_without_a_pace_nobody_waits_and_nothing_is_kept(self, limiter: RateLimiter) -> None:
        free = Permit(HOST.key, 0.0, 30.0)
        assert await limiter.acquire([free], NOW) == NOW
        assert await limiter.acquire([free, Permit(ADDRESS.key, 0.0)], NOW) == NOW
        assert await limiter.acquire([HOST], NOW) == NOW
        await limiter.release([free], NOW)
        assert await limiter.acquire([HOST], NOW + 3) > NOW + 3
        assert await limiter.acquire([], NOW) == NOW

    async def test_an_answer_that_comes_too_late_lets_nobody_in_too_early(self, limiter: RateLimiter) -> None:
        await limiter.acquire([HOST], NOW)
        await limiter.acquire([HOST], NOW + 31)
        await limiter.release([HOST], NOW + 30.5)  # of the first request, which was abandoned
        assert await limiter.acquire([HOST], NOW + 32.6) == pytest.approx(NOW + 33, abs=1e-5)

    async def test_a_host_that_asked_to_be_left_alone_is_left_alone(self, limiter: RateLimiter) -> None:
        await limiter.acquire([HOST], NOW)
        await limiter.release([HOST], NOW + 1)
        await limiter.back_off(HOST.key, NOW + 46, NOW + 1)
        assert await limiter.acquire([HOST], NOW + 40) == pytest.approx(NOW + 46, abs=1e-5)
        assert await limiter.acquire([ADDRESS], NOW + 40) == NOW + 40
        assert await limiter.acquire([HOST], NOW + 46.1) == NOW + 46.1

    async def test_a_backoff_is_never_shortened(self, limiter: RateLimiter) -> None:
        await limiter.acquire([HOST], NOW)
        await limiter.back_off(HOST.key, NOW + 60, NOW + 1)
        await limiter.back_off(HOST.key, NOW + 20, NOW + 2)
        await limiter.release([HOST], NOW + 3)  # of another request, in flight all the time
        assert await limiter.acquire([HOST], NOW + 31) == pytest.approx(NOW + 60, abs=1e-5)

    async def test_a_backoff_needs_no_request_before_it(self, limiter: RateLimiter) -> None:
        await limiter.back_off(HOST.key, NOW + 60, NOW)
        assert await limiter.acquire([HOST, ADDRESS], NOW + 1) == pytest.approx(NOW + 60, abs=1e-5)

    async def test_our_own_pace_is_ours_to_change(self, limiter: RateLimiter) -> None:
        """It applies to others; our own newer pace has priority."""
        await limiter.back_off(HOST.key, NOW, NOW, pace_seconds=30.0)
        await limiter.acquire([HOST], NOW)
        await limiter.release([HOST], NOW + 1)
        assert await limiter.acquire([HOST], NOW + 3.1) == NOW + 3.1

    async def test_an_end_without_a_beginning_is_owed_its_pace_too(self, limiter: RateLimiter) -> None:
        await limiter.release([HOST], NOW)
        assert await limiter.acquire([HOST], NOW + 1) == pytest.approx(NOW + 2, abs=1e-5)
