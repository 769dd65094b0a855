"""Admits the candidates of a whole group: looks them up, counts them against their budgets, and queues the new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from itertools import chain
from typing import NamedTuple

from tenax.database import Admission, rows
from tenax.database.admission import (
    HOSTS_BUDGET,
    MAX_HOST_IDS,
    AdmissionRate,
    Batch,
    InLinks,
    LinkCounts,
    LoadedKeys,
    Move,
    NewCandidate,
    UrlCache,
    admission_tally,
    build_admissions,
    build_entry,
    cut_off_rows,
    select_unknown,
)
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries, write_rows
from tenax.database.schedule import Entry
from tenax.model import Budget, Candidate

HostKey = tuple[int, int]
"""A host and a key: that of a URL in `seen`, or that of a budget in `budget` (host 0 for budgets of hosts)."""


class WindowState(NamedTuple):
    """What this worker has in its window."""

    host_ids: Collection[int]
    """The hosts that it leases."""
    loaded_keys: LoadedKeys
    """The keys of the loaded tasks of these hosts."""


class AdmitResult(NamedTuple):
    """The result for some batches."""

    admissions: list[Admission]
    arrivals: list[tuple[int, Entry]]
    """New tasks, by host."""
    urls: list[str]
    """Their URLs."""
    known: list[Candidate]
    """Candidates whose URLs are in the database when this is committed."""
    filter_hits: Set[str]
    """URLs that the visited filter reported as known."""
    host_ids: dict[str, int]
    has_new_work: bool
    """Hosts that no worker leases have work now."""
    tally: Counter[str]
    link_counts: LinkCounts
    moves: list[Move]
    """Planned moves of tasks that gained links."""
    moved: list[tuple[int, Entry]]
    """The tasks that were still in the queue, by host."""


class Admitter:
    """Caches known URLs and host ids, so that the server is queried only for the others."""

    def __init__(self, url_key: Callable[[str], int], admission_rate: AdmissionRate) -> None:
        self._sql = queries()
        self._url_key = url_key
        self._admission_rate = admission_rate
        self._host_ids: dict[str, int] = {}
        self._known_urls = UrlCache()
        self._in_links = InLinks()

    def unknown_candidates(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Candidates that are not cached as known."""
        return [candidate for candidate in candidates if candidate.url not in self._known_urls]

    async def admit(
        self,
        db: Connection,
        batches: Sequence[Batch],
        window: WindowState,
        now: float,
        filter_hits: Set[str] = frozenset(),
    ) -> AdmitResult:
        """Admit candidates. Call inside of a transaction. `filter_hits` are URLs that a filter knows."""
        refused: list[Counter[str]] = [Counter() for _ in batches]
        unknown, linked = select_unknown(batches, self._known_urls, self._in_links, filter_hits)
        candidates, at_unknown_hosts = self._split_by_host(unknown)
        host_ids, new_hosts = await self._ensure_hosts(db, at_unknown_hosts, refused, now)
        for one in at_unknown_hosts:
            host_id = host_ids.get(one.candidate.origin)
            if host_id is not None:
                candidates.setdefault((host_id, self._url_key(one.candidate.url)), one)
        new, over = await self._insert_new(db, candidates, refused)
        arrivals = [
            (
                host_key[0],
                build_entry(
                    one.candidate,
                    host_key[1],
                    batches[one.batch_number],
                    admission_rate=self._admission_rate,
                    now=now,
                    in_links=linked.get(one.candidate.url, 0),
                ),
            )
            for host_key, one in new.items()
        ]
        has_ready_hosts = await self._enqueue(db, arrivals, window.host_ids, new_hosts)
        moves = self._in_links.plan_moves(linked, self._host_ids, self._url_key, window.loaded_keys, now)
        moved = await self._move_tasks(db, moves)
        admitted = Counter(one.batch_number for one in new.values())
        tally = admission_tally([entry for _, entry in arrivals], refused)
        tally.update({"waiting": len(arrivals), "hosts": len(new_hosts)})
        await write_rows(db, "cut_off_add", sorted(cut_off_rows(batches, refused)))
        admissions = build_admissions(batches, admitted, refused)
        known = [one.candidate for host_key, one in candidates.items() if host_key not in over]
        return AdmitResult(
            admissions, arrivals, [one.candidate.url for one in new.values()], known=known, filter_hits=filter_hits,
            host_ids=host_ids, has_new_work=has_ready_hosts or bool(new_hosts), tally=tally, link_counts=linked,
            moves=moves, moved=moved,
        )  # fmt: skip

    def on_commit(self, result: AdmitResult) -> None:
        """Cache the URLs and hosts of a committed transaction."""
        self._known_urls.update(chain((candidate.url for candidate in result.known), result.filter_hits))
        if len(self._host_ids) > MAX_HOST_IDS:
            self._host_ids.clear()
        self._host_ids.update(result.host_ids)
        new = zip(result.urls, (entry for _, entry in result.arrivals), strict=True)
        self._in_links.on_commit(
            result.link_counts, result.moves, {(host_id, entry.key) for host_id, entry in result.moved}, new
        )

    def forget_visited(self, urls: Iterable[str]) -> None:
        """Stop counting links of visited URLs."""
        for url in urls:
            self._in_links.forget(url)

    def _split_by_host(self, unknown: Iterable[NewCandidate]) -> tuple[dict[HostKey, NewCandidate], list[NewCandidate]]:
        """The candidates at cached hosts, each once, and the others."""
        candidates: dict[HostKey, NewCandidate] = {}
        at_unknown_hosts: list[NewCandidate] = []
        for one in unknown:
            host_id = self._host_ids.get(one.candidate.origin)
            if host_id is None:
                at_unknown_hosts.append(one)
            else:
                candidates.setdefault((host_id, self._url_key(one.candidate.url)), one)
        return candidates, at_unknown_hosts

    # -- hosts ----------------------------------------------------------------------------------------------

    async def _ensure_hosts(
        self, db: Connection, unknown: Sequence[NewCandidate], refused: list[Counter[str]], now: float
    ) -> tuple[dict[str, int], set[int]]:
        """The ids of the hosts, and which of them are new. Hosts beyond the budget of their domain are left out."""
        found = {one.candidate.origin: 0 for one in unknown}
        missing = await self._look_up_hosts(db, found, list(found))
        if not missing:
            return found, set()
        wanted = [one for one in unknown if not found[one.candidate.origin]]
        spent = await _BudgetUse.lock(
            db, (self._host_budget_key(b) for one in wanted for b in one.candidate.budgets if b.counts_hosts)
        )
        if spent.used:  # another worker may have added hosts during the wait
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
        new_hosts = {row[0] for row in added}
        found.update((row[1], row[0]) for row in added)
        await self._look_up_hosts(db, found, [origin for origin in granted if not found[origin]])
        return {origin: host_id for origin, host_id in found.items() if host_id}, new_hosts

    async def _look_up_hosts(self, db: Connection, found: dict[str, int], origins: Sequence[str]) -> list[str]:
        """Fill in the ids of existing hosts. Returns the missing ones."""
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
        """The new candidates, in order, and those refused by a budget."""
        if not candidates:
            return {}, set()
        # Sorted, to prevent deadlocks and to traverse the B-tree once in order.
        hosts, keys = zip(*sorted(candidates), strict=True)
        added = {tuple(row) for row in await db.fetch(self._sql["seen_add"], _format_array(hosts), _format_array(keys))}
        new = {host_key: one for host_key, one in candidates.items() if host_key in added}
        over = await self._exceeded_budgets(db, new)
        for host_key, budget in over.items():
            refused[new.pop(host_key).batch_number][budget] += 1
        await write_rows(db, "seen_forget", sorted(over))
        return new, set(over)

    async def _exceeded_budgets(self, db: Connection, new: dict[HostKey, NewCandidate]) -> dict[HostKey, str]:
        """The candidates that exceed a budget, with its name. Budgets are for the first candidates."""
        counted = {
            host_key: [(self._task_budget_key(host_key, b), b) for b in one.candidate.budgets if not b.counts_hosts]
            for host_key, one in new.items()
            if one.candidate.budgets
        }
        spent = await _BudgetUse.lock(db, (allowance for budgets in counted.values() for allowance, _ in budgets))
        over: dict[HostKey, str] = {}
        for host_key, budgets in counted.items():
            for allowance, budget in budgets:
                if not spent.use(allowance, budget.limit):
                    over[host_key] = budget.name
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
        """Add tasks to the queue. Returns whether hosts that no worker leases became ready."""
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
    """The numbers as an array in PostgreSQL's syntax."""
    return "{" + rows.encode(numbers)[1:-1].decode() + "}"


def _queue_key(row: tuple[object, ...]) -> tuple[object, ...]:
    return row[:4]


class _BudgetUse:
    """Rows of `budget`, locked until the transaction ends."""

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
        await write_rows(db, "budgets_put", [(*host_key, self.used[host_key]) for host_key in sorted(self._changed)])
