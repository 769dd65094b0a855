"""The rows that visits write, by table. They are computed before the transaction, so that writing takes a few plain
statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tenax.config import DuplicatesConfig
from tenax.database import Similarity, rows
from tenax.database.duplicates import DuplicateKeys, DuplicateMatch, DuplicateSearch, make_duplicate_keys
from tenax.database.page_codec import encode_content
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.model import (
    LINKS_NOT_KEPT,
    Candidate,
    ChangeNotice,
    DeadLetter,
    Fetched,
    HostRecord,
    Page,
    PageKind,
    Park,
    Redirected,
    Rejected,
    Reschedule,
    StoredCopy,
    Unchanged,
    Visit,
    limit_refusals,
)

RowValues = tuple[object, ...]

DUPLICATE = "duplicate"
"""The reason for which links on a duplicate are refused, if they are not followed."""


class PendingVisit(NamedTuple):
    """A visit to write, with its task's queue entry."""

    visit: Visit
    host_id: int
    entry: Entry


class StoredPage(NamedTuple):
    """The stored page of a record."""

    content_id: int
    is_of_this_round: bool
    kind: str
    version: RowValues
    """The fields that distinguish versions, see `rows.page_version`."""
    content_hash: bytes = b""
    fingerprint: bytes | None = None
    """None if it was never compared."""
    duplicate_of: int | None = None
    """The record id of its original."""

    def is_original(self, page: Page) -> bool:
        """Whether the fetched page is unchanged and in the duplicate index."""
        is_same = self.fingerprint == page.fingerprint and self.content_hash.hex() == page.content_hash
        return is_same and self.duplicate_of is None


class PageToStore(NamedTuple):
    """A page as it will be stored."""

    page: Page
    fingerprint: bytes | None = None
    duplicate: DuplicateMatch | None = None


class NewIds(NamedTuple):
    """Sources of the ids of new rows."""

    record: Callable[[], int]
    visit: Callable[[], int]
    content: Callable[[], int]


class NewEvent(NamedTuple):
    """A stored version of a page that becomes an event."""

    content_id: int
    at: float
    page: Page


class Effects:
    """The rows of some visits, by table, and their changes of the tally."""

    def __init__(self) -> None:
        self.record_ids: list[int] = []
        """One id for each visit."""
        self.visits: list[RowValues] = []
        self.records_without_page: list[RowValues] = []
        """Records of visits without a page."""
        self.confirmed: list[RowValues] = []
        """Records of pages that the site confirmed as current."""
        self.pages: list[RowValues] = []
        self.contents: list[RowValues] = []
        self.url_lists: list[RowValues] = []
        """Stored sitemaps and feeds: kind, time, validators, record id."""
        self.missing_url_lists: list[RowValues] = []
        """Record ids of tasks where a URL list was expected but not found."""
        self.change_histories: list[RowValues] = []
        """Change histories by record id."""
        self.links: list[RowValues] = []
        """Packed links by record id."""
        self.cut_offs: list[tuple[int, str, int]] = []
        """Links cut off by limits: record id, limit name, count."""
        self.refetched: list[tuple[int, bool]] = []
        """Record ids of documents that were fetched again, and whether they are lists. Their old cut-off counts are
        removed.

        Sitemaps of a robots.txt that were cut off stay with the page whose visit fetched it.
        """
        self.candidates: list[tuple[Candidate, ...]] = []
        """The candidates of each visit; empty if the links of its page are not followed."""
        self.link_counts: list[Mapping[str, int]] = []
        """New in-links of known URLs, for each visit."""
        self.duplicates: dict[int, DuplicateMatch] = {}
        """The originals of duplicates, by the index of the visit in the group."""
        self.index_removals: list[tuple[int, int]] = []
        """Rows (key, record id) to delete from the duplicate index."""
        self.index_additions: list[tuple[int, int]] = []
        """Rows to add to the index after the removals."""
        self.events: list[NewEvent] = []
        self.removed_from_queue: list[tuple[int, int, int, int]] = []
        """Queue rows to delete: host, rank, due time and key."""
        self.rescheduled: list[RowValues] = []
        """Queue rows to change, with their new values."""
        self.arrivals: list[tuple[int, Entry]] = []
        """Rescheduled tasks, by host."""
        self.hosts: dict[int, HostRecord] = {}
        """The newest record of each host."""
        self.tally: Counter[str] = Counter()


