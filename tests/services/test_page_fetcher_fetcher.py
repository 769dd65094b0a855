"""Which changes of a host's record are shared, when the host has no rate limit."""

from __future__ import annotations

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.hosts.records import MemoryHosts, UnsharedHosts
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tenax.services.page_fetcher.fetcher import CACHE_SECONDS, CachedHosts, has_only_counter_changes
from tests.contracts.hosts import updated_record

NOW = 1_750_000_000.0
HOST = HostRecord(origin="http://a.example", domain="", next_at=NOW - 1, page_count=3)


class Counting(UnsharedHosts):
    """Hosts that count their calls."""

    reads = updates = 0

    async def acquire(self, record: HostRecord) -> HostRecord:
        self.reads += 1
        return await super().acquire(record)

    async def store(self, before: HostRecord, after: HostRecord, attempt: int = 0) -> HostRecord | None:
        self.updates += 1
        return await super().store(before, after, attempt)


@pytest.mark.parametrize(
    ("changes", "is_quiet"),
    [
        ({"page_count": 4, "next_at": NOW}, True),
        ({"successes_in_a_row": 4, "next_at": NOW - 0.5}, True),
        ({"next_at": NOW + 2, "backoff_reason": "trouble"}, False),
        ({"failures_in_a_row": 1}, False),
        ({"error_count": 1, "recent_failures": (NOW,)}, False),
        ({"breaker": "open"}, False),
        ({"robots": RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW + 9)}, False),
        ({"rate_per_minute": 5.0}, False),
    ],
)
def test_pages_are_counted_quietly(changes: dict[str, object], is_quiet: bool) -> None:
    assert has_only_counter_changes(HOST, msgspec.structs.replace(HOST, **changes), NOW) is is_quiet


@pytest.mark.parametrize(("is_unpaced", "reads", "updates"), [(True, 1, 1), (False, 5, 6)])
async def test_only_unpaced_hosts_are_spared(is_unpaced: bool, reads: int, updates: int) -> None:
    near, clock = MemoryHosts(), ManualClock(NOW)
    shared = Counting(near)
    hosts = CachedHosts(shared, near, clock, lambda origin: is_unpaced)
    for _ in range(5):
        record = await hosts.acquire(HOST)
        record = await updated_record(hosts, HOST.origin, record, _one_page_more)
        hosts.release(HOST.origin)
    assert record.page_count == 8
    await updated_record(hosts, HOST.origin, record, lambda record: msgspec.structs.replace(record, breaker="open"))
    found = hosts.get(HOST.origin)
    assert found is not None and found.breaker == "open"
    assert (shared.reads, shared.updates) == (reads, updates)
    clock.advance(CACHE_SECONDS)
    await hosts.acquire(HOST)
    assert shared.reads == reads + 1


def _one_page_more(record: HostRecord) -> HostRecord:
    return msgspec.structs.replace(record, page_count=record.page_count + 1)
