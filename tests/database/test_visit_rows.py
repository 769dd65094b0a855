"""The effects of a visit as rows: its tables, its task, and its counts."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import msgspec
import pytest

from tenax.crawl.reader.messages import ExtractedPage
from tenax.crawl.visits import build_page, visit_label
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
from tenax.events import encode_page_line
from tenax.fetch import Response
from tenax.fetch.headers import Headers
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
HISTORY = ChangeHistory(seen_at=100.0, rates=b"\x00\x7f\xff" * 10)


def pending(
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
        label=visit_label(task, outcome),
        page=page,
        refusals={"depth": 2},
        fetch=FetchRecord(wire_bytes=3, body_bytes=5, saved_bytes=7),
    )
    return PendingVisit(visit, 9, entry)


def effects(*visits: PendingVisit, stored: StoredPage | None = None) -> Effects:
    """With records from 100 on, visits from 200 on, contents from 300 on."""
    numbers = NewIds(*(count(first).__next__ for first in (100, 200, 300)))
    return compute_effects(visits, {5: stored} if stored else {}, numbers, DuplicateSearch(None))


class Case(NamedTuple):
    pending: PendingVisit
    stored: StoredPage | None
    table: str
    """The list of `Effects` that gets its record."""
    is_news: bool
    counted: dict[str, int]
    """Besides what every visit counts."""


ARTICLE = msgspec.structs.replace(PAGE, kind=PageKind.ARTICLE)
CASES = {
    "a first page": Case(
        pending(Fetched(200), Done(), NEW, PAGE), None, "pages", True,
        {"outcome:fetched": 1, "pages": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a page that came again the same": Case(
        pending(Fetched(200), Done(), KNOWN, PAGE), SAME, "pages", False,
        {"outcome:fetched": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "the same twice in one round": Case(
        pending(Fetched(200), Done(), KNOWN, PAGE), SAME._replace(is_of_this_round=True), "pages", False,
        {"outcome:fetched": 1, "settled": 1, "waiting": -1},
    ),
    "a page that is an article by now": Case(
        pending(Fetched(200), Done(), KNOWN, ARTICLE), SAME, "pages", True,
        {"outcome:fetched": 1, "articles": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "an article no more": Case(
        pending(Fetched(200), Done(), KNOWN, PAGE), OTHER._replace(kind=PageKind.ARTICLE), "pages", True,
        {"outcome:fetched": 1, "articles": -1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a page that stands": Case(
        pending(Unchanged(), Done(), KNOWN), SAME, "confirmed", False,
        {"outcome:unchanged": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "a copy that is young enough": Case(
        pending(Unchanged(why="young"), Done(), KNOWN), SAME, "records_without_page", False,
        {"outcome:unchanged": 1, "pages_this_round": 1, "settled": 1, "waiting": -1},
    ),
    "unchanged, and nothing is stored": Case(
        pending(Unchanged(), Done(), KNOWN), None, "records_without_page", False,
        {"outcome:unchanged": 1, "settled": 1, "waiting": -1},
    ),
    "a list of URLs": Case(
        pending(Fetched(200, "feed"), Done()), None, "records_without_page", False,
        {"outcome:fetched": 1, "settled": 1, "waiting": -1},
    ),
    "a list of URLs that stands": Case(
        pending(Unchanged(), Done(), LIST), None, "confirmed", False,
        {"outcome:unchanged": 1, "settled": 1, "waiting": -1},
    ),
    "a guess that missed": Case(
        pending(GONE, Done(), source=Source.PAGINATION), None, "records_without_page", False,
        {"outcome:missed": 1, "settled": 1, "waiting": -1},
    ),
    "a guess that showed what another page shows": Case(
        pending(Rejected("guess: the same as the page before"), Done(), source=Source.PAGINATION), None,
        "records_without_page", False, {"outcome:missed": 1, "settled": 1, "waiting": -1},
    ),
    "a redirect": Case(
        pending(RED, Done()), None, "records_without_page", False,
        {"outcome:redirected": 1, "settled": 1, "waiting": -1},
    ),
    "a failure, to be tried again": Case(
        pending(DOWN, Reschedule(at=160.0)), None, "records_without_page", False, {"outcome:failed:connect": 1}
    ),
    "a failure, given up": Case(
        pending(DOWN, DeadLetter(cause="too often")), None, "records_without_page", False,
        {"outcome:failed:connect": 1, "dead": 1, "waiting": -1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_where_a_visit_goes_and_what_it_counts(case: Case) -> None:
    found = effects(case.pending, stored=case.stored)
    assert [table for table in ("records_without_page", "confirmed", "pages") if getattr(found, table)] == [case.table]
    assert bool(found.events) is bool(found.contents) is case.is_news
    always = {"wire_bytes": 3, "body_bytes": 5, "saved_bytes": 7, "refusal:depth": 2}
    assert {name: number for name, number in found.tally.items() if number} == always | case.counted
    assert found.hosts == {9: HOST}


def test_numbers_are_those_of_the_record_the_visit_and_the_content() -> None:
    first, second = pending(Fetched(200), Done(), NEW, PAGE), pending(Fetched(200), Done(), KNOWN, PAGE)
    found = effects(first, second)
    assert found.record_ids == [100, 5]
    assert [row[:4] for row in found.visits] == [(200, 100, None, 100_250), (201, 5, 5, 100_250)]
    assert [row[0] for row in found.contents] == [300, 301]
    assert found.events == [NewEvent(300, 100.25, PAGE), NewEvent(301, 100.25, PAGE)]


def test_a_page_that_came_again_the_same_keeps_its_content() -> None:
    [row] = effects(pending(Fetched(200), Done(), KNOWN, PAGE), stored=SAME).pages
    assert row[0] == 5
    assert 40 in row


@pytest.mark.parametrize(("spends", "attempt"), [(True, 4), (False, 3)])
def test_a_task_that_is_planned_again_waits_with_its_record(spends: bool, attempt: int) -> None:
    plan = Reschedule(at=160.5, spends_attempt=spends, transport=TransportKind.CURL)
    found = effects(pending(DOWN, plan))
    hint = rows.plan_hint(plan)
    assert found.arrivals == [(9, NEW._replace(due=160_500, attempt=attempt, record_id=100, hint=hint))]
    assert found.rescheduled == [(9, 1, 90_000, 77, 160_500, attempt, 100, hint)]
    assert found.removed_from_queue == []


def test_a_recrawl_resets_attempts_and_keeps_the_hint() -> None:
    said = rows.HINT_URL_LIST + rows.HINT_FREQUENCY * 3
    entry = NEW._replace(hint=said + rows.HINT_ANNOUNCED + rows.HINT_UNCONDITIONAL)
    found = effects(
        pending(Fetched(200, "feed"), Reschedule(at=160.5, spends_attempt=True, why="changes daily"), entry)
    )
    assert found.arrivals == [(9, entry._replace(due=160_500, attempt=0, record_id=100, hint=said))]


@pytest.mark.parametrize(
    ("one", "url_lists", "missing"),
    [
        (pending(Fetched(200, "feed"), Done()), [("feed", 100_250, '"2"', "Mon", 100)], []),
        (pending(Fetched(200, "feed"), Done(), LIST), [("feed", 100_250, '"2"', "Mon", 5)], []),
        (pending(DOWN, Done(), is_url_list=True), [], [(100,)]),
        (pending(DOWN, Done(), LIST), [], []),
        (pending(Unchanged(), Done(), LIST, is_url_list=True), [], []),
        (pending(Fetched(200), Done(), NEW, PAGE, is_url_list=True), [], []),
    ],
    ids=["came", "came again", "is said to be there", "did not come", "stands", "is a page"],
)
def test_what_is_kept_of_a_list_of_urls(
    one: PendingVisit, url_lists: list[tuple[object, ...]], missing: list[tuple[int]]
) -> None:
    visit = msgspec.structs.replace(one.visit, etag='"2"', last_modified="Mon")
    found = effects(one._replace(visit=visit))
    assert (found.url_lists, found.missing_url_lists) == (url_lists, missing)


@pytest.mark.parametrize(
    ("outcome", "page", "entry", "record"), [(Fetched(200), PAGE, NEW, 100), (DOWN, None, KNOWN, 5)]
)
def test_how_a_page_changes_is_kept_with_its_record(
    outcome: Outcome, page: Page | None, entry: Entry, record: int
) -> None:
    one = pending(outcome, Reschedule(at=160.0, why="calm"), entry, page)
    assert effects(one).change_histories == []
    counted = one._replace(visit=msgspec.structs.replace(one.visit, change_history=HISTORY))
    [(blob, record_id)] = effects(counted).change_histories
    assert isinstance(blob, bytes)
    assert (rows.decode_change_history(blob), record_id) == (HISTORY, record)


def test_change_notices_are_heard_of_pages_of_the_same_host() -> None:
    ours, theirs = (
        ChangeNotice("https://a.test/1", HOST.origin, 5.0),
        ChangeNotice("https://b.test/1", "https://b.test", 5.0),
    )
    one = pending(Fetched(200, "sitemap"), Done())
    announced = one._replace(visit=msgspec.structs.replace(one.visit, change_notices=(theirs, ours)))
    assert list(iter_change_notices([one, announced])) == [(announced, ours)]


@pytest.mark.parametrize("plan", [Done(), DeadLetter(cause="too often")])
def test_a_task_that_is_not_rescheduled_leaves_the_queue(plan: Plan) -> None:
    found = effects(pending(DOWN, plan))
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
            Deferred(why="backing off", until=170.0), Reschedule(at=170.0), KNOWN,
            ("waiting", "never_crawled", 170_000, 0, "backing off", 3, 1250, None, ""),
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
    [row] = effects(pending(outcome, plan, entry)).records_without_page
    columns = (STATE, STATUS, NEXT_AT, ERRORS, TROUBLE, ATTEMPT, DURATION_MS, ASKED_AT, STALE_WHY)
    assert tuple(row[column] for column in columns) == wanted


def test_the_newest_record_of_a_host_counts() -> None:
    newer = pending(DOWN, Done())
    newer = newer._replace(visit=msgspec.structs.replace(newer.visit, host=msgspec.structs.replace(HOST, next_at=7.0)))
    assert effects(pending(DOWN, Done()), newer).hosts[9].next_at == 7.0


def test_only_pages_that_came_again_or_stand_are_looked_up() -> None:
    visits = [
        pending(Fetched(200), Done(), NEW, PAGE),
        pending(Fetched(200), Done(), KNOWN, PAGE),
        pending(Unchanged(), Done(), KNOWN._replace(record_id=6)),
        pending(DOWN, Done(), KNOWN._replace(record_id=7)),
    ]
    assert known_record_ids(visits) == [5, 6]


@pytest.mark.parametrize("finished_at", [1_795_000_000.123, 1_795_000_000.1239999, 1_795_000_000.9999997, 1.0e9 / 3])
def test_an_event_has_the_time_of_the_page_as_it_is_stored(finished_at: float) -> None:
    """Rounded once: cut off here and rounded there, a line of `pages.jsonl` and its export differ by a millisecond."""
    response = Response("https://a.test/x", 200, Headers(), b"", 0, finished_at, finished_at, finished_at)
    page = build_page(
        pending(Fetched(200), Done()).visit.claim.task, response, (), ExtractedPage(content_hash="ab"), 0.5
    )
    [row] = effects(pending(Fetched(200), Done(), NEW, page)).pages
    stored = next(value for value in row if isinstance(value, int) and value > 10**11)
    again = msgspec.structs.replace(page, fetched_at=stored / 1000)
    assert encode_page_line(page, None) == encode_page_line(again, None)
