"""The counters of one page-fetcher. Written by the event loop, read by the exporter's thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tenax.metrics import Histogram
from tenax.services.page_fetcher import QueueSizes

DURATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_BYTE_BUCKETS = tuple(1024.0 * 4**power for power in range(8))


class Gauges(NamedTuple):
    """The current state of the fetcher."""

    in_flight: int = 0
    breaker_state: int = 0
    failures_in_a_row: int = 0
    backoff_seconds: float = 0.0


class PageFetcherMetrics:
    def __init__(self) -> None:
        self.fetched = 0
        self.failed = 0
        self.skipped = 0
        self.requeued = 0
        self.retries = 0
        self.dead_letters = 0
        self.breakers_opened = 0
        self.breakers_closed = 0
        self.probes: Counter[str] = Counter(success=0, failure=0)
        self.durations = Histogram(DURATION_BUCKETS)
        self.content_bytes = Histogram(CONTENT_BYTE_BUCKETS)
        self.sizes = QueueSizes(0, 0)
        self.read_gauges: Callable[[], Gauges] = Gauges

    def values(self) -> dict[str, float | dict[str, int] | Histogram]:
        now = self.read_gauges()
        return {
            "page_fetcher_pages_fetched_total": self.fetched,
            "page_fetcher_pages_failed_total": self.failed,
            "page_fetcher_pages_skipped_robots_total": self.skipped,
            "page_fetcher_pages_requeued_total": self.requeued,
            "page_fetcher_retries_total": self.retries,
            "page_fetcher_dlq_enqueued_total": self.dead_letters,
            "page_fetcher_circuit_breaker_opened_total": self.breakers_opened,
            "page_fetcher_circuit_breaker_closed_total": self.breakers_closed,
            "page_fetcher_circuit_breaker_probes_total": dict(self.probes),
            "page_fetcher_input_queue_size": self.sizes.queue,
            "page_fetcher_dlq_size": self.sizes.dead_letters,
            "page_fetcher_circuit_breaker_state": now.breaker_state,
            "page_fetcher_circuit_breaker_consecutive_failures": now.failures_in_a_row,
            "page_fetcher_circuit_breaker_current_backoff_seconds": now.backoff_seconds,
            "page_fetcher_in_flight": now.in_flight,
            "page_fetcher_fetch_duration_seconds": self.durations,
            "page_fetcher_content_size_bytes": self.content_bytes,
        }
