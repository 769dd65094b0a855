"""The database: frontier, page records, host records, dead letters and the outbox.

The states of a task and their transitions:

    (unknown) ──admit──▶ waiting ──claim──▶ claimed ──commit──▶ settled   plan Done
                            ▲                  │
                            │                  ├──commit──▶ waiting       plan Reschedule, with its time
                            │                  ├──commit──▶ dead          plan DeadLetter, with its cause
                            │                  ├──commit──▶ parked        plan Park, with its cause
                            └──lease void──────┘
                            ├──replay────────── dead
                            ├──unpark────────── parked                 when a run's settings allow it
                            ├──requeue───────── dead, or settled without a page
                            └──recrawl───────── settled                with a page, or by a 404 or 410

Every backend promises the following; `tests/contracts/database.py` checks it:

- **Once.** A URL is admitted at most once, no matter how many pages propose it. Admission is exact.
- **All or nothing.** `commit` writes a visit's whole effect (page, links, plan, host, dead letter, events) in one
  transaction and returns when it is durable. Kill the process at any instruction: the visit happened or it did not.
- **Nothing claimed is lost.** A claim is a lease. When its owner dies, the task becomes claimable again: at the next
  `open`, or, with several workers, when the owner's heartbeats stop. When a lease expires, another claim may take the
  task, and a late commit raises `LeaseLost` and writes nothing. A commit whose answer was lost, with the database
  unavailable until the lease expired, raises `CommitUnknown`: whether it was written is known once the database is
  back. Until then this process does not claim the task again. It is never written twice.
- **Fair.** The host that has been ready longest is served first, and no host is claimed before its `next_at` or beyond
  its connections. Within a host: higher priority first, then the earlier due time.
- **A page is kept until it is replaced.** A visit that brings a page replaces the stored copy. A 304 keeps it and
  refreshes its time and validators. A visit that requests it and gets no page (failed, rejected or redirected) keeps it
  too, marked as stale since the first such visit; the next page or 304 clears the mark. A visit that sends no request
  (deferred, refused, the copy was young enough) changes none of this.
- **Duplicates are found.** A page with the same or nearly the same text as one stored before, or earlier in the same
  group, gets `duplicate_of`: the earliest such page that is not a duplicate itself. The lookup uses an index, never a
  scan, and its cost is bounded. A duplicate is compared again at each visit; a page that changed is no longer found by
  its old text. Workers that store two similar pages at the same moment may miss the match.
- **An event per change.** An event is written when a page is first stored, and when a later visit finds another text,
  title, headline, description, canonical, language, kind, authors, publication date, length or status, or another
  `duplicate_of`. An unchanged page is refreshed without an event, so a consumer sees each version of a page once.
  `pages` counts pages, however often they are fetched.
- **Events are ordered.** Sequence numbers grow: after a consumer has seen number n, no smaller number appears. Each
  sink keeps its own cursor here, in the same database as the events.

`Database` is made of four Protocols, and each part of the program takes the one it uses: `Frontier` (the crawl loop),
`Outbox` (the relay), `Reports` (whoever only reads) and `Records` (commands that change what is stored). They are free
of backend terms (rowids, pragmas, SQL).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from tenax.config import DuplicatesConfig
from tenax.database.reports import (
    Counts,
    CutOffCount,
    DeadLetterRecord,
    DueTask,
    DueTasks,
    EndedTask,
    HostStatus,
    PageFilter,
    ParkedRedirect,
    Status,
    TaskState,
    UrlHistory,
    VisitRecord,
)
from tenax.model import (
    Candidate,
    CanonicalCopy,
    Claim,
    Cursor,
    Event,
    HostRecord,
    Page,
    Peers,
    Priority,
    Source,
    Task,
    UrlList,
    Value,
    Visit,
)


class Admission(Value, frozen=True):
    """What happened to some candidates."""

    admitted: int = 0
    known: int = 0
    refusals: dict[str, int] = {}
    """Candidates over a budget, counted by the budget's name."""
    duplicate_of: str | None = None
    """The earlier page with the same or nearly the same text as the page of this visit."""
    similarity: float = 0.0
    """The similarity to that page."""
    are_candidates_accepted: bool = True
    """False: every candidate of the visit was dropped because its page is a duplicate."""


class PageLinks(Value, frozen=True):
    """The outgoing links of one page, as `database.page_codec` packs them."""

    url: str
    origin: str
    packed: bytes
    record_id: int = 0
    depth: int = 0
    url_list: UrlList = ""
    """Set for a sitemap or a feed."""


