"""What is visited: tasks, offers, hosts, and the right to commit a visit."""

from __future__ import annotations

import math
from enum import IntEnum, StrEnum
from typing import Literal, TypeAlias

from tenax.model.change_history import ChangeHistory
from tenax.model.guesses import GuessState
from tenax.model.recrawl import RecrawlCost
from tenax.model.value import PageKind, Value


class Priority(IntEnum):
    """How soon a task is wanted within its host; the levels of the frontier."""

    DISCOVERY = 0
    """A guess: a URL that nobody named, which may lead to others."""
    LOW = 1
    MEDIUM = 2
    HIGH = 3


class Source(StrEnum):
    """How a URL came to us."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    REPLAY = "replay"
    SITEMAP = "sitemap"
    FEED = "feed"
    ARCHIVE = "archive"
    """Guessed, as a place where a site keeps what is older."""
    PAGINATION = "pagination"
    """Guessed, as the page after the last one known."""


class Hop(Value, frozen=True):
    """One step of a redirect chain: this URL answered with this status and pointed onward."""

    url: str
    status: int


class Budget(Value, frozen=True):
    """A named allowance: the database admits at most `limit` new tasks for one `key` of one host."""

    name: str
    """The setting that sets it, such as `facets_per_path`; shown to people when it is used up."""
    key: str
    limit: int
    counts_hosts: bool = False
    """True: it limits new hosts with this key in the whole crawl, not new tasks of one host."""


class Candidate(Value, frozen=True):
    """A URL that passed every admission rule, offered to the database, which admits it once."""

    url: str
    origin: str
    depth: int = 0
    priority: Priority = Priority.LOW
    source: Source = Source.LINK
    via: str | None = None
    """The URL of the page it was found on; None for a seed."""
    due: float | None = None
    """Not before this time; None means as soon as its host has a turn."""
    chain: tuple[Hop, ...] = ()
    """The redirects that led here, oldest first."""
    budgets: tuple[Budget, ...] = ()
    """What admitting it uses up; an offer over one of its budgets is refused in that budget's name."""
    lead_seconds: float = 0.0
    """How long before its time it stands in the queue: among those of its level it goes before what was found later."""
    is_url_list: bool = False
    """A sitemap or a feed is said to be there, which may be larger than a page."""
    changefreq: str = ""
    """How often its sitemap says it changes: a hint only."""


class TransportKind(StrEnum):
    """How a request is carried."""

    HTTP = "http"
    CURL = "curl"
    """Another client: HTTP/2, and the TLS handshake of a browser."""
    BROWSER = "browser"


class Task(Value, frozen=True):
    """A URL due for a visit, as the database holds it."""

    url: str
    origin: str
    depth: int
    priority: Priority
    source: Source
    via: str | None
    discovered_at: float
    due: float
    attempt: int = 0
    """How many visits have failed so far because of this URL itself."""
    chain: tuple[Hop, ...] = ()
    transport: TransportKind | None = None
    """An earlier visit found that it needs this; None: as its host is usually visited."""
    is_unconditional: bool = False
    """Ask for the whole page, whatever we hold."""
    is_url_list: bool = False
    """A sitemap or a feed is said to be there."""
    is_announced: bool = False
    """Its sitemap has told of a change since the last visit."""
    changefreq: str = ""
    """How often its sitemap says it changes: a hint only."""

    @property
    def is_guess(self) -> bool:
        """Nobody has named it, or it is named where no page is: that nothing is there is no failure."""
        return self.source in (Source.ARCHIVE, Source.PAGINATION) or self.is_url_list


UrlList: TypeAlias = Literal["", "sitemap", "feed"]
"""A document that lists URLs and is no page itself."""


class StoredCopy(Value, frozen=True):
    """What we hold of a page from an earlier visit: enough to ask whether it changed."""

    fetched_at: float
    """When it was last known to be what the site has."""
    status: int
    kind: PageKind | None = None
    """None when the URL gave no page: a 404, say."""
    etag: str | None = None
    last_modified: str | None = None
    body_bytes: int = 0
    url_list: UrlList = ""
    """What it was, when it was no page but a list of URLs."""
    change_history: ChangeHistory | None = None
    """How it was seen to change; None when nobody kept count."""
    content_hash: str = ""
    fingerprint: bytes = b""


