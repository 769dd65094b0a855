from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.hosts.throttle import allowed_retry_after, format_seconds, is_backing_off, retry_delay_seconds, start_backoff
from tests.hosts.history import HOST, NOW, host

FETCH = FetchConfig()


def test_a_backoff_is_never_shortened() -> None:
    backing_off = start_backoff(HOST, NOW + 30, "first")
    assert (backing_off.next_at, backing_off.backoff_reason) == (NOW + 30, "first")
    assert start_backoff(backing_off, NOW + 10, "second") == backing_off
    assert start_backoff(backing_off, NOW + 40, "third").backoff_reason == "third"


def test_a_pace_is_not_a_backoff() -> None:
    assert not is_backing_off(host(next_at=NOW + 1), NOW)
    assert is_backing_off(host(next_at=NOW + 1, backoff_reason="down: …"), NOW)
    assert not is_backing_off(host(next_at=NOW, backoff_reason="down: …"), NOW)


def test_the_other_side_cannot_fill_the_record_with_words() -> None:
    assert len(start_backoff(HOST, NOW, "x" * 100_000).backoff_reason) == 200


def test_waits_double_up_to_the_most_with_a_share_at_random() -> None:
    assert [retry_delay_seconds(attempt, FETCH, 0.0) for attempt in (0, 1, 2, 3, 4, 1000)] == [1, 2, 4, 8, 8, 8]
    assert retry_delay_seconds(0, FETCH, 1.0) == pytest.approx(1.2)
    assert retry_delay_seconds(9, FETCH, 0.5) == pytest.approx(8.8)


@pytest.mark.parametrize(("named", "obeyed"), [(None, 0), (7.0, 7), (1e9, 3600)])
def test_a_retry_after_is_obeyed_up_to_the_most(named: float | None, obeyed: float) -> None:
    assert allowed_retry_after(named, FETCH) == obeyed


@pytest.mark.parametrize(
    ("seconds", "words"), [(30, "30 s"), (60, "60 s"), (90, "90 s"), (120, "2 min"), (300, "5 min")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words