def record_rows(effects: Effects) -> tuple[tuple[str, Sequence[RowValues]], ...]:
    """The rows of records and their pages, with the statement for each kind, in the order in which they are written."""
    return (
        ("visit_add", effects.visits),
        ("record_put", effects.records_without_page),
        ("record_put_page", effects.pages),
        ("content_add", effects.contents),
        ("link_put", effects.links),
        ("cut_off_clear", effects.refetched),
        ("cut_off_add", sorted(effects.cut_offs)),
        ("record_url_list", effects.url_lists),
        ("record_missing_url_list", effects.missing_url_lists),
        ("record_change_history", effects.change_histories),
        ("record_confirm", effects.confirmed),
    )


def known_record_ids(visits: Sequence[PendingVisit]) -> list[int]:
    """The record ids whose stored pages are needed: of pages that were fetched again or confirmed."""
    return [
        one.entry.record_id
        for one in visits
        if one.entry.record_id is not None and (one.visit.page is not None or isinstance(one.visit.outcome, Unchanged))
    ]


def build_duplicate_keys(
    visits: Sequence[PendingVisit], stored: Mapping[int, StoredPage], similarity: Similarity | None
) -> list[DuplicateKeys | None]:
    """The keys of each page for the search of duplicates; None for visits without a page, and for unchanged
    originals."""
    if similarity is None:
        return []
    found: list[DuplicateKeys | None] = []
    for one in visits:
        page, before = one.visit.page, stored.get(one.entry.record_id or 0)
        is_compared = page is not None and (before is None or not before.is_original(page))
        found.append(
            make_duplicate_keys(page, one.visit.host.origin, similarity) if page is not None and is_compared else None
        )
    return found


def compute_effects(
    visits: Sequence[PendingVisit], stored: Mapping[int, StoredPage], new_ids: NewIds, duplicates: DuplicateSearch
) -> Effects:
    """The effects of visits, in the order in which they ended. `stored` holds the pages of `known_record_ids`."""
    found = Effects()
    for number, one in enumerate(visits):
        record_id = one.entry.record_id or new_ids.record()
        before = stored.get(record_id)
        found.record_ids.append(record_id)
        kept = _prepare_page(number, one.visit, record_id, stored=before, duplicates=duplicates, effects=found)
        visit = _drop_duplicate_links(one.visit, kept, duplicates.page_rules(number))
        found.candidates.append(visit.candidates)
        found.link_counts.append(visit.new_in_links)
        _add_visit_rows(one._replace(visit=visit), record_id, before, kept=kept, new_ids=new_ids, effects=found)
        _update_queue(one, record_id, found)
        found.hosts[one.host_id] = one.visit.host
    return found


def _prepare_page(
    number: int, visit: Visit, record_id: int, stored: StoredPage | None, duplicates: DuplicateSearch, effects: Effects
) -> PageToStore | None:
    """The page to store, compared with earlier pages. Adds the changes of the duplicate index."""
    page = visit.page
    if page is None:
        return None
    if stored is not None and stored.is_original(page):
        return PageToStore(page, page.fingerprint)
    if stored is not None and stored.fingerprint is not None and stored.duplicate_of is None:
        effects.index_removals += duplicates.remove_original(record_id, stored.content_hash, stored.fingerprint)
    rules = duplicates.page_rules(number)
    if rules is None:
        return PageToStore(page)
    match = duplicates.find_match(number, record_id)
    if match is None:
        effects.index_additions += duplicates.add_original(number, record_id, page.url)
        return PageToStore(page, page.fingerprint)
    effects.duplicates[number] = match
    texts = {} if rules.store else {"text": "", "article": "", "markdown": ""}
    page = msgspec.structs.replace(page, duplicate_of=match.url, similarity=match.similarity, **texts)
    return PageToStore(page, page.fingerprint, match)


