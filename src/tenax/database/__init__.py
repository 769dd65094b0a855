"""The database: frontier, page records, host records, dead letters and the outbox, in one database.

The states of a task, and what moves it:

    (unknown) ──admit──▶ waiting ──claim──▶ claimed ──commit──▶ settled   plan Done
                            ▲                  │
                            │                  ├──commit──▶ waiting       plan Again, with its time
                            │                  ├──commit──▶ dead          plan DeadLetter, with its cause
                            │                  ├──commit──▶ parked        plan Park, with its cause
                            └──lease void──────┘
                            ├──replay────────── dead
                            ├──unpark────────── parked                 when a run's settings allow it
                            ├──requeue───────── dead, or settled without a page
                            └──revisit───────── settled                with a page, or by a 404 or 410

What every backend promises, and `tests/contracts/database.py` checks:

- **Once.** A URL is admitted at most once, however often and by however many pages it is offered. Admission is exact.
- **All or nothing.** `commit` writes a visit's whole effect (page, links, plan, host, dead letter, events) in one
  transaction and returns when it is durable. Kill the process at any instruction: the visit happened or it did not.
- **Nothing claimed is lost.** A claim is a lease. When its holder dies the task is given back: at the next `open`, or,
  where many work at once, when no sign of life came in time. When its time runs out, another claim may take it, and the
  late holder's commit raises `LeaseLost` and writes nothing. A commit that was sent to a database which then went away,
  and stayed away until the lease was over, raises `CommitUnknown`: it was made or it was not, and the database finds out
  when it is back. Until then this process does not claim the task again. It is never written twice.
- **Fair.** Hosts take turns: the one whose turn came first is served first, and no host is claimed before its
  `next_at` or beyond its connections. Within a host: higher priority first, then the earlier due time.
- **A page is kept until a better one comes.** A visit that brings a page replaces the one we hold. A 304 leaves it, and
  refreshes its time and validators. A visit that asks for it and gets no page (it failed, was rejected or leads
  elsewhere now) leaves it too, marked as stale since the first such visit; the next page or 304 clears the mark. What
  asked the site for nothing (deferred, refused, the copy was young enough) changes none of this.
- **Duplicates are found.** A page with the same or nearly the same text as one stored before, in the same group too,
  says so (`duplicate_of`): the earliest such page that is no duplicate itself. It is found by an index and never by
  looking through pages, at a cost that has a bound. A duplicate that comes again is compared again; a page that changed
  is no longer found for what it was. Workers that store two like pages in the same moment may miss that.
- **Told when it changes.** There is an event when a page is first stored, and when it comes again with another text,
  title, headline, description, canonical, language, kind, authors, date of publication, length or status, or has become
  a duplicate of another or of none. One that came again the same is refreshed without an event,
  so a reader of the events sees each version of a page once. `pages` counts pages, however often they are fetched.
- **Told in order.** Events have growing numbers without gaps in time: once a reader has seen number n, no smaller
  number appears later. Each sink keeps its own cursor here, in the same database as the events.

No backend's words (rowids, pragmas, SQL) appear in this protocol.
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
    HostStatus,
    PageFilter,
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
    Priority,
    Source,
    Task,
    UrlList,
    Value,
    Visit,
)


class Admission(Value, frozen=True):
    """What became of some offers."""

    admitted: int = 0
    known: int = 0
    refusals: dict[str, int] = {}
    """Offers over a budget, counted by the budget's name."""
    duplicate_of: str | None = None
    """The earlier page with the same or nearly the same text as the one that the visit brought."""
    similarity: float = 0.0
    """To that page."""
    are_candidates_accepted: bool = True
    """False: nothing of what the visit offered was taken, because its page is a duplicate."""


class PageLinks(Value, frozen=True):
    """Where one page leads, as `database.links` packs it."""

    url: str
    origin: str
    packed: bytes
    record_id: int = 0
    depth: int = 0
    url_list: UrlList = ""
    """Set for a sitemap or a feed: what it lists."""


