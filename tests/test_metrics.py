"""The metrics that Prometheus reads."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request

import msgspec
import pytest

from tenax.crawl.engine import count_visit
from tenax.errors import ConfigError
from tenax.metrics import METRICS, Metrics, Readiness, serve_metrics
from tenax.model import (
    Candidate,
    Claim,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    HostRecord,
    Lease,
    Outcome,
    Page,
    Priority,
    Progress,
    Refused,
    Source,
    Task,
    Visit,
)

REQUIRED = {
    "crawler_pages_fetched_total",
    "crawler_pages_per_second",
    "crawler_fetch_success_rate",
    "crawler_http_status_total",
    "crawler_frontier_size",
    "crawler_robots_denials_total",
    "crawler_active_workers",
}


def visit(outcome: Outcome, *, status: int | None = None, page: Page | None = None, links: int = 0) -> Visit:
    url, origin = "https://example.org/", "https://example.org"
    task = Task(url, origin, 0, Priority.HIGH, Source.SEED, None, 0.0, 0.0)
    host = HostRecord(origin, "example.org")
    return Visit(
        claim=Claim(task, host, Lease(1, 1, 300.0)),
        outcome=outcome,
        plan=Done(),
        host=host,
        started_at=0.0,
        finished_at=0.5,
        label=outcome.label,
        page=page,
        candidates=tuple(Candidate(f"{url}{number}", origin) for number in range(links)),
        fetch=FetchRecord(status=status, wire_bytes=1000, total_seconds=0.5),
    )


def page() -> Page:
    return Page(
        url="https://example.org/",
        status=200,
        content_type="text/html",
        content_hash="00",
        content_length=3000,
        fetched_at=0.0,
    )


def busy_metrics() -> Metrics:
    metrics = Metrics()
    count_visit(metrics, visit(Fetched(200), status=200, page=page(), links=3), is_duplicate=False)
    count_visit(metrics, visit(Fetched(200), status=200, page=page()), is_duplicate=False)
    count_visit(metrics, visit(Failed("HTTP 404", FailureKind.NOT_FOUND, status=404), status=404), is_duplicate=False)
    count_visit(metrics, visit(Failed("no such name", FailureKind.DNS)), is_duplicate=False)
    count_visit(metrics, visit(Refused("robots: it is forbidden")), is_duplicate=False)
    metrics.update_progress(
        Progress(
            now=1.0,
            elapsed_seconds=1.0,
            waiting=7,
            in_flight=2,
            hosts_active=1,
            hosts_backing_off=3,
            pages_per_second=1.5,
        )
    )
    return metrics


def test_the_specified_names_are_declared_with_a_meaning() -> None:
    assert {metric.name for metric in METRICS} >= REQUIRED
    for metric in METRICS:
        assert metric.name.startswith("crawler_")
        assert metric.name.endswith("_total") == (metric.type == "counter")
        assert metric.meaning.endswith(".")


def test_every_declared_metric_has_a_value_and_no_other() -> None:
    assert list(Metrics().values()) == [metric.name for metric in METRICS]


def test_visits_are_counted() -> None:
    values = busy_metrics().values()
    assert values["crawler_pages_fetched_total"] == 2
    assert values["crawler_fetch_success_rate"] == 0.5
    assert values["crawler_http_status_total"] == {"200": 2, "404": 1}
    assert values["crawler_robots_denials_total"] == 1
    assert values["crawler_visits_total"] == {"fetched": 2, "failed": 2, "refused": 1}
    assert values["crawler_failures_total"] == {"not_found": 1, "dns": 1}
    assert values["crawler_candidates_total"] == 3
    assert values["crawler_received_bytes_total"] == 5000
    assert values["crawler_frontier_size"] == 7
    assert values["crawler_active_workers"] == 1


def test_duplicates_are_counted_among_the_pages() -> None:
    metrics = busy_metrics()
    count_visit(metrics, visit(Fetched(200), page=page()), is_duplicate=True)
    assert (metrics.values()["crawler_pages_fetched_total"], metrics.values()["crawler_duplicates_total"]) == (3, 1)


def test_pages_extracted_in_python_are_counted() -> None:
    metrics = busy_metrics()
    count_visit(
        metrics,
        msgspec.structs.replace(visit(Fetched(200), page=page()), native_refusal="it was not built"),
        is_duplicate=False,
    )
    assert metrics.values()["crawler_pages_extracted_in_python_total"] == 1


def test_they_are_served_and_the_port_is_given_back() -> None:
    server = busy_metrics().serve(0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
    finally:
        server.close()
    assert 'crawler_http_status_total{code="200"} 2.0' in text
    assert "crawler_pages_fetched_total 2.0" in text
    assert "crawler_pages_per_second 1.5" in text
    assert "# TYPE crawler_robots_denials_total counter" in text
    busy_metrics().serve(server.port).close()


def test_a_service_is_alive_before_it_is_ready() -> None:
    readiness = Readiness()
    server = serve_metrics(busy_metrics(), METRICS, 0, readiness=readiness)

    def answer(path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as found:
                return found.status, found.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    try:
        assert answer("/ready") == (503, b"starting\n")
        assert answer("/metrics")[0] == 200
        readiness.is_ready = True
        assert answer("/ready") == (200, b"ready\n")
    finally:
        server.close()


def test_a_taken_port_is_one_clear_line() -> None:
    server = Metrics().serve(0)
    try:
        with pytest.raises(ConfigError, match=f"port {server.port} on 127.0.0.1 is already in use"):
            Metrics().serve(server.port)
    finally:
        server.close()


def test_the_table_needs_no_prometheus() -> None:
    program = "import sys, tenax.metrics; print([m for m in sys.modules if m.startswith('prometheus')])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
