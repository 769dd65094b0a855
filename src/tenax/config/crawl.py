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
            description="Which URLs may be visited: those on the seeds' hosts, on the seeds' registered "
            "domains, below the seeds' paths, or any linked URL."
        ),
    ] = "host"
    max_pages: Annotated[int, Meta(ge=0, description="Stop after this many pages; 0: no limit.")] = 0
    max_depth: Annotated[
        int, Meta(ge=0, le=1000, description="Maximum number of links followed from a seed to a page.")
    ] = 10
    include: Annotated[
        tuple[str, ...],
        Meta(
            description="Visit only URLs that match one of these patterns: a glob over the whole URL, or a "
            "regular expression between slashes."
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(
            description="Never visit URLs that match one of these patterns. Same syntax as `include`; overrides"
            " `include`."
        ),
    ] = ()
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Maximum visits in flight, all hosts together; fewer if the system allows too few open "
            "files (`ulimit -n`).",
        ),
    ] = 256
    max_body_memory_bytes: Annotated[
        int,
        Meta(
            ge=1024 * 1024,
            description="Memory for the bodies of all visits in flight: arriving, being extracted, and waiting "
            "for the commit. When it is used up, large bodies wait. One body may always arrive, "
            "whatever its size.",
        ),
    ] = 256 * 1024 * 1024
    request_interval_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="Minimum time between the starts of any two requests of this process, to any host; 0: "
            "no limit. Each worker of a cluster has its own interval.",
        ),
    ] = 0.0
    max_links_per_page: Annotated[
        int, Meta(ge=1, description="Maximum links taken from one page; the rest are counted, not followed.")
    ] = 1000
    links_per_second_per_source: Annotated[
        float,
        Meta(
            ge=0,
            description="Maximum new URLs admitted per second from one host's pages. Further URLs become due "
            "later; none is lost. No limit if this or `politeness.rate_per_second` is 0.",
        ),
    ] = 100.0
    max_idle_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="The crawl ends, and can be resumed, when every host with waiting URLs backs off for "
            "longer than this.",
        ),
    ] = 120.0


class UrlsConfig(Section, frozen=True):
    """URL normalization and trap detection."""

    tracking_params: Annotated[
        tuple[str, ...],
        Meta(description="Query parameters removed from every URL; a trailing `*` stands for any ending."),
    ] = (
        "utm_*", "ref", "source", "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid",
        "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "oly_anon_id", "oly_enc_id",
        "vero_id", "spm", "scm",
    )  # fmt: skip
    session_params: Annotated[
        tuple[str, ...],
        Meta(
            description="Session identifiers, removed from query strings and from path endings such as `;name=value`."
        ),
    ] = ("phpsessid", "jsessionid", "aspsessionid*", "sid", "sessionid", "session_id", "cfid", "cftoken", "zenid")
    strip_trailing_slash: Annotated[
        bool,
        Meta(
            description="Treat `/a/` and `/a` as one URL. Off by default, because on many sites they are "
            "different pages."
        ),
    ] = False
    max_length: Annotated[
        int, Meta(ge=64, le=65_536, description="Maximum length of a URL in characters; longer ones count as traps.")
    ] = 2048
    max_path_segments: Annotated[int, Meta(ge=1, description="Maximum path segments in a URL.")] = 20
    max_repeated_segments: Annotated[
        int,
        Meta(
            ge=1,
            description="How often a path segment, or a sequence of segments, may occur in a row; "
            "`/a/b/a/b/a/b` has three.",
        ),
    ] = 2
    max_query_params: Annotated[int, Meta(ge=0, description="Maximum query parameters in a URL.")] = 12
    calendar_years: Annotated[
        int,
        Meta(
            ge=0,
            description="How many years in the future a date in a URL may be; a later one counts as an endless "
            "calendar.",
        ),
    ] = 1
    facets_per_path: Annotated[int, Meta(ge=1, description="Maximum query strings visited for one path of a host.")] = (
        500
    )
    facet_samples: Annotated[
        int,
        Meta(
            ge=0,
            description="How many query strings of one path are visited before the path is judged. If these "
            "show the same content, the other query strings are not visited. A third of this number"
            " is enough if each of these pages links to narrower queries by several parameters. 0: "
            "all are visited.",
        ),
    ] = 10
    max_same_in_series: Annotated[
        int,
        Meta(
            ge=0,
            description="How many pages of a series (the months of a calendar, next pages) may show the same "
            "content in a row; further pages are not visited. One page less if the texts are "
            "identical. 0: no limit.",
        ),
    ] = 3
    hosts_per_domain: Annotated[
        int, Meta(ge=1, description="Maximum hosts visited below one registered domain, against wildcard DNS.")
    ] = 1000


