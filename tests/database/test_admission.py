"""Queue entries of new tasks."""

from __future__ import annotations

from collections import Counter

import pytest

from tenax.database import rows
from tenax.database.admission import AdmissionRate, Batch, build_entry, count_by_source
from tenax.database.schedule import Entry
from tenax.model import Candidate, Hop, Priority, Reschedule, Source, TransportKind

HOP = Hop(url="https://a.test/old", status=301)
CANDIDATE = Candidate(
    url="https://a.test/x?y", origin="https://a.test", depth=2, priority=Priority.HIGH, source=Source.LINK,
    via="https://b.test/", chain=(HOP,),
)  # fmt: skip


def test_a_new_task_has_the_fields_of_its_candidate() -> None:
    entry = build_entry(CANDIDATE, 77, Batch([CANDIDATE], 5, 0), AdmissionRate(0.0), 100.0)
    assert entry == Entry(
        3 - Priority.HIGH, 100_000, 77, "/x?y", 2, rows.SOURCE_NUMBER[Source.LINK], 100_000, 5, 0, None,
        rows.encode_chain((HOP,)), None, "https://b.test/",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source_host", "due", "wanted"),
    [(0, None, 100_000), (0, 130.0, 130_000), (0, 50.0, 100_000), (4, None, 109_000), (4, 105.0, 109_000)],
    ids=["at once", "not before its time", "its time is over", "its source is too fast", "both"],
)
def test_when_it_is_due(source_host: int, due: float | None, wanted: int) -> None:
    candidate = Candidate(url="https://a.test/", origin="https://a.test", due=due)
    assert build_entry(candidate, 1, Batch([candidate], None, source_host), AdmissionRate(0.1), 100.0).due == wanted


@pytest.mark.parametrize(
    ("due", "lead", "wanted"),
    [(None, 30.0, 79_000), (105.0, 30.0, 105_000), (75.0, 30.0, 79_000), (None, 0.0, 109_000)],
    ids=["before what was found earlier", "not before its time", "its time is over", "no lead"],
)
def test_a_lead_puts_it_before_others(due: float | None, lead: float, wanted: int) -> None:
    candidate = Candidate(url="https://a.test/", origin="https://a.test", due=due, lead_seconds=lead)
    assert build_entry(candidate, 1, Batch([candidate], None, 4), AdmissionRate(0.1), 100.0).due == wanted


@pytest.mark.parametrize(
    ("is_url_list", "changefreq", "known"),
    [(False, "", ""), (True, "", ""), (False, "daily", "daily"), (True, "never", "never"), (False, "Daily!", "")],
)
@pytest.mark.parametrize(
    "plan", [Reschedule(at=5.0), Reschedule(at=5.0, transport=TransportKind.CURL, is_unconditional=True)]
)
def test_what_is_said_of_it_stays_with_the_task(
    is_url_list: bool, changefreq: str, known: str, plan: Reschedule
) -> None:
    candidate = Candidate(
        url="https://a.test/", origin="https://a.test", is_url_list=is_url_list, changefreq=changefreq
    )
    entry = build_entry(candidate, 1, Batch([candidate], None, 0), AdmissionRate(0.0), 100.0)
    assert (entry.hint is None) is (not is_url_list and not known)
    announced = entry._replace(hint=(entry.hint or 0) | rows.HINT_ANNOUNCED)
    again = entry._replace(hint=rows.plan_hint(plan, announced.hint))
    tasks = [rows.task_from_entry(one, "https://a.test") for one in (entry, announced, again)]
    assert [task.is_announced for task in tasks] == [False, True, False]
    assert {(task.is_url_list, task.changefreq) for task in tasks} == {(is_url_list, known)}
    assert [(task.transport, task.is_unconditional) for task in tasks[1:]] == [
        (None, False), (plan.transport, plan.is_unconditional),
    ]  # fmt: skip


def test_tasks_are_counted_by_their_source() -> None:
    sources = [Source.FEED, Source.SEED, Source.FEED]
    candidates = [Candidate(url="https://a.test/", origin="https://a.test", source=source) for source in sources]
    found = count_by_source(
        build_entry(candidate, 1, Batch(candidates, None, 0), AdmissionRate(0.0), 1.0) for candidate in candidates
    )
    assert found == Counter({"found:feed": 2, "found:seed": 1})
