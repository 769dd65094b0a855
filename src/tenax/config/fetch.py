"""Settings of fetching: User-Agent, rates, robots.txt, proxies, SSRF guard, validation, caches. Most may differ for a
site."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tenax.version import __version__


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of settings. Each part of the program gets its own section, never the whole config."""


class PolitenessConfig(Section, frozen=True):
    """Rate limits, connections and robots.txt."""

    rate_per_second: Annotated[
        float, Meta(ge=0, description="Requests per second to one host; 0: no limit, for your own sites.")
    ] = 1.0
    per_ip_rate_factor: Annotated[
        float,
        Meta(
            ge=0,
            description="All hosts on one IP address together may get this many times the rate of one host; 0: "
            "no limit.",
        ),
    ] = 10.0
    share_rate_limit: Annotated[
        bool,
        Meta(
            description="Share rate limits with other crawls of this user on this machine, so that together "
            "they keep to the limit of a host. Rate limits in Redis are always shared."
        ),
    ] = True
    connections_per_host: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Maximum requests in flight to one host. If this is not set, `tenax crawl` uses 8 for "
            "the hosts of its seeds that have `rate_per_second = 0`.",
        ),
    ] = 1
    max_crawl_delay_seconds: Annotated[
        float, Meta(ge=0, description="Maximum Crawl-delay of a robots.txt; a longer one is shortened to this.")
    ] = 86_400.0
    robots_ttl_seconds: Annotated[
        float, Meta(ge=1, description="How long a robots.txt is used before it is fetched again.")
    ] = 3600.0
    robots_stale_seconds: Annotated[
        float,
        Meta(ge=0, description="Maximum age of the last good robots.txt that is used while the host is unreachable."),
    ] = 86_400.0
    robots_retry_seconds: Annotated[
        float,
        Meta(
            ge=1,
            description="Wait before an unreachable robots.txt is requested again. The first connection "
            "failures are retried sooner, like those of pages.",
        ),
    ] = 60.0
    robots_max_retry_seconds: Annotated[
        float,
        Meta(ge=1, description="Maximum of this wait, which begins at `robots_retry_seconds` and doubles each time."),
    ] = 3600.0
    robots_on_unreachable: Annotated[
        Literal["disallow", "allow"],
        Meta(description="Whether an unreachable robots.txt allows or disallows all URLs; RFC 9309 requires disallow."),
    ] = "disallow"


class HostsConfig(Section, frozen=True):
    """When requests to a host are slowed down or paused after errors."""

    throttle_first_seconds: Annotated[
        float, Meta(gt=0, description="Backoff after a 429 without Retry-After, ±10 %.")
    ] = 45.0
    throttle_second_seconds: Annotated[
        float, Meta(gt=0, description="Minimum backoff after the second 429 in a row.")
    ] = 300.0
    throttle_third_seconds: Annotated[
        float, Meta(gt=0, description="Minimum backoff after the third and each further 429 in a row.")
    ] = 900.0
    throttle_factor: Annotated[float, Meta(gt=0, lt=1, description="A 429 multiplies the host's rate by this.")] = 0.25
    throttle_successes: Annotated[
        int, Meta(ge=1, description="After this many successful responses in a row, a reduced rate grows by 10 %.")
    ] = 100
    throttle_rate_per_minute: Annotated[
        float,
        Meta(
            gt=0,
            description="When a reduced rate has grown to this many requests per minute, or to the configured "
            "rate, the configured rate applies again.",
        ),
    ] = 300.0
    breaker_failures: Annotated[int, Meta(ge=1, description="Failures of a host in a row that open its breaker.")] = 5
    breaker_first_seconds: Annotated[float, Meta(gt=0, description="First backoff of an open breaker.")] = 30.0
    breaker_max_seconds: Annotated[float, Meta(gt=0, description="Maximum backoff of an open breaker.")] = 300.0
    breaker_factor: Annotated[float, Meta(ge=1, description="Each failed probe multiplies the backoff by this.")] = 2.0
    half_open_successes: Annotated[int, Meta(ge=1, description="Successful probes that close an open breaker.")] = 1
    budget_failures: Annotated[
        int,
        Meta(
            ge=1,
            description="After this many failures within the window, a host is locked out: it gets no requests "
            "for a while.",
        ),
    ] = 6
    budget_window_seconds: Annotated[
        float, Meta(gt=0, description="Length of the window in which these failures are counted.")
    ] = 300.0
    budget_lockout_seconds: Annotated[float, Meta(gt=0, description="Duration of a lockout.")] = 120.0
    cooldown_blocks: Annotated[
        int, Meta(ge=1, description="After this many responses 401, 403, 429 or 451 in a row, a host gets a cooldown.")
    ] = 5
    cooldown_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="Duration of a cooldown: after such responses, after a block page, and after pages that"
            " cost too much CPU time to extract.",
        ),
    ] = 900.0
    unreadable_pages: Annotated[
        int,
        Meta(
            ge=1,
            description="After this many pages within the window that cost too much to extract, a host gets a "
            "cooldown.",
        ),
    ] = 3
    unreadable_window_seconds: Annotated[
        float, Meta(gt=0, description="Length of the window in which these pages are counted.")
    ] = 3600.0


