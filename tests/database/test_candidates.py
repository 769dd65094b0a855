"""New tasks, as the queue holds them."""

from __future__ import annotations

from collections import Counter

import pytest

from tenax.database import rows
from tenax.database.admission_rate import Inflow
from tenax.database.candidates import Batch, entry_of, found_by
from tenax.database.schedule import Entry
from tenax.model import Again, Hop, Offer, Priority, Source, Way

HOP = Hop(url="https://a.test/old", status=301)
OFFER = Offer(
    url="https://a.test/x?y", origin="https://a.test", depth=2, priority=Priority.HIGH, source=Source.LINK,
    via="https://b.test/", chain=(HOP,),
)  # fmt: skip


def test_a_new_task_holds_what_was_offered() -> None:
    entry = entry_of(OFFER, 77, Batch([OFFER], 5, 0), Inflow(0.0), 100.0)
    assert entry == Entry(
        3 - Priority.HIGH, 100_000, 77, "/x?y", 2, rows.SOURCE_NUMBER[Source.LINK], 100_000, 5, 0, None,
        rows.chain_blob((HOP,)), None, "https://b.test/",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source_host", "due", "wanted"),
    [(0, None, 100_000), (0, 130.0, 130_000), (0, 50.0, 100_000), (4, None, 109_000), (4, 105.0, 109_000)],
    ids=["at once", "not before its time", "its time is over", "its source is too fast", "both"],
)
def test_when_it_is_due(source_host: int, due: float | None, wanted: int) -> None:
    offer = Offer(url="https://a.test/", origin="https://a.test", due=due)
    assert entry_of(offer, 1, Batch([offer], None, source_host), Inflow(0.1), 100.0).due == wanted


@pytest.mark.parametrize(
    ("due", "lead", "wanted"),
    [(None, 30.0, 79_000), (105.0, 30.0, 105_000), (75.0, 30.0, 79_000), (None, 0.0, 109_000)],
    ids=["before what was found earlier", "not before its time", "its time is over", "no lead"],
)
def test_a_lead_puts_it_before_others(due: float | None, lead: float, wanted: int) -> None:
    offer = Offer(url="https://a.test/", origin="https://a.test", due=due, lead_seconds=lead)
    assert entry_of(offer, 1, Batch([offer], None, 4), Inflow(0.1), 100.0).due == wanted


@pytest.mark.parametrize(
    ("is_catalogue", "changefreq", "known"),
    [(False, "", ""), (True, "", ""), (False, "daily", "daily"), (True, "never", "never"), (False, "Daily!", "")],
)
@pytest.mark.parametrize("plan", [Again(at=5.0), Again(at=5.0, way=Way.CURL, is_unconditional=True)])
def test_what_is_said_of_it_stays_with_the_task(is_catalogue: bool, changefreq: str, known: str, plan: Again) -> None:
    offer = Offer(url="https://a.test/", origin="https://a.test", is_catalogue=is_catalogue, changefreq=changefreq)
    entry = entry_of(offer, 1, Batch([offer], None, 0), Inflow(0.0), 100.0)
    assert (entry.hint is None) is (not is_catalogue and not known)
    announced = entry._replace(hint=(entry.hint or 0) | rows.ANNOUNCED)
    again = entry._replace(hint=rows.hint_of(plan, announced.hint))
    tasks = [rows.task_of(one, "https://a.test") for one in (entry, announced, again)]
    assert [task.is_announced for task in tasks] == [False, True, False]
    assert {(task.is_catalogue, task.changefreq) for task in tasks} == {(is_catalogue, known)}
    assert [(task.way, task.is_unconditional) for task in tasks[1:]] == [
        (None, False), (plan.way, plan.is_unconditional),
    ]  # fmt: skip


def test_tasks_are_counted_by_their_source() -> None:
    sources = [Source.FEED, Source.SEED, Source.FEED]
    offers = [Offer(url="https://a.test/", origin="https://a.test", source=source) for source in sources]
    found = found_by(entry_of(offer, 1, Batch(offers, None, 0), Inflow(0.0), 1.0) for offer in offers)
    assert found == Counter({"found:feed": 2, "found:seed": 1})
