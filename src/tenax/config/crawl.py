"""Declares the settings of the crawl itself, each once: name with unit, default, bounds and description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from tenax.config.discovery import DiscoveryConfig, RecrawlConfig
from tenax.config.extract import DuplicatesConfig, ExtractConfig
from tenax.config.fetch import (
    BrowserConfig,
    CacheConfig,
    FetchConfig,
    GuardConfig,
    HostsConfig,
    PolitenessConfig,
    ProxyConfig,
    RedisConfig,
    Section,
    ValidationConfig,
)
from tenax.config.services import PageFetcherConfig, WorkerConfig

ScopeName = Literal["host", "domain", "prefix", "any"]
Codec = Literal["gzip", "zstd", "lz4", "snappy", "none"]
LogFormat = Literal["auto", "text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


class CrawlConfig(Section, frozen=True):
    """Scope and limits of a crawl."""

    scope: Annotated[
        ScopeName,
        Meta(
            description="What may be visited: the seeds' hosts, their registered domains, the seeds' paths and below, "
            "or any link target."
        ),
    ] = "host"
    max_pages: Annotated[int, Meta(ge=0, description="Stop after this many pages; 0: no limit.")] = 0
    max_depth: Annotated[
        int, Meta(ge=0, le=1000, description="Maximum number of links followed from a seed to a page.")
    ] = 10
    include: Annotated[
        tuple[str, ...],
        Meta(
            description="Only URLs that match one of these: a glob over the whole URL, or a regular expression "
            "between slashes."
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="Never URLs that match one of these; same forms as `include`, which it overrides."),
    ] = ()
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Maximum visits in flight, all hosts together; fewer where the system allows too few open "
            "files (`ulimit -n`).",
        ),
    ] = 256
    max_body_memory_bytes: Annotated[
        int,
        Meta(
            ge=1024 * 1024,
            description="Memory for the bodies of all visits in flight: arriving, being extracted, and waiting for "
            "the commit. When it is used up, large bodies wait; one body may always arrive, whatever its "
            "size.",
        ),
    ] = 256 * 1024 * 1024
    request_interval_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="Minimum time between the starts of any two requests of this process, to any host; 0: no "
            "limit. Each worker of a cluster counts its own.",
        ),
    ] = 0.0
    max_links_per_page: Annotated[
        int, Meta(ge=1, description="Maximum links taken from one page; the rest are counted, not followed.")
    ] = 1000
    links_per_second_per_source: Annotated[
        float,
        Meta(
            ge=0,
            description="New URLs admitted per second from one host's pages; the rest become due later, none are "
            "lost. 0: no limit. There is also no limit when `politeness.rate_per_second` is 0.",
        ),
    ] = 100.0
    max_idle_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="The crawl ends, and can be resumed, when every host with tasks is backing off for longer "
            "than this.",
        ),
    ] = 120.0


class UrlsConfig(Section, frozen=True):
    """URL normalization and trap detection."""

    tracking_params: Annotated[
        tuple[str, ...],
        Meta(description="Query parameters removed from every URL; a trailing `*` matches any ending."),
    ] = (
        "utm_*", "ref", "source", "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid",
        "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "oly_anon_id", "oly_enc_id",
        "vero_id", "spm", "scm",
    )  # fmt: skip
    session_params: Annotated[
        tuple[str, ...],
        Meta(description="Session identifiers removed from queries and from `;name=value` path endings."),
    ] = ("phpsessid", "jsessionid", "aspsessionid*", "sid", "sessionid", "session_id", "cfid", "cftoken", "zenid")
    strip_trailing_slash: Annotated[
        bool, Meta(description="Treat `/a/` and `/a` as one URL. Off by default: many sites answer them differently.")
    ] = False
    max_length: Annotated[
        int, Meta(ge=64, le=65_536, description="Maximum length of a URL in characters; longer ones count as traps.")
    ] = 2048
    max_path_segments: Annotated[int, Meta(ge=1, description="Maximum path segments in a URL.")] = 20
    max_repeated_segments: Annotated[
        int, Meta(ge=1, description="How often one path segment, or a run of them, may repeat: `/a/b/a/b/a/b`.")
    ] = 2
    max_query_params: Annotated[int, Meta(ge=0, description="Maximum query parameters in a URL.")] = 12
    calendar_years: Annotated[
        int,
        Meta(ge=0, description="How many years ahead dates in URLs may be; later ones count as an endless calendar."),
    ] = 1
    facets_per_path: Annotated[int, Meta(ge=1, description="Maximum query strings visited for one path of a host.")] = (
        500
    )
    facet_samples: Annotated[
        int,
        Meta(
            ge=0,
            description="How many query strings of one path are visited before the others are judged. If these show "
            "the same content, the others are not visited. A third of them is enough if each page links to narrower "
            "queries by several parameters. 0: all are visited.",
        ),
    ] = 10
    max_same_in_series: Annotated[
        int,
        Meta(
            ge=0,
            description="How many pages of a series (the months of a calendar, next pages) in a row may show the same "
            "content before further ones are not visited. One less if their texts are identical. 0: no limit.",
        ),
    ] = 3
    hosts_per_domain: Annotated[
        int, Meta(ge=1, description="Maximum hosts below one registered domain (wildcard DNS).")
    ] = 1000


class ResilienceConfig(Section, frozen=True):
    """Detection of stalls, memory limits and network outages."""

    stall_seconds: Annotated[
        float,
        Meta(
            gt=0, description="The crawl counts as stalled, and looks for the cause, when no visit ended for this long."
        ),
    ] = 300.0
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=-1,
            description="Maximum memory of a run, reader processes and browsers included; above it the run commits "
            "what is in flight and ends, to be started again. 0: no limit; -1: 90 % of what its container "
            "or service may use.",
        ),
    ] = -1
    network_probes: Annotated[
        tuple[str, ...],
        Meta(description="`address:port` pairs; the network is down when none of them accepts a connection."),
    ] = ("1.1.1.1:443", "8.8.8.8:53", "9.9.9.9:53")
    network_check_seconds: Annotated[
        float, Meta(gt=0, description="How often the network is checked while it is down.")
    ] = 30.0
    network_failures: Annotated[
        int, Meta(ge=1, description="Unreachable hosts in a row before the network is checked.")
    ] = 10
    max_network_outage_seconds: Annotated[
        float,
        Meta(
            ge=0, description="The crawl ends, and can be resumed, when the network was down for this long; 0: never."
        ),
    ] = 0.0


class DatabaseConfig(Section, frozen=True):
    """The database of frontier, records and outbox."""

    url: Annotated[
        str,
        Meta(description="PostgreSQL for many workers: `postgresql://user:password@host/database`; empty: SQLite."),
    ] = ""
    schema: Annotated[
        str, Meta(min_length=1, description="PostgreSQL schema of the tables; each crawl needs its own.")
    ] = "tenax"
    heartbeat_seconds: Annotated[float, Meta(gt=0, description="Heartbeat interval of a worker on PostgreSQL.")] = 30.0
    dead_after_seconds: Annotated[
        float,
        Meta(
            gt=0, description="A worker without a heartbeat for this long is dead; other workers take over its hosts."
        ),
    ] = 120.0
    visited_filter: Annotated[
        bool,
        Meta(
            description="Check links for known URLs in the Redis of `redis.url` before PostgreSQL. After an older "
            "backup of the database was restored, run `tenax db rebuild-visited`."
        ),
    ] = False
    fsync: Annotated[
        bool, Meta(description="Sync to disk with every group of commits; off: survives kill -9 but not a power cut.")
    ] = True
    group_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="How long commits are collected before they are written together. SQLite does not wait when "
            "few visits are in flight, and waits up to ten times as long when no visit depends on the commit.",
        ),
    ] = 0.01
    group_visits: Annotated[int, Meta(ge=1, description="Maximum visits in one transaction.")] = 400
    window_hosts: Annotated[int, Meta(ge=1, description="Hosts whose next tasks are loaded into memory.")] = 2000
    tasks_per_host: Annotated[int, Meta(ge=1, description="Tasks loaded into memory for each of those hosts.")] = 16
    lease_seconds: Annotated[
        float, Meta(gt=0, description="A claimed task not committed within this time may be claimed again.")
    ] = 300.0
    cache_bytes: Annotated[int, Meta(ge=1024 * 1024, description="Memory for cached database pages.")] = (
        64 * 1024 * 1024
    )
    mmap_bytes: Annotated[int, Meta(ge=0, description="How much of the database file is memory-mapped.")] = 0


class PoolConfig(Section, frozen=True):
    """The processes that extract pages."""

    processes: Annotated[
        int,
        Meta(ge=-1, description="Reader processes; -1: one less than there are cores, 0: in the main process."),
    ] = -1
    max_batch: Annotated[int, Meta(ge=1, description="Maximum pages sent to a reader process at once.")] = 32


class EventsConfig(Section, frozen=True):
    """Where events are written."""

    jsonl: Annotated[
        str, Meta(description="File in the output directory to which every page is written; empty: none.")
    ] = "pages.jsonl"
    text: Annotated[bool, Meta(description="Include the page's text in events.")] = True
    kafka: Annotated[
        str, Meta(description="Kafka brokers for page events, as comma-separated `host:port`; empty: none.")
    ] = ""
    kafka_topic: Annotated[str, Meta(min_length=1, description="Kafka topic of the events.")] = "crawler_pages"
    kafka_compression: Annotated[
        Codec,
        Meta(
            description="Compression of the Kafka events; all consumers must support it, and every client supports "
            "`gzip`."
        ),
    ] = "gzip"
    redis: Annotated[
        str,
        Meta(description="Redis for page events: `redis://user:password@host:port/number`; empty: none."),
    ] = ""
    redis_stream: Annotated[str, Meta(min_length=1, description="Redis stream of the events.")] = "crawler:pages"
    redis_stream_length: Annotated[
        int,
        Meta(
            ge=0,
            description="Approximate number of events kept in the stream; the oldest are dropped, read or not; 0: all, "
            "until you trim it.",
        ),
    ] = 0


class LogConfig(Section, frozen=True):
    """Log output."""

    level: Annotated[LogLevel, Meta(description="Lowest level of messages shown.")] = "info"
    format: Annotated[
        LogFormat, Meta(description="`auto` and `text`: readable lines; `json`: one JSON object per line.")
    ] = "auto"


class MetricsConfig(Section, frozen=True):
    """Prometheus metrics."""

    port: Annotated[int, Meta(ge=0, le=65_535, description="Serve metrics on this port; 0: do not.")] = 0
    host: Annotated[str, Meta(description="Address on which metrics are served.")] = "127.0.0.1"


class Config(Section, frozen=True):
    """All sections, and the settings of single sites."""

    crawl: CrawlConfig = CrawlConfig()
    urls: UrlsConfig = UrlsConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    fetch: FetchConfig = FetchConfig()
    guard: GuardConfig = GuardConfig()
    hosts: HostsConfig = HostsConfig()
    redis: RedisConfig = RedisConfig()
    cache: CacheConfig = CacheConfig()
    proxy: ProxyConfig = ProxyConfig()
    browser: BrowserConfig = BrowserConfig()
    validation: ValidationConfig = ValidationConfig()
    discovery: DiscoveryConfig = DiscoveryConfig()
    recrawl: RecrawlConfig = RecrawlConfig()
    extract: ExtractConfig = ExtractConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()
    resilience: ResilienceConfig = ResilienceConfig()
    database: DatabaseConfig = DatabaseConfig()
    pool: PoolConfig = PoolConfig()
    events: EventsConfig = EventsConfig()
    log: LogConfig = LogConfig()
    metrics: MetricsConfig = MetricsConfig()
    worker: WorkerConfig = WorkerConfig()
    page_fetcher: PageFetcherConfig = PageFetcherConfig()
    sites: dict[str, dict[str, Any]] = {}
    """Settings of single sites: values by `section.name` under a host's name or `*.name`; see `Sites`."""
