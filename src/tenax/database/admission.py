"""Candidates on their way into the queue: batches, the rate of admission, and in-links that move a task ahead.

In-links are counted in memory, for tasks that this process found recently. Their effect is stored as the due time of
the task; the count itself is not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from tenax.database import Admission, Similarity, rows
from tenax.database.rows import milliseconds, url_origin
from tenax.database.schedule import Entry
from tenax.database.visit_rows import Effects, PendingVisit
from tenax.model import LINK_STEPS, SECONDS_PER_POINT, Candidate, Source, in_link_points, limit_refusals


class WriteRules(NamedTuple):
    """What the settings of the crawl say about the links and pages that are written."""

    links_per_second: float = 0.0
    """New URLs admitted from the pages of one host; 0: any number."""
    similarity: Similarity | None = None
    """None: there is no search for duplicates."""


DEFAULT_RULES = WriteRules()


class AdmissionRate:
    """Gives new URLs their earliest time: at most `per_second` for each source."""

    def __init__(self, per_second: float, max_sources: int = 10_000) -> None:
        self._gap_seconds = 1 / per_second if per_second else 0.0
        self._max_sources = self._prune_size = max_sources
        self._free_at: dict[int, float] = {}

    def due_time(self, source: int, now: float) -> float:
        if not self._gap_seconds:
            return now
        # A burst of one second is allowed. After that, one URL per gap.
        due = max(self._free_at.get(source, 0.0), now - 1.0) + self._gap_seconds
        if source not in self._free_at and len(self._free_at) >= self._prune_size:
            self._free_at = {kept: at for kept, at in self._free_at.items() if at > now}
            # The entries left are still in use. Raise the limit, so that not every new source scans all entries.
            self._prune_size = max(self._max_sources, 2 * len(self._free_at))
        self._free_at[source] = due
        return max(due, now)


MAX_COUNTED_TASKS = 50_000
"""Maximum tasks whose links are counted, in up to two generations."""

LinkCounts = dict[str, int]
"""URLs, with the number of further links to them that one transaction found."""
LoadedKeys = Mapping[int, Collection[int]]
"""Hosts whose tasks may be moved, with the keys of tasks that may not be moved, because their queue rows are in use."""


class QueuedTask:
    """A task in the queue, with its in-links."""

    __slots__ = ("due", "in_links", "lead_ms", "rank")

    def __init__(self, rank: int, due: int, in_links: int) -> None:
        self.rank = rank
        self.due = due
        """Milliseconds since the epoch, including the lead of its links."""
        self.in_links = in_links
        self.lead_ms = link_lead_ms(in_links)
        """The lead that `due` already includes."""


class Move(NamedTuple):
    """A change of a task's due time."""

    due: int
    host_id: int
    rank: int
    was_due: int
    key: int
    url: str


