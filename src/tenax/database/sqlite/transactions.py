"""Writes many visits in one transaction: the whole effect of each, or nothing of any."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
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
    NewCandidate,
    UrlCache,
    WriteRules,
    admission_tally,
    build_admissions,
    build_entry,
    cut_off_rows,
    mark_duplicates,
    select_unknown,
    visit_batches,
)
from tenax.database.corrections import map_texts, replace_surrogates
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite import requeue
from tenax.database.sqlite.schema import (
    LAST_TIME_KEY,
    SAVE_TIME_INTERVAL_SECONDS,
    key_secret,
    queries,
    transaction,
    write_rows,
)
from tenax.database.sqlite.write_visits import VisitWriter, expedite_changed_pages
from tenax.database.visit_rows import PendingVisit
from tenax.model import Candidate, Cursor, Event

HostKey = tuple[int, int]
"""The primary key of `seen`: the host and key of a URL."""


class WriteResult(NamedTuple):
    """The result of a transaction."""

    admissions: list[Admission]
    """One for each visit, and then one for each batch of candidates outside of a visit."""
    arrivals: list[tuple[int, Entry]]
    """Tasks that wait from now on, by host."""
    events: list[Event]
    tally: Counter[str]


class Writer:
    """Writes through the only writing connection, in one thread."""

    def __init__(self, connection: sqlite3.Connection, rules: WriteRules) -> None:
        self._db = connection
        self._sql = queries()
        self._admission_rate = AdmissionRate(rules.links_per_second)
        self._url_key = rows.make_url_key(key_secret(connection))
        self._host_ids: dict[str, int] = {}
        self._known_urls = UrlCache()
        self._in_links = InLinks()
        self._visit_writer = VisitWriter(connection, rules.similarity)
        self._time_saved_at = 0.0
        self.flush()

    # -- the transaction ------------------------------------------------------------------------------------

    def apply(
        self, visits: Sequence[PendingVisit], other_batches: Sequence[Batch], loaded_keys: LoadedKeys, now: float
    ) -> WriteResult:
        """Write visits, and batches of candidates outside of visits, in one transaction."""
        try:
            return self._apply(visits, other_batches, loaded_keys, now)
        except UnicodeEncodeError:
            # A header was not valid text, and the group was rolled back. This is too rare to check for in advance.
            self._visit_writer.forget_robots()
            return self._apply(
                [one._replace(visit=map_texts(one.visit, replace_surrogates)) for one in visits],
                other_batches,
                loaded_keys,
                now,
            )

    def _apply(
        self, visits: Sequence[PendingVisit], other_batches: Sequence[Batch], loaded_keys: LoadedKeys, now: float
    ) -> WriteResult:
        waiting: Counter[int] = Counter()
        with transaction(self._db):
            effects = self._visit_writer.write_visits(visits)
            tally, arrivals = effects.tally, effects.arrivals
            waiting.subtract(host_id for host_id, *_ in effects.removed_from_queue)
            batches = [*visit_batches(visits, effects), *other_batches]
            for one in visits:
                self._in_links.forget(one.visit.claim.task.url)
            admissions = self._admit(batches, waiting, arrivals, tally=tally, loaded_keys=loaded_keys, now=now)
            arrivals += expedite_changed_pages(self._db, visits, self._url_key, now)
            self._visit_writer.write_hosts(effects.hosts, waiting)
            # A visited host already has its next time. For the others, new work is a reason to become ready.
            ready_hosts = [(count, now, host) for host, count in waiting.items() if count and host not in effects.hosts]
            self._db.executemany(self._sql["host_add_waiting"], ready_hosts)
            if now - self._time_saved_at > SAVE_TIME_INTERVAL_SECONDS:
                self._time_saved_at = now
                self.set_meta(LAST_TIME_KEY, repr(now).encode())
            tally["waiting"] = waiting.total()
            self._db.executemany(self._sql["tally_add"], [(name, count) for name, count in tally.items() if count])
            self._visit_writer.duplicate_index.update(effects.index_removals, effects.index_additions)
        admissions = mark_duplicates(admissions, effects, visits)
        return WriteResult(admissions, arrivals, [Event(*news) for news in effects.events], tally)

    # -- links ----------------------------------------------------------------------------------------------

    def _admit(
        self,
        batches: Sequence[Batch],
        waiting: Counter[int],
        arrivals: list[tuple[int, Entry]],
        tally: Counter[str],
        loaded_keys: LoadedKeys,
        now: float,
    ) -> list[Admission]:
        admitted: Counter[int] = Counter()
        refused: list[dict[str, int]] = [{} for _ in batches]
        unknown, linked = select_unknown(batches, self._known_urls, self._in_links)
        candidates = self._look_up_hosts(unknown, refused)
        self._known_urls.update(candidate.url for _, candidate in candidates.values())
        # Sorted, so that the B-tree is traversed once in order.
        new = set(write_rows(self._db, "seen_add", sorted(candidates)))
        queue = []
        found: list[tuple[str, Entry]] = []
        for host_key in [host_key for host_key in candidates if host_key in new]:  # in order: budgets go to the first
            host_id, key = host_key
            number, candidate = candidates[host_key]
            budget = self._exceeded_budget(host_id, candidate) if candidate.budgets else None
            if budget is not None:
                self._db.execute(self._sql["seen_forget"], host_key)
                self._known_urls.discard(candidate.url)
                refused[number][budget] = refused[number].get(budget, 0) + 1
                continue
            entry = build_entry(
                candidate,
                key,
                batches[number],
                admission_rate=self._admission_rate,
                now=now,
                in_links=linked.get(candidate.url, 0),
            )
            found.append((candidate.url, entry))
            queue.append((host_id, *entry.columns))
            arrivals.append((host_id, entry))
            waiting[host_id] += 1
            admitted[number] += 1
        write_rows(self._db, "queue_add", queue)
        tally.update(admission_tally([entry for _, entry in found], refused))
        arrivals += self._move_linked_tasks(linked, found, loaded_keys, now)
        write_rows(self._db, "cut_off_add", cut_off_rows(batches, refused))
        return build_admissions(batches, admitted, refused)

    def _move_linked_tasks(
        self, link_counts: LinkCounts, found: list[tuple[str, Entry]], loaded_keys: LoadedKeys, now: float
    ) -> list[tuple[int, Entry]]:
        """Move tasks that gained links. Returns those whose queue position changed, by host."""
        moves = self._in_links.plan_moves(link_counts, self._host_ids, self._url_key, loaded_keys, now)
        rows_moved = write_rows(self._db, "queue_move", [move[:-1] for move in moves])
        moved = [(host_id, Entry(*row)) for host_id, *row in rows_moved]
        self._in_links.on_commit(link_counts, moves, {(host_id, entry.key) for host_id, entry in moved}, found)
        return moved

    def _look_up_hosts(
        self, unknown: Iterable[NewCandidate], refused: list[dict[str, int]]
    ) -> dict[HostKey, NewCandidate]:
        """The candidates by their keys, each once, without those beyond the budget of hosts."""
        candidates: dict[HostKey, NewCandidate] = {}
        for one in unknown:
            number, candidate = one
            host_id = self._host_ids.get(candidate.origin) or self._ensure_host_id(candidate)
            if host_id is None:
                refused[number][HOSTS_BUDGET] = refused[number].get(HOSTS_BUDGET, 0) + 1
            else:
                candidates.setdefault((host_id, self._url_key(candidate.url)), one)
        return candidates

    def _ensure_host_id(self, candidate: Candidate) -> int | None:
        """The id of the host, which is inserted if it is new; None if the host budget of its domain is used up."""
        found = self._db.execute(self._sql["host_id"], (candidate.origin,)).fetchone()
        if found is not None:
            host_id: int = found[0]
        else:
            for budget in candidate.budgets:
                if budget.counts_hosts and not self._use_budget(0, budget.name, budget.key, budget.limit):
                    return None
            host_id = self._db.execute(self._sql["host_insert"], (candidate.origin,)).fetchone()[0]
        if len(self._host_ids) > MAX_HOST_IDS:
            self._host_ids.clear()
        self._host_ids[candidate.origin] = host_id
        return host_id

    def _exceeded_budget(self, host_id: int, candidate: Candidate) -> str | None:
        """The name of the first budget that is used up."""
        for budget in candidate.budgets:
            if not budget.counts_hosts and not self._use_budget(host_id, budget.name, budget.key, budget.limit):
                return budget.name
        return None

    def _use_budget(self, host_id: int, name: str, key: str, limit: int) -> bool:
        number = self._url_key(f"{name} {key}")
        row = self._db.execute(self._sql["budget_used"], (host_id, number)).fetchone()
        used = row[0] if row else 0
        if used >= limit:
            return False
        self._db.execute(self._sql["budget_put"], (host_id, number, used + 1))
        return True

    # -- the rest of the API --------------------------------------------------------------------------------

    def replay(self, urls: Sequence[str] | None, needs_browser: bool, now: float) -> Counter[str]:
        return requeue.replay(self._db, urls, needs_browser, now)

    def requeue(self, candidates: Sequence[Candidate], now: float) -> Counter[str]:
        return requeue.requeue(self._db, self._url_key, candidates, now)

    def unpark(self, causes: Sequence[str], now: float) -> Counter[str]:
        return requeue.unpark(self._db, causes, now)

    def begin_round(self, now: float) -> int:
        """Returns the highest record id to requeue."""
        highest = requeue.begin_round(self._db, now)
        self._visit_writer.round_started_ms = milliseconds(now)
        return highest

    def requeue_settled(self, above: int, now: float) -> Counter[str]:
        """Queue the next batch of records above this id."""
        return requeue.requeue_settled(self._db, above, now)

    def subscribe(self, sink: str) -> Cursor:
        self._db.execute(self._sql["cursor_begin"], (sink,))
        seq, position = self._db.execute(self._sql["cursor_get"], (sink,)).fetchone()
        return Cursor(seq, position)

    def advance(self, sink: str, seq: int, position: int) -> None:
        self._db.execute(self._sql["cursor_put"], (sink, seq, position))

    def flush(self) -> None:
        """Write buffered rows: at the end, and at the start after a crash."""
        with transaction(self._db):
            self._visit_writer.duplicate_index.flush()

    def set_meta(self, name: str, value: bytes) -> None:
        self._db.execute(self._sql["meta_put"], (name, value))

    def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        """Whether the value was as expected."""
        if expected is None:
            return self._db.execute(self._sql["meta_begin"], (name, value)).rowcount == 1
        values = {"name": name, "was": expected, "value": value}
        return self._db.execute(self._sql["meta_swap"], values).rowcount == 1
