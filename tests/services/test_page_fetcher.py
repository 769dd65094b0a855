"""The page-fetcher as its neighbours see it: URLs in, pages and events out, every URL accounted for."""

from __future__ import annotations

import asyncio
import gzip
import hashlib

import pytest

from tests.servers.kafka import read
from tests.services.lab import Lab, until
from tests.services.spec_consumer import read_webpages
from tests.site.politeness import too_many_requests
from tests.site.robots import page, rules, status
from tests.site.server import Behaviour, Exchange, Site

OPEN = rules("")
SOON = {"page_fetcher.retry_backoff_base_seconds": 0.01, "fetch.retry_max_seconds": 0.01, "hosts.budget_failures": 100}
"""Retries come at once, and no number of failures makes the host back off."""


def leads_to(target: str, words: str = "302 Found") -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(b"", words, {"Location": target})

    return answer


async def test_a_reader_that_knows_only_the_specification_finds_every_page(lab: Lab) -> None:
    paths = [f"/{number}" for number in range(20)]
    async with Site({"/robots.txt": OPEN, **{path: page("/") for path in paths}}) as site:
        urls = [site.url(path) for path in paths]
        lab.enqueue(*urls)
        async with lab.fetching([site]) as fetcher:
            await until(lambda: lab.is_settled)
            found = await read_webpages(lab.kafka.servers, lab.redis_url, lab.topic, len(urls))
            assert fetcher.metrics.fetched == len(urls)
    assert sorted(webpage.url for webpage in found) == sorted(urls)
    for webpage in found:
        assert (webpage.status_code, webpage.content_type) == (200, "text/html; charset=utf-8")
        assert 3500 < webpage.seconds_to_live <= 3600
        assert webpage.content.startswith(b"<!doctype html>")
    assert lab.dead == []


async def test_the_memory_for_bodies_is_reserved_and_released(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.body_budget.RETRY_SECONDS", 0.1)  # a body without room is retried soon
    length, limit = 2_000_000, 4 * 1024 * 1024
    paths = [f"/{number}" for number in range(20)]
    body = gzip.compress(b"<!doctype html><title>A page</title><p>Words</p>".ljust(length))

    async def large(exchange: Exchange) -> None:
        await exchange.answer(body, headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})

    behaviours = {"/robots.txt": OPEN, "/missing": status("404 Not Found"), **dict.fromkeys(paths, large)}
    async with Site(behaviours) as site:
        lab.enqueue(*[site.url(path) for path in [*paths, "/missing"]])
        settings = {"crawl.max_body_memory_bytes": limit, "politeness.connections_per_host": 20}
        async with lab.fetching([site], settings) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == len(paths)
            bodies = fetcher._bodies
            assert (bodies.used_bytes, bodies.waiting) == (0, 0)
            assert length < bodies.peak_bytes < limit + 2 * length
    assert [hit.path for hit in site.hits].count(paths[0]) == 1


async def test_a_url_is_requested_and_published_exactly_as_queued(lab: Lab) -> None:
    """Its parameters keep their order and names; its fragment and password go nowhere."""
    async with Site({"/robots.txt": OPEN, "/a": page("/")}) as site:
        url = f"http://user:secret@127.0.0.1:{site.port}/a?z=1&utm_source=x&a=%7E2#here"
        lab.enqueue(f" {url}\n")
        async with lab.fetching([site]):
            await until(lambda: lab.is_settled)
    [_, hit] = site.hits
    assert hit.path == "/a?z=1&utm_source=x&a=%7E2"
    assert "authorization" not in hit.headers
    [(key, value)] = read(lab.kafka.servers, lab.topic, 1)
    published_url = url.replace("user:secret@", "***@")
    assert key == hashlib.sha256(published_url.encode()).hexdigest().encode()
    assert f'"url":"{published_url}"'.encode() in value
    assert b"secret" not in value
    assert lab.page(published_url) is not None


async def test_robots_txt_is_obeyed_for_the_user_agent_that_is_sent(lab: Lab) -> None:
    robots = rules("User-agent: OttoBot\nDisallow: /closed\n")
    async with Site({"/robots.txt": robots, "/closed": page("/"), "/open": page("/")}) as site:
        lab.enqueue(site.url("/closed"), site.url("/open"))
        async with lab.fetching([site], {"page_fetcher.user_agent": "OttoBot/1.0"}) as fetcher:
            await until(lambda: lab.is_settled)
            assert (fetcher.metrics.fetched, fetcher.metrics.skipped) == (1, 1)
    assert [hit.path for hit in site.hits] == ["/robots.txt", "/open"]
    assert {hit.headers["user-agent"] for hit in site.hits} == {"OttoBot/1.0"}


