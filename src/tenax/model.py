"""The nouns of the crawl: frozen values that travel between the rooms.

A *task* is a URL due for a visit. A *visit* is one attempt at it and ends in an *outcome*, a value. The
outcome leads to a *plan*: what happens to the task next. Nothing here does I/O or reads a clock; times are
seconds since the epoch, as a `tenax.clock.Clock` gives them.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TypeAlias

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frozen value; fields at their default are left out when it is stored."""


class Priority(IntEnum):
    """How soon a task is wanted within its host; the levels of the frontier."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3


class Source(StrEnum):
    """How a URL came to us."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    REPLAY = "replay"


class Hop(Value, frozen=True):
    """One step of a redirect chain: this URL answered with this status and pointed onward."""

    url: str
    status: int


class Budget(Value, frozen=True):
    """A named allowance: the ledger admits at most `limit` new tasks for one `key` of one host."""

    name: str
    """The knob that sets it, such as `facets_per_path`; shown to people when it is used up."""
    key: str
    limit: int
    counts_hosts: bool = False
    """True: it limits new hosts with this key in the whole crawl, not new tasks of one host."""


class Offer(Value, frozen=True):
    """A URL that passed every admission rule, offered to the ledger, which admits it once."""

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


class Task(Value, frozen=True):
    """A URL due for a visit, as the ledger holds it."""

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


class HostRecord(Value, frozen=True):
    """What we know about one host (scheme, name and port), kept in the ledger."""

    origin: str
    domain: str
    robots: RobotsCopy | None = None
    crawl_delay_seconds: float | None = None
    """Crawl-delay of robots.txt, if it asked for one."""
    next_at: float = 0.0
    """The next request may start from this time on."""
    resting_why: str = ""
    """Why the host rests until `next_at`; empty when that is only its pace."""
    failures_in_a_row: int = 0
    """Consecutive site-wide failures; any answer of the host resets it."""
    page_count: int = 0
    error_count: int = 0
    is_allowed: bool = True
    """False when robots.txt closes the whole host to us."""


class Lease(Value, frozen=True):
    """The right to commit one visit. A lease that was given up, expired or outlived its process is void."""

    epoch: int
    number: int
    expires_at: float


class Claim(Value, frozen=True):
    """A task taken for a visit, with what is known about its host and the right to commit."""

    task: Task
    host: HostRecord
    lease: Lease


# ---- how a visit ended ------------------------------------------------------------------------------------


class FailureKind(StrEnum):
    """Why a fetch gave no page. The class of the failure decides retries, rests and dead letters."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    RESET = "reset"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_TOTAL = "timeout_total"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    BAD_RESPONSE = "bad_response"
    SERVER_ERROR = "server_error"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    NOT_FOUND = "not_found"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    REDIRECT = "redirect"
    """A loop, too many hops, or a Location that leads nowhere we may go."""
    INTERNAL = "internal"
    """We broke on this page; the crawl goes on."""


class FetchRecord(Value, frozen=True):
    """The measurements of one fetch, kept with the visit."""

    status: int | None = None
    content_type: str | None = None
    wire_bytes: int = 0
    body_bytes: int = 0
    ttfb_seconds: float = 0.0
    total_seconds: float = 0.0


class Fetched(Value, frozen=True, tag="fetched"):
    """The page came whole."""

    status: int


class Unchanged(Value, frozen=True, tag="unchanged"):
    """304: what we hold is still what the site has."""


class Redirected(Value, frozen=True, tag="redirected"):
    """The URL points elsewhere; the target is a task of its own, on its own host and turn."""

    status: int
    to: str
    why: str = ""
    """When the target is not followed: the reason."""


class Deferred(Value, frozen=True, tag="deferred"):
    """Not now: the task goes back with a time on it."""

    until: float
    why: str


class Refused(Value, frozen=True, tag="refused"):
    """We may not or will not fetch it: robots, guard, scope."""

    why: str


class Rejected(Value, frozen=True, tag="rejected"):
    """It answered, but what it sent is not a page we keep."""

    why: str
    is_hard: bool = False


class Failed(Value, frozen=True, tag="failed"):
    """No usable answer."""

    why: str
    kind: FailureKind
    is_site_wide: bool = False
    """True: the host's trouble, not this URL's; it does not spend the task's attempts."""
    status: int | None = None
    retry_after_seconds: float | None = None


