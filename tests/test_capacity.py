"""The model of docs/scale.md: measured figures are preferred, and what follows from them is arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cluster import SIZES, WORKERS, Setting, figures_of
from bench.cluster_worker import Counted
from docs import capacity, from_capacity
from docs.capacity import Figure, Target


def given(**changes: float) -> dict[str, Figure]:
    round_figures = {
        "cpu_ms": 1.0, "worker_mb": 400.0, "cycles": 1000.0, "server_cpu_ms": 0.3, "url_bytes": 200.0,
        "page_bytes": 4000.0, "new_links": 2.0, "wire_bytes": 10_000.0, "event_bytes": 1000.0,
        "host_bytes": 1000.0, "latency": 0.5,
    }  # fmt: skip
    return {name: Figure(value, "", "", "") for name, value in (round_figures | changes).items()}


def test_the_model_uses_every_figure_and_no_other() -> None:
    assert capacity.figures({}).keys() == given().keys()


def test_a_measured_figure_is_preferred_and_says_so() -> None:
    measured: dict[str, dict[str, Any]] = {
        "polite": {"hosts_2000": {"cpu_ms_a_page": 2.5}},
        "cluster": {"disk_bytes_a_page": 3000, "workers_4_rows_1000000": {"server_cpu_ms": 0.4}},
    }
    found = capacity.figures(measured)
    assert found["cpu_ms"].value == 2.5 and found["cpu_ms"].source == "measured, `scripts/bench polite`"
    assert found["page_bytes"].value == 3000 and found["page_bytes"].source == "measured, `scripts/bench cluster`"
    assert found["server_cpu_ms"].value == 0.4
    assert found["worker_mb"].source == "assumed"
    assert "not measured in full yet" in found["cycles"].source


def test_what_the_cluster_benchmark_says_is_what_the_model_reads() -> None:
    """One name for each figure, in both."""
    paths = [path for path, *_ in capacity._FIGURES.values() if path[0] == "cluster"]
    settings = {Setting(workers, rows).name for workers in WORKERS for rows in SIZES}
    assert {path[1] for path in paths if len(path) == 3} < settings
    counted = [Counted(1.0, 100, 250, cpu_seconds=0.1, own_cpu_seconds=0.0, pages_ever=100)]
    assert {path[2] for path in paths if len(path) == 3} < figures_of(counted, 0.1, 1).keys()


def test_what_a_crawl_needs() -> None:
    need = capacity.need(Target(pages=86_400e3, hosts=1e6, days=1), given())  # a thousand pages a second
    assert need.worker_cores == pytest.approx(1.0 / capacity.MOST_USED)
    assert need.worker_gb == pytest.approx(0.8)
    assert need.server_cores == pytest.approx(0.3 / capacity.MOST_USED)
    assert need.database_bytes == pytest.approx(86_400e3 * 4400 + 1e9)
    assert (need.servers_by_rate, need.servers_by_disk, need.servers, need.full_first) == (2, 1, 2, "commits")
    assert need.redis_bytes == pytest.approx(1e9)  # more visits an hour than hosts
    assert need.kafka_bytes == pytest.approx(86.4e9)
    assert need.bits_per_second == pytest.approx(80e6)
    assert need.hosts_at_a_time == pytest.approx(1500)


@pytest.mark.parametrize(
    ("cycles", "page_bytes", "servers", "full_first"),
    [(1000.0, 4000.0, 2, "commits"), (10_000.0, 100_000.0, 3, "disk"), (10_000.0, 4000.0, 1, "commits")],
)
def test_the_limit_that_is_met_first_decides(cycles: float, page_bytes: float, servers: int, full_first: str) -> None:
    need = capacity.need(Target(86_400e3, 1e6, 1), given(cycles=cycles, page_bytes=page_bytes))
    assert (need.servers, need.full_first) == (servers, full_first)


def test_a_slow_crawl_of_many_hosts_keeps_only_an_hour_of_them_in_redis() -> None:
    need = capacity.need(Target(86_400.0, 1e8, 1), given())
    assert need.redis_bytes == pytest.approx(3600 * 1000)


def test_the_tables_name_every_figure_and_every_target() -> None:
    assert from_capacity.capacity_figures().count("\n") == len(given()) + 1
    assert from_capacity.capacity_needs().count("\n") == len(capacity.TARGETS) + 1
    assert "| 1 billion in 30 days | 100 million | 386 |" in from_capacity.capacity_needs()
