"""Every knob, once: its name with its unit, its default, its bounds and its meaning.

Values come from four places; the later wins: the defaults here, a TOML file, `TENAX_SECTION_KEY` variables,
command-line flags. `load` remembers where each value came from, and refuses a key or a value it does not know
in a sentence that names both.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from tenax.errors import ConfigError


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of knobs; a part of the program gets its own section, never all of them."""


ScopeName = Literal["host", "domain", "prefix", "any"]
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
        int, Meta(ge=1, le=10_000, description="Visits in flight at the same time, all hosts together.")
    ] = 32
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
    patience_seconds: Annotated[
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
    hosts_per_domain: Annotated[
        int, Meta(ge=1, description="Different hosts taken below one registered domain (wildcard DNS).")
    ] = 1000


class PolitenessConfig(Section, frozen=True):
    """How gently a host is treated."""

    rate_per_second: Annotated[
        float, Meta(ge=0, description="Requests per second to one host; 0 lifts the limit, for sites of your own.")
    ] = 1.0
    connections_per_host: Annotated[
        int, Meta(ge=1, le=1000, description="Requests in flight to one host at the same time.")
    ] = 1
    max_crawl_delay_seconds: Annotated[
        float, Meta(ge=0, description="A longer Crawl-delay in robots.txt is shortened to this.")
    ] = 86_400.0
    robots_ttl_seconds: Annotated[
        float, Meta(ge=1, description="How long a robots.txt is used before asking again.")
    ] = 3600.0
    robots_stale_seconds: Annotated[
        float, Meta(ge=0, description="How old the last good robots.txt may be when the host cannot be asked.")
    ] = 86_400.0
    robots_retry_seconds: Annotated[
        float, Meta(ge=1, description="How long to wait before asking an unreachable robots.txt again.")
    ] = 60.0
    robots_on_unreachable: Annotated[
        Literal["disallow", "allow"],
        Meta(description="What an unreachable robots.txt means; RFC 9309 says disallow."),
    ] = "disallow"


class FetchConfig(Section, frozen=True):
    """One request: who we say we are, how long we wait, how much we take."""

    contact: Annotated[
        str, Meta(description="Where a site's owner can reach you: a URL or an e-mail address, sent in the User-Agent.")
    ] = ""
    user_agent: Annotated[
        str, Meta(description="Replaces the whole User-Agent; robots.txt is still asked for `Tenax`.")
    ] = ""
    total_timeout_seconds: Annotated[
        float, Meta(gt=0, description="One fetch, from first byte sent to last received.")
    ] = 30.0
    connect_timeout_seconds: Annotated[float, Meta(gt=0, description="Name look-up and connection.")] = 10.0
    max_body_bytes: Annotated[
        int, Meta(ge=1024, description="Largest body, decoded; more is cut off and not kept.")
    ] = 10 * 1024 * 1024
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Redirects followed from one URL.")] = 5
    max_attempts: Annotated[int, Meta(ge=1, description="Visits to a URL before it becomes a dead letter.")] = 3
    retry_base_seconds: Annotated[float, Meta(gt=0, description="First wait before a retry; it doubles each time.")] = (
        1.0
    )
    retry_max_seconds: Annotated[float, Meta(gt=0, description="Longest wait before a retry.")] = 8.0
    retry_jitter: Annotated[float, Meta(ge=0, le=1, description="Share of the wait added at random.")] = 0.2
    max_retry_after_seconds: Annotated[float, Meta(ge=0, description="A longer Retry-After is shortened to this.")] = (
        3600.0
    )


class GuardConfig(Section, frozen=True):
    """Which addresses may be connected to; everything private is refused."""

    allow_networks: Annotated[
        tuple[str, ...],
        Meta(description="Private networks that may be crawled after all, such as `10.1.0.0/16`."),
    ] = ()
    ports: Annotated[
        tuple[int, ...],
        Meta(description="Ports that may be connected to; a seed's own port is allowed for that seed's host."),
    ] = (80, 443, 8000, 8008, 8080, 8443)
    dns_ttl_seconds: Annotated[float, Meta(ge=0, description="How long a checked address is reused.")] = 300.0


class LedgerConfig(Section, frozen=True):
    """The database that holds everything."""

    fsync: Annotated[
        bool, Meta(description="Wait for the disk at every group of commits; off survives kill -9 but not a power cut.")
    ] = True
    group_seconds: Annotated[
        float, Meta(ge=0, le=1, description="How long commits are gathered before they are written together.")
    ] = 0.01
    group_visits: Annotated[int, Meta(ge=1, description="Most visits in one transaction.")] = 400
    window_hosts: Annotated[int, Meta(ge=1, description="Hosts whose next tasks are held in memory.")] = 2000
    look_ahead: Annotated[int, Meta(ge=1, description="Tasks held in memory for each of those hosts.")] = 16
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


class LogConfig(Section, frozen=True):
    """What is said while running."""

    level: Annotated[LogLevel, Meta(description="Least important message shown.")] = "info"
    format: Annotated[LogFormat, Meta(description="`auto`: readable lines; `json`: one object a line.")] = "auto"


class MetricsConfig(Section, frozen=True):
    """Numbers for Prometheus."""

    port: Annotated[int, Meta(ge=0, le=65_535, description="Serve metrics on this port; 0: do not.")] = 0
    host: Annotated[str, Meta(description="Address the metrics are served on.")] = "127.0.0.1"


class Config(Section, frozen=True):
    """All sections."""

    crawl: CrawlConfig = CrawlConfig()
    urls: UrlsConfig = UrlsConfig()
    politeness: PolitenessConfig = PolitenessConfig()
    fetch: FetchConfig = FetchConfig()
    guard: GuardConfig = GuardConfig()
    ledger: LedgerConfig = LedgerConfig()
    pool: PoolConfig = PoolConfig()
    events: EventsConfig = EventsConfig()
    log: LogConfig = LogConfig()
    metrics: MetricsConfig = MetricsConfig()


class Knob(msgspec.Struct, frozen=True):
    """One knob as the documents and the error messages see it."""

    section: str
    name: str
    type: Any
    default: Any
    meaning: str

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"TENAX_{self.section}_{self.name}".upper()

    @property
    def takes_a_list(self) -> bool:
        return get_origin(self.type) is tuple


class Setting(msgspec.Struct, frozen=True):
    """A value and where it came from."""

    value: Any
    source: str


class Loaded(msgspec.Struct, frozen=True):
    """A config that remembers the source of each of its values."""

    config: Config
    sources: dict[str, str]


def knobs() -> Iterator[Knob]:
    """Every knob, in the order of this file."""
    for section, section_type in get_type_hints(Config).items():
        defaults = section_type()
        for name, hint in get_type_hints(section_type, include_extras=True).items():
            base, *notes = get_args(hint)
            yield Knob(section, name, base, getattr(defaults, name), notes[0].description or "")


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Setting] | None = None,
) -> Loaded:
    """Lay the sources over the defaults. `flags` maps `section.name` to a value and the flag that gave it."""
    known = {knob.key: knob for knob in knobs()}
    settings: dict[str, Setting] = {}
    if file is not None:
        settings.update(_from_file(file, known))
    settings.update(_from_environment(environment or {}, known))
    for key, setting in (flags or {}).items():
        if key not in known:
            raise ConfigError(f"{setting.source}: unknown key `{key}`{_nearest(key, known)}")
        settings[key] = setting
    sections: dict[str, dict[str, Any]] = {}
    for key, setting in settings.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = _checked(known[key], setting)
    config = msgspec.convert(sections, Config)
    sources = {key: settings[key].source if key in settings else "default" for key in known}
    return Loaded(config, sources)


