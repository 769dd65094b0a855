"""Which offers are new: looked up, counted against their budgets and put into the queue, for a whole group at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import NamedTuple

from tenax.database import Admission, rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import HOST_IDS_KEPT, HOSTS_BUDGET, KNOWN_KEPT, Batch, cut_off_rows, entry_of, found_by
from tenax.database.in_links import InHand, InLinks, Linked, Move
from tenax.database.postgres.connection import Connection
from tenax.database.postgres.schema import queries
from tenax.database.postgres.settle import insert
from tenax.database.schedule import Entry
from tenax.model import Budget, Offer, Source

Place = tuple[int, int]
"""A host and a key: of a URL in `seen`, of an allowance in `budget` (of hosts themselves: host 0)."""


class Candidate(NamedTuple):
    """An offer that memory does not know, and the number of its batch."""

    number: int
    offer: Offer


class Admitted(NamedTuple):
    """What became of some batches."""

    admissions: list[Admission]
    arrivals: list[tuple[int, Entry]]
    """New tasks, by host."""
    urls: list[str]
    """Theirs."""
    known: list[Offer]
    """Of URLs that are in the ledger once this is committed."""
    hinted: Set[str]
    """URLs that were in it before, as a filter said."""
    host_ids: dict[str, int]
    has_woken: bool
    """There is work now at hosts that nobody held."""
    tally: Counter[str]
    linked: Linked
    moves: list[Move]
    """Tasks that links were to bring ahead."""
    moved: list[tuple[int, Entry]]
    """Those that were still there, by host."""


class Admitter:
    """Remembers what it has seen, to ask the server only for the rest."""

    def __init__(self, url_key: Callable[[str], int], inflow: Inflow) -> None:
        self._sql = queries()
        self._url_key = url_key
        self._inflow = inflow
        self._host_ids: dict[str, int] = {}
        self._known: set[str] = set()
        self._known_before: set[str] = set()
        self._in_links = InLinks()

    def unsure(self, offers: Iterable[Offer]) -> list[Offer]:
        """Those that memory does not know."""
        return [offer for offer in offers if offer.url not in self._known and offer.url not in self._known_before]

    async def admit(
        self,
        db: Connection,
        batches: Sequence[Batch],
        ours: Collection[int],
        in_hand: InHand,
        now: float,
        hinted: Set[str] = frozenset(),
    ) -> Admitted:
        """Within a transaction. `ours`: the hosts that we hold; `hinted`: URLs that a filter knows."""
        refused: list[Counter[str]] = [Counter() for _ in batches]
        candidates, elsewhere, linked = self._unknown(batches, hinted)
        host_ids, fresh = await self._hosts(db, elsewhere, refused, now)
        for one in elsewhere:
            host_id = host_ids.get(one.offer.origin)
            if host_id is not None:
                candidates.setdefault((host_id, self._url_key(one.offer.url)), one)
        new, over = await self._new(db, candidates, refused)
        arrivals = [
            (
                place[0],
                entry_of(one.offer, place[1], batches[one.number], self._inflow, now, linked.get(one.offer.url, 0)),
            )
            for place, one in new.items()
        ]
        has_woken = await self._enqueue(db, arrivals, ours, fresh)
        moves = self._in_links.moves(linked, self._host_ids, self._url_key, in_hand, now)
        moved = await self._move(db, moves)
        admitted = Counter(one.number for one in new.values())
        tally = Counter({"admitted": len(arrivals), "waiting": len(arrivals), "hosts": len(fresh)})
        tally.update(found_by(entry for _, entry in arrivals))
        for reasons in refused:
            tally.update({f"refusal:{reason}": count for reason, count in reasons.items()})
        await insert(db, "cut_off_add", sorted(cut_off_rows(batches, refused)))
        admissions = [
            Admission(count, len(batch.offers) - count - reasons.total(), dict(reasons))
            for batch, count, reasons in zip(
                batches, (admitted[number] for number in range(len(batches))), refused, strict=True
            )
        ]
        known = [one.offer for place, one in candidates.items() if place not in over]
        return Admitted(
            admissions, arrivals, [one.offer.url for one in new.values()], known, hinted, host_ids,
            has_woken or bool(fresh), tally, linked, moves, moved,
        )  # fmt: skip

    def written(self, done: Admitted) -> None:
        """The transaction is committed: from now on its URLs are known."""
        if len(self._known) > KNOWN_KEPT:
            self._known_before, self._known = self._known, set()
        self._known.update(offer.url for offer in done.known)
        self._known.update(done.hinted)
        if len(self._host_ids) > HOST_IDS_KEPT:
            self._host_ids.clear()
        self._host_ids.update(done.host_ids)
        new = zip(done.urls, (entry for _, entry in done.arrivals), strict=True)
        self._in_links.written(done.linked, done.moves, {(host_id, entry.key) for host_id, entry in done.moved}, new)

    def visited(self, urls: Iterable[str]) -> None:
        """They do not wait as they did."""
        for url in urls:
            self._in_links.forget(url)

    def _unknown(
        self, batches: Sequence[Batch], hinted: Set[str]
    ) -> tuple[dict[Place, Candidate], list[Candidate], Linked]:
        """Offers that memory does not know: those at hosts that it knows, each once, and the others; and what is linked
        to."""
        in_links = self._in_links
        linked = in_links.told(batch.linked for batch in batches)
        candidates: dict[Place, Candidate] = {}
        elsewhere: list[Candidate] = []
        known, known_before = self._known, self._known_before
        host_ids, url_key = self._host_ids, self._url_key
        for number, batch in enumerate(batches):
            for offer in batch.offers:
                url = offer.url
                is_known = url in known or url in known_before or url in hinted
                if batch.are_first and offer.source is Source.LINK and (not is_known or url in in_links):
                    linked[url] = linked.get(url, 0) + 1
                if is_known:
                    continue
                host_id = host_ids.get(offer.origin)
                if host_id is None:
                    elsewhere.append(Candidate(number, offer))
                else:
                    candidates.setdefault((host_id, url_key(url)), Candidate(number, offer))
        return candidates, elsewhere, linked

    # -- hosts ----------------------------------------------------------------------------------------------

    async def _hosts(
        self, db: Connection, unknown: Sequence[Candidate], refused: list[Counter[str]], now: float
    ) -> tuple[dict[str, int], set[int]]:
        """The numbers of the hosts, and which of them are new; those whose domain has no hosts left are not there."""
        found = {one.offer.origin: 0 for one in unknown}
        missing = await self._looked_up(db, found, list(found))
        if not missing:
            return found, set()
        wanted = [one for one in unknown if not found[one.offer.origin]]
        spent = await _Allowances.of(
            db, (self._hosts_place(b) for one in wanted for b in one.offer.budgets if b.counts_hosts)
        )
        if spent.used:  # another worker may have added some while we waited
            missing = await self._looked_up(db, found, missing)
        granted: dict[str, None] = {}
        for number, offer in (one for one in wanted if not found[one.offer.origin]):
            if offer.origin in granted:
                continue
            if all(spent.take(self._hosts_place(b), b.limit) for b in offer.budgets if b.counts_hosts):
                granted[offer.origin] = None
            else:
                refused[number][HOSTS_BUDGET] += 1
        await spent.write(db)
        added = await db.fetch(self._sql["hosts_add"], sorted(granted), now) if granted else []
        fresh = {row[0] for row in added}
        found.update((row[1], row[0]) for row in added)
        await self._looked_up(db, found, [origin for origin in granted if not found[origin]])
        return {origin: host_id for origin, host_id in found.items() if host_id}, fresh

    async def _looked_up(self, db: Connection, found: dict[str, int], origins: Sequence[str]) -> list[str]:
        """Fills in those that are there; gives the others."""
        if not origins:
            return []
        found.update((row[1], row[0]) for row in await db.fetch(self._sql["hosts_ids"], origins))
        return [origin for origin in origins if not found[origin]]

    def _hosts_place(self, budget: Budget) -> Place:
        return 0, self._url_key(f"{budget.name} {budget.key}")

    # -- tasks ----------------------------------------------------------------------------------------------

    async def _new(
        self, db: Connection, candidates: dict[Place, Candidate], refused: list[Counter[str]]
    ) -> tuple[dict[Place, Candidate], set[Place]]:
        """Those never seen before, as offered, and those that were but are over a budget."""
        if not candidates:
            return {}, set()
        # Sorted, so that nobody waits in a circle, and the tree is walked once from left to right.
        hosts, keys = zip(*sorted(candidates), strict=True)
        added = {tuple(row) for row in await db.fetch(self._sql["seen_add"], _array(hosts), _array(keys))}
        new = {place: one for place, one in candidates.items() if place in added}
        over = await self._over_budget(db, new)
        for place, budget in over.items():
            refused[new.pop(place).number][budget] += 1
        await insert(db, "seen_forget", sorted(over))
        return new, set(over)

    async def _over_budget(self, db: Connection, new: dict[Place, Candidate]) -> dict[Place, str]:
        """Which of them would exceed a budget, and its name; the budgets go to those offered first."""
        counted = {
            place: [(self._tasks_place(place, b), b) for b in one.offer.budgets if not b.counts_hosts]
            for place, one in new.items()
            if one.offer.budgets
        }
        spent = await _Allowances.of(db, (allowance for budgets in counted.values() for allowance, _ in budgets))
        over: dict[Place, str] = {}
        for place, budgets in counted.items():
            for allowance, budget in budgets:
                if not spent.take(allowance, budget.limit):
                    over[place] = budget.name
                    break
        await spent.write(db)
        return over

    def _tasks_place(self, place: Place, budget: Budget) -> Place:
        return place[0], self._url_key(f"{budget.name} {budget.key}")

    async def _move(self, db: Connection, moves: Sequence[Move]) -> list[tuple[int, Entry]]:
        if not moves:
            return []
        columns = zip(*sorted(move[:-1] for move in moves), strict=True)
        return [(row["host_id"], Entry(*tuple(row)[1:])) for row in await db.fetch(self._sql["queue_move"], *columns)]

    async def _enqueue(
        self, db: Connection, arrivals: list[tuple[int, Entry]], ours: Collection[int], fresh: set[int]
    ) -> bool:
        """Into the queue; whether that woke hosts which nobody held."""
        first_due: dict[int, float] = {}
        for host_id, entry in arrivals:
            if host_id not in ours and host_id not in fresh:
                due = entry.due / 1000
                first_due[host_id] = min(first_due.get(host_id, due), due)
        others = sorted(first_due.items())
        if others:
            await db.fetch(self._sql["hosts_keep"], [host_id for host_id, _ in others])
        await insert(db, "queue_add", sorted([(host_id, *entry.columns) for host_id, entry in arrivals], key=_by_key))
        if not others:
            return False
        return await db.execute(self._sql["hosts_wake"], *zip(*others, strict=True)) != "UPDATE 0"


def _array(numbers: Sequence[int]) -> str:
    """As PostgreSQL writes it."""
    return "{" + rows.encode(numbers)[1:-1].decode() + "}"


def _by_key(row: tuple[object, ...]) -> tuple[object, ...]:
    return row[:4]


class _Allowances:
    """Some rows of `budget`, ours until the transaction ends."""

    def __init__(self, used: dict[Place, int]) -> None:
        self.used = used
        self._changed: set[Place] = set()

    @classmethod
    async def of(cls, db: Connection, places: Iterable[Place]) -> _Allowances:
        wanted = sorted(set(places))
        if not wanted:
            return cls({})
        found = await db.fetch(queries()["budgets_lock"], *zip(*wanted, strict=True))
        return cls({(row[0], row[1]): row[2] for row in found})

    def take(self, place: Place, limit: int) -> bool:
        if self.used[place] >= limit:
            return False
        self.used[place] += 1
        self._changed.add(place)
        return True

    async def write(self, db: Connection) -> None:
        await insert(db, "budgets_put", [(*place, self.used[place]) for place in sorted(self._changed)])