BAD = {
    b"": "not a URL: empty",
    b"  \n": "not a URL: empty",
    b"not a url": "not an http or https URL: not a url",
    b"\xff\xfe\x00": "not a URL: not UTF-8",
    b"ftp://example.org/file": "not an http or https URL: ftp://example.org/file",
    b"http://": "not an http or https URL: http://",
    b"x" * 1_000_000: "not a URL: 1000000 bytes long",
    b"http://10.1.2.3/": "guard: 10.1.2.3 is not a public address",
    b"http://127.0.0.1:22/": "guard: port 22 is not allowed",
}


async def test_an_item_that_is_no_url_becomes_a_dead_letter_and_stops_nothing(lab: Lab) -> None:
    async with Site({"/robots.txt": OPEN, "/good": page("/")}) as site:
        lab.enqueue(*BAD, site.url("/good"))
        async with lab.fetching([site]) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == 1
            assert fetcher.metrics.dead_letters == len(BAD)
    assert sorted(lab.dead) == sorted(BAD)
    for item, why in BAD.items():
        reason = lab.reason(item)
        assert reason["reason"] == why
        assert reason["status_code"] is None


async def test_a_password_in_an_item_stands_nowhere_but_in_the_item(
    lab: Lab, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """However the item is written, and whatever happens to it."""
    caplog.set_level("DEBUG")
    async with Site({"/robots.txt": OPEN, "/a": page("/"), "/moved": leads_to("//you:hunter2@127.0.0.1:1/")}) as site:
        host = f"127.0.0.1:{site.port}"
        fetched = [
            f"http://you:hunter2@{host}/a?1", f"http:\\\\you:hunter2@{host}/a?2", f"http:you:hunter2@{host}/a?3",
            f"http://yo u:hunter2@{host}/a?4", f"http://you:hunter2 @{host}/a?5", f"ht\ttp://you:x@hunter2@{host}/a?6",
        ]  # fmt: skip
        given_up = [
            f"you:hunter2@{host}/a", f"ftp://you:hunter2@{host}/a", f"http://you:x/hunter2@{host}/a",
            f"http://you:hunter2@{host}/missing", f"http://you:hunter2@{host}/moved", "http://you:hunter2@10.1.2.3/",
        ]  # fmt: skip
        lab.enqueue(*fetched, *given_up)
        async with lab.fetching([site], SOON) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == len(fetched)
            assert fetcher.metrics.dead_letters == len(given_up)
    events = read(lab.kafka.servers, lab.topic, len(fetched))
    assert not [event for event in events if b"hunter2" in b"".join(part or b"" for part in event)]
    assert not [item for item in given_up if "hunter2" in str(lab.reason(item.encode()))]
    said = capsys.readouterr()
    assert "hunter2" not in caplog.text + said.out + said.err


@pytest.mark.parametrize(
    ("words", "attempts"),
    [("404 Not Found", 1), ("410 Gone", 1), ("403 Forbidden", 1), ("418 I am a teapot", 1), ("500 Oops", 3)],
)
async def test_a_url_that_fails_by_itself_is_given_up_with_its_reason(lab: Lab, words: str, attempts: int) -> None:
    async with Site({"/robots.txt": OPEN, "/bad": status(words), "/good": page("/")}) as site:
        lab.enqueue(site.url("/bad"), site.url("/good"))
        async with lab.fetching([site], SOON) as fetcher:
            await until(lambda: lab.is_settled)
            numbers = fetcher.metrics
            assert (numbers.failed, numbers.retries, numbers.requeued) == (1, attempts - 1, 0)
    assert [hit.path for hit in site.hits].count("/bad") == attempts
    assert lab.dead == [site.url("/bad").encode()]
    reason = lab.reason(site.url("/bad"))
    code = int(words[:3])
    assert reason["reason"].startswith(f"HTTP {code}")
    assert (reason["status_code"], reason["attempts"]) == (code, attempts)
    assert lab.page(site.url("/good")) is not None


async def test_an_empty_page_is_no_page(lab: Lab) -> None:
    async def nothing(exchange: Exchange) -> None:
        await exchange.answer(b"")

    async with Site({"/robots.txt": OPEN, "/empty": nothing}) as site:
        lab.enqueue(site.url("/empty"))
        async with lab.fetching([site]):
            await until(lambda: lab.is_settled)
    assert lab.reason(site.url("/empty"))["reason"] == "empty"


async def test_a_redirect_is_followed_and_the_page_stored_under_the_queued_url(lab: Lab) -> None:
    async with (
        Site({"/robots.txt": OPEN, "/end": page("/")}, "127.0.0.45") as other,
        Site({"/robots.txt": OPEN, "/a": leads_to("/b", "301 Moved"), "/b": leads_to(other.url("/end"))}) as site,
    ):
        lab.enqueue(site.url("/a"))
        async with lab.fetching([site, other]):
            await until(lambda: lab.is_settled)
        [webpage] = await read_webpages(lab.kafka.servers, lab.redis_url, lab.topic, 1)
    assert webpage.url == site.url("/a")
    assert webpage.status_code == 200
    assert [hit.path for hit in other.hits] == ["/robots.txt", "/end"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://10.0.0.1/", "guard: 10.0.0.1 is not a public address"),
        ("ftp://example.org/", "redirect to something that is no http or https URL, HTTP 302"),
        ("/a", "redirect loop, HTTP 302 to {a}"),
        ("/hop?0", "more than 5 redirects, HTTP 302 to {hop}"),
    ],
)
async def test_a_redirect_that_leads_nowhere_ends_with_its_reason(lab: Lab, target: str, why: str) -> None:
    async def hop(exchange: Exchange) -> None:
        await leads_to(f"/hop?{int(exchange.path.partition('?')[2]) + 1}")(exchange)

    async with Site({"/robots.txt": OPEN, "/a": leads_to(target), "/hop": hop}) as site:
        lab.enqueue(site.url("/a"))
        async with lab.fetching([site]):
            await until(lambda: lab.is_settled)
    expected = why.format(a=site.url("/a"), hop=site.url("/hop?5"))
    assert lab.reason(site.url("/a"))["reason"] == expected