def _from_file(file: Path, known: Mapping[str, Knob]) -> dict[str, Setting]:
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file; give --config the path of a TOML file, or leave it out") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    settings = {}
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: `{section}` must stand in a section, such as [crawl]")
        for name, value in table.items():
            key = f"{section}.{name}"
            if key not in known:
                raise ConfigError(f"{file}: unknown key `{key}`{_nearest(key, known)}")
            settings[key] = Setting(tuple(value) if isinstance(value, list) else value, str(file))
    return settings


def _from_environment(environment: Mapping[str, str], known: Mapping[str, Knob]) -> dict[str, Setting]:
    variables = {knob.variable: knob for knob in known.values()}
    settings = {}
    for variable, text in environment.items():
        if not variable.startswith("TENAX_") or variable.startswith("TENAX_TEST_"):
            continue
        knob = variables.get(variable)
        if knob is None:
            raise ConfigError(f"unknown variable {variable}{_nearest(variable, variables)}")
        value = tuple(part.strip() for part in text.split(",") if part.strip()) if knob.takes_a_list else text
        settings[knob.key] = Setting(value, variable)
    return settings


def _checked(knob: Knob, setting: Setting) -> Any:
    """The value, of the knob's type and within its bounds. Text is read as numbers and truth values."""
    hint = get_type_hints(get_type_hints(Config)[knob.section], include_extras=True)[knob.name]
    text_given = isinstance(setting.value, (str, tuple)) and not setting.source.endswith(".toml")
    try:
        value = msgspec.convert(setting.value, hint, strict=not text_given)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{setting.source}: bad value {setting.value!r} for `{knob.key}`: {error}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{setting.source}: bad value {setting.value!r} for `{knob.key}`: Expected a finite number")
    return value


def _nearest(word: str, known: Mapping[str, Any]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else "; `tenax config` lists them all"