class CanonicalCopy(Value, frozen=True):
    """A page that we hold under another URL, and that names this one as its canonical URL."""

    url: str
    """Of the page that we hold."""
    stored_copy: StoredCopy


class RobotsCopy(Value, frozen=True):
    """What a host's robots.txt said when it was last asked (RFC 9309)."""

    verdict: RobotsVerdict
    fetched_at: float
    """When this copy was received: the age of the rules."""
    expires_at: float
    """Ask again from this time on."""
    text: str = ""
    http_status: int | None = None
    why: str = ""
    """For an unreachable file: what went wrong, in words."""


class RobotsVerdict(StrEnum):
    """How the answer to /robots.txt is to be read."""

    RULES = "rules"
    ALLOW_ALL = "allow_all"
    """4xx: no rules exist (RFC 9309, 2.3.1.3)."""
    UNREACHABLE = "unreachable"
    """5xx, 429 or no answer: assume complete disallow (RFC 9309, 2.3.1.4)."""


Breaker: TypeAlias = Literal["closed", "open", "half_open"]


class HostRecord(Value, frozen=True):
    """What we know about one host (scheme, name and port), kept in the database."""

    origin: str
    domain: str
    robots: RobotsCopy | None = None
    crawl_delay_seconds: float | None = None
    """Crawl-delay of robots.txt, if it asked for one."""
    next_at: float = 0.0
    """The next request may start from this time on."""
    backoff_reason: str = ""
    """Why the host rests until `next_at`; empty when that is only its pace."""
    failures_in_a_row: int = 0
    """Consecutive site-wide failures; any answer of the host resets it."""
    breaker: Breaker = "closed"
    breaker_backoff_seconds: float = 0.0
    """How long the open breaker rests now; the next rest is longer."""
    probes_passed: int = 0
    """Probes in a row that succeeded while the breaker was not closed."""
    rate_per_minute: float | None = None
    """The pace it was slowed down to by a 429; None: as configured."""
    limited_in_a_row: int = 0
    """429s since the last good answer."""
    successes_in_a_row: int = 0
    """Good answers since the pace last changed; counted while it is slowed down."""
    recent_failures: tuple[float, ...] = ()
    """When the failures happened that count towards its retry budget, oldest first."""
    blocks_in_a_row: int = 0
    """Answers in a row that shut us out: 401, 403, 429, 451."""
    unreadable_pages: tuple[float, ...] = ()
    """When the last pages came that cost too much to read, oldest first."""
    transport: TransportKind | None = None
    """What it was found to need; None: plain HTTP."""
    transport_until: float = 0.0
    """How long that is believed."""
    page_count: int = 0
    error_count: int = 0
    is_allowed: bool = True
    """False when robots.txt closes the whole host to us."""
    guess_state: GuessState = GuessState()
    """What was learned by guessing where more of it may be."""
    recrawl_cost: RecrawlCost = RecrawlCost()
    """How its pages are kept fresh."""


class Peers(Value, frozen=True):
    """The workers of one database, as it last told this one of them."""

    workers: int
    """How many are alive, this one included."""
    without_redis: int
    """How many of the others reach no Redis, and give out turns themselves."""
    checked_at: float
    """When it was asked."""
    reported_at: float | None = None
    """Since when it surely says of this one that it reaches no Redis; None while it may not say so."""


class Lease(Value, frozen=True):
    """The right to commit one visit. A lease that was given up, expired or outlived its process is void."""

    epoch: int
    number: int
    expires_at: float
    host_until: float = math.inf
    """Until then nobody else can have the host, whatever becomes of us: no request is sent later."""


class Claim(Value, frozen=True):
    """A task taken for a visit, with what is known about its host and the right to commit."""

    task: Task
    host: HostRecord
    lease: Lease
    stored_copy: StoredCopy | None = None
    """For a task visited before: what came of it."""
    waiting: int | None = None
    """How many more tasks of its host are due; None: many, or not counted."""
