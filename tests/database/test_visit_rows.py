"""What a visit changes, as rows: into which tables it goes, what happens to its task, and what it counts."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import msgspec
import pytest

from tenax.database import rows
from tenax.database.duplicates import DuplicateSearch
from tenax.database.schedule import Entry
from tenax.database.visit_rows import (
    Effects,
    NewEvent,
    NewIds,
    PendingVisit,
    StoredPage,
    compute_effects,
    iter_change_notices,
    known_record_ids,
)
from tenax.model import (
    ChangeHistory,
    ChangeNotice,
    Claim,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    HostRecord,
    Lease,
    Outcome,
    Page,
    PageKind,
    Plan,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Source,
    StoredCopy,
    Task,
    TransportKind,
    Unchanged,
    Visit,
)

HOST = HostRecord(origin="https://a.test", domain="a.test")
PAGE = Page(
    url="https://a.test/x", status=200, content_type="text/html", content_hash="ab" * 32, content_length=5,
    fetched_at=100.0, title="T", text="words",
)  # fmt: skip
NEW = Entry(1, 90_000, 77, "/x", 2, 0, 80_000, None, 3, None, None)
KNOWN = NEW._replace(record_id=5)
SAME = StoredPage(40, False, PAGE.kind, rows.page_version(PAGE))
OTHER = SAME._replace(version=("another",))
RED = Redirected(to="https://a.test/y", status=301)
DOWN = Failed(why="no answer", kind=FailureKind.CONNECT)
GONE = Failed(why="HTTP 410", kind=FailureKind.GONE, status=410)
LIST = KNOWN._replace(stored_copy=StoredCopy(50.0, 200, etag='"1"', url_list="sitemap"))
FRESHNESS = ChangeHistory(seen_at=100.0, rates=b"\x00\x7f\xff" * 10)


def settling(
    outcome: Outcome,
    plan: Plan,
    entry: Entry = NEW,
    page: Page | None = None,
    *,
    source: Source = Source.LINK,
    is_url_list: bool = False,
) -> PendingVisit:
    task = Task(
        url="https://a.test/x", origin=HOST.origin, depth=2, priority=Priority.MEDIUM, source=source, via=None,
        discovered_at=80.0, due=90.0, attempt=entry.attempt, is_url_list=is_url_list,
    )  # fmt: skip
    visit = Visit(
        claim=Claim(task=task, host=HOST, lease=Lease(epoch=1, number=1, expires_at=500.0)),
        outcome=outcome,
        plan=plan,
        host=HOST,
        started_at=99.0,
        finished_at=100.25,
        page=page,
        refusals={"depth": 2},
        fetch=FetchRecord(wire_bytes=3, body_bytes=5, saved_bytes=7),
    )
    return PendingVisit(visit, 9, entry)


def effects(*settlings: PendingVisit, stored: StoredPage | None = None) -> Effects:
    """With records from 100 on, visits from 200 on, contents from 300 on."""
    numbers = NewIds(*(count(first).__next__ for first in (100, 200, 300)))
    return compute_effects(settlings, {5: stored} if stored else {}, numbers, DuplicateSearch(None))


class Case(NamedTuple):
    settling: PendingVisit
    stored: StoredPage | None
    table: str
    """Where its record goes."""
    is_news: bool
    counted: dict[str, int]
    """Besides what every visit counts."""


ARTICLE = msgspec.structs.replace(PAGE, kind=PageKind.ARTICLE)
CASES = {
    "a first page": Case(
        settling(Fetched(200), Done(), NEW, PAGE), None, "pages", True,
        {"outcome:fetched": 1, "pages": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a page that came again the same": Case(
        settling(Fetched(200), Done(), KNOWN, PAGE), SAME, "pages", False,
        {"outcome:fetched": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "the same twice in one round": Case(
        settling(Fetched(200), Done(), KNOWN, PAGE), SAME._replace(is_of_this_round=True), "pages", False,
        {"outcome:fetched": 1, "settled": 1, "waiting": -1},
    ),
    "a page that is an article by now": Case(
        settling(Fetched(200), Done(), KNOWN, ARTICLE), SAME, "pages", True,
        {"outcome:fetched": 1, "articles": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "an article no more": Case(
        settling(Fetched(200), Done(), KNOWN, PAGE), OTHER._replace(kind=PageKind.ARTICLE), "pages", True,
        {"outcome:fetched": 1, "articles": -1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a page that stands": Case(
        settling(Unchanged(), Done(), KNOWN), SAME, "confirmed", False,
        {"outcome:unchanged": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a copy that is young enough": Case(
        settling(Unchanged(why="young"), Done(), KNOWN), SAME, "bare", False,
        {"outcome:unchanged": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "unchanged, and nothing is stored": Case(
        settling(Unchanged(), Done(), KNOWN), None, "bare", False,
        {"outcome:unchanged": 1, "settled": 1, "waiting": -1},
    ),
    "a list of URLs": Case(
        settling(Fetched(200, "feed"), Done()), None, "bare", False,
        {"outcome:fetched": 1, "settled": 1, "waiting": -1},
    ),
    "a list of URLs that stands": Case(
        settling(Unchanged(), Done(), LIST), None, "confirmed", False,
        {"outcome:unchanged": 1, "settled": 1, "waiting": -1},
    ),
    "a guess that missed": Case(
        settling(GONE, Done(), source=Source.PAGINATION), None, "bare", False,
        {"outcome:missed": 1, "settled": 1, "waiting": -1},
    ),
    "a guess that showed what another page shows": Case(
        settling(Rejected("guess: the same as the page before"), Done(), source=Source.PAGINATION), None, "bare", False,
        {"outcome:missed": 1, "settled": 1, "waiting": -1},
    ),
    "a redirect": Case(
        settling(RED, Done()), None, "bare", False, {"outcome:redirected": 1, "settled": 1, "waiting": -1}
    ),
    "a failure, to be tried again": Case(
        settling(DOWN, Reschedule(at=160.0)), None, "bare", False, {"outcome:failed:connect": 1}
    ),
    "a failure, given up": Case(
        settling(DOWN, DeadLetter(cause="too often")), None, "bare", False,
        {"outcome:failed:connect": 1, "dead": 1, "waiting": -1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_where_a_visit_goes_and_what_it_counts(case: Case) -> None:
    found = effects(case.settling, stored=case.stored)
    assert [table for table in ("bare", "confirmed", "pages") if getattr(found, table)] == [case.table]
    assert bool(found.events) is bool(found.contents) is case.is_news
    always = {"wire_bytes": 3, "body_bytes": 5, "saved_bytes": 7, "refusal:depth": 2}
    assert {name: number for name, number in found.tally.items() if number} == always | case.counted
    assert found.hosts == {9: HOST}


def test_numbers_are_those_of_the_record_the_visit_and_the_content() -> None:
    first, second = settling(Fetched(200), Done(), NEW, PAGE), settling(Fetched(200), Done(), KNOWN, PAGE)
    found = effects(first, second)
    assert found.record_ids == [100, 5]
    assert [row[:4] for row in found.visits] == [(200, 100, None, 100_250), (201, 5, 5, 100_250)]
    assert [row[0] for row in found.contents] == [300, 301]
    assert found.events == [NewEvent(300, 100.25, PAGE), NewEvent(301, 100.25, PAGE)]


def test_a_page_that_came_again_the_same_keeps_its_content() -> None:
    [row] = effects(settling(Fetched(200), Done(), KNOWN, PAGE), stored=SAME).pages
    assert row[0] == 5
    assert 40 in row


@pytest.mark.parametrize(("spends", "attempt"), [(True, 4), (False, 3)])
def test_a_task_that_is_planned_again_waits_with_its_record(spends: bool, attempt: int) -> None:
    plan = Reschedule(at=160.5, spends_attempt=spends, transport=TransportKind.CURL)
    found = effects(settling(DOWN, plan))
    hint = rows.plan_hint(plan)
    assert found.arrivals == [(9, NEW._replace(due=160_500, attempt=attempt, record_id=100, hint=hint))]
    assert found.rescheduled == [(9, 1, 90_000, 77, 160_500, attempt, 100, hint)]
    assert found.removed_from_queue == []


def test_what_is_kept_up_with_begins_anew_and_keeps_what_was_said_of_it() -> None:
    said = rows.HINT_URL_LIST + rows.HINT_FREQUENCY * 3
    entry = NEW._replace(hint=said + rows.HINT_ANNOUNCED + rows.HINT_UNCONDITIONAL)
    found = effects(
        settling(Fetched(200, "feed"), Reschedule(at=160.5, spends_attempt=True, why="changes daily"), entry)
    )
    assert found.arrivals == [(9, entry._replace(due=160_500, attempt=0, record_id=100, hint=said))]


@pytest.mark.parametrize(
    ("one", "URL lists", "awaited"),
    [
        (settling(Fetched(200, "feed"), Done()), [("feed", 100_250, '"2"', "Mon", 100)], []),
        (settling(Fetched(200, "feed"), Done(), LIST), [("feed", 100_250, '"2"', "Mon", 5)], []),
        (settling(DOWN, Done(), is_url_list=True), [], [(100,)]),
        (settling(DOWN, Done(), LIST), [], []),
        (settling(Unchanged(), Done(), LIST, is_url_list=True), [], []),
        (settling(Fetched(200), Done(), NEW, PAGE, is_url_list=True), [], []),
    ],
    ids=["came", "came again", "is said to be there", "did not come", "stands", "is a page"],
)
def test_what_is_kept_of_a_list_of_urls(
    one: PendingVisit, url_lists: list[tuple[object, ...]], awaited: list[tuple[int]]
) -> None:
    visit = msgspec.structs.replace(one.visit, etag='"2"', last_modified="Mon")
    found = effects(one._replace(visit=visit))
    assert (found.url_lists, found.missing_url_lists) == (url_lists, awaited)


@pytest.mark.parametrize(
    ("outcome", "page", "entry", "record"), [(Fetched(200), PAGE, NEW, 100), (DOWN, None, KNOWN, 5)]
)
def test_how_a_page_changes_is_kept_with_its_record(
    outcome: Outcome, page: Page | None, entry: Entry, record: int
) -> None:
    one = settling(outcome, Reschedule(at=160.0, why="calm"), entry, page)
    assert effects(one).change_histories == []
    counted = one._replace(visit=msgspec.structs.replace(one.visit, change_history=FRESHNESS))
    [(blob, record_id)] = effects(counted).change_histories
    assert isinstance(blob, bytes)
    assert (rows.decode_change_history(blob), record_id) == (FRESHNESS, record)


def test_change_notices_are_heard_of_pages_of_the_same_host() -> None:
    ours, theirs = (
        ChangeNotice("https://a.test/1", HOST.origin, 5.0),
        ChangeNotice("https://b.test/1", "https://b.test", 5.0),
    )
    one = settling(Fetched(200, "sitemap"), Done())
    told = one._replace(visit=msgspec.structs.replace(one.visit, change_notices=(theirs, ours)))
    assert list(iter_change_notices([one, told])) == [(told, ours)]


@pytest.mark.parametrize("plan", [Done(), DeadLetter(cause="too often")])
def test_a_task_that_is_not_leaves_its_place(plan: Plan) -> None:
    found = effects(settling(DOWN, plan))
    assert found.removed_from_queue == [(9, 1, 90_000, 77)]
    assert (found.arrivals, found.rescheduled) == ([], [])


STATE, STATUS, NEXT_AT, ERRORS, TROUBLE, ATTEMPT, DURATION_MS, ASKED_AT, STALE_WHY = 4, 5, 13, 14, 15, 16, 17, 20, 21


@pytest.mark.parametrize(
    ("outcome", "plan", "entry", "wanted"),
    [
        (
            DOWN, Reschedule(at=160.0, spends_attempt=True), KNOWN,
            ("waiting", "failed", 160_000, 1, "no answer", 4, 1250, 100_250, "no answer"),
        ),
        (DOWN, DeadLetter(cause="gone"), NEW, ("dead", "failed", None, 1, "gone", 3, 1250, 100_250, None)),
        (Refused(why="robots"), Done(), NEW, ("settled", "blocked", None, 0, "robots", 3, 1250, None, None)),
        (
            Deferred(why="rests", until=170.0), Reschedule(at=170.0), KNOWN,
            ("waiting", "never_crawled", 170_000, 0, "rests", 3, 1250, None, ""),
        ),
        (
            RED, Done(), KNOWN,
            ("settled", "fetched", None, 0, None, 3, 1250, 100_250, "HTTP 301 to https://a.test/y"),
        ),
    ],
    ids=["failed", "dead", "refused", "deferred", "redirected"],
)  # fmt: skip
def test_the_record_of_a_visit_without_a_page(
    outcome: Outcome, plan: Plan, entry: Entry, wanted: tuple[object, ...]
) -> None:
    [row] = effects(settling(outcome, plan, entry)).records_without_page
    places = (STATE, STATUS, NEXT_AT, ERRORS, TROUBLE, ATTEMPT, DURATION_MS, ASKED_AT, STALE_WHY)
    assert tuple(row[place] for place in places) == wanted


def test_the_newest_record_of_a_host_counts() -> None:
    newer = settling(DOWN, Done())
    newer = newer._replace(visit=msgspec.structs.replace(newer.visit, host=msgspec.structs.replace(HOST, next_at=7.0)))
    assert effects(settling(DOWN, Done()), newer).hosts[9].next_at == 7.0


def test_only_pages_that_came_again_or_stand_are_looked_up() -> None:
    settlings = [
        settling(Fetched(200), Done(), NEW, PAGE),
        settling(Fetched(200), Done(), KNOWN, PAGE),
        settling(Unchanged(), Done(), KNOWN._replace(record_id=6)),
        settling(DOWN, Done(), KNOWN._replace(record_id=7)),
    ]
    assert known_record_ids(settlings) == [5, 6]
