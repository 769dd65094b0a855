"""The settings of the services: long-running jobs beside the crawl. Their names are those their neighbours know."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenax.config.fetching import Section


class WorkerConfig(Section, frozen=True):
    """A worker: one of many that crawl into the same database."""

    grace_seconds: Annotated[
        float, Meta(ge=0, description="How long visits in flight may take to end after SIGTERM or Ctrl-C.")
    ] = 30.0


class PageFetcherConfig(Section, frozen=True):
    """The page-fetcher: URLs from a Redis list in, pages in Redis and events in Kafka out."""

    redis_url: Annotated[
        str, Meta(description="The Redis of the queue and the pages: `redis://user:password@host:port/number`.")
    ] = "redis://localhost:6379"
    kafka_bootstrap_servers: Annotated[
        str, Meta(description="Brokers that events are sent to, as `host:port`, with commas between them.")
    ] = "localhost:9092"
    input_queue: Annotated[str, Meta(min_length=1, description="The Redis list that URLs are taken from.")] = (
        "crawler_queue"
    )
    dlq_queue: Annotated[
        str, Meta(min_length=1, description="The Redis list that URLs go to which were given up for good.")
    ] = "page_fetcher_dlq"
    webpage_log_topic: Annotated[
        str, Meta(min_length=1, description="The Kafka topic that every page fetched is told to.")
    ] = "webpage_log"
    request_timeout_seconds: Annotated[
        float, Meta(gt=0, description="One fetch, from first byte sent to last received.")
    ] = 30.0
    max_retries: Annotated[int, Meta(ge=1, description="Visits to a URL before it is given up.")] = 3
    retry_backoff_base_seconds: Annotated[
        float, Meta(gt=0, description="First wait before a retry; it doubles each time.")
    ] = 2.0
    user_agent: Annotated[
        str,
        Meta(description="Replaces the whole User-Agent; robots.txt is obeyed for it. Empty: `fetch.user_agent`."),
    ] = ""
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Redirects followed from one URL.")] = 5
    cache_ttl_seconds: Annotated[int, Meta(ge=1, description="How long a page is kept in Redis.")] = 3600
    rate_limit_per_second: Annotated[
        float,
        Meta(
            ge=0,
            description="Requests per second to one host, by all page-fetchers together; 0 lifts the limit, for sites "
            "of your own.",
        ),
    ] = 1.0
    circuit_breaker_failure_threshold: Annotated[
        int, Meta(ge=1, description="Failures of a host in a row that mean an outage.")
    ] = 5
    circuit_breaker_initial_backoff_seconds: Annotated[
        float, Meta(gt=0, description="How long a host that is down is left alone before it is probed.")
    ] = 30.0
    circuit_breaker_max_backoff_seconds: Annotated[
        float, Meta(gt=0, description="Longest time between two probes.")
    ] = 300.0
    circuit_breaker_backoff_multiplier: Annotated[
        float, Meta(ge=1, description="Each failed probe makes the time to the next so many times as long.")
    ] = 2.0
    robots_txt_cache_ttl_seconds: Annotated[
        int, Meta(ge=1, description="How long a robots.txt is used before asking again.")
    ] = 86_400
    poll_timeout_seconds: Annotated[
        float, Meta(gt=0, description="How long one look into an empty queue waits for a URL.")
    ] = 5.0
    concurrency: Annotated[
        int, Meta(ge=1, le=10_000, description="Visits in flight at the same time, all hosts together.")
    ] = 64
    max_in_flight: Annotated[
        int, Meta(ge=1, le=100_000, description="URLs taken from the queue and not settled yet, at most.")
    ] = 1000
    grace_seconds: Annotated[
        float, Meta(ge=0, description="How long visits in flight may take to end after SIGTERM or Ctrl-C.")
    ] = 30.0
    heartbeat_seconds: Annotated[float, Meta(gt=0, description="How often a page-fetcher gives a sign of life.")] = 30.0
    dead_after_seconds: Annotated[
        float,
        Meta(gt=0, description="One that gave none for this long is dead; what it held goes back to the queue."),
    ] = 120.0
