"""URLs per second from queue to acknowledged event on one core, beside the recipe of the specification.

Redis, the broker and the website use the other core. `measured` is one complete comparison; `scripts/bench cluster`
runs it too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench import needs
from bench.measure import end_with_parent, interleaved
from bench.nginx import serving
from bench.report import ROOT, BenchError, Report, median, run, say

if TYPE_CHECKING:
    from redis import Redis

    from tests.servers.kafka import KafkaBroker
    from tests.servers.redis import RedisServer

PAGE_BYTES = 30_000
PAGES = 500
QUEUE = "crawler_queue"
CONCURRENCY = 64
DEADLINE_SECONDS = 180.0
ROUNDS = 3
URLS = {"tenax": 6000, "recipe": 600, "recipe, 64 at once": 2000}

Figures = dict[str, float]


def main() -> None:
    run("page_fetcher", measure)


def measure(report: Report, options: argparse.Namespace) -> None:
    result = measured(rounds=1 if options.quick else ROUNDS, share=0.3 if options.quick else 1.0)
    for name, figures in result.items():
        report.figure(name, {**figures})
    judge(report, result)


def judge(report: Report, result: dict[str, Figures]) -> None:
    """Add the bars to the report."""
    report.at_least("urls_per_second", result["tenax"]["urls_per_second"], 500)
    ratio = result["tenax"]["urls_per_second"] / result["recipe"]["urls_per_second"]
    report.at_least("times_the_recipe", ratio, 5)


def measured(rounds: int = ROUNDS, share: float = 1.0) -> dict[str, Figures]:
    """Medians of each contestant: URLs per second and CPU milliseconds per URL."""
    own, others = _cores()
    needs.venv(".venv", "dev")  # the clients of Redis and Kafka; imported from here on only
    needs.command("redis-server", "redis-server")
    peers = needs.venv(".venv-peers", "peers")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, others)
    try:
        with _surroundings() as (redis, broker, origin):
            contestants: dict[str, Callable[[int], Figures]] = {
                "tenax": lambda _: _ours(redis, broker, origin, int(URLS["tenax"] * share), own),
                "recipe": lambda _: _theirs(peers, 1, redis, broker, origin, int(URLS["recipe"] * share), own),
                "recipe, 64 at once": lambda _: _theirs(
                    peers, CONCURRENCY, redis, broker, origin, int(URLS["recipe, 64 at once"] * share), own
                ),
            }
            runs: dict[str, list[Figures]] = {name: [] for name in contestants}
            for name, figures in interleaved(contestants, rounds):
                runs[name].append(figures)
                say(f"{name}: {figures['urls_per_second']:.0f} URLs/s, {figures['cpu_ms']:.2f} ms of CPU each")
    finally:
        os.sched_setaffinity(0, before)
    return {name: {key: median(figures[key] for figures in found) for key in found[0]} for name, found in runs.items()}


def _cores() -> tuple[set[int], set[int]]:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise BenchError("this needs two cores: one for the fetcher, one for its servers")
    return {cores[-1]}, set(cores[:-1])


@contextmanager
def _surroundings() -> Iterator[tuple[RedisServer, KafkaBroker, str]]:
    from tests.servers.kafka import KafkaBroker
    from tests.servers.redis import RedisServer

    with (
        tempfile.TemporaryDirectory(prefix="tenax-pages-") as site,
        RedisServer("--maxmemory", "1gb") as redis,
        KafkaBroker() as broker,
    ):
        _write_site(Path(site))
        with serving(Path(site)) as origin:
            yield redis, broker, origin


def _write_site(site: Path) -> None:
    """Pages of 30 KB, half of it words that compress like real text."""
    numbers = random.Random(1)
    words = (ROOT / "bench" / "words.txt").read_text(encoding="utf-8").split()
    (site / "robots.txt.gz").write_bytes(gzip.compress(b"User-agent: *\nDisallow: /private/\n", mtime=0))
    for number in range(PAGES):
        body = f"<!doctype html><title>{number}</title>"
        while len(body) < PAGE_BYTES:
            body += f"<p>{' '.join(numbers.choices(words, k=40))}</p>\n"
        (site / f"{number}.html.gz").write_bytes(gzip.compress(body[:PAGE_BYTES].encode(), 6, mtime=0))


def _fill(redis: RedisServer, origin: str, urls: int) -> Redis:
    from redis import Redis

    client = Redis.from_url(redis.url)
    client.flushall()
    client.rpush(QUEUE, *(f"{origin}/{number % PAGES}.html?{number}" for number in range(urls)))
    return client


def _ours(redis: RedisServer, broker: KafkaBroker, origin: str, urls: int, core: set[int]) -> Figures:
    topic = f"webpage_log_{time.monotonic_ns()}"
    broker.create(topic)
    client = _fill(redis, origin, urls)
    settings = {
        "page_fetcher.rate_limit_per_second": "0",
        "page_fetcher.webpage_log_topic": topic,
        "politeness.connections_per_host": str(CONCURRENCY),
        "guard.allow_networks": "127.0.0.0/8",
        "guard.ports": origin.rpartition(":")[2],
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "tenax", "page-fetcher", "--redis", redis.url, "--kafka", broker.servers]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with _on(core, [*command, *words, "--log-level", "warning"], env) as process:
        _until(lambda: _length(client, QUEUE) < urls, process)
        started, cpu = time.perf_counter(), _cpu_seconds(process.pid)
        taken = urls - _length(client, QUEUE)
        _until(lambda: not _length(client, QUEUE) and not _has_in_flight(client), process)
        seconds, cpu = time.perf_counter() - started, _cpu_seconds(process.pid) - cpu
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    stored = sum(1 for _ in client.scan_iter("webpage:*", count=10_000))
    if stored != urls:
        raise BenchError(f"{stored} pages were stored for {urls} URLs")
    return {"urls_per_second": (urls - taken / 2) / seconds, "cpu_ms": cpu / urls * 1000}


def _theirs(
    python: Path, concurrency: int, redis: RedisServer, broker: KafkaBroker, origin: str, urls: int, core: set[int]
) -> Figures:
    topic = f"webpage_log_{time.monotonic_ns()}"
    broker.create(topic)
    _fill(redis, origin, urls)
    settings = json.dumps({"redis_url": redis.url, "kafka": broker.servers, "topic": topic, "queue": QUEUE})
    script = ROOT / "bench" / "peers" / "page_fetcher_peer.py"
    with _on(core, [python, script, str(concurrency), settings], dict(os.environ)) as process:
        out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    report = json.loads(out)
    if report["urls"] != urls:
        raise BenchError(f"the recipe fetched {report['urls']} of {urls} URLs")
    return {"urls_per_second": urls / report["seconds"], "cpu_ms": report["cpu_seconds"] / urls * 1000}


@contextmanager
def _on(core: set[int], command: list[str | Path], env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    def before() -> None:
        end_with_parent()
        os.sched_setaffinity(0, core)

    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env, preexec_fn=before)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _until(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        if process.poll() is not None or time.monotonic() > end:
            raise BenchError("the page-fetcher ended early or did not end")
        time.sleep(0.01)


def _length(client: Redis, key: str | bytes) -> int:
    found = client.llen(key)
    assert isinstance(found, int)
    return found


def _has_in_flight(client: Redis) -> bool:
    holders = client.smembers(f"{QUEUE}:processing")
    assert isinstance(holders, set)
    names = [holder.decode() for holder in holders if isinstance(holder, bytes)]
    return any(_length(client, f"{QUEUE}:processing:{name}") for name in names)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
