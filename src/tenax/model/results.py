"""What a visit yields, the progress of the crawl, and the limits that can cut off a URL that the rules allow.

A rule (scope, include, exclude, traps, robots.txt, nofollow) says which URLs belong to a crawl. A limit says how many
of them are visited. What a limit cuts off is stored in the database: the page, the limit, how many links. So a run with
a higher limit can continue there, and a crawl that was cut off is not reported as complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from tenax.model.content import PageContent, Value
from tenax.model.outcomes import FetchRecord, Outcome, Plan
from tenax.model.tasks import Candidate, ChangeHistory, Claim, Hop, HostRecord

LIMIT_SETTINGS = {
    "depth": "crawl.max_depth",
    "feeds_too_deep": "crawl.max_depth",
    "max_links_per_page": "crawl.max_links_per_page",
    "facets_per_path": "urls.facets_per_path",
    "facets": "urls.facet_samples",
    "series": "urls.max_same_in_series",
    "hosts_per_domain": "urls.hosts_per_domain",
    "max_sitemaps": "discovery.max_sitemaps",
    "max_sitemap_urls": "discovery.max_sitemap_urls",
    "max_sitemap_bytes": "discovery.max_sitemap_bytes",
    "max_feeds": "discovery.max_feeds",
    "guesses": "discovery.min_guesses",
    "pages_guessed": "discovery.max_guessed_pages",
    "small": "validation.min_body_bytes",
    "validation": "validation.enabled",
    "links_read": "50,000 links and 56 MB of elements of a page",
    "sitemap_read": "100,000 URLs of a sitemap",
}
"""Settings by the name under which a refusal is counted. The last two are not settings; they limit the cost of reading
a document."""


ROBOTS_CLOSED_SUFFIX = ":closed"
"""Suffix of a limit's name, for cut-off links that robots.txt refuses as well.

They are stored like the others, but no limit is reported for them.
"""
LINKS_NOT_KEPT = "links_not_kept"
"""Links that the rules refused, of a page whose links are not stored (`extract.link_graph`).

