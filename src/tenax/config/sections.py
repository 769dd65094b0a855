"""Every setting, once: its name with its unit, its default, its bounds and its meaning. Those of fetching stand apart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from tenax.config.discovery import DiscoveryConfig, RecrawlConfig
from tenax.config.extract import DuplicatesConfig, ExtractConfig
from tenax.config.fetching import (
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
    """What this crawl may touch, and how much of it."""

    scope: Annotated[
        ScopeName,
        Meta(
            description="What may be visited: the seeds' hosts, their registered domains, "
            "the seeds' paths and below, or anything a link leads to."
        ),
    ] = "host"
    max_pages: Annotated[int, Meta(ge=0, description="Stop after this many pages; 0 means no limit.")] = 0
    max_depth: Annotated[int, Meta(ge=0, le=1000, description="Links followed from a seed at most.")] = 10
    include: Annotated[
        tuple[str, ...],
        Meta(
            description="Only URLs that match one of these: a glob over the whole URL, "
            "or a regular expression between slashes."
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="Never URLs that match one of these; same forms as `include`, and stronger."),
    ] = ()
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Visits in flight at the same time, all hosts together; fewer where the system allows too few "
            "open files (`ulimit -n`).",
        ),
    ] = 256
    max_body_memory_bytes: Annotated[
        int,
        Meta(
            ge=1024 * 1024,
            description="Memory for the bodies of all visits in flight: arriving, being read, and waiting for the "
            "commit. When it is used up, large bodies wait; a single one may always come, whatever its size.",
        ),
    ] = 256 * 1024 * 1024
    request_interval_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="Least time between the starts of any two requests of this process, whatever their hosts; 0: "
            "no limit. Each worker of a cluster keeps its own.",
        ),
    ] = 0.0
    max_links_per_page: Annotated[
        int, Meta(ge=1, description="Links taken from one page at most; the rest are counted, not followed.")
    ] = 1000
    links_per_second_per_source: Annotated[
        float,
        Meta(
            ge=0,
            description="New URLs admitted per second from one host's pages; more become due later, none "
            "are lost. 0 means no limit, and so does `politeness.rate_per_second = 0`.",
        ),
    ] = 100.0
    max_idle_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="A crawl ends, to be resumed later, when every host with work left rests for longer than this.",
        ),
    ] = 120.0


class UrlsConfig(Section, frozen=True):
    """How URLs are made equal, and which ones look like traps."""

    tracking_params: Annotated[
        tuple[str, ...],
        Meta(description="Query parameters dropped from every URL; a trailing `*` matches any ending."),
    ] = (
        "utm_*", "ref", "source", "fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid",
        "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "oly_anon_id", "oly_enc_id",
        "vero_id", "spm", "scm",
    )  # fmt: skip
    session_params: Annotated[
        tuple[str, ...],
        Meta(description="Session identifiers dropped from queries and from `;name=value` path endings."),
    ] = ("phpsessid", "jsessionid", "aspsessionid*", "sid", "sessionid", "session_id", "cfid", "cftoken", "zenid")
    strip_trailing_slash: Annotated[
        bool, Meta(description="Treat `/a/` and `/a` as one URL. Off: many sites answer them differently.")
    ] = False
    max_length: Annotated[
        int, Meta(ge=64, le=65_536, description="Longest URL followed, in characters; longer ones are traps.")
    ] = 2048
    max_path_segments: Annotated[int, Meta(ge=1, description="Most path segments in a URL.")] = 20
    max_repeated_segments: Annotated[
        int, Meta(ge=1, description="How often one path segment, or a run of them, may repeat: `/a/b/a/b/a/b`.")
    ] = 2
    max_query_params: Annotated[int, Meta(ge=0, description="Most query parameters in a URL.")] = 12
    calendar_years: Annotated[
        int, Meta(ge=0, description="Dates in URLs may lie this many years ahead; further is an endless calendar.")
    ] = 1
    facets_per_path: Annotated[int, Meta(ge=1, description="Different query strings taken for one path of a host.")] = (
        500
    )
    facet_samples: Annotated[
        int,
        Meta(
            ge=0,
            description="Query strings of one path that are visited before it is judged, a third of them where each "
            "can be narrowed in several ways: if they show the same again, the others are left alone; 0: never.",
        ),
    ] = 10
    max_same_in_series: Annotated[
        int,
        Meta(
            ge=0,
            description="Pages in a row that lead to one another by number, such as months of a calendar or next "
            "pages, and show the same each time, before further ones are left alone, one less where the text is the "
            "very same; 0: no limit.",
        ),
    ] = 3
    hosts_per_domain: Annotated[
        int, Meta(ge=1, description="Different hosts taken below one registered domain (wildcard DNS).")
    ] = 1000


class ResilienceConfig(Section, frozen=True):
    """What a crawl does when nothing moves."""

    stall_seconds: Annotated[
        float, Meta(gt=0, description="No visit ended for this long: the crawl has stalled and looks for the cause.")
    ] = 300.0
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=-1,
            description="A run that uses more, readers and browsers included, commits what is in flight and ends, to "
            "be started again; 0: no limit, -1: nine tenths of what its container or service may use.",
        ),
    ] = -1
    network_probes: Annotated[
        tuple[str, ...],
        Meta(description="`address:port` pairs; when none of them can be connected to, the network is down."),
    ] = ("1.1.1.1:443", "8.8.8.8:53", "9.9.9.9:53")
    network_check_seconds: Annotated[
        float, Meta(gt=0, description="How often a network that is down is asked for.")
    ] = 30.0
    network_failures: Annotated[
        int, Meta(ge=1, description="Hosts in a row that cannot be reached before the network is looked at.")
    ] = 10
    max_network_outage_seconds: Annotated[
        float, Meta(ge=0, description="A crawl ends, to be resumed, when the network was down for this long; 0: never.")
    ] = 0.0


class DatabaseConfig(Section, frozen=True):
    """The database that holds everything."""

    url: Annotated[
        str,
        Meta(description="PostgreSQL, for many workers: `postgresql://user:password@host/database`; empty: a file."),
    ] = ""
    schema: Annotated[
        str, Meta(min_length=1, description="Where the tables stand in PostgreSQL; each crawl needs its own.")
    ] = "tenax"
    heartbeat_seconds: Annotated[
        float, Meta(gt=0, description="How often a worker on PostgreSQL gives a sign of life.")
    ] = 30.0
    dead_after_seconds: Annotated[
        float, Meta(gt=0, description="A worker that gave none for this long is dead; others go on with its hosts.")
    ] = 120.0
    visited_filter: Annotated[
        bool,
        Meta(
            description="Ask the Redis of `redis.url` which links are known before PostgreSQL is asked; after an older "
            "copy of the database was put back, see `tenax db rebuild-visited`."
        ),
    ] = False
    fsync: Annotated[
        bool, Meta(description="Wait for the disk at every group of commits; off survives kill -9 but not a power cut.")
    ] = True
    group_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="How long commits are gathered before they are written together; in a file, not at all with "
            "few visits under way, and up to ten times as long while nothing waits for them.",
        ),
    ] = 0.01
    group_visits: Annotated[int, Meta(ge=1, description="Most visits in one transaction.")] = 400
    window_hosts: Annotated[int, Meta(ge=1, description="Hosts whose next tasks are held in memory.")] = 2000
    tasks_per_host: Annotated[int, Meta(ge=1, description="Tasks held in memory for each of those hosts.")] = 16
    lease_seconds: Annotated[
        float, Meta(gt=0, description="A claimed task not committed within this time may be claimed by another.")
    ] = 300.0
    cache_bytes: Annotated[int, Meta(ge=1024 * 1024, description="Memory for database pages.")] = 64 * 1024 * 1024
    mmap_bytes: Annotated[int, Meta(ge=0, description="How much of the file is mapped into memory.")] = 0


class PoolConfig(Section, frozen=True):
    """Where the CPU work of reading pages is done."""

    processes: Annotated[
        int,
        Meta(ge=-1, description="Reader processes; -1: one less than there are cores, 0: in the main process."),
    ] = -1
    max_batch: Annotated[int, Meta(ge=1, description="Most pages handed to a reader at once.")] = 32


class EventsConfig(Section, frozen=True):
    """What we tell the outside."""

    jsonl: Annotated[
        str, Meta(description="File in the output directory that every page is written to; empty: none.")
    ] = "pages.jsonl"
    text: Annotated[bool, Meta(description="Put the page's text in the events.")] = True
    kafka: Annotated[
        str, Meta(description="Brokers that every page is told to, as `host:port`, with commas between; empty: none.")
    ] = ""
    kafka_topic: Annotated[str, Meta(min_length=1, description="The Kafka topic that they are told under.")] = (
        "crawler_pages"
    )
    kafka_compression: Annotated[
        Codec, Meta(description="How they are compressed; all readers must know it, and every client knows `gzip`.")
    ] = "gzip"
    redis: Annotated[
        str,
        Meta(description="Redis that every page is told to: `redis://user:password@host:port/number`; empty: none."),
    ] = ""
    redis_stream: Annotated[str, Meta(min_length=1, description="The Redis stream that they are added to.")] = (
        "crawler:pages"
    )
    redis_stream_length: Annotated[
        int,
        Meta(ge=0, description="About how many it keeps, the oldest are dropped, read or not; 0: all, until you trim."),
    ] = 0


class LogConfig(Section, frozen=True):
    """What is said while running."""

    level: Annotated[LogLevel, Meta(description="Least important message shown.")] = "info"
    format: Annotated[LogFormat, Meta(description="`auto`: readable lines; `json`: one object a line.")] = "auto"


class MetricsConfig(Section, frozen=True):
    """Numbers for Prometheus."""

    port: Annotated[int, Meta(ge=0, le=65_535, description="Serve metrics on this port; 0: do not.")] = 0
    host: Annotated[str, Meta(description="Address the metrics are served on.")] = "127.0.0.1"


class Config(Section, frozen=True):
    """All sections, and what differs for single sites."""

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
    """What differs for single sites: settings by `section.name` under a host's name or `*.name`; see `Sites`."""