async def test_what_robots_txt_forbids_is_skipped_at_every_hop(lab: Lab) -> None:
    async with Site({"/robots.txt": rules("User-agent: *\nDisallow: /no"), "/yes": leads_to("/no/2")}) as site:
        lab.enqueue(site.url("/no/1"), site.url("/yes"))
        async with lab.fetching([site]) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.skipped == 2
    assert lab.dead == []
    assert [hit.path for hit in site.hits] == ["/robots.txt", "/yes"]


async def test_the_same_url_twice_in_the_queue_is_published_and_settled_twice(lab: Lab) -> None:
    async with Site({"/robots.txt": OPEN, "/a": page("/")}) as site:
        lab.enqueue(site.url("/a"), site.url("/a"))
        async with lab.fetching([site]) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.fetched == 2
            await until(lambda: len(fetcher.in_flight_items) == 0)


async def test_a_429_is_waited_for_and_counts_for_nothing(lab: Lab) -> None:
    asked = 0

    async def limited(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        await (too_many_requests("1") if asked == 1 else page("/"))(exchange)

    async with Site({"/robots.txt": OPEN, "/a": limited}) as site:
        lab.enqueue(site.url("/a"))
        async with lab.fetching([site]) as fetcher:
            await until(lambda: lab.is_settled)
            assert fetcher.metrics.breakers_opened == fetcher.metrics.failed == fetcher.metrics.retries == 0
    first, second = [hit.at for hit in site.hits if hit.path == "/a"]
    assert second - first >= 1.0
    assert lab.dead == []


async def test_urls_that_come_later_are_noticed_at_once(lab: Lab) -> None:
    async with (
        Site({"/robots.txt": OPEN, "/a": page("/")}) as site,
        lab.fetching([site], {"page_fetcher.poll_timeout_seconds": 600.0}),
    ):
        await asyncio.sleep(0.1)
        lab.enqueue(site.url("/a"))
        await until(lambda: lab.page(site.url("/a")) is not None)


async def test_a_host_with_very_many_urls_does_not_keep_the_others_out(lab: Lab) -> None:
    async with (
        Site({"/robots.txt": OPEN}, "127.0.0.46") as large,
        Site({"/robots.txt": OPEN, "/a": page("/")}, "127.0.0.47") as small,
    ):
        lab.enqueue(*(large.url(f"/{number}") for number in range(500)), small.url("/a"))
        slow = {"page_fetcher.rate_limit_per_second": 1.0, "page_fetcher.max_in_flight": 100}
        async with lab.fetching([large, small], {**slow, "politeness.connections_per_host": 1}):
            await until(lambda: lab.page(small.url("/a")) is not None)
    assert len(lab.queue) + len(lab.dead) == 500, "all that was not fetched is in the queue"


async def test_no_more_than_max_in_flight_items_of_many_hosts_are_claimed(lab: Lab) -> None:
    async with Site({"/robots.txt": OPEN, **{f"/{number}": page("/") for number in range(200)}}) as site:
        lab.enqueue(*(site.url(f"/{number}") for number in range(200)))
        most = 0
        async with lab.fetching([site], {"page_fetcher.max_in_flight": 10}) as fetcher:
            while not lab.is_settled:
                most = max(most, len(lab.claimed), len(fetcher.in_flight_items))
                await asyncio.sleep(0)
        assert 0 < most <= 10
