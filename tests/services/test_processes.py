"""The page-fetcher as a process: killed, stopped, run beside another, and started with errors."""

from __future__ import annotations

import asyncio
import os
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fork_server import Running
from tests.e2e.program import Ended, end_all, ended, environment, start, tenax
from tests.servers.kafka import read
from tests.servers.processes import free_port
from tests.services.lab import Lab, published_urls, until
from tests.site.politeness import slow
from tests.site.robots import page, rules
from tests.site.server import Exchange, Site

PATHS = [f"/{number}" for number in range(150)]


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    end_all()


def run(lab: Lab, site: Site, settings: Mapping[str, Any] | None = None) -> Running:
    flags = []
    for key, value in lab.settings([site], settings).items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
        flags += ["--set", f"{key}={text}"]
    return start("page-fetcher", *flags)


async def test_killed_in_the_middle_no_url_is_lost(lab: Lab) -> None:
    goes_on = asyncio.Event()

    async def slowly(exchange: Exchange) -> None:
        """Slow enough that nobody is done before it is killed."""
        if len(site.hits) > 20:
            await goes_on.wait()
        await page("/")(exchange)

    async with Site({"/robots.txt": rules(""), **dict.fromkeys(PATHS, slowly)}) as site:
        urls = [site.url(path) for path in PATHS]
        lab.enqueue(*urls)
        settings = {
            "page_fetcher.dead_after_seconds": 2.0,
            "page_fetcher.heartbeat_seconds": 0.1,
            "politeness.connections_per_host": 4,
        }
        for kill in range(3):
            site.hits.clear()
            process = run(lab, site, settings)
            await until(lambda: len(site.hits) > 15)
            os.killpg(process.pid, signal.SIGKILL)
            ended(process)
            if kill > 0:  # one wait for the lease to expire is enough
                lab.redis.delete(*lab.redis.scan_iter("crawler:worker:*"))
            await until(lambda: not [*lab.redis.scan_iter("crawler:worker:*")])
        assert lab.claimed, "it was killed in the middle"
        goes_on.set()
        process = run(lab, site, settings)
        await until(lambda: lab.is_settled)
        process.send_signal(signal.SIGTERM)
        assert (await _ended(process)).code == 0
    assert all(lab.page(url) is not None for url in urls)
    found = read(lab.kafka.servers, lab.topic, 10_000, lambda found: published_urls(found) == set(urls))
    assert published_urls(found) == set(urls)
    assert lab.dead == []


async def test_sigterm_finishes_visits_in_flight_and_requeues_the_others_in_order(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), **{path: slow(0.3, page("/")) for path in PATHS}}) as site:
        urls = [site.url(path) for path in PATHS]
        lab.enqueue(*urls)
        process = run(lab, site, {"page_fetcher.concurrency": 4, "politeness.connections_per_host": 4})
        await until(lambda: len(site.hits) >= 10)
        process.send_signal(signal.SIGTERM)
        done = await _ended(process)
    assert done.code == 0
    assert "page-fetcher stopped" in done.err
    fetched = [url for url in urls if lab.page(url) is not None]
    assert {hit.path for hit in site.hits} == {"/robots.txt", *(url.removeprefix(site.origin) for url in fetched)}
    assert [item.decode() for item in lab.queue] == [url for url in urls if url not in fetched]
    assert lab.claimed == []
    assert not [*lab.redis.scan_iter("crawler:worker:*")]


async def test_a_second_signal_ends_at_once_and_the_processing_list_remembers(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), **{path: slow(30, page("/")) for path in PATHS}}) as site:
        lab.enqueue(*(site.url(path) for path in PATHS))
        process = run(lab, site, {"page_fetcher.grace_seconds": 60.0})
        await until(lambda: len(site.hits) >= 2)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        done = await _ended(process)
    assert done.code == 130
    assert len(lab.claimed) + len(lab.queue) == len(PATHS)


async def test_two_fetchers_on_one_queue_keep_a_host_at_its_pace(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), **{path: page("/") for path in PATHS}}, "127.0.0.55") as site:
        lab.enqueue(*(site.url(path) for path in PATHS[:12]))
        settings = {"page_fetcher.rate_limit_per_second": 4.0, "page_fetcher.max_in_flight": 4}
        both = [run(lab, site, settings) for _ in range(2)]
        await until(lambda: lab.is_settled)
        for process in both:
            process.send_signal(signal.SIGTERM)
        results = [await _ended(process) for process in both]
    assert all(done.code == 0 for done in results)
    times = [hit.at for hit in site.hits]
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.249
    assert [hit.path for hit in site.hits].count("/robots.txt") <= 2
    assert len({hit.path for hit in site.hits}) == 13
    assert lab.dead == []


