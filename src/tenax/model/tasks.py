"""What is visited: tasks, candidates, hosts, how pages change, and the lease to commit a visit."""

from __future__ import annotations

import math
from enum import IntEnum, StrEnum
from typing import Literal, TypeAlias

from tenax.model.content import PageKind, Value
from tenax.model.guesses import GuessState

SECONDS_PER_POINT = 60.0
_POINTS_BY_LINKS = {64: 6.0, 16: 4.0, 4: 2.0}
LINK_STEPS = frozenset(_POINTS_BY_LINKS)
"""Numbers of links at which the points increase."""


def in_link_points(in_links: int) -> float:
    """Points for this many linking pages. In few steps, because each step moves the URL in the queue."""
    return next((points for least, points in _POINTS_BY_LINKS.items() if in_links >= least), 0.0)


MAX_FALSE_ALARMS = 2
"""After this many announced changes in a row that were none, a page's sitemap is ignored."""


class ChangeHistory(Value, frozen=True):
    """How a page has changed so far, in few numbers: stored with every page."""

    seen_at: float
    """When its content was last known: first extracted, or compared with the stored copy."""
    rates: bytes = b""
    """Estimate of its change rate, as packed by `tenax.recrawl.change_rates`; empty: the prior. For an article that
    settles, the rate of a new one."""
    list_hash: str = ""
    """Of a URL list: prefix of the hash of its entries when last seen."""
    visits: int = 1
    """Visits with a result, the first included."""
    changes: int = 0
    """Visits after the first that found it changed."""
    published_at: float | None = None
    """Of an article with a credible date: it changes less from then on."""
    tried_at: float | None = None
    """The last visit, if it failed or found no page; None: it was `seen_at`."""
    misses: int = 0
    """Failed visits in a row."""
    gone: int = 0
    """Visits in a row that found no page."""
    false_alarms: int = 0
    """Times in a row that its sitemap announced a change that was none."""
    is_hub: bool = False
    """A list of other pages: the older the copy, the longer new pages are missed."""
    has_validator: bool = False
    """It has an ETag or a date, so an unchanged page costs its host almost nothing."""
    planned_seconds: int = 0
    """The planned interval: its share of the host's visits until the next plan."""

    @property
    def is_sitemap_trusted(self) -> bool:
        return self.false_alarms < MAX_FALSE_ALARMS


class RecrawlCost(Value, frozen=True):
    """The cost of a visit to this host, so that all its pages together stay within its visit budget."""

    price: float = 0.0
    """See `tenax.recrawl.intervals`; 0: not set yet."""
    priced_at: float = 0.0
    planned_per_day: float = 0.0
    """Planned visits per day of all its pages."""
    priors: dict[PageKind, tuple[float, ...]] = {}
    """By kind of page: the sum of the estimated change rates."""


class Priority(IntEnum):
    """The levels of the frontier: how soon a task is visited within its host."""

    DISCOVERY = 0
    """A guess: a URL that nothing links to, which may lead to others."""
    LOW = 1
    MEDIUM = 2
    HIGH = 3


class Source(StrEnum):
    """How a URL was found."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    REPLAY = "replay"
    SITEMAP = "sitemap"
    FEED = "feed"
    ARCHIVE = "archive"
    """Guessed as an archive."""
    PAGINATION = "pagination"
    """Guessed as the page after the last known one."""


class Hop(Value, frozen=True):
    """One step of a redirect chain: this URL answered with this status and a Location."""

    url: str
    status: int


class Budget(Value, frozen=True):
    """A named budget: the database admits at most `limit` new tasks for one `key` of one host."""

    name: str
    """Its setting, such as `facets_per_path`; shown when it is used up."""
    key: str
    limit: int
    counts_hosts: bool = False
    """True: it limits new hosts with this key in the whole crawl, not new tasks of one host."""


class Candidate(Value, frozen=True):
    """A URL that passed every admission rule, proposed to the database, which admits it once."""

    url: str
    origin: str
    depth: int = 0
    priority: Priority = Priority.LOW
    source: Source = Source.LINK
    via: str | None = None
    """The URL of the page on which it was found; None for a seed."""
    due: float | None = None
    """Not before this time; None: as soon as its host's rate limit allows."""
    chain: tuple[Hop, ...] = ()
    """The redirects that led here, oldest first."""
    budgets: tuple[Budget, ...] = ()
    """Budgets that admitting it uses up; a candidate over one of them is refused with that budget's name."""
    lead_seconds: float = 0.0
    """How much earlier it is queued: within its level it comes before what was found later."""
    is_url_list: bool = False
    """A sitemap or a feed, which may be larger than a page, is expected there."""
    changefreq: str = ""
    """The change frequency in its sitemap: a hint only."""


class TransportKind(StrEnum):
    """How a request is sent."""

    HTTP = "http"
    CURL = "curl"
    """Another client: HTTP/2, and the TLS handshake of a browser."""
    BROWSER = "browser"


