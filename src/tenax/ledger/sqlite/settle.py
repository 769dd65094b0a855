"""What visits change in the tables: their records and pages, their places in the queue, their hosts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenax.ledger import rows
from tenax.ledger.rows import milliseconds
from tenax.ledger.schedule import Entry
from tenax.ledger.sqlite.schema import insert_rows, queries
from tenax.model import Again, DeadLetter, Event, PageKind, Unchanged, Visit, label

ROUND = "round_began"
"""The name under which the time is kept since when pages count as visited anew, in milliseconds."""


ROBOTS_REMEMBERED = 10_000
"""Hosts of which we know what robots.txt was written last; of others it is written once more."""


class Settling(NamedTuple):
    """A visit about to be written, with its task as the queue holds it."""

    visit: Visit
    host_id: int
    entry: Entry


class Settled(NamedTuple):
    """What visits changed."""

    records: list[int]
    """One for each visit."""
    arrivals: list[tuple[int, Entry]]
    """Tasks that wait again, by host."""
    gone: Counter[int]
    """Tasks that wait no longer, by host."""
    events: list[Event]


class Stored(NamedTuple):
    """A page as it is stored."""

    content_id: int
    fetched_at: int
    kind: str
    told: tuple[object, ...]
    """What makes another version of it news."""


class Rows(NamedTuple):
    """What is to be inserted or updated for some visits."""

    visits: list[tuple[object, ...]]
    bare: list[tuple[object, ...]]
    """Records of visits without a page."""
    confirmed: list[tuple[object, ...]]
    """Records of pages that still stand."""
    pages: list[tuple[object, ...]]
    contents: list[tuple[object, ...]]


class Settler:
    """Writes visits, within the transaction of the ledger's writer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._sql = queries()
        self._robots_written: dict[int, int] = {}
        self._record_id, self._visit_id, self._content_id = connection.execute(self._sql["highest_ids"]).fetchone()
        began = connection.execute(self._sql["meta_get"], (ROUND,)).fetchone()
        self.round_began = int(began[0]) if began else 0

    def settle(self, settlings: Sequence[Settling], tally: Counter[str]) -> Settled:
        """Write what the visits themselves changed."""
        found = Rows([], [], [], [], [])
        told: list[Event] = []
        stored = self._stored(settlings)
        records = [self._settle_one(one, stored, found, told, tally) for one in settlings]
        insert_rows(self._db, "visit_add", found.visits)
        insert_rows(self._db, "record_put", found.bare)
        insert_rows(self._db, "record_put_page", found.pages)
        insert_rows(self._db, "content_add", found.contents)
        self._db.executemany(self._sql["record_confirm"], found.confirmed)
        places = [(one.host_id, *one.entry[:3]) for one in settlings]
        self._db.execute(self._sql["queue_remove"], (rows.encode(places).decode(),))
        arrivals, gone = self._put_back(settlings, records)
        return Settled(records, arrivals, gone, told)

    def _settle_one(
        self, one: Settling, stored_pages: dict[int, Stored], found: Rows, told: list[Event], tally: Counter[str]
    ) -> int:
        """Gather the rows of one visit; gives its record."""
        visit, page = one.visit, one.visit.page
        self._visit_id += 1
        if one.entry.record_id is None:
            self._record_id += 1
        record_id = one.entry.record_id or self._record_id
        at = milliseconds(visit.finished_at)
        found.visits.append((self._visit_id, record_id, record_id, at, rows.visit_detail(visit)))
        stored = stored_pages.get(record_id)
        if page is not None and stored is not None and stored.told == rows.told_of(page):
            found.pages.append(self._page_row(one, record_id, stored.content_id))
        elif page is not None:
            self._content_id += 1
            about = rows.encode(msgspec.structs.replace(page, text=""))
            found.contents.append((self._content_id, visit.finished_at, about, rows.pack(page.text)))
            found.pages.append(self._page_row(one, record_id, self._content_id))
            told.append(Event(self._content_id, visit.finished_at, page))
        elif stored is not None and rows.is_confirmed(visit.outcome):
            found.confirmed.append(self._confirmed_row(visit, record_id))
        else:
            found.bare.append(self._bare_row(one, record_id))
        self._count(tally, visit, stored)
        return record_id

    def forget_robots(self) -> None:
        """What was written last may not have been kept: write it again."""
        self._robots_written.clear()

    def _stored(self, settlings: Sequence[Settling]) -> dict[int, Stored]:
        """The pages stored there already, of those that came again or were found to stand."""
        ids = [
            one.entry.record_id
            for one in settlings
            if one.entry.record_id is not None
            and (one.visit.page is not None or isinstance(one.visit.outcome, Unchanged))
        ]
        if not ids:
            return {}
        found = self._db.execute(self._sql["stored_pages"], (rows.encode(ids).decode(),)).fetchall()
        return {row[0]: Stored(row[1], row[2], row[3], row[3:]) for row in found}

    def _put_back(
        self, settlings: Sequence[Settling], records: list[int]
    ) -> tuple[list[tuple[int, Entry]], Counter[int]]:
        """Tasks that are planned again wait again; the others do not any more."""
        arrivals, gone = [], Counter[int]()
        for one, record_id in zip(settlings, records, strict=True):
            visit = one.visit
            if not isinstance(visit.plan, Again):
                gone[one.host_id] += 1
                continue
            held = None
            if visit.page is not None or one.entry.held is not None:
                held = rows.held_of(self._db.execute(self._sql["held"], {"id": record_id}).fetchone())
            entry = one.entry._replace(
                due=milliseconds(visit.plan.at), attempt=_attempts(visit), record_id=record_id,
                hint=rows.hint_of(visit.plan), held=held,
            )  # fmt: skip
            arrivals.append((one.host_id, entry))
        insert_rows(self._db, "queue_add", [(host_id, *entry.columns) for host_id, entry in arrivals])
        return arrivals, gone

    def learn(self, settlings: Sequence[Settling], waiting: Counter[int]) -> None:
        """Write what is known of the hosts now, and how many more tasks wait there."""
        self._db.executemany(self._sql["host_learn"], self._host_rows(settlings, waiting))

    def _host_rows(
        self, settlings: Sequence[Settling], waiting: Counter[int]
    ) -> list[tuple[int, float, bytes, bytes | None, int]]:
        """The newest record of each host; its robots.txt only when it is another than the one written last."""
        newest = {one.host_id: one.visit.host for one in settlings}
        learned = []
        for host_id, record in newest.items():
            robots = None
            # By its hash: the copies themselves, kept here, would be all of the web's robots.txts in time.
            if record.robots is not None and self._robots_written.get(host_id) != (mark := hash(record.robots)):
                robots = rows.encode(record.robots)
                if len(self._robots_written) >= ROBOTS_REMEMBERED:
                    self._robots_written.clear()
                self._robots_written[host_id] = mark
            learned.append((waiting[host_id], record.next_at, rows.host_state(record), robots, host_id))
        return learned

    def _common(self, one: Settling, record_id: int) -> tuple[object, ...]:
        visit, entry = one.visit, one.entry
        return (
            record_id, one.host_id, entry.key, entry.path, rows.state_after(visit), rows.status_after(visit.outcome),
            rows.http_status_of(visit.outcome), entry.depth, 3 - entry.rank, entry.source, entry.via, entry.found,
            milliseconds(visit.finished_at), _next_at(visit),
        )  # fmt: skip

    def _bare_row(self, one: Settling, record_id: int) -> tuple[object, ...]:
        visit = one.visit
        trouble = visit.plan.cause if isinstance(visit.plan, DeadLetter) else rows.trouble_of(visit)
        failed = rows.status_after(visit.outcome) == "failed"
        return (
            *self._common(one, record_id), int(failed), trouble, _attempts(visit), _duration_ms(visit), self._visit_id,
            one.entry.chain, milliseconds(visit.finished_at) if rows.asks_site(visit.outcome) else None,
            rows.stale_why(visit.outcome) if one.entry.record_id is not None else None,
        )  # fmt: skip

    def _confirmed_row(self, visit: Visit, record_id: int) -> tuple[object, ...]:
        at = milliseconds(visit.finished_at)
        return (
            rows.state_after(visit), at, _next_at(visit), _attempts(visit), self._visit_id, at, visit.etag,
            visit.last_modified, record_id,
        )  # fmt: skip

    def _page_row(self, one: Settling, record_id: int, content_id: int) -> tuple[object, ...]:
        visit, page = one.visit, one.visit.page
        assert page is not None
        return (
            *self._common(one, record_id), _attempts(visit), _duration_ms(visit), self._visit_id,
            rows.chain_blob(page.chain), content_id, page.content_type, page.content_length,
            bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
            page.kind, page.charset, page.charset_source, page.links_count, milliseconds(page.fetched_at),
            page.status, page.etag, page.last_modified,
        )  # fmt: skip

    def _count(self, tally: Counter[str], visit: Visit, stored: Stored | None) -> None:
        tally["outcome:" + label(visit.outcome)] += 1
        tally["wire_bytes"] += visit.fetch.wire_bytes
        tally["body_bytes"] += visit.fetch.body_bytes
        if visit.fetch.saved_bytes:
            tally["saved_bytes"] += visit.fetch.saved_bytes
        if visit.page is not None:
            tally["pages"] += stored is None
            was_article = stored is not None and stored.kind == PageKind.ARTICLE
            tally["articles"] += (visit.page.kind is PageKind.ARTICLE) - was_article
            tally["pages_this_round"] += stored is None or stored.fetched_at <= self.round_began
        elif stored is not None:
            tally["pages_this_round"] += stored.fetched_at <= self.round_began
        state = rows.state_after(visit)
        if state != "waiting":
            tally[state] += 1
        for reason, count in visit.refusals.items():
            tally[f"refusal:{reason}"] += count


def _next_at(visit: Visit) -> int | None:
    return milliseconds(visit.plan.at) if isinstance(visit.plan, Again) else None


def _attempts(visit: Visit) -> int:
    plan = visit.plan
    return visit.claim.task.attempt + (plan.spends_attempt if isinstance(plan, Again) else 0)


def _duration_ms(visit: Visit) -> int:
    return int((visit.finished_at - visit.started_at) * 1000)
