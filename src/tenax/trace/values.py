"""What a person wants tried, what a crawl remembers of it, and what came of it."""

from __future__ import annotations

from tenax.crawl.location import Location
from tenax.database import UrlHistory
from tenax.model import CanonicalCopy, FetchRecord, HostBackoff, HostRecord, Outcome, Page, Plan, TransportKind, Value
from tenax.urls.admit import Rules


class TraceRequest(Value, frozen=True):
    """What a person wants tried."""

    url: str
    transport: TransportKind | None = None
    is_unconditional: bool = False
    crawl_location: Location | None = None
    """The crawl whose rules, host record and stored copy hold; None: no crawl's, and the URL counts as a seed."""
    is_crawl_given: bool = True
    """False: that crawl was found by itself, and does not matter when it has not met the host."""


class StoredState(Value, frozen=True):
    """What a crawl knows of a URL and its host."""

    location: Location
    rules: Rules
    history: UrlHistory | None = None
    host: HostRecord | None = None
    canonical_copy: CanonicalCopy | None = None
    """A stored page that names the URL as its canonical one."""


class Step(Value, frozen=True):
    """One decision."""

    name: str
    why: str
    passed: bool | None = None
    """None: it decides nothing, it only tells."""


class Trace(Value, frozen=True):
    """What came of it."""

    typed_url: str
    """As a person wrote it, without a password."""
    url: str
    outcome: Outcome
    plan: Plan
    """What a crawl would do next."""
    steps: tuple[Step, ...] = ()
    fetch: FetchRecord = FetchRecord()
    is_private: bool = False
    """It was asked only because a person typed it: the guard refuses a link or a redirect to its address."""
    backoff: HostBackoff | None = None
    """Set when a crawl would now leave the host alone for a while."""
    stale_page: Page | None = None
    """The stored copy that serves on, because no page came."""
    title: str = ""
    text: str = ""
    charset: str = ""
    links_count: int = 0
    candidate_count: int = 0
    """Links that a crawl would go on to."""
    body: bytes = b""
