"""Twenty thousand hosts through a window of five hundred: what a crawl holds in memory has the size of the window."""

from __future__ import annotations

from pathlib import Path

from bench.hosts import IN_FLIGHT, Crowd, offers, opened, visit_all
from tenax.clock import SteadyClock
from tenax.config import LedgerConfig
from tenax.database.robots_cache import HOSTS_REMEMBERED
from tenax.database.schedule import SPARE_TURNS
from tenax.hosts.limiter.machine import MachineTurns
from tenax.hosts.records import MemoryHosts
from tenax.hosts.robots import _SHELF, _SHELF_CHARS

HOSTS, WINDOW = 20_000, 500
CONFIG = LedgerConfig(window_hosts=WINDOW, look_ahead=4, fsync=False)


async def test_twenty_thousand_hosts_take_no_more_memory_than_the_window_has_places(tmp_path: Path) -> None:
    clock = SteadyClock()
    ledger = await opened(tmp_path, clock, CONFIG)
    turns = MachineTurns(tmp_path / "turns", clock)
    file_bytes = (tmp_path / "turns" / "turns-2").stat().st_size
    crowd = Crowd(HOSTS, MemoryHosts(capacity=1000), turns, clock)
    try:
        await ledger.admit(list(offers(HOSTS)))
        for _ in range(5):
            await visit_all(ledger, crowd, HOSTS // 10)
            schedule = ledger._schedule
            assert len(schedule) <= WINDOW
            assert len(schedule._heap) <= 2 * WINDOW + SPARE_TURNS + 1
            assert sum(len(slot.held) for slot in schedule._slots.values()) <= WINDOW * 4 * 2
            assert len(schedule._hungry) <= WINDOW
            assert ledger._held == {}
            assert len(crowd.memory) <= 1000 + IN_FLIGHT
            assert _SHELF.chars <= _SHELF_CHARS
            assert len(ledger._writer._settler._robots._marks) <= HOSTS_REMEMBERED
        status = await ledger.status()
    finally:
        await ledger.close()
        turns.close()
    assert status.hosts == HOSTS
    assert status.outcomes["failed:rate_limited"] > HOSTS / 20 / 5, "the hosts have taught us something"
    assert (tmp_path / "turns" / "turns-2").stat().st_size == file_bytes
