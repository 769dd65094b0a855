"""What visits change, as rows of the tables: worked out beforehand, so that writing them is a few plain statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tenax.config import DuplicatesConfig
from tenax.database import Admission, Likeness, rows
from tenax.database.duplicates import Duplicates, Print, Twin, print_of
from tenax.database.page_codec import content_of
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.model import (
    LINKS_NOT_KEPT,
    Again,
    DeadLetter,
    Fetched,
    Held,
    HostRecord,
    Offer,
    Page,
    PageKind,
    Park,
    Redirected,
    Rejected,
    Tiding,
    Unchanged,
    Visit,
    cut_off_by_limits,
)

Values = tuple[object, ...]

DUPLICATE = "duplicate"
"""The reason why links of a duplicate are refused, where they are."""


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
    content_hash: bytes = b""
    fingerprint: bytes | None = None
    """None when it was never compared with others."""
    twin: int | None = None
    """The record that it is a duplicate of."""

    def is_original(self, page: Page) -> bool:
        """Whether the page that came again is in the index as it is."""
        is_same = self.fingerprint == page.fingerprint and self.content_hash.hex() == page.content_hash
        return is_same and self.twin is None


class Kept(NamedTuple):
    """A page as it is to be kept."""

    page: Page
    fingerprint: bytes | None = None
    twin: Twin | None = None


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
        self.catalogues: list[Values] = []
        """What is kept of documents that list URLs: which kind, when it came, validators, record."""
        self.awaited: list[Values] = []
        """Records of tasks that are said to be such documents, and were none this time."""
        self.freshness: list[Values] = []
        """How pages were seen to change, by record."""
        self.links: list[Values] = []
        """Where pages lead, by record."""
        self.cut: list[tuple[int, str, int]] = []
        """What limits cut off: record, name of the limit, links."""
        self.read_again: list[tuple[int, bool]] = []
        """Records of documents that came again, and whether they are lists: what was cut off of them before is not said
        any more. The sitemaps of a robots.txt that were cut off stay with the page that it was asked for."""
        self.offers: list[tuple[Offer, ...]] = []
        """What each visit offers, if its page is followed."""
        self.linked: list[Mapping[str, int]] = []
        """What it says of links to what is known."""
        self.twins: dict[int, Twin] = {}
        """Which visits, by their place in the group, brought duplicates, and of what."""
        self.left: list[tuple[int, int]] = []
        """Keys and records that leave the index of originals."""
        self.entered: list[tuple[int, int]] = []
        """Those that enter it then."""
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


def prints_of(
    settlings: Sequence[Settling], stored: Mapping[int, Stored], likeness: Likeness | None
) -> list[Print | None]:
    """What the pages are compared by; None for visits without one, and for originals that came again as they were."""
    if likeness is None:
        return []
    found: list[Print | None] = []
    for one in settlings:
        page, before = one.visit.page, stored.get(one.entry.record_id or 0)
        is_compared = page is not None and (before is None or not before.is_original(page))
        found.append(print_of(page, one.visit.host.origin, likeness) if page is not None and is_compared else None)
    return found


def effects_of(
    settlings: Sequence[Settling], stored: Mapping[int, Stored], numbers: Numbers, duplicates: Duplicates
) -> Effects:
    """Of visits in the order they ended; `stored` are the pages of the records to look up."""
    found = Effects()
    for number, one in enumerate(settlings):
        record_id = one.entry.record_id or numbers.record()
        before = stored.get(record_id)
        found.records.append(record_id)
        kept = _kept(number, one.visit, record_id, before, duplicates, found)
        visit = _followed(one.visit, kept, duplicates.rules_of(number))
        found.offers.append(visit.offers)
        found.linked.append(visit.linked)
        _settle(one._replace(visit=visit), record_id, before, kept, numbers, found)
        _replan(one, record_id, found)
        found.hosts[one.host_id] = one.visit.host
    return found


def _kept(
    number: int, visit: Visit, record_id: int, stored: Stored | None, duplicates: Duplicates, found: Effects
) -> Kept | None:
    """The page as it is kept, compared with those before; its places in the index change with it."""
    page = visit.page
    if page is None:
        return None
    if stored is not None and stored.is_original(page):
        return Kept(page, page.fingerprint)
    if stored is not None and stored.fingerprint is not None and stored.twin is None:
        found.left += duplicates.leaves(record_id, stored.content_hash, stored.fingerprint)
    rules = duplicates.rules_of(number)
    if rules is None:
        return Kept(page)
    twin = duplicates.twin_of(number, record_id)
    if twin is None:
        found.entered += duplicates.enters(number, record_id, page.url)
        return Kept(page, page.fingerprint)
    found.twins[number] = twin
    texts = {} if rules.store else {"text": "", "article": "", "markdown": ""}
    page = msgspec.structs.replace(page, duplicate_of=twin.url, likeness=twin.likeness, **texts)
    return Kept(page, page.fingerprint, twin)


def _followed(visit: Visit, kept: Kept | None, rules: DuplicatesConfig | None) -> Visit:
    """The visit without its links, where those of duplicates are not followed."""
    if kept is None or kept.twin is None or rules is None or rules.follow or not visit.offers:
        return visit
    return msgspec.structs.replace(
        visit, offers=(), linked={}, refusals={**visit.refusals, DUPLICATE: len(visit.offers)}
    )


def with_twins(admissions: Sequence[Admission], found: Effects, settlings: Sequence[Settling]) -> list[Admission]:
    """What became of the offers of some visits, with what their pages are duplicates of."""
    told = list(admissions)
    for number, twin in found.twins.items():
        is_taken = len(found.offers[number]) == len(settlings[number].visit.offers)
        told[number] = msgspec.structs.replace(
            told[number], duplicate_of=twin.url, likeness=twin.likeness, are_offers_known=is_taken
        )
    return told


def _settle(
    one: Settling, record_id: int, stored: Stored | None, kept: Kept | None, numbers: Numbers, found: Effects
) -> None:
    """The rows of one visit, its record and its page."""
    visit, number = one.visit, numbers.visit()
    at = milliseconds(visit.finished_at)
    found.visits.append((number, record_id, one.entry.record_id, at, rows.visit_detail(visit)))
    if kept is not None and stored is not None and not _is_news(kept, stored):
        found.pages.append(_page_row(one, kept, record_id, number, stored.content_id))
    elif kept is not None:
        content_id = numbers.content()
        told = msgspec.structs.replace(kept.page, fingerprint=b"") if kept.page.fingerprint else kept.page
        found.contents.append((content_id, visit.finished_at, *content_of(told)))
        found.pages.append(_page_row(one, kept, record_id, number, content_id))
        found.news.append(News(content_id, visit.finished_at, told))
    elif rows.is_confirmed(visit.outcome) and (stored is not None or _is_list(one.entry.held)):
        found.confirmed.append(_confirmed_row(visit, record_id, number))
    else:
        found.bare.append(_bare_row(one, record_id, number))
        if isinstance(visit.outcome, Fetched) and visit.outcome.catalogue:
            found.catalogues.append((visit.outcome.catalogue, at, visit.etag, visit.last_modified, record_id))
        elif visit.claim.task.is_catalogue:
            found.awaited.append((record_id,))
    is_list = isinstance(visit.outcome, Fetched) and bool(visit.outcome.catalogue)
    is_read = kept is not None or is_list
    if visit.leads_to is not None:
        found.links.append((record_id, visit.leads_to))
    if (is_read or isinstance(visit.outcome, (Redirected, Rejected))) and one.entry.record_id is not None:
        found.read_again.append((record_id, is_list))
    if visit.refusals:
        found.cut += [(record_id, name, count) for name, count in cut_off_by_limits(visit.refusals).items()]
    if visit.freshness is not None:
        found.freshness.append((rows.encode(visit.freshness), record_id))
    _count(visit, stored, kept, found.tally)


def _is_list(held: Held | None) -> bool:
    return held is not None and bool(held.catalogue)


def _is_news(kept: Kept, stored: Stored) -> bool:
    twin = kept.twin.record_id if kept.twin is not None else None
    return stored.told != rows.told_of(kept.page) or stored.twin != twin


def _replan(one: Settling, record_id: int, found: Effects) -> None:
    """A task that is planned again stays in the queue with another time; the others leave it."""
    place, plan = (one.host_id, *one.entry[:3]), one.visit.plan
    if not isinstance(plan, Again):
        found.removed.append(place)
        found.tally["waiting"] -= 1
        return
    entry = one.entry._replace(
        due=milliseconds(plan.at),
        attempt=_attempts(one.visit),
        record_id=record_id,
        hint=rows.hint_of(plan, one.entry.hint),
    )
    found.again.append((*place, entry.due, entry.attempt, record_id, entry.hint))
    found.arrivals.append((one.host_id, entry))


def _common(one: Settling, record_id: int) -> Values:
    visit, entry = one.visit, one.entry
    return (
        record_id, one.host_id, entry.key, entry.path, rows.state_after(visit), rows.status_after(visit.outcome),
        rows.http_status_after(visit), entry.depth, 3 - entry.rank, entry.source, entry.via, entry.found,
        milliseconds(visit.finished_at), _next_at(visit),
    )  # fmt: skip


def _bare_row(one: Settling, record_id: int, number: int) -> Values:
    visit = one.visit
    trouble = visit.plan.cause if isinstance(visit.plan, (DeadLetter, Park)) else rows.trouble_of(visit)
    failed = rows.status_after(visit.outcome) in ("failed", "rejected")
    return (
        *_common(one, record_id), int(failed), trouble, _attempts(visit), _duration_ms(visit), number,
        one.entry.chain, milliseconds(visit.finished_at) if rows.asks_site(visit.outcome) else None,
        rows.stale_why(visit.outcome) if one.entry.record_id is not None else None,
        visit.fetch.validation or None, rows.rejection_of(visit.outcome),
    )  # fmt: skip


def _confirmed_row(visit: Visit, record_id: int, number: int) -> Values:
    at = milliseconds(visit.finished_at)
    return (
        record_id, rows.state_after(visit), at, _next_at(visit), _attempts(visit), number, visit.etag,
        visit.last_modified,
    )  # fmt: skip


def _page_row(one: Settling, kept: Kept, record_id: int, number: int, content_id: int) -> Values:
    visit, page, twin = one.visit, kept.page, kept.twin
    return (
        *_common(one, record_id), _attempts(visit), _duration_ms(visit), number,
        rows.chain_blob(page.chain), content_id, page.content_type, page.content_length,
        bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
        page.kind, page.charset, page.charset_source, page.links_count, milliseconds(page.fetched_at),
        page.status, page.etag, page.last_modified,
        page.headline, rows.authors_text(page.authors), page.published, page.words,
        twin.record_id if twin is not None else None, twin.likeness if twin is not None else None, kept.fingerprint,
        visit.fetch.validation or None, rows.canonical_key(page),
    )  # fmt: skip


def _count(visit: Visit, stored: Stored | None, kept: Kept | None, tally: Counter[str]) -> None:
    tally["outcome:" + visit.label] += 1
    tally["wire_bytes"] += visit.fetch.wire_bytes
    tally["body_bytes"] += visit.fetch.body_bytes
    tally["saved_bytes"] += visit.fetch.saved_bytes
    if visit.page is not None:
        tally["pages"] += stored is None
        was_article = stored is not None and stored.kind == PageKind.ARTICLE
        tally["articles"] += (visit.page.kind is PageKind.ARTICLE) - was_article
        was_duplicate = stored is not None and stored.twin is not None
        tally["duplicates"] += (kept is not None and kept.twin is not None) - was_duplicate
        tally["pages_this_round"] += stored is None or not stored.is_of_this_round
    elif stored is not None:
        tally["pages_this_round"] += not stored.is_of_this_round
    state = rows.state_after(visit)
    if state != "waiting":
        tally[state] += 1
    if isinstance(visit.plan, DeadLetter) and visit.plan.needs_browser:
        tally["needs_browser"] += 1
    for reason, count in visit.refusals.items():
        if reason != LINKS_NOT_KEPT:
            tally[f"refusal:{reason}"] += count


def _next_at(visit: Visit) -> int | None:
    return milliseconds(visit.plan.at) if isinstance(visit.plan, Again) else None


def _attempts(visit: Visit) -> int:
    plan = visit.plan
    if not isinstance(plan, Again):
        return visit.claim.task.attempt
    return 0 if plan.why else visit.claim.task.attempt + plan.spends_attempt


def _duration_ms(visit: Visit) -> int:
    return int((visit.finished_at - visit.started_at) * 1000)


def tidings_in(settlings: Iterable[Settling]) -> Iterator[tuple[Settling, Tiding]]:
    """What visits tell of pages of their own hosts: those are in the same hands."""
    for one in settlings:
        for tiding in one.visit.tidings:
            if tiding.origin == one.visit.host.origin:
                yield one, tiding
