"""The settings of fetching and of manners; each of them may be set for single sites too."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A group of settings; a part of the program gets its own section, never all of them."""


class PolitenessConfig(Section, frozen=True):
    """How gently a host is treated."""

    rate_per_second: Annotated[
        float, Meta(ge=0, description="Requests per second to one host; 0 lifts the limit, for sites of your own.")
    ] = 1.0
    per_ip_rate_factor: Annotated[
        float,
        Meta(
            ge=0,
            description="One address may be asked this many times as often as one host on it, whatever the names of "
            "the hosts that share it; 0 lifts the limit.",
        ),
    ] = 10.0
    share_rate_limit: Annotated[
        bool,
        Meta(
            description="Take turns with the other crawls of this user on this machine: "
            "all of them together keep a host's pace. A limiter in Redis is shared whatever this says."
        ),
    ] = True
    connections_per_host: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Requests in flight to one host at the same time. Where it is not set, `tenax crawl` takes 8 "
            "for the hosts of its URLs that have `rate_per_second = 0`.",
        ),
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
        float,
        Meta(
            ge=1,
            description="How long to wait before asking an unreachable robots.txt again; the first connections that "
            "fail are retried sooner, as those of pages.",
        ),
    ] = 60.0
    robots_max_retry_seconds: Annotated[float, Meta(ge=1, description="That wait doubles each time, up to this.")] = (
        3600.0
    )
    robots_on_unreachable: Annotated[
        Literal["disallow", "allow"],
        Meta(description="What an unreachable robots.txt means; RFC 9309 says disallow."),
    ] = "disallow"


class HostsConfig(Section, frozen=True):
    """What a host's answers teach us about it: when it is slowed down, left alone, or given up for a while."""

    throttle_first_seconds: Annotated[
        float, Meta(gt=0, description="Rest after a 429 that names no time, give or take a tenth.")
    ] = 45.0
    throttle_second_seconds: Annotated[float, Meta(gt=0, description="Shortest rest after a second 429 in a row.")] = (
        300.0
    )
    throttle_third_seconds: Annotated[
        float, Meta(gt=0, description="Shortest rest after a third and every further 429 in a row.")
    ] = 900.0
    throttle_factor: Annotated[float, Meta(gt=0, lt=1, description="A 429 slows the pace to this share of it.")] = 0.25
    throttle_successes: Annotated[
        int, Meta(ge=1, description="Good answers in a row before a slowed pace recovers by a tenth.")
    ] = 100
    throttle_rate_per_minute: Annotated[float, Meta(gt=0, description="A slowed pace recovers to this at most.")] = (
        300.0
    )
    breaker_failures: Annotated[
        int, Meta(ge=1, description="Site-wide failures in a row that mean an outage: the breaker opens.")
    ] = 5
    breaker_first_seconds: Annotated[float, Meta(gt=0, description="First rest of an open breaker.")] = 30.0
    breaker_max_seconds: Annotated[float, Meta(gt=0, description="Longest rest of an open breaker.")] = 300.0
    breaker_factor: Annotated[float, Meta(ge=1, description="Each failed probe makes the next rest longer.")] = 2.0
    half_open_successes: Annotated[
        int, Meta(ge=1, description="Probes that must succeed before an open breaker closes.")
    ] = 1
    budget_failures: Annotated[
        int, Meta(ge=1, description="Failures of a host within the window before it is locked out.")
    ] = 6
    budget_window_seconds: Annotated[float, Meta(gt=0, description="The window of the retry budget.")] = 300.0
    budget_lockout_seconds: Annotated[float, Meta(gt=0, description="How long a lockout lasts.")] = 120.0
    cooldown_blocks: Annotated[
        int, Meta(ge=1, description="Answers 401, 403, 429 or 451 in a row before a host is left alone.")
    ] = 5
    cooldown_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="How long it is left alone then, after a page that shuts us out, and after pages that cost too "
            "much to read.",
        ),
    ] = 900.0
    unreadable_pages: Annotated[
        int, Meta(ge=1, description="Pages too costly to read within the window before a host is left alone.")
    ] = 3
    unreadable_window_seconds: Annotated[float, Meta(gt=0, description="The window for them.")] = 3600.0


class RedisConfig(Section, frozen=True):
    """Redis, for rate limits and host records shared by several machines."""

    url: Annotated[
        str,
        Meta(
            description="Redis that shares rate limits and host records between machines: "
            "`redis://user:password@host:port/number`; empty: not shared beyond this machine."
        ),
    ] = ""


