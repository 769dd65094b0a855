"""Hosts that back off: until when, and which of them are probed then."""

from __future__ import annotations

import msgspec

from tenax.model import HostRecord
from tenax.services.page_fetcher.host_queue import MAX_HOSTS, MIN_BACKOFF_SECONDS, PROBE_RETRY_SECONDS, HostBackoffs

NOW = 1_750_000_000.0
A = "http://a.example"


def backing_off(seconds: float, breaker: str = "closed", origin: str = A) -> HostRecord:
    record = HostRecord(origin=origin, domain="", next_at=NOW + seconds, backoff_reason="because")
    return msgspec.structs.replace(record, breaker=breaker)


def test_a_short_backoff_and_a_rate_limit_do_not_count() -> None:
    backoffs = HostBackoffs()
    assert not backoffs.update_host(backing_off(MIN_BACKOFF_SECONDS - 1), NOW)
    assert not backoffs.update_host(msgspec.structs.replace(backing_off(3600), backoff_reason=""), NOW), (
        "a rate limit is no backoff"
    )
    assert A not in backoffs
    assert backoffs.next_end_at() is None


def test_a_backoff_ends_by_itself() -> None:
    backoffs = HostBackoffs()
    assert backoffs.update_host(backing_off(45), NOW)
    assert A in backoffs
    assert backoffs.next_end_at() == NOW + 45
    assert backoffs.pop_due_probes(NOW + 44) == []
    assert A in backoffs
    assert backoffs.pop_due_probes(NOW + 45) == []
    assert A not in backoffs


def test_a_host_that_was_down_stays_until_a_probe_has_passed() -> None:
    backoffs = HostBackoffs()
    backoffs.update_host(backing_off(30, "open"), NOW)
    [record] = backoffs.pop_due_probes(NOW + 30)
    assert record.origin == A
    assert A in backoffs, "nobody asks it for a page meanwhile"
    assert backoffs.pop_due_probes(NOW + 31) == [], "and it is probed once"
    assert backoffs.update_host(backing_off(90, "open"), NOW + 30, is_probed=True)
    assert backoffs.next_end_at() == NOW + 90
    assert not backoffs.update_host(HostRecord(origin=A, domain=""), NOW + 90, is_probed=True)
    assert A not in backoffs


def test_a_probe_that_could_not_be_sent_is_tried_again() -> None:
    backoffs = HostBackoffs()
    backoffs.update_host(backing_off(30, "open"), NOW)
    [record] = backoffs.pop_due_probes(NOW + 30)
    backoffs.update_host(record, NOW + 30, is_probed=True)
    assert backoffs.next_end_at() == NOW + 30 + PROBE_RETRY_SECONDS
    assert len(backoffs.pop_due_probes(NOW + 30 + PROBE_RETRY_SECONDS)) == 1


def test_a_longer_backoff_replaces_the_shorter_one() -> None:
    backoffs = HostBackoffs()
    backoffs.update_host(backing_off(30), NOW)
    backoffs.update_host(backing_off(60), NOW)
    assert backoffs.pop_due_probes(NOW + 30) == []
    assert A in backoffs
    assert backoffs.next_end_at() == NOW + 60


def test_only_so_many_are_remembered() -> None:
    backoffs = HostBackoffs()
    for number in range(MAX_HOSTS):
        backoffs.update_host(backing_off(60, origin=f"http://{number}.example"), NOW)
    assert backoffs.update_host(backing_off(60), NOW), "it backs off, though"
    assert A not in backoffs
