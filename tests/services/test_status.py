"""`tenax page-fetcher status`: the summary of every state, and the facts below it from a real queue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tenax.cli.commands.page_fetcher import format_status
from tenax.cli.output import TextStyle
from tenax.model import HostRecord
from tenax.services.page_fetcher.redis_queue import MAX_HOSTS, read_queue_status
from tenax.services.page_fetcher.status import (
    FetcherStatus,
    HostStatus,
    QueueStatus,
    host_status,
    sort_hosts,
    summarize_queue,
)
from tests.e2e.program import environment, tenax
from tests.servers.processes import free_port
from tests.services.lab import QUEUE, Lab, until
from tests.site.politeness import unavailable
from tests.site.server import Site

NOW = 1_750_000_000.0
WELL = HostStatus("http://a.example", 5)
DOWN = HostStatus("http://b.example", 7, "down: refused", "…", "open", 5, 25.0)
ALIVE = FetcherStatus("one", True, 0)
BUSY = FetcherStatus("one", True, 12)
DEAD = FetcherStatus("two", False, 3)


@pytest.mark.parametrize(
    ("length", "counted_urls", "fetchers", "hosts", "idle", "summary"),
    [
        (0, 0, [ALIVE], [], 5.0, "Nothing to do: q is empty."),
        (0, 0, [], [], None, "Nothing to do: q is empty. No page-fetcher runs."),
        (5, 5, [], [WELL], None, "No page-fetcher runs: 5 URLs are in q."),
        (
            1, 1, [DEAD], [WELL], 5.0,
            "No page-fetcher runs: 1 URL is in q. 3 more belong to a dead one, and go back when the next one "
            "runs.",
        ),
        (
            7, 7, [ALIVE], [DOWN], 500.0,
            "Nothing moves: every host of the queue is backing off. Next: http://b.example, in 25 s "
            "(down: refused).",
        ),
        (
            9000, 7, [ALIVE], [DOWN], 500.0,
            "Nothing moves: every host of its first 7 URLs is backing off. Next: http://b.example, "
            "in 25 s (down: refused).",
        ),
        (
            12, 12, [BUSY], [DOWN, WELL], 5.0,
            "Working: 1 page-fetcher holds 12 URLs; 12 wait in q, 7 of them for 1 host that is backing off.",
        ),
        (
            5, 5, [BUSY, DEAD], [WELL], 5.0,
            "Working: 1 page-fetcher holds 12 URLs; 5 wait in q. 3 more belong to a dead one, and go back in a "
            "moment.",
        ),
        (
            7, 7, [ALIVE, DEAD], [DOWN], 500.0,
            "Nothing moves: every host of the queue is backing off. Next: http://b.example, in 25 s "
            "(down: refused). 3 more belong to a dead one, and go back in a moment.",
        ),
        (2, 2, [ALIVE], [], 500.0, "Working: 1 page-fetcher holds 0 URLs; 2 wait in q."),  # neither of them is a URL
        (
            5, 5, [BUSY], [WELL], 300.0,
            "Nothing was finished for 300 s, though 12 URLs are in flight: either their hosts are slow or make us "
            "wait, or Kafka does not accept the events.",
        ),
    ],
)  # fmt: skip
def test_one_sentence_answers(
    length: int,
    counted_urls: int,
    fetchers: Sequence[FetcherStatus],
    hosts: Sequence[HostStatus],
    idle: float | None,
    summary: str,
) -> None:
    assert summarize_queue("q", length, counted_urls, fetchers, hosts, idle) == summary


def test_a_host_backs_off_until_its_time_and_until_a_probe_has_passed() -> None:
    def status(**fields: object) -> HostStatus:
        host = msgspec.structs.replace(HostRecord("http://a.example", ""), **fields)
        return host_status("http://a.example", 3, host, NOW)

    assert host_status("http://a.example", 3, None, NOW) == HostStatus("http://a.example", 3)
    assert status(next_at=NOW + 9).why == "", "that is only its pace"
    backing_off = status(next_at=NOW + 9, backoff_reason="rate limited")
    assert (backing_off.why, backing_off.until, backing_off.seconds_left) == (
        "rate limited",
        "2025-06-15T15:06:49+00:00",
        9.0,
    )
    overdue = status(next_at=NOW - 9, backoff_reason="down: refused", breaker="open")
    assert (overdue.why, overdue.seconds_left) == ("down: refused", 0.0)
    assert sort_hosts([WELL, DOWN]) == (DOWN, WELL)


def test_the_answer_comes_first() -> None:
    status = QueueStatus("Working.", "q", 9000, 7, 12, 3, 1, None, (BUSY, DEAD), (DOWN, WELL))
    lines = format_status(status, TextStyle(False))
    assert lines[0] == "Working."
    text = "\n".join(lines)
    for fact in (
        "9,000 URLs in q",
        "none yet",
        "considered dead",
        "down: refused",
        "at its rate limit",
        "first 7 URLs",
    ):
        assert fact in text


async def test_no_host_is_said_to_wait_that_was_not_looked_at(lab: Lab) -> None:
    """There may be very many, and the one that may be requested has the fewest URLs."""
    lab.redis.sadd(f"{QUEUE}:processing", "one")
    lab.redis.hset("crawler:worker:one", "lastHeartbeat", 1)
    down = HostRecord("", "", next_at=9e9, backoff_reason="down: refused", breaker="open")
    with lab.redis.pipeline(transaction=False) as pipe:
        for number in range(MAX_HOSTS + 5):
            origin = f"http://h{number}.example"
            record = msgspec.structs.replace(down, origin=origin)
            pipe.hset(f"circuit:h{number}.example", "record:http", msgspec.json.encode(record))
            pipe.rpush(QUEUE, f"{origin}/a", f"{origin}/b")
        pipe.execute()
    config = lab.config([]).page_fetcher
    status = await read_queue_status(config)
    assert status.summary.startswith("Nothing moves: every host of the queue is backing off.")
    lab.enqueue("http://well.example/")
    status = await read_queue_status(config)
    assert status.summary == (
        "Working: 1 page-fetcher holds 0 URLs; 2,011 wait in crawler_queue, 2,010 of them for 1,005 hosts that are "
        "backing off."
    )
    assert len(status.hosts) == MAX_HOSTS


async def test_a_queue_whose_host_is_down_says_so(lab: Lab, tmp_path: Path) -> None:
    env = environment(PAGE_FETCHER_REDIS_URL=lab.redis_url)

    def asked(*words: str) -> str:
        done = tenax("page-fetcher", "status", *words, env=env, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        return done.out

    assert (await asyncio.to_thread(asked)).startswith(f"Nothing to do: {QUEUE} is empty. No page-fetcher runs.")
    async with Site({"/robots.txt": unavailable}, "127.0.0.63") as ill:
        lab.enqueue(*(ill.url(f"/{number}") for number in range(3)))
        settings = {
            "page_fetcher.rate_limit_per_second": 50.0, "page_fetcher.circuit_breaker_failure_threshold": 1,
        }  # fmt: skip
        async with lab.fetching([ill], settings) as fetcher:
            await until(lambda: fetcher.in_flight_items.is_blocked)
            status = json.loads(await asyncio.to_thread(asked, "--json"))
            text = await asyncio.to_thread(asked)
    assert status["queue_length"] == 3
    assert (status["in_flight"], status["dead_letters"], status["last_activity"]) == (0, 0, None)
    [host] = status["hosts"]
    assert (host["host"], host["urls"], host["breaker"], host["failures_in_a_row"]) == (ill.origin, 3, "open", 1)
    assert host["why"] == "down: 1 failures in a row, last: robots.txt: HTTP 503"
    assert 0 < host["seconds_left"] <= 33
    [one] = status["fetchers"]
    assert one["is_alive"]
    assert status["summary"].startswith("Nothing moves: every host of the queue is backing off. Next: ")
    assert text.startswith("Nothing moves: ")
    stopped = await asyncio.to_thread(asked)
    assert stopped.startswith(f"No page-fetcher runs: 3 URLs are in {QUEUE}.")


def test_an_unavailable_redis_is_one_line(tmp_path: Path) -> None:
    env = environment(PAGE_FETCHER_REDIS_URL=f"redis://user:secret@127.0.0.1:{free_port()}")
    done = tenax("page-fetcher", "status", env=env, cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("tenax: Redis at redis://***@127.0.0.1:")
    assert "secret" not in done.err