class RedisConfig(Section, frozen=True):
    """Redis, for rate limits and host records shared between machines."""

    url: Annotated[
        str,
        Meta(
            description="Redis that shares rate limits and host records between machines: "
            "`redis://user:password@host:port/number`; empty: they are not shared beyond this "
            "machine."
        ),
    ] = ""


class FetchConfig(Section, frozen=True):
    """One request: identity, timeouts, limits and retries."""

    contact: Annotated[
        str,
        Meta(description="How the owner of a site can reach you: a URL or an e-mail address, sent in the User-Agent."),
    ] = ""
    user_agent: Annotated[
        str,
        Meta(description="Replaces the whole User-Agent. robots.txt is obeyed for the name in it, and for `Tenax`."),
    ] = ""
    total_timeout_seconds: Annotated[
        float, Meta(gt=0, description="Maximum time of one fetch, from the first byte sent to the last byte received.")
    ] = 30.0
    connect_timeout_seconds: Annotated[float, Meta(gt=0, description="Maximum time for DNS lookup and connection.")] = (
        10.0
    )
    headers_timeout_seconds: Annotated[
        float, Meta(gt=0, description="Maximum time from the end of the request to the response headers.")
    ] = 20.0
    body_timeout_seconds: Annotated[
        float, Meta(gt=0, description="Maximum time without data while a body is received.")
    ] = 15.0
    max_body_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="Maximum decoded size of a body. A larger body is not read further, and the page is not"
            " stored.",
        ),
    ] = 10 * 1024 * 1024
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Maximum redirects followed from one URL.")] = 5
    https_domains: Annotated[
        tuple[str, ...],
        Meta(description="Domains whose redirects to http are followed to https instead; subdomains are included."),
    ] = ()
    verify_tls: Annotated[
        bool, Meta(description="Refuse certificates that cannot be verified. If this is off, every visit records it.")
    ] = True
    profile: Annotated[
        Literal["honest", "browser"],
        Meta(
            description="Whether the headers of Tenax or those of a browser are sent. robots.txt is obeyed for "
            "the name that is sent, and always for `Tenax`."
        ),
    ] = "honest"
    fallbacks: Annotated[
        tuple[Literal["curl", "browser"], ...],
        Meta(
            description="Transports to try, in this order, when a host resets our connections or a page needs "
            "JavaScript. Those that are not installed are skipped."
        ),
    ] = ("curl", "browser")
    keep_headers: Annotated[
        tuple[str, ...],
        Meta(
            description="Names of the response headers that are stored with every visit; `*`: all; an empty "
            "list: none. Cookies and other secrets are masked."
        ),
    ] = ("*",)
    keep_error_body_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=65_536,
            description="How many bytes of the body of a 4xx or 5xx response are stored with the visit; 0: "
            "none. A body over 64 KiB is not read.",
        ),
    ] = 0
    max_attempts: Annotated[int, Meta(ge=1, description="Visits to a URL before it becomes a failed URL.")] = 3
    retry_base_seconds: Annotated[
        float, Meta(gt=0, description="Wait before the first retry; it doubles with each further one.")
    ] = 1.0
    retry_max_seconds: Annotated[float, Meta(gt=0, description="Maximum wait before a retry.")] = 8.0
    retry_jitter: Annotated[
        float, Meta(ge=0, le=1, description="Maximum random increase of this wait, as a share of it.")
    ] = 0.2
    max_retry_after_seconds: Annotated[
        float, Meta(ge=0, description="Maximum Retry-After; a longer one is shortened to this.")
    ] = 3600.0