Outcome: TypeAlias = Fetched | Unchanged | Redirected | Deferred | Refused | Rejected | Failed


def label(outcome: Outcome) -> str:
    """A short name for counting: `fetched`, `failed:dns`, `refused:robots`. Reasons begin with one word and a colon."""
    match outcome:
        case Failed(kind=kind):
            return f"failed:{kind}"
        case Refused(why=why):
            return f"refused:{why.partition(':')[0]}"
        case Rejected(why=why):
            return f"rejected:{why.partition(':')[0]}"
        case _:
            return type(outcome).__name__.lower()


# ---- what happens to the task next ------------------------------------------------------------------------


class Done(Value, frozen=True, tag="done"):
    """The task is settled."""


class Again(Value, frozen=True, tag="again"):
    """Visit it again from this time on."""

    at: float
    spends_attempt: bool = False


class DeadLetter(Value, frozen=True, tag="dead_letter"):
    """Given up, kept with its cause; a person may replay it."""

    cause: str


Plan: TypeAlias = Done | Again | DeadLetter


# ---- what a visit yields ----------------------------------------------------------------------------------


class PageKind(StrEnum):
    ARTICLE = "article"
    PAGE = "page"


class Page(Value, frozen=True):
    """What a visit yields: the readable part of a document."""

    url: str
    status: int
    content_type: str
    content_hash: str
    """SHA-256 of the visible text, hex."""
    content_length: int
    """Bytes of the decoded body."""
    fetched_at: float
    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    kind: PageKind = PageKind.PAGE
    charset: str = "utf-8"
    charset_source: str = ""
    text: str = ""
    links_count: int = 0
    depth: int = 0
    via: str | None = None
    duration_ms: int = 0
    chain: tuple[Hop, ...] = ()


class Visit(Value, frozen=True):
    """The whole effect of one attempt at a task; the ledger commits it all or not at all."""

    claim: Claim
    outcome: Outcome
    plan: Plan
    host: HostRecord
    """The host as it stands after this visit."""
    started_at: float
    finished_at: float
    page: Page | None = None
    offers: tuple[Offer, ...] = ()
    refusals: dict[str, int] = {}
    """Links that were not offered, counted by reason."""
    fetch: FetchRecord = FetchRecord()


class Event(Value, frozen=True):
    """What we tell the outside: one committed page, in commit order."""

    seq: int
    at: float
    page: Page


class Cursor(Value, frozen=True):
    """How far a sink has come: the last event it holds, and where its own store ended then."""

    seq: int = 0
    position: int = 0


class Resting(Value, frozen=True):
    """A host that must wait before its next request, for more than its pace."""

    origin: str
    until: float
    why: str


class Progress(Value, frozen=True):
    """A running crawl at this moment; counts are of the whole crawl, earlier runs included."""

    now: float
    elapsed_seconds: float
    """Since this run began."""
    pages: int = 0
    articles: int = 0
    pages_this_run: int = 0
    pages_per_second: float = 0.0
    """Over the last ten seconds."""
    waiting: int = 0
    in_flight: int = 0
    hosts_active: int = 0
    resting: tuple[Resting, ...] = ()
    """Some of the hosts that rest, the longest rest first."""
    hosts_resting: int = 0
    failures: dict[str, int] = {}
    """Failed visits by kind, such as `timeout_total`; refusals as `robots`, `guard`."""
    wire_bytes: int = 0
    is_stopping: bool = False


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    """Nothing is left to visit."""
    PAGE_LIMIT = "page_limit"
    INTERRUPTED = "interrupted"
    PATIENCE = "patience"
    """Every host with work left rests for longer than we wait."""