class InLinks:
    """The counts. Only `on_commit` changes them, after the transaction is committed."""

    def __init__(self, max_tasks: int = MAX_COUNTED_TASKS) -> None:
        self._max_tasks = max_tasks
        self._tasks: dict[str, QueuedTask] = {}
        self._older_tasks: dict[str, QueuedTask] = {}

    def __contains__(self, url: str) -> bool:
        return url in self._tasks or url in self._older_tasks

    def sum_link_counts(self, link_counts: Iterable[Mapping[str, int]]) -> LinkCounts:
        """The sum of the link counts of several visits, for waiting tasks."""
        found: LinkCounts = {}
        for url, more in chain.from_iterable(map(Mapping.items, link_counts)):
            if url in self:
                found[url] = found.get(url, 0) + more
        return found

    def plan_moves(
        self,
        link_counts: LinkCounts,
        host_ids: Mapping[str, int],
        url_key: Callable[[str], int],
        loaded_keys: LoadedKeys,
        now: float,
    ) -> list[Move]:
        """The tasks that these links move ahead, among those that may be moved."""
        found: list[Move] = []
        now_ms = milliseconds(now)
        for url, more in link_counts.items():
            waits = self._get_task(url)
            if waits is None or (lead_ms := link_lead_ms(waits.in_links + more)) == waits.lead_ms or waits.due > now_ms:
                continue
            host_id = host_ids.get(url_origin(url))
            if host_id is not None and host_id in loaded_keys and (key := url_key(url)) not in loaded_keys[host_id]:
                due = waits.due + waits.lead_ms - lead_ms
                found.append(Move(due, host_id, waits.rank, was_due=waits.due, key=key, url=url))
        return found

    def on_commit(
        self,
        link_counts: LinkCounts,
        moves: Iterable[Move],
        moved: Collection[tuple[int, int]],
        new_entries: Iterable[tuple[str, Entry]],
    ) -> None:
        """Apply a committed transaction. `moved` has the host and key of each task that was still in the queue."""
        for url, more in link_counts.items():
            if (waits := self._get_task(url)) is not None:
                waits.in_links += more
        for move in moves:
            waits = self._get_task(move.url)
            if (move.host_id, move.key) not in moved:
                self.forget(move.url)
            elif waits is not None:
                waits.lead_ms += waits.due - move.due
                waits.due = move.due
        if len(self._tasks) > self._max_tasks:
            self._older_tasks, self._tasks = self._tasks, {}
        for url, entry in new_entries:
            self._tasks[url] = QueuedTask(entry.rank, entry.due, link_counts.get(url, 0))

    def forget(self, url: str) -> None:
        """Stop counting links, because the task no longer waits."""
        self._tasks.pop(url, None)
        self._older_tasks.pop(url, None)

    def _get_task(self, url: str) -> QueuedTask | None:
        return self._tasks.get(url) or self._older_tasks.get(url)


_MAX_LINKS = max(LINK_STEPS)
_LEADS_MS = tuple(milliseconds(in_link_points(number) * SECONDS_PER_POINT) for number in range(_MAX_LINKS + 1))


def link_lead_ms(in_links: int) -> int:
    """How far this many links move a task ahead, in milliseconds."""
    return _LEADS_MS[in_links if in_links < _MAX_LINKS else _MAX_LINKS]


MAX_KNOWN_URLS = 250_000
"""Maximum URLs that are remembered as known, in up to two generations. Most links of a site are on every page of it."""
MAX_HOST_IDS = 200_000
HOSTS_BUDGET = "hosts_per_domain"


class UrlCache:
    """URLs that the database surely has: the latest, and those before them."""

    def __init__(self) -> None:
        self.urls: set[str] = set()
        self.older: set[str] = set()

    def __contains__(self, url: str) -> bool:
        return url in self.urls or url in self.older

    def update(self, urls: Iterable[str]) -> None:
        if len(self.urls) > MAX_KNOWN_URLS:
            self.older, self.urls = self.urls, set()
        self.urls.update(urls)

    def discard(self, url: str) -> None:
        """Forget a URL that was added last, because it is not in the database after all."""
        self.urls.discard(url)


class Batch(NamedTuple):
    """Candidates that are proposed together: by a visit, or outside of a visit."""

    candidates: Sequence[Candidate]
    via: int | None
    """The record id of the page they were found on."""
    source_host: int
    """The host of that page; 0 outside of a visit."""
    is_first_visit: bool = False
    """The page was not visited before, so its links are not counted yet."""
    link_counts: Mapping[str, int] = MappingProxyType({})
    """Known URLs, with the number of further links to them that were found."""


EMPTY_BATCH = Batch((), None, 0)


def visit_batches(visits: Sequence[PendingVisit], effects: Effects) -> list[Batch]:
    """The candidates of each visit."""
    return [
        Batch(candidates, record_id, one.host_id, one.entry.record_id is None, link_counts)
        for one, candidates, record_id, link_counts in zip(
            visits, effects.candidates, effects.record_ids, effects.link_counts, strict=True
        )
    ]


class NewCandidate(NamedTuple):
    """A candidate that is not cached as known, and the number of its batch."""

    batch_number: int
    candidate: Candidate


