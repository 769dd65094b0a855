"""Reports of the database: the history of a URL, the status of the crawl, the due tasks."""

from __future__ import annotations

from enum import StrEnum

from tenax.model import Cursor, FetchRecord, Hop, HostRecord, Outcome, Page, Plan, Priority, Source, Validation, Value


class TaskState(StrEnum):
    WAITING = "waiting"
    SETTLED = "settled"
    DEAD = "dead"
    PARKED = "parked"
    """A setting of the run refuses the URL."""


class VisitRecord(Value, frozen=True):
    """One visit, as it is stored."""

    at: float
    outcome: Outcome
    plan: Plan
    attempt: int = 0
    fetch: FetchRecord = FetchRecord()
    candidate_count: int = 0
    """Candidates that the visit proposed, without those known to be in the database."""
    refusals: dict[str, int] = {}
    is_conditional: bool = False
    """The request was conditional."""


class UrlHistory(Value, frozen=True):
    """Everything stored about one URL."""

    url: str
    state: TaskState
    discovered_at: float
    source: Source
    depth: int
    priority: Priority
    via: str | None = None
    chain: tuple[Hop, ...] = ()
    """The redirects that led to it, oldest first."""
    due: float | None = None
    """The earliest time of a waiting task."""
    attempt: int = 0
    cause: str | None = None
    """The cause of a dead letter or of a parked task."""
    page: Page | None = None
    visits: tuple[VisitRecord, ...] = ()
    host: HostRecord | None = None


class ParkedRedirect(Value, frozen=True):
    """A URL that redirects to a target that the rules did not allow."""

    record_id: int
    url: str
    depth: int
    to: str


class EndedTask(Value, frozen=True):
    """A dead letter or a parked task that settings ended."""

    record_id: int
    url: str
    cause: str
    visit_if: str
    """Conditions for another visit; see `Park.visit_if`."""


class DeadLetterRecord(Value, frozen=True):
    """A URL that was given up after all attempts."""

    url: str
    cause: str
    at: float
    attempt: int
    depth: int
    via: str | None = None
    http_status: int | None = None
    """The status of the last response; None if there was none."""
    validation_status: Validation = ""
    rejection_reason: str | None = None
    """Why the last response was not kept."""


class HostStatus(Value, frozen=True):
    """A host in the status: its record and its waiting tasks."""

    host: HostRecord
    waiting: int
    next_due: float | None = None


class CutOffCount(Value, frozen=True):
    """Links that one limit cut off, and the pages with these links."""

    links: int
    pages: int


class Status(Value, frozen=True):
    """The status of the whole crawl."""

    created_at: float
    now: float
    waiting: int = 0
    settled: int = 0
    dead: int = 0
    needs_browser: int = 0
    """Number of dead letters that need a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    """Pages that are duplicates of others."""
    hosts: int = 0
    body_bytes: int = 0
    wire_bytes: int = 0
    saved_bytes: int = 0
    """Bytes that 304 responses saved."""
    events: int = 0
    outcomes: dict[str, int] = {}
    """Visits by outcome, such as `fetched`, `failed:dns`, `refused:robots`."""
    refusals: dict[str, int] = {}
    """Links that were never admitted, by rule."""
    cut_off: dict[str, CutOffCount] = {}
    """Links that the rules allow and a limit cut off, by the name of the limit; see `model.results`."""
    parked: dict[str, int] = {}
    """Tasks that a setting refuses, by cause: `guard`, `rules`, `facets`."""
    found: dict[str, int] = {}
    """Admitted URLs by source, such as `link`, `sitemap`, `feed`. `url_list` counts sitemaps and feeds themselves, and
    the well-known paths that were tried for them."""
    busiest: tuple[HostStatus, ...] = ()
    """Hosts with the most waiting tasks, in this order."""
    due_now: int = 0
    next_due: float | None = None
    """When the next waiting task may be claimed, by the host's rate limit; None if no task waits."""
    cursors: dict[str, Cursor] = {}
    is_running: bool = False
    """Another process is crawling into the database now."""
    workers: int = 0
    """How many processes crawl into the database. In PostgreSQL, those with a recent heartbeat."""


class DueTask(Value, frozen=True):
    """A waiting task in the schedule report."""

    url: str
    due: float
    priority: Priority
    source: Source
    why: str = ""
    """The reason for this time; empty for a URL that was never visited."""
    is_new: bool = False


class DueTasks(Value, frozen=True):
    """Waiting tasks by due time."""

    now: float
    due_within: dict[str, int] = {}
    """Tasks due within `now`, `hour`, `day`, `week` and `later`. Each task is counted once."""
    tasks: tuple[DueTask, ...] = ()
    """The first tasks, by due time."""


class Counts(Value, frozen=True):
    """Committed totals of the crawl. They are cheap to read at any time."""

    waiting: int = 0
    needs_browser: int = 0
    """Number of dead letters that need a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    pages_this_round: int = 0
    """Pages that were fetched or confirmed since the last recrawl began. Before any recrawl, the same as `pages`."""
    wire_bytes: int = 0
    saved_bytes: int = 0
    outcomes: dict[str, int] = {}


class PageFilter(Value, frozen=True):
    """Selects stored pages. All given conditions must be true."""

    host: str | None = None
    status: int | None = None
    kind: str | None = None
    language: str | None = None
    url_glob: str | None = None
    since: float | None = None
