"""Twenty thousand hosts through a window of five hundred: what a crawl holds in memory has the size of the window."""

from __future__ import annotations

from pathlib import Path

from bench.hosts import IN_FLIGHT, Crowd, candidates, opened, visit_all
from tenax.clock import SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.rows import MAX_REMEMBERED_HOSTS
from tenax.database.schedule import SPARE_HEAP_ENTRIES
from tenax.hosts.limiter.machine import MachineRateLimiter
from tenax.hosts.records import MemoryHosts
from tenax.hosts.robots import _CACHE, _CACHE_CHARS

HOSTS, WINDOW = 20_000, 500
CONFIG = DatabaseConfig(window_hosts=WINDOW, tasks_per_host=4, fsync=False)


async def test_twenty_thousand_hosts_take_no_more_memory_than_the_window_has_places(tmp_path: Path) -> None:
    clock = SteadyClock()
    database = await opened(tmp_path, clock, CONFIG)
    rate_limiter = MachineRateLimiter(tmp_path / "turns", clock)
    file_bytes = (tmp_path / "turns" / "permits-2").stat().st_size
    crowd = Crowd(HOSTS, MemoryHosts(capacity=1000), rate_limiter, clock)
    try:
        await database.admit(list(candidates(HOSTS)))
        for _ in range(5):
            await visit_all(database, crowd, HOSTS // 10)
            schedule = database._schedule
            assert len(schedule) <= WINDOW
            assert len(schedule._heap) <= 2 * WINDOW + SPARE_HEAP_ENTRIES + 1
            assert sum(len(slot.loaded_keys) for slot in schedule._slots.values()) <= WINDOW * 4 * 2
            assert len(schedule._refill_slots) <= WINDOW
            assert len(database._claims) == 0
            assert len(crowd.memory) <= 1000 + IN_FLIGHT
            assert _CACHE.chars <= _CACHE_CHARS
            assert len(database._writer._visit_writer._stored_robots._hashes) <= MAX_REMEMBERED_HOSTS
        status = await database.status()
    finally:
        await database.close()
        await rate_limiter.close()
    assert status.hosts == HOSTS
    assert status.outcomes["failed:rate_limited"] > HOSTS / 20 / 5, "the hosts have taught us something"
    assert (tmp_path / "turns" / "permits-2").stat().st_size == file_bytes
