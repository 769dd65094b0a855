"""Reports built from rows; the contract suite checks them on every backend."""

from __future__ import annotations

import pytest

from tenax.database import CutOffCount, DeadLetterRecord, DueTask, DueTasks, Status, TaskState, VisitRecord, rows
from tenax.database.report_rows import (
    StatusRows,
    build_due_tasks,
    build_status,
    dead_letter_from_row,
    history_from_entry,
    history_from_record,
    horizon_ends,
)
from tenax.database.schedule import Entry
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Outcome,
    Plan,
    Priority,
    Reschedule,
    Source,
    Unchanged,
)

HOST = HostRecord(origin="https://a.test", domain="a.test")
ENTRY = Entry(0, 90_500, 77, "/x", 2, rows.SOURCE_NUMBER[Source.REDIRECT], 80_000, None, 3, None, None)
RECORD: dict[str, object] = {
    "origin": "https://a.test", "path": "/x", "state": "waiting", "discovered_at": 80_000, "source": 0, "depth": 2,
    "priority": 1, "chain": None, "attempt": 3, "error_message": "no answer", "content_id": None,
}  # fmt: skip


def test_a_url_that_was_never_visited() -> None:
    history = history_from_entry("https://a.test/x", ENTRY, HOST, "https://b.test/")
    assert (history.state, history.priority, history.source) == (TaskState.WAITING, Priority.HIGH, Source.REDIRECT)
    assert (history.due, history.discovered_at, history.via, history.visits) == (90.5, 80.0, "https://b.test/", ())


@pytest.mark.parametrize(("state", "cause"), [("waiting", None), ("settled", None), ("dead", "no answer")])
def test_only_a_dead_letter_has_a_cause(state: str, cause: str | None) -> None:
    history = history_from_record(RECORD | {"state": state}, None, HOST, None, None, [])
    assert (history.state, history.cause, history.due, history.page) == (TaskState(state), cause, None, None)


def test_a_visited_url_that_waits_again_is_due() -> None:
    assert history_from_record(RECORD, ENTRY, HOST, None, None, []).due == 90.5


def test_a_dead_letter_without_words() -> None:
    row = RECORD | {"error_message": None, "last_visit_at": 95_000, "via_url": None}
    row |= {"http_status": None, "validation_status": None, "rejection_reason": None}
    assert dead_letter_from_row(row) == DeadLetterRecord(url="https://a.test/x", cause="", at=95.0, attempt=3, depth=2)


@pytest.mark.parametrize(("created", "wanted"), [(b"12.5", 12.5), (None, 100.0)])
def test_the_status_of_counts(created: bytes | None, wanted: float) -> None:
    tally = {
        "waiting": 4,
        "pages": 3,
        "outcome:fetched": 3,
        "outcome:failed:dns": 0,
        "refusal:depth": 2,
        "found:feed": 1,
    }
    found = StatusRows(
        created=created,
        hosts=1,
        events=2,
        busiest=[],
        due_now=1,
        next_due=None,
        cursors={},
        workers=0,
        cut_off=[("depth", 2, 1)],
        parked=[("guard", 3)],
    )
    status = build_status(tally, found, 100.0)
    assert status == Status(
        created_at=wanted, now=100.0, waiting=4, pages=3, hosts=1, events=2, outcomes={"fetched": 3},
        refusals={"depth": 2}, found={"feed": 1}, due_now=1, cut_off={"depth": CutOffCount(2, 1)}, parked={"guard": 3},
    )  # fmt: skip


def test_each_task_is_within_one_horizon() -> None:
    assert horizon_ends(100.0) == [100_000, 3_700_000, 86_500_000, 604_900_000]
    due_tasks = build_due_tasks(100.0, (1, 1, 4, 9, 16), [])
    assert due_tasks == DueTasks(100.0, {"now": 1, "hour": 0, "day": 3, "week": 5, "later": 7})


def test_due_tasks_of_nothing() -> None:
    """A sum of no rows is nothing, not 0."""
    assert set(build_due_tasks(100.0, (None, None, None, None, 0), []).due_within.values()) == {0}


@pytest.mark.parametrize(
    ("outcome", "plan", "why"),
    [
        (Fetched(200), Reschedule(5.0, why="changes daily"), "changes daily"),
        (Failed("HTTP 503", FailureKind.SERVER_ERROR), Reschedule(5.0, spends_attempt=True), "HTTP 503"),
        (Failed("HTTP 404", FailureKind.NOT_FOUND), Reschedule(5.0, why="it is gone"), "it is gone"),
        (Deferred(5.0, "the host backs off"), Reschedule(5.0), "the host backs off"),
        (Unchanged(), Reschedule(5.0), ""),
    ],
)
def test_why_a_task_waits(outcome: Outcome, plan: Plan, why: str) -> None:
    visit = rows.encode(VisitRecord(1.0, outcome, plan))
    new = ("https://a.test/new", 90_500, 3, rows.SOURCE_NUMBER[Source.ARCHIVE], None)
    lines = build_due_tasks(100.0, (0,) * 5, [new, ("https://a.test/", 91_000, 0, 0, visit)]).tasks
    assert lines == (
        DueTask("https://a.test/new", 90.5, Priority.DISCOVERY, Source.ARCHIVE, "", is_new=True),
        DueTask("https://a.test/", 91.0, Priority.HIGH, Source.SEED, why),
    )