This is not a limit, but it is stored like one: under other rules the page is fetched again.
"""
GUESS_LIMITS = frozenset({"guesses", "pages_guessed"})
"""Limits of guesses. Guesses that they hold back are pending in the host record, and are not links of the page."""


def limit_refusals(refusals: Mapping[str, int]) -> dict[str, int]:
    """The refusals that are stored with the page."""
    names = LIMIT_SETTINGS.keys() | {LINKS_NOT_KEPT}
    return {name: count for name, count in refusals.items() if name in names and count}


def count_rule_refusals(refusals: Mapping[str, int]) -> int:
    """The number of refusals by rules, without those by limits."""
    return sum(count for name, count in refusals.items() if name not in LIMIT_SETTINGS and name != LINKS_NOT_KEPT)


def limit_names(cut: Iterable[str]) -> set[str]:
    """The limits among the cut-off entries of a document, whether or not robots.txt refuses the links."""
    return {name.removesuffix(ROBOTS_CLOSED_SUFFIX) for name in cut}


def limit_setting(name: str) -> str:
    """The setting that decides a refusal, such as `crawl.max_depth`; empty for a rule."""
    return LIMIT_SETTINGS.get(name, "")


NOFOLLOW_LINK = 1
IN_ARTICLE_LINK = 2
"""Flags of a link, where links are kept in columns. The sum of the flags is one digit."""


class PageLink(Value, frozen=True):
    """A link of a page, as stored."""

    url: str
    text: str = ""
    rel: str = ""
    is_nofollow: bool = False
    is_in_article: bool = False
    """Whether the link is in the main content of the page."""
    is_url_list: bool = False
    """Whether it is a sitemap or a feed that the page declares, not a link."""


class ChangeNotice(Value, frozen=True):
    """An announcement by a sitemap or a feed: this page, if it is known, has changed at this time."""

    url: str
    origin: str
    at: float


class Page(PageContent, frozen=True, kw_only=True):
    """A stored page: its content, and what is known about its fetch."""

    url: str
    status: int
    content_type: str
    content_length: int
    """Bytes of the decoded body."""
    fetched_at: float
    duplicate_of: str | None = None
    """The URL of the earliest page with the same or nearly the same text, when this page was stored. Set by the
    database."""
    similarity: float = 0.0
    """The similarity to that page; 1: the same text."""
    links: tuple[PageLink, ...] = ()
    """Empty unless `extract.keep_links` is on."""
    links_count: int = 0
    depth: int = 0
    via: str | None = None
    duration_ms: int = 0
    chain: tuple[Hop, ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    stale_since: float | None = None
    """When a recrawl of this page first failed; None while the copy is what the site sent last."""
    stale_why: str = ""


class Visit(Value, frozen=True):
    """The whole effect of one attempt at a task. The database commits all of it, or nothing."""

    claim: Claim
    outcome: Outcome
    plan: Plan
    host: HostRecord
    """The host after this visit."""
    started_at: float
    finished_at: float
    label: str
    """A short name for counting: the label of the outcome, or `missed` for a guess that found nothing new."""
    page: Page | None = None
    candidates: tuple[Candidate, ...] = ()
    refusals: dict[str, int] = {}
    """Links that were not proposed, counted by reason."""
    new_in_links: dict[str, int] = {}
    """Known URLs, with the number of further pages that were found to link to them."""
    fetch: FetchRecord = FetchRecord()
    etag: str | None = None
    """A validator from a 304, which replaces the old one, or from a URL list. The validators of a page are in the
    page."""
    last_modified: str | None = None
    link_targets: bytes | None = None
    """The links of the page for the link graph; None if it is off."""
    change_notices: tuple[ChangeNotice, ...] = ()
    """Pages that were announced as changed. Those with an older copy that are recrawled are due at once."""
    change_history: ChangeHistory | None = None
    """How the page has changed, including this visit; None if this is not recorded."""
    native_refusal: str = ""
    """Why the native code did not extract the page, although `extract.native` is on."""


class Event(Value, frozen=True):
    """What sinks receive: one committed page, in the order of the commits."""

    seq: int
    at: float
    page: Page


class Cursor(Value, frozen=True):
    """How far a sink has come: its last event, and where its own store ended at that event."""

    seq: int = 0
    position: int = 0


class HostBackoff(Value, frozen=True):
    """A host whose next request must wait for longer than its rate limit requires."""

    origin: str
    until: float
    why: str


class Progress(Value, frozen=True):
    """A running crawl. Counts are of the whole crawl, earlier runs included."""

    now: float
    elapsed_seconds: float
    """Time since this run began."""
    pages: int = 0
    articles: int = 0
    pages_this_run: int = 0
    pages_per_second: float = 0.0
    """The mean over the last ten seconds."""
    waiting: int = 0
    in_flight: int = 0
    hosts_active: int = 0
    backing_off: tuple[HostBackoff, ...] = ()
    """Some of the hosts that are backing off, the longest backoff first."""
    hosts_backing_off: int = 0
    failures: dict[str, int] = {}
    """Failed visits by kind, such as `timeout_total`; refusals as `robots`, `guard`."""
    wire_bytes: int = 0
    pages_in_python: int = 0
    """Pages of this run that the native code did not extract, although `extract.native` is on."""
    native_refusal: str = ""
    """Why it did not extract the first of them."""
    is_stopping: bool = False


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    """Nothing is left to visit."""
    LIMITED = "limited"
    """Nothing waits, but a limit cut off something that the rules allow."""
    PAGE_LIMIT = "page_limit"
    INTERRUPTED = "interrupted"
    MAX_IDLE = "max_idle"
    """Every host with tasks backs off for longer than `crawl.max_idle_seconds`."""
    NOTHING_STORED = "nothing_stored"
    """Nothing is left to visit, and no run of this crawl has stored a page."""
