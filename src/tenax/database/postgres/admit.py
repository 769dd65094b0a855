"""Which offers are new: looked up, counted against their budgets and put into the queue, for a whole group at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import NamedTuple

from tenax.database import Admission, rows
from tenax.database.admission_rate import AdmissionRate
from tenax.database.candidates import (
    HOSTS_BUDGET,
    MAX_HOST_IDS,
    MAX_KNOWN_URLS,
    Batch,
    build_entry,
    count_by_source,
    cut_off_rows,
)
from tenax.database.in_links import InLinks, LinkCounts, LoadedKeys, Move
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import write_rows
from tenax.database.schedule import Entry
from tenax.model import Budget, Candidate, Source

HostKey = tuple[int, int]
"""A host and a key: of a URL in `seen`, of an allowance in `budget` (of hosts themselves: host 0)."""


class NewCandidate(NamedTuple):
    """An offer that memory does not know, and the number of its batch."""

    batch_number: int
    candidate: Candidate


class AdmitResult(NamedTuple):
    """What became of some batches."""

    admissions: list[Admission]
    arrivals: list[tuple[int, Entry]]
    """New tasks, by host."""
    urls: list[str]
    """Theirs."""
    known: list[Candidate]
    """Of URLs that are in the database once this is committed."""
    filter_hits: Set[str]
    """URLs that were in it before, as a filter said."""
    host_ids: dict[str, int]
    has_new_work: bool
    """There is work now at hosts that nobody held."""
    tally: Counter[str]
    link_counts: LinkCounts
    moves: list[Move]
    """Tasks that links were to bring ahead."""
    moved: list[tuple[int, Entry]]
    """Those that were still there, by host."""


class Admitter:
    """Remembers what it has seen, to ask the server only for the rest."""

    def __init__(self, url_key: Callable[[str], int], admission_rate: AdmissionRate) -> None:
        self._sql = queries()
        self._url_key = url_key
        self._admission_rate = admission_rate
        self._host_ids: dict[str, int] = {}
        self._known_urls: set[str] = set()
        self._older_known_urls: set[str] = set()
        self._in_links = InLinks()

    def unknown_candidates(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that memory does not know."""
        return [
            candidate
            for candidate in candidates
            if candidate.url not in self._known_urls and candidate.url not in self._older_known_urls
        ]

    async def admit(
        self,
        db: Connection,
        batches: Sequence[Batch],
        own_hosts: Collection[int],
        loaded_keys: LoadedKeys,
        now: float,
        filter_hits: Set[str] = frozenset(),
    ) -> AdmitResult:
        """Within a transaction. `own_hosts`: the hosts that we hold; `filter_hits`: URLs that a filter knows."""
        refused: list[Counter[str]] = [Counter() for _ in batches]
        candidates, elsewhere, linked = self._select_unknown(batches, filter_hits)
        host_ids, fresh = await self._ensure_hosts(db, elsewhere, refused, now)
        for one in elsewhere:
            host_id = host_ids.get(one.candidate.origin)
            if host_id is not None:
                candidates.setdefault((host_id, self._url_key(one.candidate.url)), one)
        new, over = await self._insert_new(db, candidates, refused)
        arrivals = [
            (
                place[0],
                build_entry(
                    one.candidate,
                    place[1],
                    batches[one.batch_number],
                    self._admission_rate,
                    now,
                    linked.get(one.candidate.url, 0),
                ),
            )
            for place, one in new.items()
        ]
        has_woken = await self._enqueue(db, arrivals, own_hosts, fresh)
        moves = self._in_links.plan_moves(linked, self._host_ids, self._url_key, loaded_keys, now)
        moved = await self._move_tasks(db, moves)
        admitted = Counter(one.batch_number for one in new.values())
        tally = Counter({"admitted": len(arrivals), "waiting": len(arrivals), "hosts": len(fresh)})
        tally.update(count_by_source(entry for _, entry in arrivals))
        for reasons in refused:
            tally.update({f"refusal:{reason}": count for reason, count in reasons.items()})
        await write_rows(db, "cut_off_add", sorted(cut_off_rows(batches, refused)))
        admissions = [
            Admission(count, len(batch.candidates) - count - reasons.total(), dict(reasons))
            for batch, count, reasons in zip(
                batches, (admitted[number] for number in range(len(batches))), refused, strict=True
            )
        ]
        known = [one.candidate for place, one in candidates.items() if place not in over]
        return AdmitResult(
            admissions, arrivals, [one.candidate.url for one in new.values()], known, filter_hits, host_ids,
            has_woken or bool(fresh), tally, linked, moves, moved,
        )  # fmt: skip

    def on_commit(self, result: AdmitResult) -> None:
        """The transaction is committed: from now on its URLs are known."""
        if len(self._known_urls) > MAX_KNOWN_URLS:
            self._older_known_urls, self._known_urls = self._known_urls, set()
        self._known_urls.update(candidate.url for candidate in result.known)
        self._known_urls.update(result.filter_hits)
        if len(self._host_ids) > MAX_HOST_IDS:
            self._host_ids.clear()
        self._host_ids.update(result.host_ids)
        new = zip(result.urls, (entry for _, entry in result.arrivals), strict=True)
        self._in_links.on_commit(
            result.link_counts, result.moves, {(host_id, entry.key) for host_id, entry in result.moved}, new
        )

    def forget_visited(self, urls: Iterable[str]) -> None:
        """They do not wait as they did."""
        for url in urls:
            self._in_links.forget(url)

    def _select_unknown(
        self, batches: Sequence[Batch], filter_hits: Set[str]
    ) -> tuple[dict[HostKey, NewCandidate], list[NewCandidate], LinkCounts]:
        """Offers that memory does not know: those at hosts that it knows, each once, and the others; and what is linked
        to."""
        in_links = self._in_links
        linked = in_links.sum_link_counts(batch.link_counts for batch in batches)
        candidates: dict[HostKey, NewCandidate] = {}
        elsewhere: list[NewCandidate] = []
        known, known_before = self._known_urls, self._older_known_urls
        host_ids, url_key = self._host_ids, self._url_key
        for number, batch in enumerate(batches):
            for candidate in batch.candidates:
                url = candidate.url
                is_known = url in known or url in known_before or url in filter_hits
                if batch.is_first_visit and candidate.source is Source.LINK and (not is_known or url in in_links):
                    linked[url] = linked.get(url, 0) + 1
                if is_known:
                    continue
                host_id = host_ids.get(candidate.origin)
                if host_id is None:
                    elsewhere.append(NewCandidate(number, candidate))
                else:
                    candidates.setdefault((host_id, url_key(url)), NewCandidate(number, candidate))
        return candidates, elsewhere, linked

    # -- hosts ----------------------------------------------------------------------------------------------

    async def _ensure_hosts(
        self, db: Connection, unknown: Sequence[NewCandidate], refused: list[Counter[str]], now: float
    ) -> tuple[dict[str, int], set[int]]:
        """The numbers of the hosts, and which of them are new; those whose domain has no hosts left are not there."""
        found = {one.candidate.origin: 0 for one in unknown}
        missing = await self._look_up_hosts(db, found, list(found))
        if not missing:
            return found, set()
        wanted = [one for one in unknown if not found[one.candidate.origin]]
        spent = await _BudgetUse.lock(
            db, (self._host_budget_key(b) for one in wanted for b in one.candidate.budgets if b.counts_hosts)
        )
        if spent.used:  # another worker may have added some while we waited
            missing = await self._look_up_hosts(db, found, missing)
        granted: dict[str, None] = {}
        for number, candidate in (one for one in wanted if not found[one.candidate.origin]):
            if candidate.origin in granted:
                continue
            if all(spent.use(self._host_budget_key(b), b.limit) for b in candidate.budgets if b.counts_hosts):
                granted[candidate.origin] = None
            else:
                refused[number][HOSTS_BUDGET] += 1
        await spent.write(db)
        added = await db.fetch(self._sql["hosts_add"], sorted(granted), now) if granted else []
        fresh = {row[0] for row in added}
        found.update((row[1], row[0]) for row in added)
        await self._look_up_hosts(db, found, [origin for origin in granted if not found[origin]])
        return {origin: host_id for origin, host_id in found.items() if host_id}, fresh

    async def _look_up_hosts(self, db: Connection, found: dict[str, int], origins: Sequence[str]) -> list[str]:
        """Fills in those that are there; gives the others."""
        if not origins:
            return []
        found.update((row[1], row[0]) for row in await db.fetch(self._sql["hosts_find"], origins))
        return [origin for origin in origins if not found[origin]]

    def _host_budget_key(self, budget: Budget) -> HostKey:
        return 0, self._url_key(f"{budget.name} {budget.key}")

    # -- tasks ----------------------------------------------------------------------------------------------

    async def _insert_new(
        self, db: Connection, candidates: dict[HostKey, NewCandidate], refused: list[Counter[str]]
    ) -> tuple[dict[HostKey, NewCandidate], set[HostKey]]:
        """Those never seen before, as offered, and those that were but are over a budget."""
        if not candidates:
            return {}, set()
        # Sorted, so that nobody waits in a circle, and the tree is walked once from left to right.
        hosts, keys = zip(*sorted(candidates), strict=True)
        added = {tuple(row) for row in await db.fetch(self._sql["seen_add"], _format_array(hosts), _format_array(keys))}
        new = {place: one for place, one in candidates.items() if place in added}
        over = await self._exceeded_budgets(db, new)
        for place, budget in over.items():
            refused[new.pop(place).batch_number][budget] += 1
        await write_rows(db, "seen_forget", sorted(over))
        return new, set(over)

    async def _exceeded_budgets(self, db: Connection, new: dict[HostKey, NewCandidate]) -> dict[HostKey, str]:
        """Which of them would exceed a budget, and its name; the budgets go to those offered first."""
        counted = {
            place: [(self._task_budget_key(place, b), b) for b in one.candidate.budgets if not b.counts_hosts]
            for place, one in new.items()
            if one.candidate.budgets
        }
        spent = await _BudgetUse.lock(db, (allowance for budgets in counted.values() for allowance, _ in budgets))
        over: dict[HostKey, str] = {}
        for place, budgets in counted.items():
            for allowance, budget in budgets:
                if not spent.use(allowance, budget.limit):
                    over[place] = budget.name
                    break
        await spent.write(db)
        return over

    def _task_budget_key(self, host_key: HostKey, budget: Budget) -> HostKey:
        return host_key[0], self._url_key(f"{budget.name} {budget.key}")

    async def _move_tasks(self, db: Connection, moves: Sequence[Move]) -> list[tuple[int, Entry]]:
        if not moves:
            return []
        columns = zip(*sorted(move[:-1] for move in moves), strict=True)
        return [(row["host_id"], Entry(*tuple(row)[1:])) for row in await db.fetch(self._sql["queue_move"], *columns)]

    async def _enqueue(
        self, db: Connection, arrivals: list[tuple[int, Entry]], own_hosts: Collection[int], new_hosts: set[int]
    ) -> bool:
        """Into the queue; whether that woke hosts which nobody held."""
        first_due: dict[int, float] = {}
        for host_id, entry in arrivals:
            if host_id not in own_hosts and host_id not in new_hosts:
                due = entry.due / 1000
                first_due[host_id] = min(first_due.get(host_id, due), due)
        others = sorted(first_due.items())
        if others:
            await db.fetch(self._sql["hosts_lock_shared"], [host_id for host_id, _ in others])
        await write_rows(
            db, "queue_add", sorted([(host_id, *entry.columns) for host_id, entry in arrivals], key=_queue_key)
        )
        if not others:
            return False
        return await db.execute(self._sql["hosts_mark_ready"], *zip(*others, strict=True)) != "UPDATE 0"


def _format_array(numbers: Sequence[int]) -> str:
    """As PostgreSQL writes it."""
    return "{" + rows.encode(numbers)[1:-1].decode() + "}"


def _queue_key(row: tuple[object, ...]) -> tuple[object, ...]:
    return row[:4]


class _BudgetUse:
    """Some rows of `budget`, ours until the transaction ends."""

    def __init__(self, used: dict[HostKey, int]) -> None:
        self.used = used
        self._changed: set[HostKey] = set()

    @classmethod
    async def lock(cls, db: Connection, budget_keys: Iterable[HostKey]) -> _BudgetUse:
        wanted = sorted(set(budget_keys))
        if not wanted:
            return cls({})
        found = await db.fetch(queries()["budgets_lock"], *zip(*wanted, strict=True))
        return cls({(row[0], row[1]): row[2] for row in found})

    def use(self, budget_key: HostKey, limit: int) -> bool:
        if self.used[budget_key] >= limit:
            return False
        self.used[budget_key] += 1
        self._changed.add(budget_key)
        return True

    async def write(self, db: Connection) -> None:
        await write_rows(db, "budgets_put", [(*place, self.used[place]) for place in sorted(self._changed)])