class CutOffPage(Value, frozen=True):
    """A page with links that a limit cut off."""

    url: str
    origin: str
    packed: bytes | None
    """The links of the page; None if they are not kept."""
    record_id: int
    depth: int
    url_list: UrlList
    cut_off_counts: dict[str, int]
    """Links that were not followed, by the name of the limit."""


PriorityFunction = Callable[[str, Source, Priority], Priority]
"""Computes the new priority of a waiting URL from its source and current priority. Must be idempotent."""


class PaceRules(Protocol):
    """The politeness limits that the database needs to schedule hosts; implemented in `hosts`."""

    def pace_seconds(self, host: HostRecord) -> float:
        """Minimum time between the starts of two requests to this host."""

    def connections(self, host: HostRecord, now: float) -> int:
        """Maximum visits of this host in flight at the same time."""


class Similarity(Protocol):
    """What the database needs to find duplicates."""

    def rules(self, origin: str) -> DuplicatesConfig:
        """The settings for this site."""

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        """Signed 64-bit keys; pages that share one may be near-duplicates. Empty for an empty fingerprint."""

    def similarity(self, one: bytes, other: bytes) -> float:
        """From 0 to 1."""


class Links(Protocol):
    """The link graph: a row for each page stored while links are kept, replaced when the page is stored again."""

    def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        """Every row, in the order in which the pages were first visited. Sitemaps and feeds are included only on
        request."""

    async def get(self, url: str) -> PageLinks | None:
        """The row of one page; None if its links are not kept."""

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        """The states of these URLs, without those that were never admitted; meant for large batches."""

    async def prioritize(self, choose_priority: PriorityFunction) -> int:
        """Set the priority of every waiting task. Returns how many changed.

        Written in parts. Tasks of hosts that are being visited are skipped.
        """


class CutOffs(Protocol):
    """Links that limits cut off, per page and limit. They are written with the visit, and replaced when the page is
    stored again."""

    def pages(self) -> AsyncIterator[CutOffPage]:
        """Every page with links that were cut off, in the order in which the pages were first visited."""

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        """Replace the counts of some pages, by record id. An empty mapping removes the counts of a page."""

    def redirects(self) -> AsyncIterator[ParkedRedirect]:
        """Redirects that are parked because of the rules."""

    async def settle_redirects(self, record_ids: Sequence[int]) -> None:
        """Mark these records as settled, because their targets are in the crawl."""

    async def replace_refusals(self, refusals: Mapping[str, int]) -> None:
        """Replace the counts of refused links, after all stored pages were evaluated again."""

    async def refetch(self, record_ids: Sequence[int]) -> int:
        """Queue settled pages for another visit, with a full request. Returns how many."""

    def ended_by_settings(self) -> AsyncIterator[EndedTask]:
        """Dead letters and parked tasks that keep conditions for another visit."""

    async def requeue_ended(self, record_ids: Sequence[int]) -> int:
        """Queue dead letters and parked tasks for another visit, with a full request. Returns how many."""


class Frontier(Protocol):
    """What the crawl loop uses: the tasks that wait, the claims on them, and the counts that tell when to end."""

    async def claim(self) -> Claim | None:
        """Lease the next due task; None if no host is ready with a due task."""

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """Return when a claim may succeed, or after the timeout; it may return early."""

    def next_claim_at(self) -> float | None:
        """When the next claim may succeed, as far as is known; None if no task is waiting or claimed."""

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        """The stored copy of the newest page that names this URL as its canonical URL, if any.

        Only pages of the same host name and port count, with any scheme, with or without `www.`.
        """

    async def commit(self, visit: Visit) -> Admission:
        """Write the whole effect of a visit. Durable on return.

        Raises `LeaseLost` if the claim is void; then nothing was written. Raises `CommitUnknown` if the server did not
        reply before the lease expired; whether the visit was written is known when the database is back.
        """

    async def release(self, claim: Claim) -> None:
        """Return a task unchanged to the frontier."""

    def counts(self) -> Counts:
        """The running counts, from memory."""


class Outbox(Protocol):
    """The events, and the cursor of each sink. `events.Outbox` is the same, as the relay needs it."""

    async def events(self, after: int, limit: int) -> list[Event]:
        """Committed events with numbers above `after`, in order. There may be fewer than `limit` if their texts are
        long, but there is at least one if there is any."""

    async def subscribe(self, sink: str) -> Cursor:
        """The cursor of this sink; from now on events are kept until it has passed them."""

    async def advance(self, sink: str, cursor: Cursor) -> None:
        """Store a sink's cursor durably; a cursor never moves back."""

    async def is_leader(self, sink: str) -> bool:
        """Whether this process may send events to this sink. Of all processes that share the database, only one at a
        time may.

        Cheap enough to call often. When this returns False the lead is over, and another process may lead from then on.
        """


