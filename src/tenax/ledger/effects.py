"""What visits change, as rows of the tables: worked out beforehand, so that writing them is a few plain statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tenax.ledger import rows
from tenax.ledger.rows import milliseconds
from tenax.ledger.schedule import Entry
from tenax.model import Again, DeadLetter, HostRecord, Page, PageKind, Unchanged, Visit, label

Values = tuple[object, ...]


class Settling(NamedTuple):
    """A visit about to be written, with its task as the queue holds it."""

    visit: Visit
    host_id: int
    entry: Entry


class Stored(NamedTuple):
    """A page as it is stored."""

    content_id: int
    is_of_this_round: bool
    kind: str
    told: Values
    """What makes another version of it news."""


class Numbers(NamedTuple):
    """Where the numbers of new rows come from."""

    record: Callable[[], int]
    visit: Callable[[], int]
    content: Callable[[], int]


class News(NamedTuple):
    """A content that is to be told."""

    content_id: int
    at: float
    page: Page


class Effects:
    """The rows of some visits, by table, and what they add to the tally."""

    def __init__(self) -> None:
        self.records: list[int] = []
        """One for each visit."""
        self.visits: list[Values] = []
        self.bare: list[Values] = []
        """Records of visits without a page."""
        self.confirmed: list[Values] = []
        """Records of pages that still stand."""
        self.pages: list[Values] = []
        self.contents: list[Values] = []
        self.news: list[News] = []
        self.removed: list[tuple[int, int, int, int]] = []
        """Places in the queue that tasks leave: host, rank, due time and key."""
        self.again: list[Values] = []
        """Places whose tasks wait again, and what is different then."""
        self.arrivals: list[tuple[int, Entry]] = []
        """Tasks that wait again, by host."""
        self.hosts: dict[int, HostRecord] = {}
        """The newest record of each host."""
        self.tally: Counter[str] = Counter()


def to_look_up(settlings: Sequence[Settling]) -> list[int]:
    """The records whose stored pages matter: of pages that came again or were found to stand."""
    return [
        one.entry.record_id
        for one in settlings
        if one.entry.record_id is not None and (one.visit.page is not None or isinstance(one.visit.outcome, Unchanged))
    ]


def effects_of(settlings: Sequence[Settling], stored: Mapping[int, Stored], numbers: Numbers) -> Effects:
    """Of visits in the order they ended; `stored` are the pages of the records to look up."""
    found = Effects()
    for one in settlings:
        record_id = one.entry.record_id or numbers.record()
        found.records.append(record_id)
        _settle(one, record_id, stored.get(record_id), numbers, found)
        _replan(one, record_id, found)
        found.hosts[one.host_id] = one.visit.host
    return found


def _settle(one: Settling, record_id: int, stored: Stored | None, numbers: Numbers, found: Effects) -> None:
    """The rows of one visit, its record and its page."""
    visit, page, number = one.visit, one.visit.page, numbers.visit()
    at = milliseconds(visit.finished_at)
    found.visits.append((number, record_id, one.entry.record_id, at, rows.visit_detail(visit)))
    if page is not None and stored is not None and stored.told == rows.told_of(page):
        found.pages.append(_page_row(one, record_id, number, stored.content_id))
    elif page is not None:
        content_id = numbers.content()
        about = rows.encode(msgspec.structs.replace(page, text=""))
        found.contents.append((content_id, visit.finished_at, about, rows.pack(page.text)))
        found.pages.append(_page_row(one, record_id, number, content_id))
        found.news.append(News(content_id, visit.finished_at, page))
    elif stored is not None and rows.is_confirmed(visit.outcome):
        found.confirmed.append(_confirmed_row(visit, record_id, number))
    else:
        found.bare.append(_bare_row(one, record_id, number))
    _count(visit, stored, found.tally)


def _replan(one: Settling, record_id: int, found: Effects) -> None:
    """A task that is planned again stays in the queue with another time; the others leave it."""
    place, plan = (one.host_id, *one.entry[:3]), one.visit.plan
    if not isinstance(plan, Again):
        found.removed.append(place)
        found.tally["waiting"] -= 1
        return
    entry = one.entry._replace(
        due=milliseconds(plan.at), attempt=_attempts(one.visit), record_id=record_id, hint=rows.hint_of(plan)
    )
    found.again.append((*place, entry.due, entry.attempt, record_id, entry.hint))
    found.arrivals.append((one.host_id, entry))


def _common(one: Settling, record_id: int) -> Values:
    visit, entry = one.visit, one.entry
    return (
        record_id, one.host_id, entry.key, entry.path, rows.state_after(visit), rows.status_after(visit.outcome),
        rows.http_status_of(visit.outcome), entry.depth, 3 - entry.rank, entry.source, entry.via, entry.found,
        milliseconds(visit.finished_at), _next_at(visit),
    )  # fmt: skip


def _bare_row(one: Settling, record_id: int, number: int) -> Values:
    visit = one.visit
    trouble = visit.plan.cause if isinstance(visit.plan, DeadLetter) else rows.trouble_of(visit)
    failed = rows.status_after(visit.outcome) == "failed"
    return (
        *_common(one, record_id), int(failed), trouble, _attempts(visit), _duration_ms(visit), number,
        one.entry.chain, milliseconds(visit.finished_at) if rows.asks_site(visit.outcome) else None,
        rows.stale_why(visit.outcome) if one.entry.record_id is not None else None,
    )  # fmt: skip


def _confirmed_row(visit: Visit, record_id: int, number: int) -> Values:
    at = milliseconds(visit.finished_at)
    return (
        record_id, rows.state_after(visit), at, _next_at(visit), _attempts(visit), number, visit.etag,
        visit.last_modified,
    )  # fmt: skip


def _page_row(one: Settling, record_id: int, number: int, content_id: int) -> Values:
    visit, page = one.visit, one.visit.page
    assert page is not None
    return (
        *_common(one, record_id), _attempts(visit), _duration_ms(visit), number,
        rows.chain_blob(page.chain), content_id, page.content_type, page.content_length,
        bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
        page.kind, page.charset, page.charset_source, page.links_count, milliseconds(page.fetched_at),
        page.status, page.etag, page.last_modified,
    )  # fmt: skip


def _count(visit: Visit, stored: Stored | None, tally: Counter[str]) -> None:
    tally["outcome:" + label(visit.outcome)] += 1
    tally["wire_bytes"] += visit.fetch.wire_bytes
    tally["body_bytes"] += visit.fetch.body_bytes
    tally["saved_bytes"] += visit.fetch.saved_bytes
    if visit.page is not None:
        tally["pages"] += stored is None
        was_article = stored is not None and stored.kind == PageKind.ARTICLE
        tally["articles"] += (visit.page.kind is PageKind.ARTICLE) - was_article
        tally["pages_this_round"] += stored is None or not stored.is_of_this_round
    elif stored is not None:
        tally["pages_this_round"] += not stored.is_of_this_round
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
