"""A URL that fails by itself is given up, however often it is requeued meanwhile, and whichever fetcher visits it."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.hostile.by_hand import Days
from tests.services.lab import QUEUE, Lab, until
from tests.services.test_outage import HEALTHY, HOUR, PACE, PATIENCE_SECONDS, Leaping
from tests.services.test_page_fetcher import OPEN, SOON, leads_to
from tests.site.politeness import given_up, now_and_then
from tests.site.robots import page, rules, silent, status
from tests.site.server import Behaviour, Site

BROKEN = [f"/broken/{number}" for number in range(10)]
ATTEMPTS = f"{QUEUE}:attempts"


def _has_spent(lab: Lab, url: str, attempts: bytes) -> bool:
    return lab.redis.hget(ATTEMPTS, url) == attempts


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(status("500 Internal Server Error"), id="500"),
        pytest.param(given_up(PATIENCE_SECONDS, silent), id="silent"),
    ],
)
async def test_urls_that_stay_broken_on_a_host_that_is_up(lab: Lab, trouble: Behaviour) -> None:
    """Its root answers, so each probe finds it up; ten of its pages never do. The host backs off again and again."""
    days = Days()
    leaping = Leaping(days)
    behaviours: dict[str, Behaviour] = {"/robots.txt": OPEN, "/": page("/"), **dict.fromkeys(BROKEN, trouble)}
    settings = {**PACE, "page_fetcher.request_timeout_seconds": PATIENCE_SECONDS}
    async with Site(behaviours, "127.0.0.57", now=days.time) as site:
        urls = [site.url(path) for path in BROKEN]
        lab.enqueue(*urls, site.url("/"))
        async with lab.fetching([site], settings, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.requeued > 0, "it went back to the queue meanwhile"
            assert (fetcher.metrics.failed, fetcher.metrics.retries, fetcher.metrics.fetched) == (10, 20, 1)
    asked = Counter(hit.path for hit in site.hits)
    assert [asked[path] for path in BROKEN] == [3] * 10
    assert sorted(lab.dead) == sorted(url.encode() for url in urls)
    assert {lab.reason(url)["attempts"] for url in urls} == {3}
    assert days.time() < HOUR
    assert lab.redis.hgetall(ATTEMPTS) == {}, "nothing is left of what was counted"


async def test_a_url_that_stays_unavailable_on_a_host_that_is_up(lab: Lab) -> None:
    """A 503 usually means that the host is down; here its other page shows that it is not."""
    days = Days()
    leaping = Leaping(days)
    broken = status("503 Service Unavailable")
    async with Site({"/robots.txt": OPEN, "/": page("/"), "/broken": broken}, "127.0.0.57", now=days.time) as site:
        lab.enqueue(site.url("/"), site.url("/broken"))
        async with lab.fetching([site], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert (fetcher.metrics.failed, fetcher.metrics.fetched) == (1, 1)
    assert lab.dead == [site.url("/broken").encode()]
    assert lab.reason(site.url("/broken"))["attempts"] == 3
    assert days.time() < HOUR


async def test_attempts_survive_the_process_that_counted_them(lab: Lab) -> None:
    """Each fetcher ends after one visit, as if it were killed: its items are requeued, and the count is kept."""
    async with Site({"/robots.txt": OPEN, "/broken": status("500 Oops")}) as site:
        url = site.url("/broken")
        lab.enqueue(url)
        for number in (b"1", b"2"):
            slow = {**SOON, "page_fetcher.retry_backoff_base_seconds": 1000.0, "fetch.retry_max_seconds": 1000.0}
            async with lab.fetching([site], slow):
                await until(partial(_has_spent, lab, url, number))
            assert lab.queue == [url.encode()]
        async with lab.fetching([site], SOON):
            await until(lambda: lab.is_settled)
    assert lab.dead == [url.encode()]
    assert lab.reason(url)["attempts"] == 3
    assert [hit.path for hit in site.hits].count("/broken") == 3


async def test_a_redirect_to_a_page_that_stays_broken_does_not_begin_anew(lab: Lab) -> None:
    async with Site({"/robots.txt": OPEN, "/a": leads_to("/broken"), "/broken": status("500 Oops")}) as site:
        lab.enqueue(site.url("/a"))
        lab.redis.hset(ATTEMPTS, site.url("/a"), "2")
        async with lab.fetching([site], SOON):
            await until(lambda: lab.is_settled)
    assert lab.reason(site.url("/a"))["attempts"] == 3
    assert [hit.path for hit in site.hits].count("/broken") == 1


async def test_a_name_that_does_not_exist_is_the_failure_of_its_urls(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """Many URLs of it do not wait for each other, and no host backs off: there is none."""
    caplog.set_level("INFO", "tenax")
    urls = [f"http://nosuch.invalid/{number}" for number in range(50)]
    async with Site({"/robots.txt": OPEN, "/a": page("/")}) as site:
        lab.enqueue(*urls, site.url("/a"))
        settings = {
            "page_fetcher.retry_backoff_base_seconds": 0.01, "fetch.retry_max_seconds": 0.01,
            "page_fetcher.rate_limit_per_second": 0.1,
        }  # fmt: skip
        async with lab.fetching([site], settings) as fetcher:
            await until(lambda: len(lab.dead) == len(urls))
            assert (fetcher.metrics.breakers_opened, fetcher.metrics.requeued) == (0, 0)
    assert sorted(lab.dead) == sorted(url.encode() for url in urls)
    assert {lab.reason(url)["reason"] for url in urls} == {"no such host (tried 3 times)"}
    messages = [record.message for record in caplog.records]
    assert messages.count("given up") == len(urls)
    assert messages.count("visit failed, will be retried") == 2 * len(urls)


async def test_an_outage_spends_no_attempt_of_a_url_that_was_not_well_before(lab: Lab) -> None:
    """It failed twice by itself. Then its host is down for two hours, and up again: it is not given up for that."""
    days = Days()
    leaping = Leaping(days)
    behaviours = now_and_then(HEALTHY, status("503 Service Unavailable"), lambda _: days.time() < 2 * HOUR)
    async with Site(behaviours, "127.0.0.58", now=days.time) as site:
        urls = [site.url(f"/{number}") for number in range(10)]
        lab.enqueue(*urls)
        for url in urls:
            lab.redis.hset(ATTEMPTS, url, "2")
        async with lab.fetching([site], PACE, days.clock, leaping) as fetcher:
            leaping.fetcher = fetcher
            await until(lambda: lab.is_settled)
            assert (fetcher.metrics.fetched, fetcher.metrics.failed) == (10, 0)
    assert lab.dead == []


async def test_robots_txt_redirected_to_a_name_that_does_not_exist_is_no_failure_of_the_url(lab: Lab) -> None:
    async with Site({"/robots.txt": leads_to("http://nosuch.invalid/robots.txt"), "/a": page("/")}) as site:
        lab.enqueue(site.url("/a"))
        async with lab.fetching([site], SOON) as fetcher:
            await until(lambda: bool(site.hits) and not fetcher.in_flight and len(fetcher.in_flight_items) > 0)
            assert (lab.dead, fetcher.metrics.retries) == ([], 0)


async def test_healthy_urls_leave_no_trace_of_attempts(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), "/a": page("/")}) as site:
        lab.enqueue(site.url("/a"))
        lab.redis.hset(ATTEMPTS, site.url("/a"), "1")
        async with lab.fetching([site]):
            await until(lambda: lab.is_settled)
    assert lab.redis.exists(ATTEMPTS) == 0


async def test_a_url_that_always_says_it_has_not_changed_is_given_up(lab: Lab) -> None:
    """The request was not conditional."""
    async with Site({"/robots.txt": OPEN, "/same": status("304 Not Modified")}) as site:
        lab.enqueue(site.url("/same"))
        async with lab.fetching([site], SOON) as fetcher:
            await until(lambda: lab.is_settled or len(site.hits) > 10)
            assert (fetcher.metrics.failed, fetcher.metrics.retries) == (1, 2)
    assert lab.reason(site.url("/same"))["attempts"] == 3
    assert [hit.path for hit in site.hits].count("/same") == 3
