"""The capacity model of a cluster, and the only place of its figures.

Measured figures are read from bench/results/; assumptions, and values not measured yet, are constants here. The tables
of docs/scale.md show each figure with its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

SECONDS_A_DAY = 86_400
DAYS_OF_EVENTS = 7
SERVER_DISK_BYTES = 4e12
"""The disk of one PostgreSQL server before a second one is used."""
MOST_USED = 0.6
"""Maximum utilization of a server; the rest is for vacuum, checkpoints, backups and failover."""


@dataclass(frozen=True)
class Figure:
    """A number of the model, and its source."""

    value: float
    unit: str
    meaning: str
    source: str


@dataclass(frozen=True)
class Target:
    """A crawl to be sized."""

    pages: float
    hosts: float
    days: float

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.days / SECONDS_A_DAY


TARGETS = (Target(1e7, 1e5, 1), Target(1e8, 1e7, 7), Target(1e9, 1e8, 30), Target(1e9, 1e8, 3))

_JUDGED = "workers_4_rows_1000000"
_NOT_YET = "a short run; **not measured in full yet** by `scripts/bench cluster`"

# name: (path in the benchmark results, default until measured, source of the default, unit, meaning)
_FIGURES: Mapping[str, tuple[Sequence[str], float, str, str, str]] = {
    "cpu_ms": (("polite", "hosts_2000", "cpu_ms_a_page"), 1.6, "assumed", "ms", "CPU time of a worker per page"),
    "worker_mb": (("polite", "hosts_2000", "peak_rss_mb"), 400.0, "assumed", "MB", "memory of a worker"),
    "cycles": (
        ("cluster", _JUDGED, "cycles_per_second"), 1500.0, _NOT_YET, "pages/s",
        "commits of one PostgreSQL server, on two cores shared with its workers",
    ),
    "server_cpu_ms": (
        ("cluster", _JUDGED, "server_cpu_ms"), 0.3, _NOT_YET, "ms", "CPU time of PostgreSQL per page",
    ),
    "url_bytes": (
        ("cluster", "disk_bytes_a_url"), 300.0, _NOT_YET, "B",
        "disk for a waiting URL, indexes included",
    ),
    "page_bytes": (
        ("cluster", "disk_bytes_a_page"), 4100.0, _NOT_YET, "B",
        "disk for a stored page: 5 kB of text, compressed, with its history and metadata",
    ),
    "new_links": (("assumed",), 2.5, "assumed: 50 links, 95 % of them known", "", "new URLs found per page"),
    "wire_bytes": (("assumed",), 30_000.0, "assumed", "B", "bytes received per page, compressed"),
    "event_bytes": (("assumed",), 6000.0, "assumed: with the text", "B", "disk for an event in Kafka"),
    "host_bytes": (("assumed",), 1500.0, "assumed: with its robots.txt", "B", "disk, or memory of Redis, for a host"),
    "latency": (("assumed",), 0.35, "assumed", "s", "mean time until the last byte of a page"),
}  # fmt: skip


def figures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """Every figure of the model; `results` maps the name of a benchmark to its figures."""
    found = {}
    for name, (path, otherwise, source, unit, meaning) in _FIGURES.items():
        value: Any = results
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        is_measured = isinstance(value, (int, float))
        source = f"measured, `scripts/bench {path[0]}`" if is_measured else source
        found[name] = Figure(float(value) if is_measured else otherwise, unit, meaning, source)
    return found


@dataclass(frozen=True)
class Need:
    """The resources for a target."""

    worker_cores: float
    worker_gb: float
    server_cores: float
    """Of all PostgreSQL servers together."""
    servers_by_rate: int
    servers_by_disk: int
    database_bytes: float
    redis_bytes: float
    kafka_bytes: float
    bits_per_second: float
    hosts_at_a_time: float

    @property
    def servers(self) -> int:
        return max(self.servers_by_rate, self.servers_by_disk)

    @property
    def full_first(self) -> str:
        """Which limit of PostgreSQL is reached first."""
        return "disk" if self.servers_by_disk > self.servers_by_rate else "commits"


def need(target: Target, given: Mapping[str, Figure]) -> Need:
    """Linear: the cost of a page, multiplied by the number of pages."""
    value = {name: figure.value for name, figure in given.items()}
    rate = target.pages_per_second
    cores = rate * value["cpu_ms"] / 1000 / MOST_USED
    database = (
        target.pages * (value["new_links"] * value["url_bytes"] + value["page_bytes"])
        + target.hosts * value["host_bytes"]
    )
    return Need(
        worker_cores=cores,
        worker_gb=ceil(cores) * value["worker_mb"] / 1000,
        server_cores=rate * value["server_cpu_ms"] / 1000 / MOST_USED,
        servers_by_rate=ceil(rate / (value["cycles"] * MOST_USED)),
        servers_by_disk=ceil(database / SERVER_DISK_BYTES),
        database_bytes=database,
        # Records and robots.txt are kept for an hour, and there are no more hosts in it than visits.
        redis_bytes=min(target.hosts, rate * 3600) * value["host_bytes"],
        kafka_bytes=rate * SECONDS_A_DAY * min(DAYS_OF_EVENTS, target.days) * value["event_bytes"],
        bits_per_second=rate * value["wire_bytes"] * 8,
        hosts_at_a_time=rate * (1 + value["latency"]),
    )