def _drop_duplicate_links(visit: Visit, kept: PageToStore | None, rules: DuplicatesConfig | None) -> Visit:
    """The visit without its links, if the links of duplicates are not followed."""
    if kept is None or kept.duplicate is None or rules is None or rules.follow or not visit.candidates:
        return visit
    return msgspec.structs.replace(
        visit, candidates=(), new_in_links={}, refusals={**visit.refusals, DUPLICATE: len(visit.candidates)}
    )


def _add_visit_rows(
    one: PendingVisit,
    record_id: int,
    stored: StoredPage | None,
    kept: PageToStore | None,
    new_ids: NewIds,
    effects: Effects,
) -> None:
    """The rows of one visit, its record and its page."""
    visit, number = one.visit, new_ids.visit()
    at = milliseconds(visit.finished_at)
    effects.visits.append((number, record_id, one.entry.record_id, at, rows.encode_visit(visit)))
    if kept is not None and stored is not None and not _is_changed(kept, stored):
        effects.pages.append(_page_row(one, kept, record_id, number, stored.content_id))
    elif kept is not None:
        content_id = new_ids.content()
        published = msgspec.structs.replace(kept.page, fingerprint=b"") if kept.page.fingerprint else kept.page
        effects.contents.append((content_id, visit.finished_at, *encode_content(published)))
        effects.pages.append(_page_row(one, kept, record_id, number, content_id))
        effects.events.append(NewEvent(content_id, visit.finished_at, published))
    elif rows.is_confirmed(visit.outcome) and (stored is not None or _is_url_list(one.entry.stored_copy)):
        effects.confirmed.append(_confirmed_row(visit, record_id, number))
    else:
        effects.records_without_page.append(_record_row(one, record_id, number))
        if isinstance(visit.outcome, Fetched) and visit.outcome.url_list:
            effects.url_lists.append((visit.outcome.url_list, at, visit.etag, visit.last_modified, record_id))
        elif visit.claim.task.is_url_list:
            effects.missing_url_lists.append((record_id,))
    is_list = isinstance(visit.outcome, Fetched) and bool(visit.outcome.url_list)
    is_read = kept is not None or is_list
    if visit.link_targets is not None:
        effects.links.append((record_id, visit.link_targets))
    if (is_read or isinstance(visit.outcome, (Redirected, Rejected))) and one.entry.record_id is not None:
        effects.refetched.append((record_id, is_list))
    if visit.refusals:
        effects.cut_offs += [(record_id, name, count) for name, count in limit_refusals(visit.refusals).items()]
    if visit.change_history is not None:
        effects.change_histories.append((rows.encode(visit.change_history), record_id))
    _count_visit(visit, stored, kept, effects.tally)


def _is_url_list(stored_copy: StoredCopy | None) -> bool:
    return stored_copy is not None and bool(stored_copy.url_list)


def _is_changed(kept: PageToStore, stored: StoredPage) -> bool:
    original = kept.duplicate.record_id if kept.duplicate is not None else None
    return stored.version != rows.page_version(kept.page) or stored.duplicate_of != original


def _update_queue(one: PendingVisit, record_id: int, effects: Effects) -> None:
    """A rescheduled task stays in the queue with another time. Other tasks leave the queue."""
    position, plan = (one.host_id, *one.entry[:3]), one.visit.plan
    if not isinstance(plan, Reschedule):
        effects.removed_from_queue.append(position)
        effects.tally["waiting"] -= 1
        return
    entry = one.entry._replace(
        due=milliseconds(plan.at),
        attempt=_attempt_count(one.visit),
        record_id=record_id,
        hint=rows.plan_hint(plan, one.entry.hint),
    )
    effects.rescheduled.append((*position, entry.due, entry.attempt, record_id, entry.hint))
    effects.arrivals.append((one.host_id, entry))


def _common_columns(one: PendingVisit, record_id: int) -> RowValues:
    visit, entry = one.visit, one.entry
    return (
        record_id, one.host_id, entry.key, entry.path, rows.task_state(visit), rows.url_status(visit.outcome),
        rows.visit_http_status(visit), entry.depth, 3 - entry.rank, entry.source, entry.via, entry.found,
        milliseconds(visit.finished_at), _next_visit_ms(visit),
    )  # fmt: skip