class Task(Value, frozen=True):
    """A URL due for a visit, as stored in the database."""

    url: str
    origin: str
    depth: int
    priority: Priority
    source: Source
    via: str | None
    discovered_at: float
    due: float
    attempt: int = 0
    """Failed visits so far because of this URL itself."""
    chain: tuple[Hop, ...] = ()
    transport: TransportKind | None = None
    """What an earlier visit found it needs; None: the host's usual transport."""
    is_unconditional: bool = False
    """Request the whole page, whatever copy is stored."""
    is_url_list: bool = False
    """A sitemap or a feed is expected there."""
    is_announced: bool = False
    """Its sitemap has announced a change since the last visit."""
    changefreq: str = ""
    """The change frequency in its sitemap: a hint only."""

    @property
    def is_guess(self) -> bool:
        """Whether nothing links to it, or only a declaration names it: a missing page is no failure."""
        return self.source in (Source.ARCHIVE, Source.PAGINATION) or self.is_url_list


UrlList: TypeAlias = Literal["", "sitemap", "feed"]
"""A document that lists URLs and is no page itself."""


class StoredCopy(Value, frozen=True):
    """What is stored about a URL from an earlier visit: enough to ask whether it changed."""

    fetched_at: float
    """When it was last known to be current."""
    status: int
    kind: PageKind | None = None
    """None if the URL had no page: a 404, for example."""
    etag: str | None = None
    last_modified: str | None = None
    body_bytes: int = 0
    url_list: UrlList = ""
    """What it was, if it was a URL list and not a page."""
    change_history: ChangeHistory | None = None
    """How it has changed; None if not recorded."""
    content_hash: str = ""
    fingerprint: bytes = b""


class CanonicalCopy(Value, frozen=True):
    """A page stored under another URL that names this one as its canonical URL."""

    url: str
    """Of the stored page."""
    stored_copy: StoredCopy


class RobotsCopy(Value, frozen=True):
    """What a host's robots.txt said when it was last requested (RFC 9309)."""

    verdict: RobotsVerdict
    fetched_at: float
    """When this copy was received: the age of the rules."""
    expires_at: float
    """Requested again from this time on."""
    text: str = ""
    http_status: int | None = None
    why: str = ""
    """For an unreachable file: what went wrong."""


class RobotsVerdict(StrEnum):
    """How the response to /robots.txt is interpreted."""

    RULES = "rules"
    ALLOW_ALL = "allow_all"
    """4xx: no rules exist (RFC 9309, 2.3.1.3)."""
    UNREACHABLE = "unreachable"
    """5xx, 429 or no response: assume complete disallow (RFC 9309, 2.3.1.4)."""


Breaker: TypeAlias = Literal["closed", "open", "half_open"]


class HostRecord(Value, frozen=True):
    """What is known about one host (scheme, name and port), stored in the database."""

    origin: str
    domain: str
    robots: RobotsCopy | None = None
    crawl_delay_seconds: float | None = None
    """Crawl-delay of robots.txt, if any."""
    next_at: float = 0.0
    """The next request may start from this time on."""
    backoff_reason: str = ""
    """Why the host backs off until `next_at`; empty if that is only its rate limit."""
    failures_in_a_row: int = 0
    """Consecutive site-wide failures; any response of the host resets it."""
    breaker: Breaker = "closed"
    breaker_backoff_seconds: float = 0.0
    """The current backoff of the open breaker; the next one is longer."""
    probes_passed: int = 0
    """Successful probes in a row while the breaker was not closed."""
    rate_per_minute: float | None = None
    """The rate after a 429; None: as configured."""
    limited_in_a_row: int = 0
    """429s since the last good response."""
    successes_in_a_row: int = 0
    """Good responses since the rate last changed; counted while it is reduced."""
    recent_failures: tuple[float, ...] = ()
    """Times of the failures that count towards its retry budget, oldest first."""
    blocks_in_a_row: int = 0
    """Responses in a row that block us: 401, 403, 429, 451."""
    unreadable_pages: tuple[float, ...] = ()
    """Times of the last pages that cost too much to extract, oldest first."""
    transport: TransportKind | None = None
    """The transport that it was found to need; None: plain HTTP."""
    transport_until: float = 0.0
    """When that expires."""
    page_count: int = 0
    error_count: int = 0
    is_allowed: bool = True
    """False if robots.txt disallows the whole host."""
    guess_state: GuessState = GuessState()
    """What guessing has learned about it."""
    recrawl_cost: RecrawlCost = RecrawlCost()
    """The cost of recrawling its pages."""


class Peers(Value, frozen=True):
    """The workers of one database, as last reported by it."""

    workers: int
    """Live workers, this one included."""
    without_redis: int
    """How many of the others cannot reach Redis, and apply rate limits themselves."""
    checked_at: float
    """When the database was asked."""
    reported_at: float | None = None
    """Since when the database reports that this worker cannot reach Redis; None while it may not yet."""


class Lease(Value, frozen=True):
    """The right to commit one visit. A lease that was released, expired or outlived its process is void."""

    epoch: int
    number: int
    expires_at: float
    host_until: float = math.inf
    """Until then no other worker can have the host, whatever happens to this one: no request is sent later."""


class Claim(Value, frozen=True):
    """A task taken for a visit, with its host's record and the lease to commit it."""

    task: Task
    host: HostRecord
    lease: Lease
    stored_copy: StoredCopy | None = None
    """For a task visited before: the stored copy."""
    waiting: int | None = None
    """Number of further due tasks of its host; None: many, or not counted."""