def sent_user_agent(user_agent: str, contact: str) -> str:
    """The User-Agent of requests with our own headers. It is `Tenax/<version> (+contact)` unless one is set."""
    if user_agent:
        return user_agent
    return f"Tenax/{__version__} (+{contact})" if contact else f"Tenax/{__version__}"


class GuardConfig(Section, frozen=True):
    """The SSRF guard: which addresses may be connected to. Private addresses are refused."""

    allow_networks: Annotated[
        tuple[str, ...],
        Meta(description="Private networks that may be crawled, such as `10.1.0.0/16`."),
    ] = ()
    ports: Annotated[
        tuple[int, ...],
        Meta(description="Ports that may be connected to. The port of a seed is also allowed, for that seed's host."),
    ] = (80, 443, 8000, 8008, 8080, 8443)
    nameservers: Annotated[
        tuple[str, ...],
        Meta(description="DNS servers, as `address` or `address:port`; empty: the system resolver."),
    ] = ()
    dns_ttl_seconds: Annotated[float, Meta(ge=0, description="How long a checked address is reused.")] = 300.0


class CacheConfig(Section, frozen=True):
    """When a stored copy is used instead of a request."""

    prefer_cache: Annotated[bool, Meta(description="If no maximum age is set, use any stored copy, however old.")] = (
        False
    )
    max_age_seconds: Annotated[
        float, Meta(ge=-1, description="A stored copy younger than this is used without a request; -1: never.")
    ] = -1.0
    max_age_article_seconds: Annotated[
        float, Meta(ge=-1, description="The same for articles; -1: as `cache.max_age_seconds`.")
    ] = -1.0
    max_age_hub_seconds: Annotated[
        float,
        Meta(
            ge=-1,
            description="The same for all pages that are not articles, not only hubs; -1: as `cache.max_age_seconds`.",
        ),
    ] = -1.0


class ProxyConfig(Section, frozen=True):
    """Proxies for requests. The guard still checks the target."""

    urls: Annotated[
        tuple[str, ...],
        Meta(
            description="Proxies as `http://`, `https://` or `socks5://` URLs, with user and password; "
            "preferred proxies first."
        ),
    ] = ()
    strategy: Annotated[
        Literal["round-robin", "priority", "least-used", "random"],
        Meta(description="How the proxy of a host is chosen. The host keeps its proxy while the proxy works."),
    ] = "round-robin"
    ban_failures: Annotated[int, Meta(ge=1, description="After this many failures in a row, a proxy is banned.")] = 3
    ban_statuses: Annotated[
        tuple[int, ...], Meta(description="A response with one of these statuses bans the proxy at once.")
    ] = (
        403,
        429,
        503,
    )
    ban_seconds: Annotated[float, Meta(gt=0, description="Duration of a ban.")] = 300.0


class BrowserConfig(Section, frozen=True):
    """Chromium, for pages that need it."""

    executable: Annotated[str, Meta(description="Path of Chromium; empty: the installed Chromium.")] = ""
    pages: Annotated[int, Meta(ge=1, le=64, description="Maximum pages open at the same time.")] = 2
    max_pages_per_session: Annotated[int, Meta(ge=1, description="A browser is replaced after this many pages.")] = 50
    max_session_seconds: Annotated[float, Meta(gt=0, description="A browser is replaced at this age.")] = 600.0
    health_check_seconds: Annotated[float, Meta(gt=0, description="How often an idle browser is checked.")] = 30.0
    max_consecutive_errors: Annotated[
        int, Meta(ge=1, description="After this many browser errors in a row, the browser is not used for a while.")
    ] = 3
    settle_seconds: Annotated[
        float, Meta(ge=0, description="How long a loaded page may still change before its content is taken.")
    ] = 2.0
    max_requests_per_page: Annotated[
        int,
        Meta(ge=1, description="Maximum further requests of one page (scripts, styles, data); the rest are not sent."),
    ] = 200
    learn_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="How long a host whose page needed the browser is fetched with the browser from the start.",
        ),
    ] = 86_400.0


class ValidationConfig(Section, frozen=True):
    """What counts as a page: block pages, consent pages and empty shells do not."""

    enabled: Annotated[bool, Meta(description="Check pages for block pages and empty shells.")] = True
    min_body_bytes: Annotated[
        int,
        Meta(
            ge=-1,
            description="A page with a smaller body is rejected. -1: no page is rejected for its size, but a "
            "body of less than 500 bytes must have the text of a page.",
        ),
    ] = -1
