"""The capacity model as tables: its figures and its results."""

from __future__ import annotations

from math import ceil

from docs import capacity
from docs.from_results import result
from docs.wording import counted, number, table


def capacity_figures() -> str:
    """The input figures of the capacity model."""
    rows = [
        [one.meaning, f"{number(one.value)} {one.unit}".strip(), one.source] for one in _capacity_figures().values()
    ]
    return table(("figure", "value", "source"), rows)


def capacity_needs() -> str:
    """The resources for each target."""
    given = _capacity_figures()
    rows = []
    for target in capacity.TARGETS:
        one = capacity.need(target, given)
        rows.append([
            f"{_large(target.pages)} in {counted(int(target.days), 'day')}", _large(target.hosts),
            number(target.pages_per_second), number(ceil(one.worker_cores)), f"{number(one.worker_gb)} GB",
            f"{one.servers} ({one.full_first})", number(ceil(one.server_cores)), _bytes(one.database_bytes),
            _bytes(one.redis_bytes), _bytes(one.kafka_bytes), f"{number(one.bits_per_second / 1e6)} Mbit/s",
            number(one.hosts_at_a_time),
        ])  # fmt: skip
    head = (
        "pages", "hosts", "pages/s", "worker cores", "worker memory", "PostgreSQL servers", "PostgreSQL cores",
        "database on disk", "Redis memory", "Kafka disk, at most 7 days", "bandwidth", "hosts visited at a time",
    )  # fmt: skip
    return table(head, rows)


def _capacity_figures() -> dict[str, capacity.Figure]:
    measured = {name: result(name) for name in ("polite", "cluster")}
    return capacity.figures({name: one["figures"] for name, one in measured.items() if one is not None})


def _large(count: float) -> str:
    return f"{number(count / 1e9)} billion" if count >= 1e9 else f"{number(count / 1e6)} million"


def _bytes(count: float) -> str:
    return f"{number(count / 1e12)} TB" if count >= 1e12 else f"{number(count / 1e9)} GB"
