"""What every `RateLimiter` promises, as a suite that any backend must pass.

A backend's test file subclasses `TurnsContract` and gives it a `turns` fixture.
"""

from __future__ import annotations

import pytest

from tenax.hosts import Permit, RateLimiter

NOW = 1_750_000_000.0
HOST = Permit("host http://a.example", pace_seconds=2.0, busy_seconds=30.0)
ADDRESS = Permit("address 93.184.216.34", pace_seconds=0.1)


class TurnsContract:
    def test_a_turn_that_is_free_is_taken_at_once(self, turns: RateLimiter) -> None:
        assert turns.acquire([HOST, ADDRESS], NOW) == NOW

    def test_a_turn_is_held_until_the_answer_and_free_a_pace_later(self, turns: RateLimiter) -> None:
        turns.acquire([HOST], NOW)
        assert turns.acquire([HOST], NOW + 5) == pytest.approx(NOW + 7, abs=1e-5), "if it were answered now"
        assert turns.acquire([HOST], NOW + 29) == pytest.approx(NOW + 30, abs=1e-5), "in the end it is given up"
        turns.release([HOST], NOW + 7)
        assert turns.acquire([HOST], NOW + 8.9) == pytest.approx(NOW + 9, abs=1e-5)
        assert turns.acquire([HOST], NOW + 9.1) == NOW + 9.1

    @pytest.mark.parametrize("count", [1, 3, 40])
    def test_many_end_together_each_at_its_own_time(self, turns: RateLimiter, count: int) -> None:
        held = [Permit(f"host http://{number}.example", 2.0, 30.0) for number in range(count)]
        for permit in held:
            turns.acquire([permit], NOW)
        turns.release_all(
            [*((permit, NOW + 3 + number / 10) for number, permit in enumerate(held)), (ADDRESS, NOW + 3)]
        )
        for number, permit in enumerate(held):
            assert turns.acquire([permit], NOW + 4) == pytest.approx(NOW + 5 + number / 10, abs=1e-5)
        assert turns.acquire([ADDRESS], NOW + 4) == NOW + 4, "its end moves nothing"

    def test_a_turn_that_nobody_ends_is_free_after_its_longest_time(self, turns: RateLimiter) -> None:
        turns.acquire([HOST], NOW)
        assert turns.acquire([HOST], NOW + 29.9) > NOW + 29.9
        assert turns.acquire([HOST], NOW + 30.1) == NOW + 30.1

    def test_who_comes_at_the_time_that_was_named_is_let_in_and_not_too_early(self, turns: RateLimiter) -> None:
        now = NOW
        for pace in (0.1, 0.3, 1 / 3, 0.7, 2.0, 1e-3):
            permit = Permit("host http://b.example", pace)
            now = turns.acquire([permit], now)
            again_at = turns.acquire([permit], now)
            assert again_at >= now + pace
            assert turns.acquire([permit], again_at) == again_at
            now = again_at + 10

    def test_starts_that_may_overlap_are_a_pace_apart(self, turns: RateLimiter) -> None:
        turns.acquire([ADDRESS], NOW)
        assert turns.acquire([ADDRESS], NOW + 0.05) == pytest.approx(NOW + 0.1, abs=1e-5)
        turns.release([ADDRESS], NOW + 0.09)
        assert turns.acquire([ADDRESS], NOW + 0.11) == NOW + 0.11, "its end moves nothing"

    def test_all_turns_or_none(self, turns: RateLimiter) -> None:
        other = Permit("host http://b.example", 2.0, 30.0)
        slow = Permit(ADDRESS.key, 5.0)
        turns.acquire([HOST, slow], NOW)
        assert turns.acquire([other, slow], NOW + 1) == pytest.approx(NOW + 5, abs=1e-5)
        assert turns.acquire([other], NOW + 1) == NOW + 1, "it was not taken with the one that was not free"
        assert turns.acquire([HOST, slow], NOW + 1) == pytest.approx(NOW + 5, abs=1e-5), "the later of the two"

    def test_without_a_pace_nobody_waits_and_nothing_is_kept(self, turns: RateLimiter) -> None:
        free = Permit(HOST.key, 0.0, 30.0)
        assert turns.acquire([free], NOW) == NOW
        assert turns.acquire([free, Permit(ADDRESS.key, 0.0)], NOW) == NOW
        assert turns.acquire([HOST], NOW) == NOW
        turns.release([free], NOW)
        assert turns.acquire([HOST], NOW + 3) > NOW + 3
        assert turns.acquire([], NOW) == NOW

    def test_an_answer_that_comes_too_late_lets_nobody_in_too_early(self, turns: RateLimiter) -> None:
        turns.acquire([HOST], NOW)
        turns.acquire([HOST], NOW + 31)
        turns.release([HOST], NOW + 30.5)  # the first request's, which was given up
        assert turns.acquire([HOST], NOW + 32.6) == pytest.approx(NOW + 33, abs=1e-5)

    def test_a_host_that_asked_to_be_left_alone_is_left_alone(self, turns: RateLimiter) -> None:
        turns.acquire([HOST], NOW)
        turns.release([HOST], NOW + 1)
        turns.back_off(HOST.key, NOW + 46, NOW + 1)
        assert turns.acquire([HOST], NOW + 40) == pytest.approx(NOW + 46, abs=1e-5)
        assert turns.acquire([ADDRESS], NOW + 40) == NOW + 40
        assert turns.acquire([HOST], NOW + 46.1) == NOW + 46.1

    def test_a_rest_is_never_shortened(self, turns: RateLimiter) -> None:
        turns.acquire([HOST], NOW)
        turns.back_off(HOST.key, NOW + 60, NOW + 1)
        turns.back_off(HOST.key, NOW + 20, NOW + 2)
        turns.release([HOST], NOW + 3)  # another request, that was in flight all the while
        assert turns.acquire([HOST], NOW + 31) == pytest.approx(NOW + 60, abs=1e-5)

    def test_a_rest_needs_no_request_before_it(self, turns: RateLimiter) -> None:
        turns.back_off(HOST.key, NOW + 60, NOW)
        assert turns.acquire([HOST, ADDRESS], NOW + 1) == pytest.approx(NOW + 60, abs=1e-5)

    def test_our_own_pace_is_ours_to_change(self, turns: RateLimiter) -> None:
        """It is told to others; it does not come back to us when we know better."""
        turns.back_off(HOST.key, NOW, NOW, pace_seconds=30.0)
        turns.acquire([HOST], NOW)
        turns.release([HOST], NOW + 1)
        assert turns.acquire([HOST], NOW + 3.1) == NOW + 3.1

    def test_an_end_without_a_beginning_is_owed_its_pace_too(self, turns: RateLimiter) -> None:
        turns.release([HOST], NOW)
        assert turns.acquire([HOST], NOW + 1) == pytest.approx(NOW + 2, abs=1e-5)
