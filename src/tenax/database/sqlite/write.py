"""One transaction for many visits: the whole effect of each, or nothing of any."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from tenax.database import Admission, Likeness, rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import HOST_IDS_KEPT, HOSTS_BUDGET, KNOWN_KEPT, Batch, cut_off_rows, entry_of, found_by
from tenax.database.in_links import InHand, InLinks, Linked
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.database.sqlite import requeue as again
from tenax.database.sqlite.clock_rollback import SEEN, SEEN_EVERY_SECONDS
from tenax.database.sqlite.expedite import hasten
from tenax.database.sqlite.schema import key_secret, queries, transaction, write_rows
from tenax.database.sqlite.settle import Settler
from tenax.database.visit_rows import Settling, with_twins
from tenax.model import Cursor, Event, Offer, Source

Place = tuple[int, int]
"""Of a URL in `seen`: its host and its key."""


class Applied(NamedTuple):
    """What a transaction did."""

    admissions: list[Admission]
    """One for each visit, then one for each batch of offers made outside of a visit."""
    arrivals: list[tuple[int, Entry]]
    """Tasks that now wait, by host."""
    events: list[Event]
    tally: Counter[str]


class Writer:
    """Writes to the ledger's only connection; lives in one thread."""

    def __init__(self, connection: sqlite3.Connection, inflow: Inflow, likeness: Likeness | None = None) -> None:
        self._db = connection
        self._sql = queries()
        self._inflow = inflow
        self._url_key = rows.keys_by(key_secret(connection))
        self._host_ids: dict[str, int] = {}
        self._known: set[str] = set()
        self._known_before: set[str] = set()
        self._in_links = InLinks()
        self._settler = Settler(connection, likeness)
        self._seen_at = 0.0
        self.finish()

    # -- the transaction ------------------------------------------------------------------------------------

    def apply(self, settlings: Sequence[Settling], others: Sequence[Batch], in_hand: InHand, now: float) -> Applied:
        """Write visits, and batches of offers made outside of any, in one transaction."""
        try:
            return self._apply(settlings, others, in_hand, now)
        except UnicodeEncodeError:
            # Someone's header was no text; nothing of the group is written yet. It is too rare to look for it first.
            self._settler.forget_robots()
            return self._apply(
                [one._replace(visit=rows.with_texts(one.visit, rows.unicode)) for one in settlings],
                others,
                in_hand,
                now,
            )

    def _apply(self, settlings: Sequence[Settling], others: Sequence[Batch], in_hand: InHand, now: float) -> Applied:
        waiting: Counter[int] = Counter()
        with transaction(self._db):
            effects = self._settler.settle(settlings)
            tally, arrivals = effects.tally, effects.arrivals
            waiting.subtract(host_id for host_id, *_ in effects.removed)
            batches = [
                Batch(offers, record, one.host_id, one.entry.record_id is None, linked)
                for one, offers, record, linked in zip(
                    settlings, effects.offers, effects.records, effects.linked, strict=True
                )
            ]
            batches.extend(others)
            for one in settlings:
                self._in_links.forget(one.visit.claim.task.url)
            admissions = self._admit(batches, waiting, arrivals, tally, in_hand, now)
            arrivals += hasten(self._db, settlings, self._url_key, now)
            self._settler.learn(effects.hosts, waiting)
            # A host that was just visited has its next turn already; for the others, new work is a reason to look.
            woken = [(count, now, host) for host, count in waiting.items() if count and host not in effects.hosts]
            self._db.executemany(self._sql["host_waiting"], woken)
            if now - self._seen_at > SEEN_EVERY_SECONDS:
                self._seen_at = now
                self.remember(SEEN, repr(now).encode())
            tally["waiting"] = waiting.total()
            self._db.executemany(self._sql["tally_add"], [(name, count) for name, count in tally.items() if count])
            self._settler.likeness_rows.change(effects.left, effects.entered)
        admissions = with_twins(admissions, effects, settlings)
        return Applied(admissions, arrivals, [Event(*news) for news in effects.news], tally)

    # -- links ----------------------------------------------------------------------------------------------

    def _admit(
        self,
        batches: Sequence[Batch],
        waiting: Counter[int],
        arrivals: list[tuple[int, Entry]],
        tally: Counter[str],
        in_hand: InHand,
        now: float,
    ) -> list[Admission]:
        admitted = [0] * len(batches)
        refused: list[dict[str, int]] = [{} for _ in batches]
        candidates, linked = self._candidates(batches, refused)
        self._remember_known(offer.url for _, offer in candidates.values())
        # Sorted, so that the tree is walked once from left to right.
        new = set(write_rows(self._db, "seen_add", sorted(candidates)))
        queue = []
        found: list[tuple[str, Entry]] = []
        for place in [place for place in candidates if place in new]:  # as offered: budgets go to those named first
            host_id, key = place
            number, offer = candidates[place]
            budget = self._over_budget(host_id, offer) if offer.budgets else None
            if budget is not None:
                self._db.execute(self._sql["seen_forget"], place)
                self._known.discard(offer.url)
                refused[number][budget] = refused[number].get(budget, 0) + 1
                continue
            entry = entry_of(offer, key, batches[number], self._inflow, now, linked.get(offer.url, 0))
            found.append((offer.url, entry))
            queue.append((host_id, *entry.columns))
            arrivals.append((host_id, entry))
            waiting[host_id] += 1
            admitted[number] += 1
        write_rows(self._db, "queue_add", queue)
        tally["admitted"] += len(queue)
        tally.update(found_by(entry for _, entry in found))
        arrivals += self._move_ahead(linked, found, in_hand, now)
        for reason, count in chain.from_iterable(reasons.items() for reasons in refused):
            tally[f"refusal:{reason}"] += count
        write_rows(self._db, "cut_off_add", cut_off_rows(batches, refused))
        return [
            Admission(count, len(batch.offers) - count - sum(reasons.values()), reasons)
            for batch, count, reasons in zip(batches, admitted, refused, strict=True)
        ]

    def _move_ahead(
        self, linked: Linked, found: list[tuple[str, Entry]], in_hand: InHand, now: float
    ) -> list[tuple[int, Entry]]:
        """Tasks that more pages link to now; those that stand elsewhere in the queue, by host."""
        moves = self._in_links.moves(linked, self._host_ids, self._url_key, in_hand, now)
        rows_moved = write_rows(self._db, "queue_move", [move[:-1] for move in moves])
        moved = [(host_id, Entry(*row)) for host_id, *row in rows_moved]
        self._in_links.written(linked, moves, {(host_id, entry.key) for host_id, entry in moved}, found)
        return moved

    def _candidates(
        self, batches: Sequence[Batch], refused: list[dict[str, int]]
    ) -> tuple[dict[Place, tuple[int, Offer]], Linked]:
        """Offers that memory does not know, each once and with the number of its batch; and what is linked to."""
        candidates: dict[Place, tuple[int, Offer]] = {}
        in_links = self._in_links
        linked = in_links.told(batch.linked for batch in batches)
        known, known_before = self._known, self._known_before
        host_ids, url_key = self._host_ids, self._url_key
        for number, batch in enumerate(batches):
            for offer in batch.offers:
                url = offer.url
                is_known = url in known or url in known_before
                if batch.are_first and offer.source is Source.LINK and (not is_known or url in in_links):
                    linked[url] = linked.get(url, 0) + 1
                if is_known:
                    continue
                host_id = host_ids.get(offer.origin) or self._host_id(offer)
                if host_id is None:
                    refused[number][HOSTS_BUDGET] = refused[number].get(HOSTS_BUDGET, 0) + 1
                    continue
                candidates.setdefault((host_id, url_key(url)), (number, offer))
        return candidates, linked

    def _host_id(self, offer: Offer) -> int | None:
        """The host's number, made when it is new and its domain has hosts left to give."""
        found = self._db.execute(self._sql["host_id"], (offer.origin,)).fetchone()
        if found is not None:
            host_id: int = found[0]
        else:
            for budget in offer.budgets:
                if budget.counts_hosts and not self._spend(0, budget.name, budget.key, budget.limit):
                    return None
            host_id = self._db.execute(self._sql["host_insert"], (offer.origin,)).fetchone()[0]
        if len(self._host_ids) > HOST_IDS_KEPT:
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
        number = self._url_key(f"{name} {key}")
        row = self._db.execute(self._sql["budget_used"], (host_id, number)).fetchone()
        used = row[0] if row else 0
        if used >= limit:
            return False
        self._db.execute(self._sql["budget_put"], (host_id, number, used + 1))
        return True

    def _remember_known(self, urls: Iterable[str]) -> None:
        if len(self._known) > KNOWN_KEPT:
            self._known_before, self._known = self._known, set()
        self._known.update(urls)

    # -- smaller matters ------------------------------------------------------------------------------------

    def replay(self, urls: Sequence[str] | None, needs_browser: bool, now: float) -> Counter[str]:
        return again.replay(self._db, urls, needs_browser, now)

    def requeue(self, offers: Sequence[Offer], now: float) -> Counter[str]:
        return again.requeue(self._db, self._url_key, offers, now)

    def unpark(self, causes: Sequence[str], now: float) -> Counter[str]:
        return again.unpark(self._db, causes, now)

    def begin_round(self, now: float) -> int:
        """Gives the highest record that a revisit is to look at."""
        highest = again.begin_round(self._db, now)
        self._settler.round_began = milliseconds(now)
        return highest

    def revisit(self, above: int, now: float) -> Counter[str]:
        """The records that follow this one wait again, a part of them at a time."""
        return again.revisit(self._db, above, now)

    def subscribe(self, sink: str) -> Cursor:
        self._db.execute(self._sql["cursor_begin"], (sink,))
        seq, position = self._db.execute(self._sql["cursor_of"], (sink,)).fetchone()
        return Cursor(seq, position)

    def advance(self, sink: str, seq: int, position: int) -> None:
        self._db.execute(self._sql["cursor_put"], (sink, seq, position))

    def finish(self) -> None:
        """Nothing waits to be written any longer: at the end, and at the beginning after one that died."""
        with transaction(self._db):
            self._settler.likeness_rows.place()

    def remember(self, name: str, value: bytes) -> None:
        self._db.execute(self._sql["meta_put"], (name, value))

    def remember_if(self, name: str, expected: bytes | None, value: bytes) -> bool:
        """Whether it was as expected."""
        statement = "meta_begin" if expected is None else "meta_swap"
        return self._db.execute(self._sql[statement], {"name": name, "was": expected, "value": value}).rowcount == 1
