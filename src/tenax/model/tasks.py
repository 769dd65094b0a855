"""What is visited: tasks, candidates, hosts, how pages change, and the lease that allows to commit a visit."""

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
    """Points for this many linking pages. There are few steps, because each step moves the URL in the queue."""
    return next((points for least, points in _POINTS_BY_LINKS.items() if in_links >= least), 0.0)


MAX_FALSE_ALARMS = 2
"""After its sitemap has announced this many changes in a row that did not happen, it is ignored."""


class ChangeHistory(Value, frozen=True):
    """How a page has changed so far, in few numbers. Stored with every page."""

    seen_at: float
    """When the content was last known: first extracted, or compared with the stored copy."""
    rates: bytes = b""
    """The estimate of the change rate, as packed by `tenax.recrawl.change_rates`; empty: the prior. For an article it
    is the rate on the day of its publication."""
    list_hash: str = ""
    """For a URL list: prefix of the hash of its entries when they were last seen."""
    visits: int = 1
    """Visits with a result, including the first."""
    changes: int = 0
    """Visits after the first one that found the page changed."""
    published_at: float | None = None
    """The date of an article with a credible date. The article changes less and less from then on."""
    tried_at: float | None = None
    """The last visit, if it failed or found no page; None: the last visit was at `seen_at`."""
    misses: int = 0
    """Failed visits in a row."""
    gone: int = 0
    """Visits in a row that found no page."""
    false_alarms: int = 0
    """How many times in a row the sitemap announced a change that did not happen."""
    is_hub: bool = False
    """The page is a list of other pages. The older its copy, the longer new pages are missed."""
    has_validator: bool = False
    """The page has an ETag or a date, so it costs its host almost nothing if it is unchanged."""
    planned_seconds: int = 0
    """The planned interval. It is the page's share of the host's visits until the next plan."""

    @property
    def is_sitemap_trusted(self) -> bool:
        return self.false_alarms < MAX_FALSE_ALARMS


class RecrawlCost(Value, frozen=True):
    """The price of a visit to this host. It keeps all visits to its pages within the host's budget."""

    price: float = 0.0
    """See `tenax.recrawl.intervals`; 0: not set yet."""
    priced_at: float = 0.0
    planned_per_day: float = 0.0
    """Planned visits per day to all pages of the host."""
    priors: dict[PageKind, tuple[float, ...]] = {}
    """The sum of the estimated change rates, by kind of page."""


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
    """One step of a redirect chain: this URL returned this status and a Location."""

    url: str
    status: int


class Budget(Value, frozen=True):
    """A named budget: the database admits at most `limit` new tasks for one `key` of one host."""

    name: str
    """The setting, such as `facets_per_path`, which is shown when the budget is used up."""
    key: str
    limit: int
    counts_hosts: bool = False
    """The budget limits new hosts with this key in the whole crawl, not new tasks of one host."""


class Candidate(Value, frozen=True):
    """A URL that passed every admission rule. It is proposed to the database, which admits it once."""

    url: str
    origin: str
    depth: int = 0
    priority: Priority = Priority.LOW
    source: Source = Source.LINK
    via: str | None = None
    """The URL of the page on which it was found; None for a seed."""
    due: float | None = None
    """Not visited before this time; None: as soon as the rate limit of the host allows."""
    chain: tuple[Hop, ...] = ()
    """The redirects that led here, oldest first."""
    budgets: tuple[Budget, ...] = ()
    """Budgets that admitting it uses up. If one is used up, the candidate is refused with the name of that budget."""
    lead_seconds: float = 0.0
    """How much earlier the task is queued, within its level, than others that were found at the same time."""
    is_url_list: bool = False
    """A sitemap or a feed is expected there. It may be larger than a page."""
    changefreq: str = ""
    """The change frequency in its sitemap. Only a hint."""


class TransportKind(StrEnum):
    """How a request is sent."""

    HTTP = "http"
    CURL = "curl"
    """Another client, with HTTP/2 and the TLS handshake of a browser."""
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
    """Failed visits so far for which the URL itself was at fault."""
    chain: tuple[Hop, ...] = ()
    transport: TransportKind | None = None
    """The transport that an earlier visit found necessary; None: the host's usual transport."""
    is_unconditional: bool = False
    """Request the whole page, whatever copy is stored."""
    is_url_list: bool = False
    """A sitemap or a feed is expected there."""
    is_announced: bool = False
    """Its sitemap has announced a change since the last visit."""
    changefreq: str = ""
    """The change frequency in its sitemap. Only a hint."""

    @property
    def is_guess(self) -> bool:
        """Whether nothing links to the URL, or only a declaration names it. Then a missing page is not a failure."""
        return self.source in (Source.ARCHIVE, Source.PAGINATION) or self.is_url_list


