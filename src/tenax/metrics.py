"""Every Prometheus metric, declared once.

The engine only adds to plain counters. This costs a visit a few microseconds and needs no library. prometheus-client is
imported when metrics are served, and reads the counters at each scrape.
"""

from __future__ import annotations

import errno
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Protocol

from tenax.errors import ConfigError
from tenax.model import Progress, Value

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric as Family


class Metric(Value, frozen=True):
    """A metric as the documentation and the exporter see it."""

    name: str
    """The name as Prometheus sees it. The name of a counter ends in `_total`."""
    type: Literal["counter", "gauge", "histogram"]
    meaning: str
    label: str | None = None


METRICS: tuple[Metric, ...] = (
    Metric("crawler_pages_fetched_total", "counter", "Pages fetched and stored."),
    Metric("crawler_pages_per_second", "gauge", "Pages stored per second, over the last ten seconds."),
    Metric("crawler_fetch_success_rate", "gauge", "Share of fetches with a usable response, from 0 to 1."),
    Metric("crawler_http_status_total", "counter", "Responses by HTTP status.", "code"),
    Metric("crawler_frontier_size", "gauge", "URLs that wait for a visit."),
    Metric("crawler_robots_denials_total", "counter", "URLs not fetched because robots.txt disallows them."),
    Metric("crawler_active_workers", "gauge", "1 while this process crawls, 0 while it ends."),
    Metric("crawler_visits_total", "counter", "Visits committed to the database, by outcome.", "outcome"),
    Metric("crawler_failures_total", "counter", "Visits without a usable response, by kind of failure.", "kind"),
    Metric(
        "crawler_candidates_total",
        "counter",
        "Links proposed to the database, without links that it is known to have.",
    ),
    Metric("crawler_duplicates_total", "counter", "Pages with the same or nearly the same text as an earlier page."),
    Metric(
        "crawler_pages_extracted_in_python_total",
        "counter",
        "Pages extracted in Python, several times slower, because the native code is missing or does not support them.",
    ),
    Metric("crawler_received_bytes_total", "counter", "Bytes received over the network, before decoding."),
    Metric("crawler_fetch_seconds_total", "counter", "Total time spent in fetches."),
    Metric("crawler_visits_in_flight", "gauge", "Visits in flight."),
    Metric("crawler_hosts_active", "gauge", "Hosts with a visit in flight or a recent request."),
    Metric("crawler_hosts_backing_off", "gauge", "Hosts that wait longer than their usual interval."),
)


PAGE_FETCHER_METRICS: tuple[Metric, ...] = (
    Metric("page_fetcher_pages_fetched_total", "counter", "Pages stored in Redis whose event Kafka has acknowledged."),
    Metric("page_fetcher_pages_failed_total", "counter", "URLs that failed after all their attempts."),
    Metric("page_fetcher_pages_skipped_robots_total", "counter", "URLs not fetched because robots.txt disallows them."),
    Metric(
        "page_fetcher_pages_requeued_total",
        "counter",
        "URLs put back into the queue because their host fails or backs off.",
    ),
    Metric("page_fetcher_retries_total", "counter", "Visits that failed because of the URL and will be retried."),
    Metric("page_fetcher_dlq_enqueued_total", "counter", "Items sent to the dead letter queue."),
    Metric("page_fetcher_circuit_breaker_opened_total", "counter", "How often the breaker of a host opened."),
    Metric("page_fetcher_circuit_breaker_closed_total", "counter", "How often the breaker of a host closed."),
    Metric(
        "page_fetcher_circuit_breaker_probes_total",
        "counter",
        "Probes of hosts that were down, by result.",
        "result",
    ),
    Metric("page_fetcher_input_queue_size", "gauge", "URLs in the queue."),
    Metric("page_fetcher_dlq_size", "gauge", "Items in the dead letter queue."),
    Metric(
        "page_fetcher_circuit_breaker_state",
        "gauge",
        "1 while nothing is taken from the queue because its hosts are down, 2 while one of them is probed, else 0.",
    ),
    Metric(
        "page_fetcher_circuit_breaker_consecutive_failures",
        "gauge",
        "Largest number of failures in a row of any host, whether its breaker is open or not.",
    ),
    Metric(
        "page_fetcher_circuit_breaker_current_backoff_seconds",
        "gauge",
        "Longest time between two probes of a host that is down; 0 if none is down.",
    ),
    Metric("page_fetcher_in_flight", "gauge", "URLs taken from the queue and not finished yet."),
    Metric("page_fetcher_fetch_duration_seconds", "histogram", "Duration of one request to a page, its body included."),
    Metric("page_fetcher_content_size_bytes", "histogram", "Decoded sizes of fetched pages."),
)


class Histogram:
    """Values counted by size."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus expects."""
        total, found = 0, []
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


class MetricSource(Protocol):
    """What an exporter reads from its own thread."""

    def values(self) -> Mapping[str, float | Mapping[str, int] | Histogram]:
        """The value of every metric by name. The value of a metric with a label is a mapping by label."""


READY_PATH = "/ready"
RATE_WINDOW_SECONDS = 10.0
"""The period over which pages per second are computed."""


class Readiness:
    """Whether a service has started its work. While it waits for a server, it is alive but not ready."""

    is_ready = False


class MetricsServer(Protocol):
    """A running exporter."""

    port: int

    def close(self) -> None: ...


