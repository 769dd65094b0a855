"""A robots.txt is written only when it changed."""

from __future__ import annotations

import msgspec

from tenax.database.rows import StoredRobotsHashes
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict

COPY = RobotsCopy(fetched_at=1.0, expires_at=2.0, verdict=RobotsVerdict.RULES, text="Disallow: /a")
NEWER = msgspec.structs.replace(COPY, text="Disallow: /b")
BARE = HostRecord(origin="https://a.test", domain="a.test")


def with_robots(copy: RobotsCopy) -> HostRecord:
    return msgspec.structs.replace(BARE, robots=copy)


def test_each_copy_is_new_until_it_is_written() -> None:
    robots = StoredRobotsHashes()
    hosts = {1: with_robots(COPY), 2: with_robots(NEWER), 3: BARE}
    assert robots.find_changed(hosts) == robots.find_changed(hosts) == {1: COPY, 2: NEWER}
    robots.mark_stored(1, COPY)
    assert robots.find_changed(hosts) == {2: NEWER}
    assert robots.find_changed({1: with_robots(NEWER)}) == {1: NEWER}


def test_what_may_not_have_been_kept_is_written_again() -> None:
    robots = StoredRobotsHashes()
    robots.mark_stored(1, COPY)
    robots.forget()
    assert robots.find_changed({1: with_robots(COPY)}) == {1: COPY}


def test_no_more_hosts_are_remembered_than_so_many() -> None:
    robots = StoredRobotsHashes(max_hosts=2)
    for host_id in (1, 2, 3):
        robots.mark_stored(host_id, COPY)
    assert robots.find_changed(dict.fromkeys((1, 2, 3), with_robots(COPY))).keys() == {1, 2}