def new_task(url: str, origin: str, now: float, depth: int = 0) -> Task:
    """A task for a URL that somebody named, due now."""
    return Task(url, origin, depth, priority=Priority.HIGH, source=Source.SEED, via=None, discovered_at=now, due=now)


UrlList: TypeAlias = Literal["", "sitemap", "feed"]
"""A document that lists URLs and is not a page itself."""


class StoredCopy(Value, frozen=True):
    """What is stored about a URL from an earlier visit: enough to ask the site whether it has changed."""

    fetched_at: float
    """When the copy was last known to be current."""
    status: int
    kind: PageKind | None = None
    """None if the URL had no page: a 404, for example."""
    etag: str | None = None
    last_modified: str | None = None
    body_bytes: int = 0
    url_list: UrlList = ""
    """The kind of URL list, if it was one and not a page."""
    change_history: ChangeHistory | None = None
    """How the page has changed; None if this is not recorded."""
    content_hash: str = ""
    fingerprint: bytes = b""


class CanonicalCopy(Value, frozen=True):
    """A page that is stored under another URL, and names this URL as its canonical URL."""

    url: str
    """The URL of the stored page."""
    stored_copy: StoredCopy


class RobotsCopy(Value, frozen=True):
    """What the robots.txt of a host said when it was last requested (RFC 9309)."""

    verdict: RobotsVerdict
    fetched_at: float
    """When this copy was received: the age of the rules."""
    expires_at: float
    """The file is requested again from this time on."""
    text: str = ""
    http_status: int | None = None
    why: str = ""
    """What went wrong, if the file is unreachable."""


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
    """Why the host backs off until `next_at`; empty if it only waits for its rate limit."""
    failures_in_a_row: int = 0
    """Consecutive failures of the host. Any response of the host resets the count."""
    breaker: Breaker = "closed"
    breaker_backoff_seconds: float = 0.0
    """The current backoff of the open breaker. The next one is longer."""
    probes_passed: int = 0
    """Successful probes in a row while the breaker was not closed."""
    rate_per_minute: float | None = None
    """The rate after a 429; None: as configured."""
    limited_in_a_row: int = 0
    """429 responses since the last good response."""
    successes_in_a_row: int = 0
    """Good responses since the rate last changed. They are counted while the rate is reduced."""
    recent_failures: tuple[float, ...] = ()
    """Times of the failures that count towards the retry budget, oldest first."""
    blocks_in_a_row: int = 0
    """Responses in a row that block us: 401, 403, 429, 451."""
    unreadable_pages: tuple[float, ...] = ()
    """Times of the last pages that cost too much to extract, oldest first."""
    transport: TransportKind | None = None
    """The transport that the host was found to need; None: plain HTTP."""
    transport_until: float = 0.0
    """Until when `transport` is used."""
    page_count: int = 0
    error_count: int = 0
    is_allowed: bool = True
    """False if robots.txt disallows the whole host."""
    guess_state: GuessState = GuessState()
    """What guessing has learned about the host."""
    recrawl_cost: RecrawlCost = RecrawlCost()
    """The cost of recrawling the pages of the host."""


class Peers(Value, frozen=True):
    """The workers of one database, as the database last reported them."""

    workers: int
    """Live workers, this one included."""
    without_redis: int
    """How many of the other workers cannot reach Redis, and apply rate limits themselves."""
    checked_at: float
    """When the database was asked."""
    reported_at: float | None = None
    """Since when the database reports that this worker cannot reach Redis; None while it may not do so yet."""


class Lease(Value, frozen=True):
    """The right to commit one visit. A lease is void if it was released, has expired, or its process has ended."""

    epoch: int
    number: int
    expires_at: float
    host_until: float = math.inf
    """Until then no other worker can have the host, whatever happens to this worker. No request is sent later."""


class Claim(Value, frozen=True):
    """A task that was taken for a visit, with its host record and the lease to commit the visit."""

    task: Task
    host: HostRecord
    lease: Lease
    stored_copy: StoredCopy | None = None
    """The stored copy of a task that was visited before."""
    waiting: int | None = None
    """The number of further due tasks of the host; None: many, or not counted."""
