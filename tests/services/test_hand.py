"""The items in memory: hosts in order of their next request, none requested too often, everything counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenax.config import Config, SettingValue, Sites, load_config
from tenax.hosts.rules import HostPace
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tenax.services.page_fetcher.host_queue import HostQueue
from tenax.services.page_fetcher.intake import Item, parse_item

NOW = 1_750_000_000.0
ROBOTS = RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW + 1e6)


def item(url: str) -> Item:
    found = parse_item(url.encode(), NOW)
    assert isinstance(found, Item)
    return found


def known(origin: str, next_at: float = 0.0) -> HostRecord:
    return HostRecord(origin=origin, domain="", robots=ROBOTS, next_at=next_at)


def hand_of(config: Config | None = None) -> HostQueue:
    return HostQueue(HostPace(Sites(config or Config())))


def test_one_at_a_time_and_a_pace_between_them() -> None:
    host_queue = hand_of()
    for number in range(3):
        host_queue.add(item(f"http://a.example/{number}"), NOW, known("http://a.example"))
    first = host_queue.take(NOW)
    assert first is not None and first.url == "http://a.example/0"
    assert host_queue.take(NOW + 100) is None, "the first is still in flight"
    host_queue.on_visit_end("http://a.example", known("http://a.example", NOW + 105))
    assert host_queue.take(NOW + 104) is None
    assert host_queue.next_due_at() == NOW + 105
    second = host_queue.take(NOW + 105)
    assert second is not None and second.url == "http://a.example/1"
    assert (len(host_queue), host_queue.count("http://a.example")) == (2, 2)


def test_hosts_do_not_wait_for_each_other() -> None:
    host_queue = hand_of()
    for host in "ab":
        for number in range(2):
            host_queue.add(item(f"http://{host}.example/{number}"), NOW)
    taken = [host_queue.take(NOW), host_queue.take(NOW), host_queue.take(NOW)]
    assert [one.task.origin if one else None for one in taken] == ["http://a.example", "http://b.example", None]


def test_one_that_is_not_due_yet_lets_another_of_its_host_go_first() -> None:
    host_queue = hand_of()
    host_queue.add(item("http://a.example/later"), NOW + 60)
    host_queue.add(item("http://a.example/now"), NOW)
    taken = host_queue.take(NOW)
    assert taken is not None and taken.url == "http://a.example/now"


def test_where_more_connections_are_allowed_they_are_used_once_robots_txt_is_known() -> None:
    flags = {"politeness.connections_per_host": 2, "politeness.rate_per_second": 0.0}
    config = load_config(flags={key: SettingValue(value, "test", is_typed=True) for key, value in flags.items()}).config
    host_queue = hand_of(config)
    for number in range(3):
        host_queue.add(item(f"http://a.example/{number}"), NOW, HostRecord(origin="http://a.example", domain=""))
    assert host_queue.take(NOW) is not None
    assert host_queue.take(NOW) is None, "nobody goes in before robots.txt is known"
    host_queue.on_visit_end("http://a.example", known("http://a.example"))
    assert host_queue.take(NOW) is not None
    assert host_queue.take(NOW) is not None


def test_what_is_let_go_is_gone_and_what_is_in_flight_stays() -> None:
    host_queue = hand_of()
    for number in range(3):
        host_queue.add(item(f"http://a.example/{number}"), NOW)
    assert host_queue.take(NOW) is not None
    assert [one.url for one in host_queue.remove_host("http://a.example")] == [
        "http://a.example/1",
        "http://a.example/2",
    ]
    assert len(host_queue) == 1
    host_queue.on_visit_end("http://a.example", known("http://a.example"))
    assert (len(host_queue), host_queue.next_due_at()) == (0, None)
    assert host_queue.remove_host("http://a.example") == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "take", "land", "drop"])), max_size=80))
def test_nothing_is_lost_doubled_or_early(moves: list[tuple[str, str]]) -> None:
    host_queue, now, added, gone, flying = hand_of(), NOW, 0, 0, list[Item]()
    last: dict[str, float] = {}
    for host, move in moves:
        now += 0.3
        origin = f"http://{host}.example"
        if move == "add":
            host_queue.add(item(f"{origin}/{added}"), now, known(origin, last.get(origin, 0.0)))
            added += 1
        elif move == "take" and (taken := host_queue.take(now)) is not None:
            assert now >= last.get(taken.task.origin, 0.0)
            flying.append(taken)
        elif move == "land" and flying:
            one = flying.pop()
            last[one.task.origin] = now + 1
            host_queue.on_visit_end(one.task.origin, known(one.task.origin, now + 1))
            gone += 1
        elif move == "drop":
            gone += len(host_queue.remove_host(origin))
        assert len(host_queue) == added - gone
        assert len({one.task.origin for one in flying}) == len(flying), "one in flight for each host"
    while flying:
        one = flying.pop()
        host_queue.on_visit_end(one.task.origin, known(one.task.origin))
        gone += 1
    assert len(host_queue.remove_all()) == added - gone
