from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.hosts.backoff import asked_seconds, in_words, is_resting, retry_delay_seconds, with_rest
from tests.hosts.history import HOST, NOW, host

FETCH = FetchConfig()


def test_a_rest_is_never_shortened() -> None:
    resting = with_rest(HOST, NOW + 30, "first")
    assert (resting.next_at, resting.resting_why) == (NOW + 30, "first")
    assert with_rest(resting, NOW + 10, "second") == resting
    assert with_rest(resting, NOW + 40, "third").resting_why == "third"


def test_a_pace_is_no_rest() -> None:
    assert not is_resting(host(next_at=NOW + 1), NOW)
    assert is_resting(host(next_at=NOW + 1, resting_why="down: …"), NOW)
    assert not is_resting(host(next_at=NOW, resting_why="down: …"), NOW)


def test_the_other_side_cannot_fill_the_record_with_words() -> None:
    assert len(with_rest(HOST, NOW, "x" * 100_000).resting_why) == 200


def test_waits_double_up_to_the_most_with_a_share_at_random() -> None:
    assert [retry_delay_seconds(attempt, FETCH, 0.0) for attempt in (0, 1, 2, 3, 4, 1000)] == [1, 2, 4, 8, 8, 8]
    assert retry_delay_seconds(0, FETCH, 1.0) == pytest.approx(1.2)
    assert retry_delay_seconds(9, FETCH, 0.5) == pytest.approx(8.8)


@pytest.mark.parametrize(("named", "obeyed"), [(None, 0), (7.0, 7), (1e9, 3600)])
def test_a_retry_after_is_obeyed_up_to_the_most(named: float | None, obeyed: float) -> None:
    assert asked_seconds(named, FETCH) == obeyed


@pytest.mark.parametrize(
    ("seconds", "words"), [(30, "30 s"), (60, "60 s"), (90, "90 s"), (120, "2 min"), (300, "5 min")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