class Reports(Protocol):
    """What is stored, read only: for reports, exports and traces."""

    async def status(self) -> Status: ...

    async def url_history(self, url: str) -> UrlHistory | None: ...

    async def host(self, origin: str) -> HostRecord | None: ...

    async def due_tasks(self, limit: int) -> DueTasks:
        """Counts of tasks by due time, and the first tasks of all hosts. Reads every waiting task."""

    def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        """Pages in the order in which they were stored, with their texts."""

    def dead_letters(self) -> AsyncIterator[DeadLetterRecord]: ...

    async def get_meta(self, name: str) -> bytes | None:
        """A value that `Records.set_meta` stored."""

    async def find_problems(self) -> list[str]:
        """Inconsistencies, described in words; empty if there are none. Reads everything."""


class Records(Reports, Protocol):
    """What is stored, and how commands and a new run change it. Each change is durable on return."""

    @property
    def links(self) -> Links: ...

    @property
    def cut_offs(self) -> CutOffs: ...

    async def admit(self, candidates: Sequence[Candidate], via: int | None = None) -> Admission:
        """Admit URLs outside of a visit: seeds, or links of the stored page `via`."""

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        """Queue dead letters again; all of them if `urls` is None. Returns how many.

        With `needs_browser`, only those that need a browser.
        """

    async def requeue(self, candidates: Sequence[Candidate]) -> int:
        """Queue URLs again that a user names: dead letters, and URLs that were settled without a page because they were
        refused, rejected or failed. Returns how many.

        They are due at once, with the depth, priority and source of the candidates, and are requested in full.
        """

    async def unpark(self, causes: Sequence[str]) -> int:
        """Queue tasks again that are parked for one of these causes. Returns how many."""

    async def start_recrawl(self, now: float) -> int:
        """Begin a new round: queue every settled task again that has a page, or that ended with 404 or 410. Returns how
        many.

        They are due at once, in the order in which they were found, and so before URLs that are found later. Depth,
        priority and source are kept. Waiting, claimed and dead tasks are not changed, and neither are visits after
        `now`. Written in parts; if the process is killed, the next call queues the rest.
        """

    async def recover(self) -> int:
        """Release the hosts of workers whose heartbeats have stopped. Returns the number of these workers."""

    async def set_meta(self, name: str, value: bytes) -> None:
        """Store a small named value with the crawl, such as its rules."""

    async def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        """Store the value if the current value is as expected; None means that there is none. Returns whether it was
        stored.

        Atomic. May return False after a successful write whose reply was lost; read the value to find out.
        """


class SharedServer(Protocol):
    """The server of a database that many processes share: its time, and what the processes know of each other."""

    def peers(self) -> Peers:
        """The workers of this database, as last read. They are read every second while the server is available."""

    def set_cut_off_check(self, is_cut_off: Callable[[], bool]) -> None:
        """Announce to the other workers whether this worker cannot reach Redis."""

    async def clock_offset_seconds(self) -> float:
        """How far the server's clock is ahead of ours. Waits while the server is unavailable."""


class Database(Frontier, Outbox, Records, Protocol):
    """One crawl's database, as its owner has it. Every method may be called from any task of one event loop."""

    @property
    def shared_server(self) -> SharedServer | None:
        """The shared server; None if one process has the database for itself."""

    def lost_file(self) -> str:
        """The database file that was deleted, moved or replaced since it was opened; empty if none was.

        This accesses the file system, so do not call it on the event loop.
        """

    @property
    def is_unavailable(self) -> bool:
        """The server does not answer: claims return None, and other calls wait."""

    async def close(self) -> None: ...


__all__ = [
    "Admission",
    "Counts",
    "Cursor",
    "CutOffCount",
    "CutOffPage",
    "CutOffs",
    "Database",
    "DeadLetterRecord",
    "DueTask",
    "DueTasks",
    "EndedTask",
    "Frontier",
    "HostStatus",
    "Links",
    "Outbox",
    "PaceRules",
    "PageFilter",
    "PageLinks",
    "ParkedRedirect",
    "PriorityFunction",
    "Records",
    "Reports",
    "SharedServer",
    "Similarity",
    "Status",
    "Task",
    "TaskState",
    "UrlHistory",
    "VisitRecord",
]
