"""How large the demo is, and what it leaves out."""

from __future__ import annotations

import pytest

from tenax.cli.commands.demo import demo_site, disable_servers
from tenax.config import Config, SettingValue, load_config
from tenax.demo import Site


@pytest.mark.parametrize(("hosts", "behaviours"), [(1, "quick"), (5, "quick"), (6, "all"), (7, "all")])
def test_a_few_hosts_are_spared_what_only_takes_time(hosts: int, behaviours: str) -> None:
    site = demo_site(hosts, 24)
    assert (site.hosts, site.pages_per_host, site.behaviours) == (hosts, 24, behaviours)


def test_the_usual_demo_shows_everything() -> None:
    assert demo_site(6, 64) == Site()


def test_a_demo_leaves_nothing_elsewhere() -> None:
    flags = {key: SettingValue(value, "a file") for key, value in SERVERS.items()}
    assert disable_servers(load_config(flags=flags)).config == Config()


SERVERS = {
    "database.url": "postgresql://db/x",
    "redis.url": "redis://cache",
    "events.kafka": "broker:9092",
    "events.redis": "redis://events",
}
