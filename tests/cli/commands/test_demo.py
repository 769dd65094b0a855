"""How large the demo is, and what it leaves out."""

from __future__ import annotations

import pytest

from tenax.cli.commands.demo import in_its_directory, site_of
from tenax.config import Config, Setting, load
from tenax.demo import Site


@pytest.mark.parametrize(("hosts", "manners"), [(1, "quick"), (5, "quick"), (6, "all"), (7, "all")])
def test_a_few_hosts_are_spared_what_only_takes_time(hosts: int, manners: str) -> None:
    site = site_of(hosts, 24)
    assert (site.hosts, site.pages_per_host, site.manners) == (hosts, 24, manners)


def test_the_usual_demo_shows_everything() -> None:
    assert site_of(6, 64) == Site()


def test_a_demo_leaves_nothing_elsewhere() -> None:
    flags = {key: Setting(value, "a file") for key, value in SERVERS.items()}
    assert in_its_directory(load(flags=flags)).config == Config()


SERVERS = {
    "ledger.url": "postgresql://db/x",
    "hosts.url": "redis://cache",
    "events.kafka": "broker:9092",
    "events.redis": "redis://events",
}
