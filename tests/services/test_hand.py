"""What is in hand: each host in its turn, none asked too often, everything counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenax.config import Config, Setting, Sites, load
from tenax.hosts.limiter.pace import HostTurns
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tenax.services.page_fetcher.items import Item, read
from tenax.services.page_fetcher.scheduler import Hand

NOW = 1_750_000_000.0
ROBOTS = RobotsCopy(RobotsVerdict.ALLOW_ALL, NOW, NOW + 1e6)


def item(url: str) -> Item:
    found = read(url.encode(), NOW)
    assert isinstance(found, Item)
    return found


def known(origin: str, next_at: float = 0.0) -> HostRecord:
    return HostRecord(origin=origin, domain="", robots=ROBOTS, next_at=next_at)


def hand_of(config: Config | None = None) -> Hand:
    return Hand(HostTurns(Sites(config or Config())))


def test_one_at_a_time_and_a_pace_between_them() -> None:
    hand = hand_of()
    for number in range(3):
        hand.add(item(f"http://a.example/{number}"), NOW, known("http://a.example"))
    first = hand.take(NOW)
    assert first is not None and first.url == "http://a.example/0"
    assert hand.take(NOW + 100) is None, "the first is still in flight"
    hand.landed("http://a.example", known("http://a.example", NOW + 105))
    assert hand.take(NOW + 104) is None
    assert hand.next_turn() == NOW + 105
    second = hand.take(NOW + 105)
    assert second is not None and second.url == "http://a.example/1"
    assert (len(hand), hand.count("http://a.example")) == (2, 2)


def test_hosts_do_not_wait_for_each_other() -> None:
    hand = hand_of()
    for host in "ab":
        for number in range(2):
            hand.add(item(f"http://{host}.example/{number}"), NOW)
    taken = [hand.take(NOW), hand.take(NOW), hand.take(NOW)]
    assert [one.task.origin if one else None for one in taken] == ["http://a.example", "http://b.example", None]


def test_one_that_is_not_due_yet_lets_another_of_its_host_go_first() -> None:
    hand = hand_of()
    hand.add(item("http://a.example/later"), NOW + 60)
    hand.add(item("http://a.example/now"), NOW)
    taken = hand.take(NOW)
    assert taken is not None and taken.url == "http://a.example/now"


def test_where_more_connections_are_allowed_they_are_used_once_robots_txt_is_known() -> None:
    flags = {"politeness.connections_per_host": 2, "politeness.rate_per_second": 0.0}
    config = load(flags={key: Setting(value, "test", is_typed=True) for key, value in flags.items()}).config
    hand = hand_of(config)
    for number in range(3):
        hand.add(item(f"http://a.example/{number}"), NOW, HostRecord(origin="http://a.example", domain=""))
    assert hand.take(NOW) is not None
    assert hand.take(NOW) is None, "nobody goes in before robots.txt is known"
    hand.landed("http://a.example", known("http://a.example"))
    assert hand.take(NOW) is not None
    assert hand.take(NOW) is not None


def test_what_is_let_go_is_gone_and_what_is_in_flight_stays() -> None:
    hand = hand_of()
    for number in range(3):
        hand.add(item(f"http://a.example/{number}"), NOW)
    assert hand.take(NOW) is not None
    assert [one.url for one in hand.let_go("http://a.example")] == ["http://a.example/1", "http://a.example/2"]
    assert len(hand) == 1
    hand.landed("http://a.example", known("http://a.example"))
    assert (len(hand), hand.next_turn()) == (0, None)
    assert hand.let_go("http://a.example") == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "take", "land", "drop"])), max_size=80))
def test_nothing_is_lost_doubled_or_early(moves: list[tuple[str, str]]) -> None:
    hand, now, added, gone, flying = hand_of(), NOW, 0, 0, list[Item]()
    last: dict[str, float] = {}
    for host, move in moves:
        now += 0.3
        origin = f"http://{host}.example"
        if move == "add":
            hand.add(item(f"{origin}/{added}"), now, known(origin, last.get(origin, 0.0)))
            added += 1
        elif move == "take" and (taken := hand.take(now)) is not None:
            assert now >= last.get(taken.task.origin, 0.0)
            flying.append(taken)
        elif move == "land" and flying:
            one = flying.pop()
            last[one.task.origin] = now + 1
            hand.landed(one.task.origin, known(one.task.origin, now + 1))
            gone += 1
        elif move == "drop":
            gone += len(hand.let_go(origin))
        assert len(hand) == added - gone
        assert len({one.task.origin for one in flying}) == len(flying), "one in flight for each host"
    while flying:
        one = flying.pop()
        hand.landed(one.task.origin, known(one.task.origin))
        gone += 1
    assert len(hand.let_go_of_all()) == added - gone