class CutOffPage(Value, frozen=True):
    """A page that limits cut something off of."""

    url: str
    origin: str
    packed: bytes | None
    """Its links; None when they are not kept."""
    record_id: int
    depth: int
    url_list: UrlList
    cut_off_counts: dict[str, int]
    """Links that were not followed, by the name of the limit."""


PriorityFunction = Callable[[str, Source, Priority], Priority]
"""The level that a waiting URL should have, of how it was found and the level it has. Asked twice it says the same."""


class PaceRules(Protocol):
    """What the database must know of manners to give hosts their turns; the rules themselves live in `hosts`."""

    def pace_seconds(self, host: HostRecord) -> float:
        """Least time between the starts of two requests to this host."""

    def connections(self, host: HostRecord, now: float) -> int:
        """Most visits of this host in flight at the same time."""


class Similarity(Protocol):
    """What the database must know to find duplicates; how fingerprints are made and compared is known to `parse`."""

    def rules(self, origin: str) -> DuplicatesConfig:
        """As they hold for this site."""

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        """Numbers of 64 bits with a sign: whoever shares one may be a near-duplicate. None for an empty one."""

    def similarity(self, one: bytes, other: bytes) -> float:
        """From 0 to 1."""


class Links(Protocol):
    """The link graph: a row for each page that was stored while it was kept, replaced when the page comes again."""

    def read_all(self, *, with_url_lists: bool = False) -> AsyncIterator[PageLinks]:
        """Every row, in the order the pages were first visited; with those of sitemaps and feeds, when asked for."""

    async def get(self, url: str) -> PageLinks | None:
        """The row of one page; None when nothing is kept of it."""

    async def states(self, urls: Sequence[str]) -> dict[str, TaskState]:
        """What became of these URLs, those left out that were never admitted; asked for many at once."""

    async def prioritize(self, choose_priority: PriorityFunction) -> int:
        """Give every waiting task the level that is said; how many have another one by now.

        Written in parts. Tasks of hosts that are being visited at the time stay as they are.
        """


class ParkedRedirect(Value, frozen=True):
    """A URL that leads where the rules did not allow it to."""

    record_id: int
    url: str
    depth: int
    to: str


class CutOffs(Protocol):
    """What limits cut off, by page and limit: written with the visit, replaced when the page comes again."""

    def pages(self) -> AsyncIterator[CutOffPage]:
        """Every page that something of was cut off, in the order they were first visited."""

    async def replace(self, remaining: Mapping[int, Mapping[str, int]]) -> None:
        """Replace what is said of some pages, by their records; nothing of it is left where it is empty."""

    def redirects(self) -> AsyncIterator[ParkedRedirect]:
        """Redirects that are parked because of the rules."""

    async def settle_redirects(self, record_ids: Sequence[int]) -> None:
        """Those are settled: where they lead is in the crawl."""

    async def replace_refusals(self, refusals: Mapping[str, int]) -> None:
        """Replace the counts of refused links by these: all stored pages were judged again."""

    async def refetch(self, record_ids: Sequence[int]) -> int:
        """Settled pages wait for another visit that asks for the whole document; how many."""


