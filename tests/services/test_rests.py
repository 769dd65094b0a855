"""Hosts left alone: until when, and which of them are to be probed then."""

from __future__ import annotations

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.backoff import AGAIN_SECONDS, MOST, PATIENCE_SECONDS, Rests

NOW = 1_750_000_000.0
A = "http://a.example"


def resting(seconds: float, breaker: str = "closed", origin: str = A) -> HostRecord:
    record = HostRecord(origin=origin, domain="", next_at=NOW + seconds, resting_why="because")
    return msgspec.structs.replace(record, breaker=breaker)


def test_a_short_rest_and_a_mere_pace_are_none() -> None:
    rests = Rests()
    assert not rests.note(resting(PATIENCE_SECONDS - 1), NOW)
    assert not rests.note(msgspec.structs.replace(resting(3600), resting_why=""), NOW), "a slow pace is no rest"
    assert A not in rests
    assert rests.next_end() is None


def test_a_rest_ends_by_itself() -> None:
    rests = Rests()
    assert rests.note(resting(45), NOW)
    assert A in rests
    assert rests.next_end() == NOW + 45
    assert rests.ended(NOW + 44) == []
    assert A in rests
    assert rests.ended(NOW + 45) == []
    assert A not in rests


def test_a_host_that_was_down_stays_until_a_probe_has_passed() -> None:
    rests = Rests()
    rests.note(resting(30, "open"), NOW)
    [record] = rests.ended(NOW + 30)
    assert record.origin == A
    assert A in rests, "nobody asks it for a page meanwhile"
    assert rests.ended(NOW + 31) == [], "and it is probed once"
    assert rests.note(resting(90, "open"), NOW + 30, is_probed=True)
    assert rests.next_end() == NOW + 90
    assert not rests.note(HostRecord(origin=A, domain=""), NOW + 90, is_probed=True)
    assert A not in rests


def test_a_probe_that_could_not_be_sent_is_tried_again() -> None:
    rests = Rests()
    rests.note(resting(30, "open"), NOW)
    [record] = rests.ended(NOW + 30)
    rests.note(record, NOW + 30, is_probed=True)
    assert rests.next_end() == NOW + 30 + AGAIN_SECONDS
    assert len(rests.ended(NOW + 30 + AGAIN_SECONDS)) == 1


def test_a_longer_rest_replaces_the_shorter_one() -> None:
    rests = Rests()
    rests.note(resting(30), NOW)
    rests.note(resting(60), NOW)
    assert rests.ended(NOW + 30) == []
    assert A in rests
    assert rests.next_end() == NOW + 60


def test_only_so_many_are_remembered() -> None:
    rests = Rests()
    for number in range(MOST):
        rests.note(resting(60, origin=f"http://{number}.example"), NOW)
    assert rests.note(resting(60), NOW), "it rests, though"
    assert A not in rests
