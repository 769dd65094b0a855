"""What the database tells of itself: the life of a URL, the whole crawl at a glance, what is due when."""

from __future__ import annotations

from enum import StrEnum

from tenax.model import Cursor, FetchRecord, Hop, HostRecord, Outcome, Page, Plan, Priority, Source, Validation, Value


class TaskState(StrEnum):
    WAITING = "waiting"
    SETTLED = "settled"
    DEAD = "dead"
    PARKED = "parked"
    """A setting of the run keeps it back."""


class VisitRecord(Value, frozen=True):
    """One visit as the database remembers it."""

    at: float
    outcome: Outcome
    plan: Plan
    attempt: int = 0
    fetch: FetchRecord = FetchRecord()
    candidate_count: int = 0
    """Links it offered; those it knew to be in the database were left out."""
    refusals: dict[str, int] = {}
    is_conditional: bool = False
    """It asked for the page only if that had changed."""


class UrlHistory(Value, frozen=True):
    """Everything the database knows about one URL."""

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
    """For a waiting task: not before this time."""
    attempt: int = 0
    cause: str | None = None
    """For a dead letter, and for a parked task: why."""
    page: Page | None = None
    visits: tuple[VisitRecord, ...] = ()
    host: HostRecord | None = None


class DeadLetterRecord(Value, frozen=True):
    """A dead letter."""

    url: str
    cause: str
    at: float
    attempt: int
    depth: int
    via: str | None = None
    http_status: int | None = None
    """Of the last answer; None when none came."""
    validation_status: Validation = ""
    rejection_reason: str | None = None
    """Why the last answer was not kept."""


class HostStatus(Value, frozen=True):
    """A host in the status: its record and what waits there."""

    host: HostRecord
    waiting: int
    next_due: float | None = None


class CutOffCount(Value, frozen=True):
    """What one limit cut off."""

    links: int
    pages: int


class Status(Value, frozen=True):
    """The whole crawl at a glance."""

    created_at: float
    now: float
    waiting: int = 0
    settled: int = 0
    dead: int = 0
    needs_browser: int = 0
    """Of the dead letters, those that wait for a run with a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    """Pages that were found to be duplicates of others."""
    hosts: int = 0
    body_bytes: int = 0
    wire_bytes: int = 0
    saved_bytes: int = 0
    """What 304s spared us."""
    events: int = 0
    outcomes: dict[str, int] = {}
    """Visits by outcome, such as `fetched`, `failed:dns`, `refused:robots`."""
    refusals: dict[str, int] = {}
    """Links never admitted, by rule."""
    cut_off: dict[str, CutOffCount] = {}
    """Links that the rules allow and a limit kept out, by the limit's name; see `model.limits`."""
    parked: dict[str, int] = {}
    """Tasks that a setting keeps back, by cause: `guard`, `rules`, `facets`."""
    found: dict[str, int] = {}
    """URLs that were admitted, by how they came to us: `link`, `sitemap`, `feed`; `URL list` are sitemaps and feeds
    themselves, and the usual places where one was looked for."""
    busiest: tuple[HostStatus, ...] = ()
    """Hosts with the most waiting tasks, most first."""
    due_now: int = 0
    next_due: float | None = None
    """When the next waiting task may be claimed, host's turn included; None when nothing waits."""
    cursors: dict[str, Cursor] = {}
    is_running: bool = False
    """Another process is crawling into it now."""
    workers: int = 0
    """How many do: on a server, those that gave a sign of life in time."""


class DueTask(Value, frozen=True):
    """A waiting task, as the schedule shows it."""

    url: str
    due: float
    priority: Priority
    source: Source
    why: str = ""
    """Why then, as it was planned; empty for a URL that was never visited."""
    is_new: bool = False


class DueTasks(Value, frozen=True):
    """What is due when."""

    now: float
    due_within: dict[str, int] = {}
    """How many tasks are due within `now`, `hour`, `day`, `week` and `later`; each in one of them."""
    tasks: tuple[DueTask, ...] = ()
    """The first ones, in the order of their times."""


class Counts(Value, frozen=True):
    """What is cheap to know at any moment: the whole crawl, as far as committed."""

    waiting: int = 0
    needs_browser: int = 0
    """Dead letters that wait for a run with a browser."""
    pages: int = 0
    articles: int = 0
    duplicates: int = 0
    pages_this_round: int = 0
    """Pages that came, or were found to stand, since the last revisit began; before any, the same as `pages`."""
    wire_bytes: int = 0
    saved_bytes: int = 0
    outcomes: dict[str, int] = {}


class PageFilter(Value, frozen=True):
    """Which pages to read back; everything given must hold."""

    host: str | None = None
    status: int | None = None
    kind: str | None = None
    language: str | None = None
    url_glob: str | None = None
    since: float | None = None
