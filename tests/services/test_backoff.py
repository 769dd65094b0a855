"""Hosts that back off: until when, and which of them are probed then."""

from __future__ import annotations

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.backoff import MAX_HOSTS, MIN_BACKOFF_SECONDS, PROBE_RETRY_SECONDS, HostBackoffs

NOW = 1_750_000_000.0
A = "http://a.example"


def resting(seconds: float, breaker: str = "closed", origin: str = A) -> HostRecord:
    record = HostRecord(origin=origin, domain="", next_at=NOW + seconds, backoff_reason="because")
    return msgspec.structs.replace(record, breaker=breaker)


def test_a_short_rest_and_a_mere_pace_are_none() -> None:
    rests = HostBackoffs()
    assert not rests.update_host(resting(MIN_BACKOFF_SECONDS - 1), NOW)
    assert not rests.update_host(msgspec.structs.replace(resting(3600), backoff_reason=""), NOW), (
        "a slow pace is no rest"
    )
    assert A not in rests
    assert rests.next_end_at() is None


def test_a_rest_ends_by_itself() -> None:
    rests = HostBackoffs()
    assert rests.update_host(resting(45), NOW)
    assert A in rests
    assert rests.next_end_at() == NOW + 45
    assert rests.pop_due_probes(NOW + 44) == []
    assert A in rests
    assert rests.pop_due_probes(NOW + 45) == []
    assert A not in rests


def test_a_host_that_was_down_stays_until_a_probe_has_passed() -> None:
    rests = HostBackoffs()
    rests.update_host(resting(30, "open"), NOW)
    [record] = rests.pop_due_probes(NOW + 30)
    assert record.origin == A
    assert A in rests, "nobody asks it for a page meanwhile"
    assert rests.pop_due_probes(NOW + 31) == [], "and it is probed once"
    assert rests.update_host(resting(90, "open"), NOW + 30, is_probed=True)
    assert rests.next_end_at() == NOW + 90
    assert not rests.update_host(HostRecord(origin=A, domain=""), NOW + 90, is_probed=True)
    assert A not in rests


def test_a_probe_that_could_not_be_sent_is_tried_again() -> None:
    rests = HostBackoffs()
    rests.update_host(resting(30, "open"), NOW)
    [record] = rests.pop_due_probes(NOW + 30)
    rests.update_host(record, NOW + 30, is_probed=True)
    assert rests.next_end_at() == NOW + 30 + PROBE_RETRY_SECONDS
    assert len(rests.pop_due_probes(NOW + 30 + PROBE_RETRY_SECONDS)) == 1


def test_a_longer_rest_replaces_the_shorter_one() -> None:
    rests = HostBackoffs()
    rests.update_host(resting(30), NOW)
    rests.update_host(resting(60), NOW)
    assert rests.pop_due_probes(NOW + 30) == []
    assert A in rests
    assert rests.next_end_at() == NOW + 60


def test_only_so_many_are_remembered() -> None:
    rests = HostBackoffs()
    for number in range(MAX_HOSTS):
        rests.update_host(resting(60, origin=f"http://{number}.example"), NOW)
    assert rests.update_host(resting(60), NOW), "it rests, though"
    assert A not in rests
