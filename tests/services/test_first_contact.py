"""A host that is down at its first visit: in every metric and in the log, like one that goes down later."""

from __future__ import annotations

import asyncio

import pytest

from tenax.services.page_fetcher.in_flight import PageFetcherMetrics
from tests.hostile.by_hand import Days
from tests.services.lab import Lab, until
from tests.services.test_outage import HEALTHY, HOUR, PACE, PATHS, Leaping
from tests.site.politeness import now_and_then, shut, unavailable
from tests.site.robots import reset
from tests.site.server import Behaviour, Site

NAMES = ("state", "consecutive_failures", "current_backoff_seconds", "opened_total")


def seen(numbers: PageFetcherMetrics) -> tuple[float, ...]:
    values = numbers.values()
    found = [values[f"page_fetcher_circuit_breaker_{name}"] for name in NAMES]
    return tuple(value for value in found if isinstance(value, (int, float)))


class Watching(Leaping):
    """Records the metrics before and after time passes."""

    def __init__(self, days: Days) -> None:
        super().__init__(days)
        self.seen: list[tuple[float, ...]] = []

    async def __call__(self, news: asyncio.Event, seconds: float) -> None:
        self._note()
        await super().__call__(news, seconds)
        self._note()

    def _note(self) -> None:
        if self.fetcher is not None:
            now = seen(self.fetcher.metrics)
            if not self.seen or self.seen[-1] != now:
                self.seen.append(now)


@pytest.mark.parametrize("trouble", [unavailable, reset, None], ids=["503", "reset", "refused"])
async def test_it_counts_and_is_logged(lab: Lab, trouble: Behaviour | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "tenax")
    days = Days()
    watching = Watching(days)
    behaviours = now_and_then(HEALTHY, trouble, lambda _: days.time() < HOUR) if trouble is not None else HEALTHY
    async with Site(behaviours, "127.0.0.64", now=days.time) as site:
        if trouble is None:
            await shut(site)
        lab.enqueue(*(site.url(path) for path in PATHS))
        async with lab.fetching([site], PACE, days.clock, watching) as fetcher:
            watching.fetcher = fetcher
            await until(lambda: days.time() > HOUR / 2)
            assert (fetcher.metrics.breakers_opened, fetcher.metrics.failed) == (1, 0)
            assert fetcher.metrics.probes["failure"] >= 5
    failures = [failures for _, failures, _, _ in watching.seen]
    assert failures[:6] == sorted(failures[:6]) and {1, 2, 3, 4, 5} <= set(failures), "one after the other"
    assert 30.0 in [backoff for _, failures, backoff, opened in watching.seen if (failures, opened) == (5, 1)]
    assert 1 in [state for state, *_ in watching.seen], "open: nothing is taken from the queue"
    assert max(backoff for _, _, backoff, _ in watching.seen) == 300.0
    assert lab.dead == []
    assert [item.decode() for item in lab.queue] == [site.url(path) for path in PATHS], "in their order"
    records = [record for record in caplog.records if record.message == "host backing off"]
    facts = [record.__dict__["fields"] for record in records]
    assert len(records) >= 8
    assert len({fact["until"] for fact in facts}) == len(records), "each of them once"
    assert all(fact["why"] and fact["host"] == site.origin for fact in facts)
