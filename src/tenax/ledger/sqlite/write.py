"""One transaction for many visits: the whole effect of each, or nothing of any."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from tenax.ledger import Admission
from tenax.ledger.inflow import Inflow
from tenax.ledger.schedule import Entry
from tenax.ledger.sqlite import rows
from tenax.ledger.sqlite.schema import many_rows, queries
from tenax.model import Again, Cursor, DeadLetter, Event, Offer, PageKind, RobotsCopy, Source, Visit, label

KNOWN_KEPT = 250_000
"""URLs remembered as known, twice at most: most links of a site stand on every page of it."""


FAR = 1e18
ROWS_AT_ONCE = (64, 16, 4, 1)


class Settling(NamedTuple):
    """A visit about to be written, with its task as the queue holds it."""

    visit: Visit
    host_id: int
    entry: Entry


class Applied(NamedTuple):
    """What a transaction did."""

    admissions: list[Admission]
    """One for each visit, then one for each batch of offers made outside of a visit."""
    arrivals: list[tuple[int, Entry]]
    """Tasks that now wait, by host."""
    events: list[Event]
    tally: Counter[str]


class Fresh(NamedTuple):
    """An offer that memory does not know, and the batch it came in."""

    batch: int
    offer: Offer


class Writer:
    """Writes to the ledger's only connection; lives in one thread."""

    def __init__(self, connection: sqlite3.Connection, inflow: Inflow) -> None:
        self._db = connection
        self._sql = queries()
        self._inflow = inflow
        self._host_ids: dict[str, int] = {}
        self._known: set[str] = set()
        self._known_before: set[str] = set()
        self._robots_written: dict[int, RobotsCopy | None] = {}
        self._record_id, self._visit_id, self._content_id = connection.execute(self._sql["highest_ids"]).fetchone()

    # -- the transaction ------------------------------------------------------------------------------------

    def apply(self, settlings: Sequence[Settling], seeds: Sequence[Sequence[Offer]], now: float) -> Applied:
        """Write visits, and batches of offers made outside of any, in one transaction."""
        tally: Counter[str] = Counter()
        waiting: Counter[int] = Counter()
        arrivals: list[tuple[int, Entry]] = []
        told: list[Event] = []
        self._db.execute("BEGIN IMMEDIATE")
        try:
            records = self._settle(settlings, waiting, arrivals, told, tally)
            batches: list[tuple[Sequence[Offer], int | None, int]] = [
                (one.visit.offers, record, one.host_id) for one, record in zip(settlings, records, strict=True)
            ]
            batches.extend((offers, None, 0) for offers in seeds)
            admissions = self._admit(batches, waiting, arrivals, tally, now)
            visited = {one.host_id for one in settlings}
            self._db.executemany(
                self._sql["host_waiting"],
                # A host that was just visited has its next turn already; for the others, new work is a reason to look.
                [(count, FAR if host in visited else now, host) for host, count in waiting.items() if count],
            )
            tally["waiting"] = waiting.total()
            self._db.executemany(self._sql["tally_add"], [(name, count) for name, count in tally.items() if count])
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        return Applied(admissions, arrivals, told, tally)

    # -- visits ---------------------------------------------------------------------------------------------

    def _settle(
        self,
        settlings: Sequence[Settling],
        waiting: Counter[int],
        arrivals: list[tuple[int, Entry]],
        told: list[Event],
        tally: Counter[str],
    ) -> list[int]:
        """Write what the visits themselves changed; gives the record of each."""
        records = []
        visits, bare, pages, contents, again = [], [], [], [], []
        for one in settlings:
            visit, entry = one.visit, one.entry
            self._visit_id += 1
            if entry.record_id is None:
                self._record_id += 1
            record_id = entry.record_id or self._record_id
            records.append(record_id)
            visits.append(
                (self._visit_id, record_id, record_id, _ms(visit.finished_at), rows.visit_detail(visit)),
            )
            if visit.page is None:
                bare.append(self._bare_row(one, record_id))
            else:
                self._content_id += 1
                about = rows.encode(msgspec.structs.replace(visit.page, text=""))
                contents.append((self._content_id, visit.finished_at, about, rows.pack(visit.page.text)))
                pages.append(self._page_row(one, record_id))
                told.append(Event(self._content_id, visit.finished_at, visit.page))
            if isinstance(visit.plan, Again):
                row = self._again(one, visit.plan, record_id)
                again.append((one.host_id, *row.columns))
                arrivals.append((one.host_id, row))
            else:
                waiting[one.host_id] -= 1
            _count(tally, visit)
        insert = self._insert
        insert("visit_add", visits)
        insert("record_put", bare)
        insert("record_put_page", pages)
        insert("content_add", contents)
        places = [(one.host_id, one.entry.rank, one.entry.due, one.entry.key) for one in settlings]
        self._db.execute(self._sql["queue_remove"], (rows.encode(places).decode(),))
        insert("queue_add", again)
        self._db.executemany(self._sql["host_learn"], self._host_rows(settlings))
        return records

    def _host_rows(self, settlings: Sequence[Settling]) -> list[tuple[float, bytes, bytes | None, int]]:
        """The newest record of each host; its robots.txt only when it is another than the one written last."""
        newest = {one.host_id: one.visit.host for one in settlings}
        learned = []
        for host_id, record in newest.items():
            robots = None
            if record.robots is not None and self._robots_written.get(host_id) is not record.robots:
                robots = rows.encode(record.robots)
                if len(self._robots_written) > 10_000:
                    self._robots_written.clear()
                self._robots_written[host_id] = record.robots
            learned.append((record.next_at, rows.host_state(record), robots, host_id))
        return learned

    def _common(self, one: Settling, record_id: int) -> tuple[object, ...]:
        visit, entry = one.visit, one.entry
        next_at = _ms(visit.plan.at) if isinstance(visit.plan, Again) else None
        return (
            record_id, one.host_id, entry.key, entry.path, rows.state_after(visit), rows.status_after(visit.outcome),
            rows.http_status_of(visit.outcome), entry.depth, 3 - entry.rank, entry.source, entry.via, entry.found,
            _ms(visit.finished_at), next_at,
        )  # fmt: skip

    def _bare_row(self, one: Settling, record_id: int) -> tuple[object, ...]:
        visit = one.visit
        trouble = visit.plan.cause if isinstance(visit.plan, DeadLetter) else rows.trouble_of(visit)
        failed = rows.status_after(visit.outcome) == "failed"
        return (
            *self._common(one, record_id), int(failed), trouble, _attempts(visit), _duration_ms(visit), self._visit_id,
            one.entry.chain,
        )  # fmt: skip

    def _page_row(self, one: Settling, record_id: int) -> tuple[object, ...]:
        visit, page = one.visit, one.visit.page
        assert page is not None
        return (
            *self._common(one, record_id), _attempts(visit), _duration_ms(visit), self._visit_id,
            rows.chain_blob(page.chain), self._content_id, page.content_type, page.content_length,
            bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
            page.kind, page.charset, page.charset_source, page.links_count, _ms(page.fetched_at),
        )  # fmt: skip

    def _again(self, one: Settling, plan: Again, record_id: int) -> Entry:
        return one.entry._replace(due=_ms(plan.at), attempt=_attempts(one.visit), record_id=record_id)

    # -- links ----------------------------------------------------------------------------------------------

    def _admit(
        self,
        batches: Sequence[tuple[Sequence[Offer], int | None, int]],
        waiting: Counter[int],
        arrivals: list[tuple[int, Entry]],
        tally: Counter[str],
        now: float,
    ) -> list[Admission]:
        admitted: Counter[int] = Counter()
        known: Counter[int] = Counter()
        refused: dict[int, Counter[str]] = {}
        candidates = self._candidates(batches, known, refused)
        new = self._add_seen(candidates)
        queue = []
        over = set()
        for place, fresh in candidates.items():
            if place not in new:
                known[fresh.batch] += 1
                continue
            host_id, key = place
            budget = self._over_budget(host_id, fresh.offer)
            if budget is not None:
                self._db.execute(self._sql["seen_forget"], place)
                over.add(place)
                refused.setdefault(fresh.batch, Counter())[budget] += 1
                continue
            _, via, source_host = batches[fresh.batch]
            entry = self._entry(fresh.offer, key, via, source_host, now)
            queue.append((host_id, *entry.columns))
            arrivals.append((host_id, entry))
            waiting[host_id] += 1
            admitted[fresh.batch] += 1
        self._insert("queue_add", queue)
        self._remember_known(fresh.offer.url for place, fresh in candidates.items() if place not in over)
        tally["admitted"] += admitted.total()
        for reasons in refused.values():
            for reason, count in reasons.items():
                tally[f"refusal:{reason}"] += count
        return [
            Admission(admitted=admitted[batch], known=known[batch], refusals=dict(refused.get(batch, {})))
            for batch in range(len(batches))
        ]

    def _candidates(
        self,
        batches: Sequence[tuple[Sequence[Offer], int | None, int]],
        known: Counter[int],
        refused: dict[int, Counter[str]],
    ) -> dict[tuple[int, int], Fresh]:
        """Offers that memory does not know, each once, by their place in `seen`."""
        candidates: dict[tuple[int, int], Fresh] = {}
        remembered, remembered_before = self._known, self._known_before
        host_ids, url_key = self._host_ids, rows.url_key
        for batch, (offers, _, _) in enumerate(batches):
            unknown = [one for one in offers if one.url not in remembered and one.url not in remembered_before]
            known[batch] = len(offers) - len(unknown)
            for offer in unknown:
                host_id = host_ids.get(offer.origin) or self._host_id(offer)
                if host_id is None:
                    refused.setdefault(batch, Counter())["hosts_per_domain"] += 1
                    continue
                if candidates.setdefault((host_id, url_key(offer.url)), fresh := Fresh(batch, offer)) is not fresh:
                    known[batch] += 1
        return candidates

    def _add_seen(self, candidates: dict[tuple[int, int], Fresh]) -> set[tuple[int, int]]:
        if not candidates:
            return set()
        # Sorted, so that the tree is walked once from left to right.
        pairs = rows.encode(sorted(candidates)).decode()
        return set(self._db.execute(self._sql["seen_add"], (pairs,)).fetchall())

    def _host_id(self, offer: Offer) -> int | None:
        """The host's number, made when it is new and its domain has hosts left to give."""
        found = self._db.execute(self._sql["host_by_origin"], (offer.origin,)).fetchone()
        if found is not None:
            host_id: int = found[0]
        else:
            for budget in offer.budgets:
                if budget.counts_hosts and not self._spend(0, budget.name, budget.key, budget.limit):
                    return None
            host_id = self._db.execute(self._sql["host_insert"], (offer.origin,)).fetchone()[0]
        if len(self._host_ids) > 200_000:
            self._host_ids.clear()
        self._host_ids[offer.origin] = host_id
        return host_id

    def _over_budget(self, host_id: int, offer: Offer) -> str | None:
        """The name of the budget that is used up, if one is."""
        for budget in offer.budgets:
            if not budget.counts_hosts and not self._spend(host_id, budget.name, budget.key, budget.limit):
                return budget.name
        return None

    def _spend(self, host_id: int, name: str, key: str, limit: int) -> bool:
        number = rows.url_key(f"{name} {key}")
        row = self._db.execute(self._sql["budget_used"], (host_id, number)).fetchone()
        used = row[0] if row else 0
        if used >= limit:
            return False
        self._db.execute(self._sql["budget_put"], (host_id, number, used + 1))
        return True

    def _entry(self, offer: Offer, key: int, via: int | None, source_host: int, now: float) -> Entry:
        due = self._inflow.due(source_host, now) if source_host else now
        if offer.due is not None:
            due = max(due, offer.due)
        return Entry(
            rank=3 - offer.priority,
            due=_ms(due),
            key=key,
            path=offer.url[len(offer.origin) :],
            depth=offer.depth,
            source=rows.SOURCE_NUMBER[offer.source],
            found=_ms(now),
            via=via,
            attempt=0,
            record_id=None,
            chain=rows.chain_blob(offer.chain),
            via_url=offer.via,
        )

    def _remember_known(self, urls: Iterable[str]) -> None:
        if len(self._known) > KNOWN_KEPT:
            self._known_before, self._known = self._known, set()
        self._known.update(urls)

    def _insert(self, name: str, values: Sequence[tuple[object, ...]]) -> None:
        """Many rows by few statements: each gives up the interpreter's lock once, and waits for it once."""
        at = 0
        for size in ROWS_AT_ONCE:
            while len(values) - at >= size:
                chunk = values[at : at + size]
                self._db.execute(many_rows(name, size), [value for row in chunk for value in row])
                at += size

    # -- smaller matters ------------------------------------------------------------------------------------

    def replay(self, urls: Sequence[str] | None, now: float) -> list[tuple[int, Entry]]:
        """Dead letters wait again, with their attempts forgotten."""
        wanted = set(urls) if urls is not None else None
        arrivals = []
        self._db.execute("BEGIN IMMEDIATE")
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        for row in cursor.execute(self._sql["dead_letters"], (0, -1)).fetchall():
            if wanted is not None and row["origin"] + row["path"] not in wanted:
                continue
            entry = Entry(
                3 - row["priority"], _ms(now), row["key"], row["path"], row["depth"],
                rows.SOURCE_NUMBER[Source.REPLAY], row["discovered_at"], row["via"], 0, row["id"], row["chain"],
            )  # fmt: skip
            self._db.execute(self._sql["queue_add"], (row["host_id"], *entry.columns))
            self._db.execute(self._sql["replay"], (row["id"],))
            self._db.execute(self._sql["host_waiting"], (1, now, row["host_id"]))
            arrivals.append((row["host_id"], entry))
        back = len(arrivals)
        self._db.executemany(self._sql["tally_add"], [("waiting", back), ("dead", -back)])
        self._db.execute("COMMIT")
        return arrivals

    def subscribe(self, sink: str) -> Cursor:
        self._db.execute(self._sql["cursor_begin"], (sink,))
        seq, position = self._db.execute(self._sql["cursor_of"], (sink,)).fetchone()
        return Cursor(seq, position)

    def advance(self, sink: str, seq: int, position: int) -> None:
        self._db.execute(self._sql["cursor_put"], (sink, seq, position))

    def remember(self, name: str, value: bytes) -> None:
        self._db.execute(self._sql["meta_put"], (name, value))


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _attempts(visit: Visit) -> int:
    plan = visit.plan
    return visit.claim.task.attempt + (plan.spends_attempt if isinstance(plan, Again) else 0)


def _duration_ms(visit: Visit) -> int:
    return int((visit.finished_at - visit.started_at) * 1000)


def _count(tally: Counter[str], visit: Visit) -> None:
    tally["outcome:" + label(visit.outcome)] += 1
    tally["wire_bytes"] += visit.fetch.wire_bytes
    tally["body_bytes"] += visit.fetch.body_bytes
    if visit.page is not None:
        tally["pages"] += 1
        tally["articles"] += visit.page.kind is PageKind.ARTICLE
    state = rows.state_after(visit)
    if state != "waiting":
        tally[state] += 1
    for reason, count in visit.refusals.items():
        tally[f"refusal:{reason}"] += count