class ResilienceConfig(Section, frozen=True):
    """Detection of stalls, memory limits and network outages."""

    stall_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="When no visit has ended for this long, the crawl counts as stalled, and Tenax looks "
            "for the cause.",
        ),
    ] = 300.0
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=-1,
            description="Maximum memory of a run, reader processes and browsers included. Above it, the run "
            "commits its visits in flight and ends; run the same command again. 0: no limit; -1: 90"
            " % of what its container or service may use.",
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
        int, Meta(ge=1, description="After this many unreachable hosts in a row, the network is checked.")
    ] = 10
    max_network_outage_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="The crawl ends, and can be resumed, when the network has been down for this long; 0: never.",
        ),
    ] = 0.0


class DatabaseConfig(Section, frozen=True):
    """The database of frontier, records and outbox."""

    url: Annotated[
        str,
        Meta(description="PostgreSQL, for many workers: `postgresql://user:password@host/database`; empty: SQLite."),
    ] = ""
    schema: Annotated[
        str, Meta(min_length=1, description="PostgreSQL schema of the tables; each crawl needs its own.")
    ] = "tenax"
    heartbeat_seconds: Annotated[
        float, Meta(gt=0, description="How often a worker on PostgreSQL sends a heartbeat.")
    ] = 30.0
    dead_after_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="A worker that has sent no heartbeat for this long counts as dead; other workers take "
            "over its hosts.",
        ),
    ] = 120.0
    visited_filter: Annotated[
        bool,
        Meta(
            description="Look up links in a filter of known URLs in the Redis of `redis.url` before PostgreSQL."
            " After an older backup of the database was restored, run `tenax db rebuild-visited`."
        ),
    ] = False
    fsync: Annotated[
        bool,
        Meta(
            description="Sync to disk with every group of commits. Off: commits survive `kill -9`, but not a power cut."
        ),
    ] = True
    group_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="How long commits are collected before they are written together. SQLite does not wait "
            "if few visits are in flight, and waits up to ten times as long if no visit depends on "
            "the commit.",
        ),
    ] = 0.01
    group_visits: Annotated[int, Meta(ge=1, description="Maximum visits in one transaction.")] = 400
    window_hosts: Annotated[int, Meta(ge=1, description="Hosts whose next tasks are loaded into memory.")] = 2000
    tasks_per_host: Annotated[int, Meta(ge=1, description="Tasks loaded into memory for each of those hosts.")] = 16
    lease_seconds: Annotated[
        float, Meta(gt=0, description="A claimed task that is not committed within this time may be claimed again.")
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
        str, Meta(description="File in the directory of the crawl to which every page is written; empty: none.")
    ] = "pages.jsonl"
    text: Annotated[bool, Meta(description="Include the page's text in events.")] = True
    kafka: Annotated[
        str, Meta(description="Kafka brokers for page events, as comma-separated `host:port`; empty: none.")
    ] = ""
    kafka_topic: Annotated[str, Meta(min_length=1, description="Kafka topic of the events.")] = "crawler_pages"
    kafka_compression: Annotated[
        Codec,
        Meta(
            description="Compression of the Kafka events. All consumers must support it; every client supports `gzip`."
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
            description="Approximate number of events kept in the stream; the oldest are dropped, whether they "
            "were read or not. 0: all events are kept until you trim the stream.",
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

    port: Annotated[int, Meta(ge=0, le=65_535, description="Serve metrics on this port; 0: no metrics.")] = 0
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
