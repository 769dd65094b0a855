"""New tasks, as the queue holds them."""

from __future__ import annotations

import pytest

from tenax.ledger import rows
from tenax.ledger.inflow import Inflow
from tenax.ledger.offers import Batch, entry_of
from tenax.ledger.schedule import Entry
from tenax.model import Hop, Offer, Priority, Source

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
