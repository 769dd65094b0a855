"""The scheduler: the file it reads, and what it sends to the queue, once per interval and never twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from tenax.clock import ManualClock
from tenax.errors import ConfigError
from tenax.runtime.redis import create_redis_client
from tenax.services.scheduler import Seed, SeedScheduler, SendStatus, parse_interval, parse_schedule
from tenax.services.scheduler.redis_store import RedisSeedQueue
from tests.e2e.program import environment, tenax
from tests.loops import FAULT_SECONDS
from tests.servers.redis import RedisServer
from tests.services.lab import Lab

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


def test_a_file_with_url_and_urls() -> None:
    text = f"""
    seeds:
      - url: {A}
        every: 1h
      - urls: [{B}, {C}]
        every: 900s
        priority: high
    """
    assert parse_schedule(yaml.safe_load(text), "seeds.yaml") == (
        Seed(A, 3600.0),
        Seed(B, 900.0, True),
        Seed(C, 900.0, True),
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("900", 900.0),
        (900, 900.0),
        ("900s", 900.0),
        ("15min", 900.0),
        ("1.5h", 5400.0),
        ("1d", 86_400.0),
        ("2w", 1_209_600.0),
    ],
)
def test_intervals(text: Any, seconds: float) -> None:
    assert parse_interval(text, "here") == seconds


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (None, "a schedule is a list under the only key `seeds`"),
        ([A], "a schedule is a list under the only key `seeds`"),
        ({"seeds": []}, "no seeds"),
        ({"seeds": [A]}, "seed 1: write it with `url` and `every`"),
        (
            {"seeds": [{"url": A, "every": "1h"}, {"url": B, "evry": 1}]},
            "seed 2: unknown key `evry`; there are: url, urls, every, priority",
        ),
        ({"seeds": [{"every": "1h"}]}, "seed 1: it needs one of `url` and `urls`"),
        ({"seeds": [{"url": A, "urls": [B], "every": "1h"}]}, "seed 1: it needs one of `url` and `urls`"),
        ({"seeds": [{"urls": A, "every": "1h"}]}, "seed 1: `urls` takes a list of URLs"),
        (
            {"seeds": [{"url": "ftp://a.example", "every": "1h"}]},
            "seed 1: 'ftp://a.example' is not an http or https URL",
        ),
        ({"seeds": [{"url": 5, "every": "1h"}]}, "seed 1: '5' is not an http or https URL"),
        ({"seeds": [{"url": A}]}, "seed 1: `every` takes a time such as 900s, 15min, 1h or 1d, not 'None'"),
        ({"seeds": [{"url": A, "every": "0"}]}, "seed 1: `every` takes a time such as 900s, 15min, 1h or 1d, not '0'"),
        ({"seeds": [{"url": A, "every": "y"}]}, "seed 1: `every` takes a time such as 900s, 15min, 1h or 1d, not 'y'"),
        ({"seeds": [{"url": A, "every": "1h", "priority": 3}]}, "seed 1: `priority` takes normal or high"),
        ({"seeds": [{"url": A, "every": "1h"}, {"url": A, "every": "2h"}]}, f"{A} is named twice"),
    ],
)  # fmt: skip
def test_a_slip_in_the_file_is_one_sentence(document: Any, why: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_schedule(document, "seeds.yaml")
    assert str(error.value) == f"seeds.yaml: {why}"


async def test_once_an_interval_however_many_schedulers_there_are(lab: Lab) -> None:
    seeds = [Seed(A, 3600.0), Seed(B, 3600.0), Seed(C, 0.2, is_urgent=True)]
    clock = ManualClock()
    marks = [await RedisSeedQueue.open(lab.redis_url, "crawler_queue") for _ in range(3)]
    try:
        agendas = [SeedScheduler(seeds, one, clock) for one in marks]
        counts = await asyncio.gather(*(due_tasks.send_due_seeds() for due_tasks in agendas))
        assert lab.queue == [C.encode(), A.encode(), B.encode()], "the urgent one at the head"
        assert sum(count[SendStatus.SENT] for count in counts) == 3
        assert sum(count[SendStatus.ALREADY_SENT] + count[SendStatus.STILL_QUEUED] for count in counts) == 6
        lab.redis.delete("crawler_queue")
        assert not any([await due_tasks.send_due_seeds() for due_tasks in agendas]), "nothing is due"
        # As after a restart: everything is checked, and the marks know.
        again = SeedScheduler(seeds, marks[0], clock)
        assert (await again.send_due_seeds())[SendStatus.ALREADY_SENT] >= 2
    finally:
        for one in marks:
            await one.close()


async def test_what_waits_in_the_queue_is_not_sent_again(lab: Lab) -> None:
    lab.enqueue(A)
    marks = await RedisSeedQueue.open(lab.redis_url, "crawler_queue")
    try:
        [sent] = await marks.send([Seed(A, 3600.0)])
        assert sent.status is SendStatus.STILL_QUEUED
        assert sent.next_check_seconds == 60.0
        assert lab.queue == [A.encode()]
        lab.redis.delete("crawler_queue")
        [sent] = await marks.send([Seed(A, 3600.0)])
        assert (sent.status, sent.next_check_seconds) == (SendStatus.SENT, 3600.0)
        assert 3590 < lab.redis.pttl(next(lab.redis.scan_iter("crawler_scheduler:sent:*"))) / 1000 <= 3600
    finally:
        await marks.close()


async def test_it_sends_again_when_the_interval_is_over(lab: Lab) -> None:
    marks = await RedisSeedQueue.open(lab.redis_url, "crawler_queue")
    clock, waits = ManualClock(), list[float]()

    async def leap(stopping: asyncio.Event, seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)
        for key in lab.redis.scan_iter("crawler_scheduler:sent:*"):
            lab.redis.delete(key)  # as Redis would by now
        lab.redis.delete("crawler_queue")
        if len(waits) == 3:
            stopping.set()

    due_tasks = SeedScheduler([Seed(A, 30.0)], marks, clock, leap)
    try:
        await due_tasks.run()
    finally:
        await marks.close()
    assert waits == pytest.approx([30.0, 30.0, 30.0])


async def test_stopping_does_not_wait_for_a_silent_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create_redis_client, "__defaults__", (2 * FAULT_SECONDS,))  # makes waiting for a reply visible
    with RedisServer() as server:
        marks = await RedisSeedQueue.open(server.url, "crawler_queue")
        due_tasks = SeedScheduler([Seed(A, 30.0)], marks, ManualClock())
        server.pause()
        running = asyncio.ensure_future(due_tasks.run())
        try:
            await asyncio.sleep(0.05)
            assert not running.done()
            due_tasks.stop()
            async with asyncio.timeout(FAULT_SECONDS):
                await running
        finally:
            server.go_on()
            await marks.close()


def test_the_command_sends_once_and_ends(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "seeds.yaml"
    file.write_text(f"seeds: [{{urls: ['{A}', '{B}'], every: 1h}}]")
    for _ in range(2):
        done = tenax("schedule", file, "--once", "--redis", lab.redis_url, env=environment(), cwd=tmp_path)
        assert (done.code, done.out) == (0, "")
    assert lab.queue == [A.encode(), B.encode()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "tenax: missing.yaml: no such file; give the path of a YAML file"),
        ("seeds: [", "tenax: missing.yaml: not valid YAML, line 1"),
        ("seeds: 5", "tenax: missing.yaml: a schedule is a list under the only key `seeds`"),
    ],
)
def test_a_wrong_file_is_one_line(text: str | None, line: str, redis: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "missing.yaml").write_text(text)
    done = tenax("schedule", "missing.yaml", "--once", "--redis", redis, env=environment(), cwd=tmp_path)
    assert (done.code, done.err.strip()) == (2, line)
