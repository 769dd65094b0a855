"""What a broad crawl is measured against."""

from __future__ import annotations

import ipaddress

import pytest

from bench.access_log import AccessLog
from bench.measure import Cost
from bench.polite import CPU_RATIO_BAR, Broad, Crawled, address_of


def crawled(pages: int, seconds: float, cpu_seconds: float, start_up: float = 0.0) -> Crawled:
    """So many pages of one host, evenly over the time."""
    times = [number * seconds / (pages - 1) for number in range(pages)]
    return Crawled(AccessLog({"a": times}, pages), Cost(seconds, cpu_seconds, 0.0, 0.0, 0), start_up)


def broad(hosts: int, requests: int, pages_per_second: int) -> Broad:
    one = crawled(pages_per_second * 10, 10.0, 10.0)
    return Broad(hosts, crawled(requests + 1, 20.0, 12.0), (one, one), 0.0, 20.0)


def test_every_host_is_an_address_of_its_own_on_loopback() -> None:
    addresses = {ipaddress.ip_address(address_of(number)) for number in range(100_000)}
    assert len(addresses) == 100_000
    assert all(address.is_loopback for address in addresses)


@pytest.mark.parametrize(
    ("hosts", "pages_per_second", "ideal", "is_limited_by_machine"),
    [
        (100, 1000, 2000.0, False),
        (2000, 1000, 20 * 1000 / CPU_RATIO_BAR, True),
    ],
)
def test_the_ideal_is_what_hosts_and_machine_allow(
    hosts: int, pages_per_second: int, ideal: float, is_limited_by_machine: bool
) -> None:
    run = broad(hosts, 1900, pages_per_second)
    assert run.ideal == pytest.approx(ideal, rel=1e-3)
    assert run.is_limited_by_machine is is_limited_by_machine
    assert run.requests == 1900
    assert run.share == pytest.approx(1900 / ideal, rel=1e-3)


def test_the_cpu_of_a_page_is_compared_without_what_starting_costs() -> None:
    one, dearer = crawled(1000, 1.0, 1.5, start_up=0.5), crawled(1000, 1.0, 2.0, start_up=0.5)
    many = Broad(10, crawled(10_000, 60.0, 12.9, start_up=0.4), (one, dearer), 0.0, 60.0)
    assert many.crawled.cpu_ms_a_page == pytest.approx(1.25)
    assert many.cpu_ratio == pytest.approx(1.0)
