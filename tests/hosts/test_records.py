from __future__ import annotations

import msgspec
import pytest

from tenax.hosts.records import MemoryHosts, UnsharedHosts
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tests.contracts.hosts import HostsContract, Store


@pytest.fixture
def store() -> Store:
    local_hosts = MemoryHosts()
    return Store(UnsharedHosts(local_hosts), local_hosts)


class TestOwnHosts(HostsContract):
    pass


def record(name: str = "a", next_at: float = 0.0, pages: int = 0) -> HostRecord:
    return HostRecord(f"http://{name}.example", f"{name}.example", next_at=next_at, page_count=pages)


def test_a_host_in_flight_is_never_dropped() -> None:
    hosts = MemoryHosts(capacity=2)
    hosts.acquire(record("busy"))
    hosts.acquire(record("busy"))
    for number in range(10):
        hosts.acquire(record(f"h{number}"))
        hosts.release(f"http://h{number}.example")
    assert len(hosts) == 3
    assert hosts.get("http://h9.example") is not None
    assert hosts.get("http://h7.example") is None
    hosts.release("http://busy.example")
    assert hosts.get("http://busy.example") is not None, "one visit is still in flight"
    hosts.release("http://busy.example")
    for name in ("x", "y"):
        hosts.put(record(name))
    assert hosts.get("http://busy.example") is None


def test_the_host_seen_longest_ago_leaves_first() -> None:
    hosts = MemoryHosts(capacity=2)
    for name in ("a", "b"):
        hosts.put(record(name))
    hosts.acquire(record("a"))
    hosts.release("http://a.example")
    hosts.put(record("c"))
    assert [hosts.get(f"http://{name}.example") is not None for name in "abc"] == [True, False, True]


def test_huge_robots_txts_do_not_fill_the_memory() -> None:
    hosts = MemoryHosts(capacity=1000, robots_chars=10_000)
    for number in range(100):
        robots = RobotsCopy(RobotsVerdict.RULES, 0.0, 1.0, "#" * 3000)
        hosts.acquire(msgspec.structs.replace(record(f"h{number}"), robots=robots))
        hosts.release(f"http://h{number}.example")
        hosts.acquire(record(f"h{number}"))
        hosts.release(f"http://h{number}.example")
    assert len(hosts) == 3
    for number in range(100):
        hosts.put(record(f"small{number}"))
    assert len(hosts) == 103, "what has none takes no part of it"