async def test_every_metric_is_served_under_its_name(lab: Lab) -> None:
    names = {
        "page_fetcher_pages_fetched_total", "page_fetcher_pages_failed_total",
        "page_fetcher_pages_skipped_robots_total", "page_fetcher_pages_requeued_total", "page_fetcher_retries_total",
        "page_fetcher_dlq_enqueued_total", "page_fetcher_circuit_breaker_opened_total",
        "page_fetcher_circuit_breaker_closed_total", 'page_fetcher_circuit_breaker_probes_total{result="failure"}',
        'page_fetcher_circuit_breaker_probes_total{result="success"}', "page_fetcher_input_queue_size",
        "page_fetcher_dlq_size", "page_fetcher_circuit_breaker_state",
        "page_fetcher_circuit_breaker_consecutive_failures", "page_fetcher_circuit_breaker_current_backoff_seconds",
        "page_fetcher_fetch_duration_seconds_count", "page_fetcher_fetch_duration_seconds_sum",
        'page_fetcher_content_size_bytes_bucket{le="+Inf"}', "page_fetcher_content_size_bytes_sum",
    }  # fmt: skip
    port = free_port()

    def scraped() -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    async with Site({"/robots.txt": rules(""), "/a": page("/")}) as site:
        lab.enqueue(site.url("/a"), site.url("/missing"))
        process = run(lab, site, {"metrics.port": port})
        await until(lambda: bool(lab.dead) and lab.is_settled)
        found = await asyncio.to_thread(scraped)
        process.send_signal(signal.SIGTERM)
        await _ended(process)
    assert names <= found.keys()
    assert found["page_fetcher_pages_fetched_total"] == found["page_fetcher_pages_failed_total"] == 1
    assert found["page_fetcher_dlq_enqueued_total"] == 1
    assert found["page_fetcher_fetch_duration_seconds_count"] == 2
    assert found["page_fetcher_content_size_bytes_sum"] > 500


def complaint(done: Ended) -> str:
    """The one line that a person sees."""
    assert done.code == 2, done
    assert "Traceback" not in done.err
    [line] = done.err.strip().splitlines()
    return line.removeprefix("tenax: ")


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {"PAGE_FETCHER_REDIS": "redis://127.0.0.1"},
            "unknown variable PAGE_FETCHER_REDIS; did you mean `PAGE_FETCHER_REDIS_URL`?",
        ),
        (
            {"PAGE_FETCHER_MAX_RETRIES": "many"},
            "PAGE_FETCHER_MAX_RETRIES: bad value 'many' for `page_fetcher.max_retries`: it takes a whole number, "
            "1 or more",
        ),
        (
            {"PAGE_FETCHER_REDIS_URL": "queue.example:6379"},
            "invalid `page_fetcher.redis_url` 'queue.example:6379': write it as redis://host:port/number",
        ),
        (
            {"PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS": "nowhere"},
            "invalid Kafka servers 'nowhere': write brokers as host:port, separated by commas",
        ),
    ],
)
def test_wrong_settings_are_one_line(redis: str, variables: dict[str, str], line: str, tmp_path: Path) -> None:
    env = environment(**{"PAGE_FETCHER_REDIS_URL": redis, **variables})
    assert complaint(tenax("page-fetcher", env=env, cwd=tmp_path)) == line


def test_a_redis_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """For a command that ends; a service would wait."""
    port = free_port()
    env = environment(PAGE_FETCHER_REDIS_URL=f"redis://user:secret@127.0.0.1:{port}")
    (tmp_path / "seeds.yaml").write_text("seeds: [{url: 'https://example.org', every: 1h}]")
    line = complaint(tenax("schedule", "seeds.yaml", "--once", env=env, cwd=tmp_path))
    assert line.startswith(f"Redis at redis://***@127.0.0.1:{port} cannot be used: ")
    assert line.endswith("; check `page_fetcher.redis_url`")
    assert "secret" not in line


def test_a_wrong_password_is_one_line(redis: str, tmp_path: Path) -> None:
    env = environment(PAGE_FETCHER_REDIS_URL=redis.replace("://", "://nobody:secret@"))
    line = complaint(tenax("page-fetcher", env=env, cwd=tmp_path))
    assert line.startswith("Redis at redis://***@127.0.0.1:")
    assert "refuses the login: " in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("key", "kind"),
    [("crawler_queue", "list"), ("page_fetcher_dlq", "list"), ("page_fetcher_dlq:reasons", "hash")],
)
def test_a_key_of_another_type_is_one_line_and_costs_no_item(lab: Lab, tmp_path: Path, key: str, kind: str) -> None:
    if key != "crawler_queue":
        lab.enqueue("no url")
    lab.redis.set(key, "a text")
    env = environment(PAGE_FETCHER_REDIS_URL=lab.redis_url, PAGE_FETCHER_KAFKA_BOOTSTRAP_SERVERS=lab.kafka.servers)
    done = tenax("page-fetcher", "--log-level", "error", env=env, cwd=tmp_path)
    assert complaint(done) == (
        f"{key!r} in Redis at {lab.redis_url} is not a {kind} but a string; rename it, or name another"
    )
    assert key == "crawler_queue" or lab.queue == [b"no url"]


async def test_a_broker_that_is_not_there_is_said_once_and_waited_for(lab: Lab) -> None:
    async with Site({"/robots.txt": rules(""), "/a": page("/")}) as site:
        lab.enqueue(site.url("/a"))
        nowhere = {"page_fetcher.kafka_bootstrap_servers": f"127.0.0.1:{free_port()}"}
        process = run(lab, site, {**nowhere, "page_fetcher.grace_seconds": 0.5})
        await until(lambda: lab.page(site.url("/a")) is not None)
        process.send_signal(signal.SIGTERM)
        done = await _ended(process)
    assert done.code == 0
    assert len([line for line in done.err.splitlines() if "Kafka" in line]) == 1, done.err
    assert "Kafka unavailable, events queued" in done.err
    assert lab.queue == [site.url("/a").encode()]


async def _ended(process: Running) -> Ended:
    return await asyncio.to_thread(ended, process)