class FetchConfig(Section, frozen=True):
    """One request: who we say we are, how long we wait, how much we take."""

    contact: Annotated[
        str, Meta(description="Where a site's owner can reach you: a URL or an e-mail address, sent in the User-Agent.")
    ] = ""
    user_agent: Annotated[
        str, Meta(description="Replaces the whole User-Agent; robots.txt is obeyed for its name, and for `Tenax`.")
    ] = ""
    total_timeout_seconds: Annotated[
        float, Meta(gt=0, description="One fetch, from first byte sent to last received.")
    ] = 30.0
    connect_timeout_seconds: Annotated[float, Meta(gt=0, description="Name look-up and connection.")] = 10.0
    headers_timeout_seconds: Annotated[
        float, Meta(gt=0, description="From the request sent to the answer's headers.")
    ] = 20.0
    body_timeout_seconds: Annotated[float, Meta(gt=0, description="The longest silence within a body.")] = 15.0
    max_body_bytes: Annotated[
        int, Meta(ge=1024, description="Largest body, decoded; more is cut off and not kept.")
    ] = 10 * 1024 * 1024
    max_redirects: Annotated[int, Meta(ge=0, le=20, description="Redirects followed from one URL.")] = 5
    https_domains: Annotated[
        tuple[str, ...],
        Meta(description="Domains whose redirects to http are followed to https instead; subdomains included."),
    ] = ()
    verify_tls: Annotated[
        bool, Meta(description="Refuse certificates that nobody vouches for. Off is recorded with every visit.")
    ] = True
    profile: Annotated[
        Literal["honest", "browser"],
        Meta(
            description="Headers sent: our own name, or those of a browser. robots.txt is obeyed for the name that is "
            "sent, and for `Tenax` either way."
        ),
    ] = "honest"
    fallbacks: Annotated[
        tuple[Literal["curl", "browser"], ...],
        Meta(
            description="Other ways to fetch, tried in this order when a host resets our connections or a page needs "
            "JavaScript; those not installed are passed over."
        ),
    ] = ("curl", "browser")
    keep_headers: Annotated[
        tuple[str, ...],
        Meta(
            description="Response headers kept with every visit, by name; `*` keeps all of them, an empty list none. "
            "Cookies and other secrets are masked."
        ),
    ] = ("*",)
    keep_error_body_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=65_536,
            description="How much of the body of a 4xx or 5xx answer is kept with the visit; 0: nothing. One larger "
            "than 64 KiB is not read.",
        ),
    ] = 0
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
    nameservers: Annotated[
        tuple[str, ...],
        Meta(description="`address` or `address:port` of name servers to ask; empty: as the system does."),
    ] = ()
    dns_ttl_seconds: Annotated[float, Meta(ge=0, description="How long a checked address is reused.")] = 300.0


class CacheConfig(Section, frozen=True):
    """When a stored copy serves instead of a request."""

    prefer_cache: Annotated[bool, Meta(description="Use any stored copy, however old, when no age is set.")] = False
    max_age_seconds: Annotated[
        float, Meta(ge=-1, description="A copy this young is used without asking; -1: none is.")
    ] = -1.0
    max_age_article_seconds: Annotated[
        float, Meta(ge=-1, description="The same for articles; -1: as `max_age_seconds`.")
    ] = -1.0
    max_age_hub_seconds: Annotated[
        float, Meta(ge=-1, description="The same for pages that are no articles; -1: as `max_age_seconds`.")
    ] = -1.0


class ProxyConfig(Section, frozen=True):
    """Proxies that requests go through. The guard checks the target all the same."""

    urls: Annotated[
        tuple[str, ...],
        Meta(description="`http://`, `https://` or `socks5://` URLs, user and password included; most wanted first."),
    ] = ()
    strategy: Annotated[
        Literal["round-robin", "priority", "least-used", "random"],
        Meta(description="Which one a host gets; it keeps it while it works."),
    ] = "round-robin"
    ban_failures: Annotated[int, Meta(ge=1, description="Failures in a row that ban a proxy.")] = 3
    ban_statuses: Annotated[tuple[int, ...], Meta(description="Answers that ban a proxy at once.")] = (403, 429, 503)
    ban_seconds: Annotated[float, Meta(gt=0, description="How long a ban lasts.")] = 300.0


class BrowserConfig(Section, frozen=True):
    """Chromium, for pages that need it."""

    executable: Annotated[str, Meta(description="Path of Chromium; empty: the one that is found.")] = ""
    pages: Annotated[int, Meta(ge=1, le=64, description="Pages open at the same time.")] = 2
    max_pages_per_session: Annotated[int, Meta(ge=1, description="A browser is replaced after this many pages.")] = 50
    max_session_seconds: Annotated[float, Meta(gt=0, description="A browser is replaced at this age.")] = 600.0
    health_check_seconds: Annotated[
        float, Meta(gt=0, description="How often an idle browser is asked if it lives.")
    ] = 30.0
    max_consecutive_errors: Annotated[
        int, Meta(ge=1, description="Errors of the browser itself in a row before it is given up for a while.")
    ] = 3
    settle_seconds: Annotated[
        float, Meta(ge=0, description="How long a loaded page may go on changing before it is taken as it is.")
    ] = 2.0
    max_requests_per_page: Annotated[
        int,
        Meta(ge=1, description="What one page may ask for besides itself, scripts, styles and data; no more is sent."),
    ] = 200
    learn_seconds: Annotated[
        float, Meta(ge=0, description="How long a host that needed the browser goes straight to it.")
    ] = 86_400.0


class ValidationConfig(Section, frozen=True):
    """What counts as a page: walls, consent pages and empty shells do not."""

    enabled: Annotated[bool, Meta(description="Look for walls and shells at all.")] = True
    min_body_bytes: Annotated[
        int,
        Meta(
            ge=-1,
            description="A page with a smaller body is rejected. -1: no page is rejected for its size, but a body of "
            "less than 500 bytes must read like a page.",
        ),
    ] = -1
