"""What a visit yields, and how the crawl is doing."""

from __future__ import annotations

from enum import StrEnum

from tenax.model.change_history import ChangeHistory
from tenax.model.outcomes import Failed, FailureKind, FetchRecord, Outcome, Plan, Rejected, outcome_label
from tenax.model.tasks import Candidate, Claim, Hop, HostRecord
from tenax.model.value import PageKind, Value

_MISSING_KINDS = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})


class PageLink(Value, frozen=True):
    """A link of a page, as it is kept where links are."""

    url: str
    text: str = ""
    rel: str = ""
    is_nofollow: bool = False
    is_in_article: bool = False
    """Whether it stands in the clean part of the page."""
    is_url_list: bool = False
    """A sitemap or a feed, named as one and not linked to."""


class ChangeNotice(Value, frozen=True):
    """What a sitemap or a feed says of a page that may be known: it changed at this time."""

    url: str
    origin: str
    at: float


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
    kind: PageKind = PageKind.OTHER
    charset: str = "utf-8"
    charset_source: str = ""
    headline: str = ""
    """The title of what the page tells, without the name of the site."""
    language_confidence: float = 0.0
    """From 0 to 1."""
    authors: tuple[str, ...] = ()
    published: str | None = None
    """ISO 8601, a date or a moment."""
    modified: str | None = None
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    image: str | None = None
    text: str = ""
    """Everything that is seen."""
    article: str = ""
    """The clean part, a paragraph to a line."""
    markdown: str = ""
    """The same with its structure; empty where `extract.markdown` is off."""
    abstract: str = ""
    words: int = 0
    """Of the clean part."""
    fingerprint: bytes = b""
    """What similarity is found by. Kept with the page where duplicates are looked for; events come without it."""
    duplicate_of: str | None = None
    """The URL of the earliest page with the same or nearly the same text, when this one was stored; the database says."""
    similarity: float = 0.0
    """To that page: 1 for the same text."""
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
    """When asking for it again first failed; None while what we hold is what the site last gave."""
    stale_why: str = ""

    @property
    def text_bytes(self) -> int:
        """The memory that its texts take. Not their lengths: one character beyond the first 65,536 makes each
        character of a text four bytes long."""
        return self.text.__sizeof__() + self.article.__sizeof__() + self.markdown.__sizeof__()


class Visit(Value, frozen=True):
    """The whole effect of one attempt at a task; the database commits it all or not at all."""

    claim: Claim
    outcome: Outcome
    plan: Plan
    host: HostRecord
    """The host as it stands after this visit."""
    started_at: float
    finished_at: float
    page: Page | None = None
    candidates: tuple[Candidate, ...] = ()
    refusals: dict[str, int] = {}
    """Links that were not offered, counted by reason."""
    new_in_links: dict[str, int] = {}
    """URLs that are in the database, and how many more pages were found to link to them."""
    fetch: FetchRecord = FetchRecord()
    etag: str | None = None
    """A validator that came with a 304, to be kept in place of the old one, or with a list of URLs; those of a page
    stand in the page."""
    last_modified: str | None = None
    link_targets: bytes | None = None
    """The links of the page as the link graph keeps them; None where it is not kept."""
    change_notices: tuple[ChangeNotice, ...] = ()
    """Pages that are said to have changed; those we keep up with, and hold an older copy of, are due at once."""
    change_history: ChangeHistory | None = None
    """How it was seen to change, this visit included; None where nobody keeps count."""

    @property
    def label(self) -> str:
        """A short name for counting it: of its outcome, or `missed` for a guess that nothing new was behind."""
        return "missed" if self.claim.task.is_guess and _is_missed_guess(self.outcome) else outcome_label(self.outcome)


def _is_missed_guess(outcome: Outcome) -> bool:
    """Nothing was there, or only what another page shows."""
    if isinstance(outcome, Failed):
        return outcome.kind in _MISSING_KINDS
    return isinstance(outcome, Rejected) and outcome.why.startswith("guess:")


class Event(Value, frozen=True):
    """What we tell the outside: one committed page, in commit order."""

    seq: int
    at: float
    page: Page


class Cursor(Value, frozen=True):
    """How far a sink has come: the last event it holds, and where its own store ended then."""

    seq: int = 0
    position: int = 0


class HostBackoff(Value, frozen=True):
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
    backing_off: tuple[HostBackoff, ...] = ()
    """Some of the hosts that rest, the longest rest first."""
    hosts_backing_off: int = 0
    failures: dict[str, int] = {}
    """Failed visits by kind, such as `timeout_total`; refusals as `robots`, `guard`."""
    wire_bytes: int = 0
    is_stopping: bool = False


class Ending(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    """Nothing is left to visit."""
    LIMITED = "limited"
    """Nothing waits, but a limit cut something off that the rules allow."""
    PAGE_LIMIT = "page_limit"
    INTERRUPTED = "interrupted"
    MAX_IDLE = "patience"
    """Every host with work left rests for longer than we wait."""
    NOTHING_STORED = "nothing_stored"
    """Nothing is left to visit, and no run of this crawl has stored a page."""
