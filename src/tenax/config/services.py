"""Settings of the services that run beside the crawl, with the names of their specifications."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenax.config.fetch import Section


class WorkerConfig(Section, frozen=True):
    """A worker: one of many that crawl into the same database."""

    grace_seconds: Annotated[
        float, Meta(ge=0, description="How long visits in flight may take to finish after SIGTERM or Ctrl-C.")
    ] = 30.0


class PageFetcherConfig(Section, frozen=True):
    """The page-fetcher: takes URLs from a Redis list, writes pages to Redis and events to Kafka."""

    redis_url: Annotated[
        str, Meta(description="Redis of the queue and the pages: `redis://user:password@host:port/number`.")
    ] = "redis://localhost:6379"
    kafka_bootstrap_servers: Annotated[
        str, Meta(description="Kafka brokers for events, as comma-separated `host:port`.")
    ] = "localhost:9092"
    input_queue: Annotated[str, Meta(min_length=1, description="Redis list that URLs are taken from.")] = (
        "crawler_queue"
    )
    dlq_queue: Annotated[str, Meta(min_length=1, description="Redis list of failed URLs.")] = "page_fetcher_dlq"
    webpage_log_topic: Annotated[
        str, Meta(min_length=1, description="Kafka topic to which every fetched page is written.")
    ] = "webpage_log"
    request_timeout_seconds: Annotated[
        float, Meta(gt=0, description="Maximum time of one fetch, from the first byte sent to the last byte received.")
    ] = 30.0
    max_retries: Annotated[int, Meta(ge=1, description="Visits to a URL before it becomes a failed URL.")] = 3
    retry_backoff_base_seconds: Annotated[
        float, Meta(gt=0, description="Wait before the first retry; it doubles with each further one.")
    ] = 2.0
    user_agent: Annotated[
        str,
        Meta(
            description="Replaces the whole User-Agent; robots.txt is obeyed for this name. Empty: as "
            "`fetch.user_agent`."
        ),
    ] = ""
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Maximum redirects followed from one URL.")] = 5
    cache_ttl_seconds: Annotated[int, Meta(ge=1, description="How long a page is kept in Redis.")] = 3600
    rate_limit_per_second: Annotated[
        float,
        Meta(
            ge=0,
            description="Requests per second to one host, by all page-fetchers together; 0: no limit, for your own "
            "sites.",
        ),
    ] = 1.0
    circuit_breaker_failure_threshold: Annotated[
        int, Meta(ge=1, description="Failures of a host in a row that open the breaker.")
    ] = 5
    circuit_breaker_initial_backoff_seconds: Annotated[
        float, Meta(gt=0, description="First backoff of an open breaker; then the host is probed.")
    ] = 30.0
    circuit_breaker_max_backoff_seconds: Annotated[
        float, Meta(gt=0, description="Maximum backoff of an open breaker.")
    ] = 300.0
    circuit_breaker_backoff_multiplier: Annotated[
        float, Meta(ge=1, description="Each failed probe multiplies the backoff by this.")
    ] = 2.0
    robots_txt_cache_ttl_seconds: Annotated[
        int, Meta(ge=1, description="How long a robots.txt is used before it is fetched again.")
    ] = 86_400
    poll_timeout_seconds: Annotated[
        float, Meta(gt=0, description="How long one request to an empty queue waits for a new URL.")
    ] = 5.0
    concurrency: Annotated[int, Meta(ge=1, le=10_000, description="Maximum visits in flight, all hosts together.")] = 64
    max_in_flight: Annotated[
        int, Meta(ge=1, le=100_000, description="Maximum URLs that are taken from the queue and not finished yet.")
    ] = 1000
    grace_seconds: Annotated[
        float, Meta(ge=0, description="How long visits in flight may take to finish after SIGTERM or Ctrl-C.")
    ] = 30.0
    heartbeat_seconds: Annotated[float, Meta(gt=0, description="How often a page-fetcher sends a heartbeat.")] = 30.0
    dead_after_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="A page-fetcher that has sent no heartbeat for this long counts as dead; its URLs go "
            "back to the queue.",
        ),
    ] = 120.0
