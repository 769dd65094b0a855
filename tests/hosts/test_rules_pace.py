from __future__ import annotations

import pytest

from tenax.config import Config, PolitenessConfig, Sites
from tenax.hosts.rules import HostPace
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict
from tests.hosts.history import NOW, host

CONFIG = Config(
    politeness=PolitenessConfig(connections_per_host=4),
    sites={"*.slow.example": {"politeness.rate_per_second": 0.1, "politeness.connections_per_host": 2}},
)
ROBOTS = RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 3600)


@pytest.mark.parametrize(
    ("origin", "pace", "connections"),
    [
        ("https://example.org", 1, 4),
        ("http://127.0.0.1:8080", 1, 4),
        ("http://[::1]:8080", 1, 4),
        ("https://www.slow.example", 10, 2),
        ("http://www.slow.example:8080", 10, 2),
    ],
)
def test_each_site_has_its_own_pace(origin: str, pace: float, connections: int) -> None:
    host_pace, record = HostPace(Sites(CONFIG)), HostRecord(origin, "", ROBOTS)
    assert (host_pace.pace_seconds(record), host_pace.connections(record, NOW)) == (pace, connections)


@pytest.mark.parametrize(
    ("record", "connections"),
    [
        (host(robots=ROBOTS), 4),
        (host(), 1),
        (host(robots=RobotsCopy(RobotsVerdict.RULES, NOW - 3600, NOW)), 1),
        (host(robots=ROBOTS, breaker="open"), 1),
        (host(robots=ROBOTS, breaker="half_open"), 1),
    ],
)
def test_one_at_a_time_until_we_know_that_we_may(record: HostRecord, connections: int) -> None:
    assert HostPace(Sites(CONFIG)).connections(record, NOW) == connections
