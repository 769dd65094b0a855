"""`tenax db rebuild-visited`, as a person runs it."""

from __future__ import annotations

import asyncio

import pytest

from tenax.cli import main
from tenax.cli.commands.db import _Progress
from tenax.clock import SteadyClock
from tenax.config import DatabaseConfig
from tenax.database.postgres import PostgresDatabase
from tests.contracts.database import FixedPace, candidate
from tests.servers.redis import RedisServer


async def admitted(url: str, count: int) -> None:
    database = await PostgresDatabase.open(url, DatabaseConfig(), SteadyClock(), FixedPace())
    await database.admit([candidate(f"https://a.test/{number}") for number in range(count)])
    await database.close()


def run(*words: str) -> int:
    return main(["db", "rebuild-visited", *words])


def test_it_says_how_many_went_out_and_came_in(
    postgres: str, redis: str, redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(admitted(postgres, 5))
    filter_on = ("--database", postgres, "--set", f"redis.url={redis}", "--set", "database.visited_filter=true")
    assert run(*filter_on) == 0
    assert capsys.readouterr().out == "Removed 0 URLs from the filter, added 5 URLs.\n"
    assert run(*filter_on) == 0
    assert capsys.readouterr().out == "Removed 5 URLs from the filter, added 5 URLs.\n"
    assert redis_server.say("SCARD", "crawler:visited_urls") == b":5\r\n"


def test_it_says_that_nobody_asks_the_filter(postgres: str, redis: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(admitted(postgres, 1))
    assert run("--database", postgres, "--set", f"redis.url={redis}") == 0
    assert "Workers do not use it: `database.visited_filter` is off." in capsys.readouterr().out


def test_it_needs_both_servers(postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--database", postgres) == 2
    assert "the filter of known URLs is in Redis and belongs to a database on a server" in capsys.readouterr().err


def test_progress_is_told_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 2.5, 2.5, 3.0])
    monkeypatch.setattr("tenax.cli.commands.db.time.monotonic", lambda: next(times))
    progress = _Progress()
    for done in (5000, 10_000, 15_000):
        progress.on_progress(done, 1_000_000)
    assert capsys.readouterr().err == "10,000 of 1,000,000 URLs\n"