class Database(Protocol):
    """The one database. Every method may be called from any task of one event loop."""

    # -- the frontier

    async def admit(self, candidates: Sequence[Candidate], via: int | None = None) -> Admission:
        """Offer URLs outside of a visit: seeds, or links of a page stored before, by its record. Durable on return."""

    async def claim(self) -> Claim | None:
        """Take the next due task, or None when no host has a turn with something due."""

    async def wait_for_work(self, timeout_seconds: float) -> None:
        """Return when a claim may succeed, or after the timeout; it may return early."""

    async def commit(self, visit: Visit) -> Admission:
        """Write a visit's whole effect; durable on return.

        Raises `LeaseLost` when the claim is void: nothing was written. Raises `CommitUnknown` when it waited for an
        answer until its lease was over: whether it was written will be known when the database is back.
        """

    async def release(self, claim: Claim) -> None:
        """Give a task back untouched."""

    def next_claim_at(self) -> float | None:
        """When the next claim may succeed, as far as known; None when nothing waits and nothing is claimed."""

    def counts(self) -> Counts: ...

    # -- the outbox

    async def events(self, after: int, limit: int) -> list[Event]:
        """Committed events with numbers above `after`, in order; fewer than `limit` where their texts are long, but at
        least one if there is any."""

    async def subscribe(self, sink: str) -> Cursor:
        """Where this sink is; from now on events are kept until it has them."""

    async def advance(self, sink: str, cursor: Cursor) -> None:
        """Durably remember how far a sink has come; a cursor never goes back."""

    async def is_leader(self, sink: str) -> bool:
        """Whether this process may carry events to this sink now: one at a time may, of all that share the database.

        Asking again is cheap. What was true is over when it was said to be false; another may lead from then on.
        """

    # -- what people ask

    async def status(self) -> Status: ...

    async def url_history(self, url: str) -> UrlHistory | None: ...

    async def host(self, origin: str) -> HostRecord | None: ...

    async def due_tasks(self, limit: int) -> DueTasks:
        """What is due when, and the first tasks of all hosts. Looks at every waiting task."""

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        """What we hold of the newest page that names this URL as its canonical one; None when there is none.

        Only pages of the same host name and port are believed, whatever their scheme and with or without `www.`.
        """

    def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        """Pages in the order they were stored, text included."""

    def dead_letters(self) -> AsyncIterator[DeadLetterRecord]: ...

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        """Make dead letters waiting again, all of them when `urls` is None; how many came back.

        With `needs_browser`, only those that wait for a run with a browser.
        """

    async def requeue(self, candidates: Sequence[Candidate]) -> int:
        """Make URLs that a person names again waiting: dead letters, and what was settled without a page because it
        was refused, rejected or failed. How many came back.

        They are due at once, with the depth, priority and source of the offers, and the whole page is asked for.
        """

    async def unpark(self, causes: Sequence[str]) -> int:
        """Make tasks waiting again that are parked for one of these causes; how many came back."""

    async def start_recrawl(self, now: float) -> int:
        """Make every settled task waiting again that has a page or ended 404 or 410, and begin a new round.

        They are due at once, in the order they were found and so before what was found later; depth, priority and
        source stay. Waiting, claimed and dead tasks are left alone, and so is what was visited after `now`: how many
        came back. Written in parts; killed in the middle, the rest comes back with the next call.
        """

    @property
    def links(self) -> Links: ...

    @property
    def cut_offs(self) -> CutOffs: ...

    # -- itself

    def lost_file(self) -> str:
        """The file of it that was deleted, moved or replaced since it was opened; empty: none was. It asks the file
        system, so not on the event loop."""

    @property
    def is_unavailable(self) -> bool:
        """It is known not to answer now, and is waited for: claims give nothing, and whoever asks it waits."""

    async def set_meta(self, name: str, value: bytes) -> None:
        """Keep a small named value with the crawl, such as its rules."""

    async def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        """Keep it if what is kept is as expected, None for nothing; whether it was. Two at once never both succeed.

        False may also come after it was kept, when the answer was lost on the way: look what is there.
        """

    async def get_meta(self, name: str) -> bytes | None: ...

    async def recover(self) -> int:
        """Free what workers held that gave no sign of life in time; how many of them there were."""

    async def find_problems(self) -> list[str]:
        """What contradicts itself, in words; empty when all is well. Reads everything."""

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
    "HostStatus",
    "Links",
    "PaceRules",
    "PageFilter",
    "PageLinks",
    "ParkedRedirect",
    "PriorityFunction",
    "Similarity",
    "Status",
    "Task",
    "TaskState",
    "UrlHistory",
    "VisitRecord",
]
