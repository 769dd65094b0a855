"""The request, the stored state and the result of a trace."""

from __future__ import annotations

from tenax.crawl.location import Location
from tenax.database import UrlHistory
from tenax.model import CanonicalCopy, FetchRecord, HostBackoff, HostRecord, Outcome, Page, Plan, TransportKind, Value
from tenax.urls.admit import Rules


class TraceRequest(Value, frozen=True):
    """A URL to trace, and how."""

    url: str
    transport: TransportKind | None = None
    is_unconditional: bool = False
    crawl_location: Location | None = None
    """The crawl whose rules, host record and stored copy are used; None: no crawl, the URL counts as a seed."""
    is_crawl_given: bool = True
    """False: the crawl was found automatically and is ignored when it does not know the host."""


class StoredState(Value, frozen=True):
    """The records of a crawl about a URL and its host."""

    location: Location
    rules: Rules
    history: UrlHistory | None = None
    host: HostRecord | None = None
    canonical_copy: CanonicalCopy | None = None
    """A stored page whose canonical URL is this URL."""


class Step(Value, frozen=True):
    """One decision."""

    name: str
    why: str
    passed: bool | None = None
    """None: information only."""


class Trace(Value, frozen=True):
    """The result of a trace."""

    typed_url: str
    """As typed, password masked."""
    url: str
    outcome: Outcome
    plan: Plan
    """What a crawl would do next."""
    steps: tuple[Step, ...] = ()
    fetch: FetchRecord = FetchRecord()
    is_private: bool = False
    """It was fetched only because a person typed it: the SSRF guard refuses links and redirects to its address."""
    backoff: HostBackoff | None = None
    """Set when a crawl would now back off from the host."""
    stale_page: Page | None = None
    """The stored copy that is kept because no page came."""
    title: str = ""
    text: str = ""
    charset: str = ""
    links_count: int = 0
    candidate_count: int = 0
    """Links that a crawl would follow."""
    body: bytes = b""
