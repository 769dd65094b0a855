"""Reports of the database: the history of a URL, the status of the crawl, the due tasks."""

from __future__ import annotations

from enum import StrEnum

from tenax.model import Cursor, FetchRecord, Hop, HostRecord, Outcome, Page, Plan, Priority, Source, Validation, Value


class TaskState(StrEnum):
    WAITING = "waiting"
    SETTLED = "settled"
    DEAD = "dead"
    PARKED = "parked"
    """A setting of the run refuses it."""


class VisitRecord(Value, frozen=True):
    """One visit as stored."""

    at: float
    outcome: Outcome
    plan: Plan
    attempt: int = 0
    fetch: FetchRecord = FetchRecord()
    candidate_count: int = 0
    """Candidates it proposed, without those known to be in the database."""
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
    """For a waiting task: its earliest time."""
    attempt: int = 0
    cause: str | None = None
    """For a dead letter or a parked task: the reason."""
    page: Page | None = None
    visits: tuple[VisitRecord, ...] = ()
    host: HostRecord | None = None


class DeadLetterRecord(Value, frozen=True):
    """A URL given up after all attempts."""

    url: str
    cause: str
    at: float
    attempt: int
    depth: int
    via: str | None = None
    http_status: int | None = None
    """Of the last answer; None when there was none."""
    validation_status: Validation = ""
    rejection_reason: str | None = None
    """Why the last answer was not kept."""


class HostStatus(Value, frozen=True):
    """A host in the status: its record and its waiting tasks."""

    host: HostRecord
    waiting: int
    next_due: float | None = None


class CutOffCount(Value, frozen=True):
    """Links that one limit cut off, and the pages they were on."""

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
    """Dead letters that need a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    """Pages that are duplicates of others."""
    hosts: int = 0
    body_bytes: int = 0
    wire_bytes: int = 0
    saved_bytes: int = 0
    """Bytes not transferred thanks to 304 answers."""
    events: int = 0
    outcomes: dict[str, int] = {}
    """Visits by outcome, such as `fetched`, `failed:dns`, `refused:robots`."""
    refusals: dict[str, int] = {}
    """Links never admitted, by rule."""
    cut_off: dict[str, CutOffCount] = {}
    """Links that the rules allow and a limit refused, by the limit's name; see `model.results`."""
    parked: dict[str, int] = {}
    """Tasks that a setting refuses, by cause: `guard`, `rules`, `facets`."""
    found: dict[str, int] = {}
    """Admitted URLs by source, such as `link`, `sitemap`, `feed`; `url_list` counts sitemaps and feeds themselves, and
    the well-known paths where one was looked for."""
    busiest: tuple[HostStatus, ...] = ()
    """Hosts with the most waiting tasks, most first."""
    due_now: int = 0
    next_due: float | None = None
    """When the next waiting task may be claimed, with the host's rate limit; None when no task waits."""
    cursors: dict[str, Cursor] = {}
    is_running: bool = False
    """Another process is crawling into it now."""
    workers: int = 0
    """How many processes crawl into it: in PostgreSQL, those with a recent heartbeat."""


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
    """Tasks due within `now`, `hour`, `day`, `week` and `later`, each counted once."""
    tasks: tuple[DueTask, ...] = ()
    """The first tasks, by due time."""


class Counts(Value, frozen=True):
    """Committed totals of the crawl, cheap to read at any time."""

    waiting: int = 0
    needs_browser: int = 0
    """Dead letters that need a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    pages_this_round: int = 0
    """Pages fetched or confirmed since the last recrawl began; before any recrawl, the same as `pages`."""
    wire_bytes: int = 0
    saved_bytes: int = 0
    outcomes: dict[str, int] = {}


class PageFilter(Value, frozen=True):
    """Selects stored pages; all given conditions must hold."""

    host: str | None = None
    status: int | None = None
    kind: str | None = None
    language: str | None = None
    url_glob: str | None = None
    since: float | None = None