def _record_row(one: PendingVisit, record_id: int, number: int) -> RowValues:
    visit = one.visit
    error = rows.plan_cause(visit.plan) if isinstance(visit.plan, (DeadLetter, Park)) else rows.visit_error(visit)
    failed = rows.url_status(visit.outcome) in ("failed", "rejected")
    return (
        *_common_columns(one, record_id), int(failed), error, _attempt_count(visit), _duration_ms(visit), number,
        one.entry.chain, milliseconds(visit.finished_at) if rows.is_page_requested(visit.outcome) else None,
        rows.stale_reason(visit.outcome) if one.entry.record_id is not None else None,
        visit.fetch.validation or None, rows.rejection_reason(visit.outcome),
    )  # fmt: skip


def _confirmed_row(visit: Visit, record_id: int, number: int) -> RowValues:
    at = milliseconds(visit.finished_at)
    return (
        record_id, rows.task_state(visit), at, _next_visit_ms(visit), _attempt_count(visit), number, visit.etag,
        visit.last_modified,
    )  # fmt: skip


def _page_row(one: PendingVisit, kept: PageToStore, record_id: int, number: int, content_id: int) -> RowValues:
    visit, page, match = one.visit, kept.page, kept.duplicate
    return (
        *_common_columns(one, record_id), _attempt_count(visit), _duration_ms(visit), number,
        rows.encode_chain(page.chain), content_id, page.content_type, page.content_length,
        bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
        page.kind, page.charset, page.charset_source, page.links_count, round(page.fetched_at * 1000),
        page.status, page.etag, page.last_modified,
        page.headline, rows.encode_authors(page.authors), page.published, page.words,
        match.record_id if match is not None else None, match.similarity if match is not None else None,
        kept.fingerprint,
        visit.fetch.validation or None, rows.canonical_key(page),
    )  # fmt: skip


def _count_visit(visit: Visit, stored: StoredPage | None, kept: PageToStore | None, tally: Counter[str]) -> None:
    tally["outcome:" + visit.label] += 1
    tally["wire_bytes"] += visit.fetch.wire_bytes
    tally["body_bytes"] += visit.fetch.body_bytes
    tally["saved_bytes"] += visit.fetch.saved_bytes
    if visit.page is not None:
        tally["pages"] += stored is None
        was_article = stored is not None and stored.kind == PageKind.ARTICLE
        tally["articles"] += (visit.page.kind is PageKind.ARTICLE) - was_article
        was_duplicate = stored is not None and stored.duplicate_of is not None
        tally["duplicates"] += (kept is not None and kept.duplicate is not None) - was_duplicate
        tally["pages_this_round"] += stored is None or not stored.is_of_this_round
    elif stored is not None:
        tally["pages_this_round"] += not stored.is_of_this_round
    state = rows.task_state(visit)
    if state != "waiting":
        tally[state] += 1
    if isinstance(visit.plan, DeadLetter) and visit.plan.needs_browser:
        tally["needs_browser"] += 1
    for reason, count in visit.refusals.items():
        if reason != LINKS_NOT_KEPT:
            tally[f"refusal:{reason}"] += count


def _next_visit_ms(visit: Visit) -> int | None:
    return milliseconds(visit.plan.at) if isinstance(visit.plan, Reschedule) else None


def _attempt_count(visit: Visit) -> int:
    plan = visit.plan
    if not isinstance(plan, Reschedule):
        return visit.claim.task.attempt
    return 0 if plan.why else visit.claim.task.attempt + plan.spends_attempt


def _duration_ms(visit: Visit) -> int:
    return int((visit.finished_at - visit.started_at) * 1000)


def iter_change_notices(visits: Iterable[PendingVisit]) -> Iterator[tuple[PendingVisit, ChangeNotice]]:
    """The change notices that visits found about pages of their own host. Notices about other hosts are not trusted."""
    for one in visits:
        for change_notice in one.visit.change_notices:
            if change_notice.origin == one.visit.host.origin:
                yield one, change_notice