def select_unknown(
    batches: Sequence[Batch], known_urls: UrlCache, in_links: InLinks, other_known: Set[str] = frozenset()
) -> tuple[list[NewCandidate], LinkCounts]:
    """The candidates that are not cached as known, in order, and the link counts."""
    linked = in_links.sum_link_counts(batch.link_counts for batch in batches)
    unknown: list[NewCandidate] = []
    known, known_before = known_urls.urls, known_urls.older
    for number, batch in enumerate(batches):
        for candidate in batch.candidates:
            url = candidate.url
            is_known = url in known or url in known_before or url in other_known
            if batch.is_first_visit and candidate.source is Source.LINK and (not is_known or url in in_links):
                linked[url] = linked.get(url, 0) + 1
            if not is_known:
                unknown.append(NewCandidate(number, candidate))
    return unknown, linked


def build_admissions(
    batches: Sequence[Batch], admitted: Mapping[int, int], refused: Sequence[Mapping[str, int]]
) -> list[Admission]:
    """The result of each batch. `admitted` counts the new tasks by the number of their batch."""
    return [
        Admission(
            admitted.get(number, 0),
            len(batch.candidates) - admitted.get(number, 0) - sum(reasons.values()),
            {**reasons},
        )
        for number, (batch, reasons) in enumerate(zip(batches, refused, strict=True))
    ]


def admission_tally(entries: Sequence[Entry], refused: Sequence[Mapping[str, int]]) -> Counter[str]:
    """The new tasks, by source too, and the refusals by reason."""
    tally = Counter({"admitted": len(entries)})
    tally.update(count_by_source(entries))
    for reasons in refused:
        tally.update({f"refusal:{reason}": count for reason, count in reasons.items()})
    return tally


def build_entry(
    candidate: Candidate, key: int, batch: Batch, admission_rate: AdmissionRate, now: float, in_links: int = 0
) -> Entry:
    """The queue entry of a new task. It is due later if its source exceeds its rate."""
    lead = candidate.lead_seconds + link_lead_ms(in_links) / 1000
    due = (admission_rate.due_time(batch.source_host, now) if batch.source_host else now) - lead
    if candidate.due is not None:
        due = max(due, candidate.due)
    return Entry(
        3 - candidate.priority, milliseconds(due), key, path=candidate.url[len(candidate.origin) :],
        depth=candidate.depth, source=rows.SOURCE_NUMBER[candidate.source], found=milliseconds(now), via=batch.via,
        attempt=0, record_id=None, chain=rows.encode_chain(candidate.chain), hint=rows.candidate_hint(candidate),
        via_url=candidate.via,
    )  # fmt: skip


def remaining_cut_off_rows(remaining: Mapping[int, Mapping[str, int]]) -> list[tuple[int, str, int]]:
    """Rows of the links that are still cut off: record id, limit name, number of links."""
    return sorted((record, name, count) for record, left in remaining.items() for name, count in left.items() if count)


def cut_off_rows(batches: Sequence[Batch], refused: Sequence[Mapping[str, int]]) -> list[tuple[int, str, int]]:
    """Links that budgets cut off: record id, name of the budget, number of candidates."""
    return [
        (batch.via, name, count)
        for batch, reasons in zip(batches, refused, strict=True)
        if batch.via is not None and reasons
        for name, count in limit_refusals(reasons).items()
    ]


def count_by_source(entries: Iterable[Entry]) -> Counter[str]:
    """Tasks per source, by tally name; sitemaps and feeds are counted as `url_list`."""
    counted = Counter(
        "url_list" if entry.hint and entry.hint & rows.HINT_URL_LIST else str(rows.SOURCES[entry.source])
        for entry in entries
    )
    return Counter({f"found:{source}": count for source, count in counted.items()})


def mark_duplicates(
    admissions: Sequence[Admission], effects: Effects, visits: Sequence[PendingVisit]
) -> list[Admission]:
    """The admissions of some visits, with the originals of their pages."""
    marked = list(admissions)
    for number, match in effects.duplicates.items():
        is_accepted = len(effects.candidates[number]) == len(visits[number].visit.candidates)
        marked[number] = msgspec.structs.replace(
            marked[number], duplicate_of=match.url, similarity=match.similarity, are_candidates_accepted=is_accepted
        )
    return marked