class Metrics:
    """The counters of one run. The engine writes them (`count_visit`), the exporter's thread reads them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """`pages`, `duplicates`, `links`, `bytes`, `successes`, `robots`."""
        self.statuses: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.fetch_seconds = 0.0
        self.pages_this_run = 0
        """Pages that were stored, or found unchanged."""
        self.recent_page_times: deque[float] = deque()
        """When these pages were visited, in the last `RATE_WINDOW_SECONDS`."""
        self.native_refusals: Counter[str] = Counter()
        """Why pages were extracted in Python, with the number of pages."""
        self._progress: Progress | None = None

    def update_progress(self, progress: Progress) -> None:
        """Update the gauges."""
        self._progress = progress

    def values(self) -> dict[str, float | dict[str, int]]:
        """The value of every metric by name. The value of a metric with a label is a mapping by label."""
        counts, now = self.counts, self._progress or Progress(now=0.0, elapsed_seconds=0.0, is_stopping=True)
        fetches = counts["successes"] + sum(self.failures.values())
        return {
            "crawler_pages_fetched_total": counts["pages"],
            "crawler_pages_per_second": now.pages_per_second,
            "crawler_fetch_success_rate": counts["successes"] / fetches if fetches else 1.0,
            "crawler_http_status_total": dict(self.statuses),
            "crawler_frontier_size": now.waiting,
            "crawler_robots_denials_total": counts["robots"],
            "crawler_active_workers": 0 if now.is_stopping else 1,
            "crawler_visits_total": dict(self.outcomes),
            "crawler_failures_total": dict(self.failures),
            "crawler_candidates_total": counts["links"],
            "crawler_duplicates_total": counts["duplicates"],
            "crawler_pages_extracted_in_python_total": self.native_refusals.total(),
            "crawler_received_bytes_total": counts["bytes"],
            "crawler_fetch_seconds_total": self.fetch_seconds,
            "crawler_visits_in_flight": now.in_flight,
            "crawler_hosts_active": now.hosts_active,
            "crawler_hosts_backing_off": now.hosts_backing_off,
        }

    def registry(self) -> CollectorRegistry:
        """A registry for these counters. The library's global registry is not used."""
        return build_registry(self, METRICS)

    def serve(self, port: int, host: str = "127.0.0.1") -> MetricsServer:
        """Serve Prometheus on this port (0: any free port), from a thread, until closed."""
        return serve_metrics(self, METRICS, port, host)


def build_registry(source: MetricSource, table: Sequence[Metric]) -> CollectorRegistry:
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(source, table))
    return registry


def serve_metrics(
    source: MetricSource,
    table: Sequence[Metric],
    port: int,
    host: str = "127.0.0.1",
    readiness: Readiness | None = None,
) -> MetricsServer:
    """Serve Prometheus on this port (0: any free port), from a thread, until closed.

    With `readiness`, the path `/ready` returns 503 until the service is ready.
    """
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, addr=host, registry=build_registry(source, table))
    except OSError as error:
        raise ConfigError(_serve_error_text(port, host, error)) from None
    if readiness is not None and (exporter := server.get_app()) is not None:
        server.set_app(_add_readiness(exporter, readiness))
    return _MetricsServer(server, thread)


@contextmanager
def run_metrics_server(source: MetricSource, table: Sequence[Metric], port: int, host: str) -> Iterator[Readiness]:
    """Serve the metrics of a service in this context, unless the port is 0. The caller sets readiness."""
    readiness = Readiness()
    server = serve_metrics(source, table, port, host, readiness) if port else None
    try:
        yield readiness
    finally:
        if server is not None:
            server.close()


def _add_readiness(exporter: WSGIApplication, readiness: Readiness) -> WSGIApplication:
    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != READY_PATH:
            return exporter(environ, start_response)
        status, words = ("200 OK", b"ready\n") if readiness.is_ready else ("503 Service Unavailable", b"starting\n")
        start_response(status, [("Content-Type", "text/plain")])
        return [words]

    return answer


class _Collector:
    """Converts a table and its values for prometheus-client."""

    def __init__(self, source: MetricSource, table: Sequence[Metric]) -> None:
        self._source = source
        self._table = table

    def collect(self) -> Iterator[Family]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        values = self._source.values()
        for metric in self._table:
            value = values[metric.name]
            if isinstance(value, Histogram):
                yield HistogramMetricFamily(metric.name, metric.meaning, value.buckets(), value.sum)
                continue
            family_type = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
            family = family_type(metric.name, metric.meaning, labels=[metric.label] if metric.label else [])
            if isinstance(value, Mapping):
                for label, count in sorted(value.items()):
                    family.add_metric([label], count)
            else:
                family.add_metric([], value)
            yield family


class _Stoppable(Protocol):
    server_port: int

    def shutdown(self) -> None: ...

    def server_close(self) -> None: ...


class _Joinable(Protocol):
    def join(self, timeout: float | None = None) -> None: ...


class _MetricsServer:
    def __init__(self, server: _Stoppable, thread: _Joinable) -> None:
        self.port = server.server_port
        self._server = server
        self._thread = thread

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5.0)


def _serve_error_text(port: int, host: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is already in use; choose another with --metrics-port, or 0 for no metrics"
    if error.errno == errno.EACCES:
        return f"port {port} on {host} needs more rights than you have; choose one above 1023 with --metrics-port"
    return f"metrics cannot be served on {host} port {port}: {error.strerror or error}; check metrics.host"
