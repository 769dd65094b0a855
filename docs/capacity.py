"""How large a cluster has to be: a model of a few lines, and the one place where its figures stand.

What was measured is read from bench/results/; what is asked of a part that was not measured yet, or assumed of the web,
is a constant here. The tables of docs/scale.md show each figure with where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

SECONDS_A_DAY = 86_400
DAYS_OF_EVENTS = 7
SERVER_DISK_BYTES = 4e12
"""Of one PostgreSQL server, as much as we would let it grow before there are two."""
MOST_USED = 0.6
"""Of what a server can do at most; the rest is for vacuum, checkpoints, backups and a neighbour that is away."""


@dataclass(frozen=True)
class Figure:
    """A number of the model, and why to believe it."""

    value: float
    unit: str
    meaning: str
    source: str


@dataclass(frozen=True)
class Target:
    """A crawl that somebody wants."""

    pages: float
    hosts: float
    days: float

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.days / SECONDS_A_DAY


TARGETS = (Target(1e7, 1e5, 1), Target(1e8, 1e7, 7), Target(1e9, 1e8, 30), Target(1e9, 1e8, 3))

_JUDGED = "workers_4_rows_1000000"
_NOT_YET = "a short run; **not measured in full yet** by `scripts/bench cluster`"

# name: (where a benchmark says it, what stands here until it does, that one's source, unit, meaning)
_FIGURES: Mapping[str, tuple[Sequence[str], float, str, str, str]] = {
    "cpu_ms": (("polite", "hosts_2000", "cpu_ms_a_page"), 1.6, "assumed", "ms", "CPU of a worker for a page"),
    "worker_mb": (("polite", "hosts_2000", "peak_rss_mb"), 400.0, "assumed", "MB", "memory of a worker"),
    "cycles": (
        ("cluster", _JUDGED, "cycles_per_second"), 1500.0, _NOT_YET, "pages/s",
        "that one PostgreSQL server commits, on two cores that it shares with its workers",
    ),
    "server_cpu_ms": (
        ("cluster", _JUDGED, "server_cpu_ms"), 0.3, _NOT_YET, "ms", "CPU of PostgreSQL for a page",
    ),
    "url_bytes": (
        ("cluster", "disk_bytes_a_url"), 300.0, _NOT_YET, "B",
        "disk for a known URL that waits for its visit, indexes included",
    ),
    "page_bytes": (
        ("cluster", "disk_bytes_a_page"), 4100.0, _NOT_YET, "B",
        "disk for a stored page: 5 kB of text, deflated, with its history and metadata",
    ),
    "new_links": (("assumed",), 2.5, "assumed: 50 links, 95 % of them known", "", "new URLs that a page leads to"),
    "wire_bytes": (("assumed",), 30_000.0, "assumed", "B", "received for a page, compressed as sent"),
    "event_bytes": (("assumed",), 6000.0, "assumed: with the text", "B", "an event in Kafka"),
    "host_bytes": (("assumed",), 1500.0, "assumed: with its robots.txt", "B", "a host, on disk or in Redis"),
    "latency": (("assumed",), 0.35, "assumed", "s", "until a page's last byte, on average"),
}  # fmt: skip


def figures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """Every figure of the model; `results` holds the figures of each benchmark that was run, by its name."""
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
    """What a target asks for."""

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
        """Which limit of PostgreSQL is met before the other."""
        return "disk" if self.servers_by_disk > self.servers_by_rate else "commits"


def need(target: Target, given: Mapping[str, Figure]) -> Need:
    """Straight lines: what a page costs, times the pages."""
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
        # Records and robots.txt stay for an hour, and no more hosts are visited in one than there are visits.
        redis_bytes=min(target.hosts, rate * 3600) * value["host_bytes"],
        kafka_bytes=rate * SECONDS_A_DAY * min(DAYS_OF_EVENTS, target.days) * value["event_bytes"],
        bits_per_second=rate * value["wire_bytes"] * 8,
        hosts_at_a_time=rate * (1 + value["latency"]),
    )
