"""A crawl on servers as its users have it: workers, and commands that ask about their database from anywhere."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import Status
from tests.e2e.fork_server import Running
from tests.e2e.program import INLINE, Ended, ended, in_one_process, start, tenax, until

FAST = (
    # Its hosts fail so often, and are crawled so quickly, that their retry budgets would be used up at once.
    *("--set", "politeness.rate_per_second=50", "--set", "fetch.retry_base_seconds=0.1"),
    *("--set", "hosts.budget_failures=1000"),
)
PAGE_FACTS = ("content_hash", "content_length", "status", "title", "kind", "language", "links_count", "text")
"""Without the depth: by which link a page is found first depends on timing."""
ASKING_SECONDS = 0.1
"""Between two status queries: each opens a connection and takes time from the workers."""


class Cluster(NamedTuple):
    """A database on PostgreSQL, hosts in Redis, and what workers need to crawl sites of this machine."""

    database: str
    hosts: str
    home: Path
    """An empty directory: nothing there says which crawl is meant."""

    def worker(self, *ports: int, options: Sequence[str] = ()) -> Running:
        """A worker that may connect to these ports of this machine."""
        allowed = ("--set", "guard.allow_networks=127.0.0.0/8", "--set", f"guard.ports={','.join(map(str, ports))}")
        return start(
            *("worker", "--database", self.database, "--redis", self.hosts, *INLINE, *FAST, *allowed, *options),
            cwd=self.home,
        )

    def ask(self, *words: str | Path) -> str:
        """What a command about this database prints."""
        answer = tenax(*words, "--database", self.database, cwd=self.home)
        assert answer.code == 0, answer
        return answer.out

    def status(self) -> Status:
        """The same as `tenax status` shows, asked for without starting it: for those who ask again and again."""
        return asyncio.run(_status(self.database))

    def has_workers(self, number: int) -> None:
        """Wait until so many are alive."""
        until(lambda: self.status().workers == number, f"{number} workers", ASKING_SECONDS)

    def done(self) -> None:
        """Wait until something was visited and nothing waits any more."""
        until(lambda: _is_done(self.status()), "an end of the crawl", ASKING_SECONDS)


def _is_done(status: Status) -> bool:
    return status.settled + status.dead > 0 and not status.waiting


async def _status(url: str) -> Status:
    database = await open_database(Location(server=url), read_only=True)
    try:
        return await database.status()
    finally:
        await database.close()


class Result(NamedTuple):
    """What came of a crawl, by what people can ask of it."""

    pages: dict[str, tuple[Any, ...]]
    dead: dict[str, str]
    outcomes: dict[str, int]
    """Visits, without those that were put off, and without guesses that found nothing: how many those are is a matter
    of time, as a guess depends on what was known when it was made."""
    refusals: dict[str, int]
    settled: int


def result_of(*flags: str | Path, cwd: Path | None = None) -> Result:
    """Of the crawl that these flags name."""
    questions = (("export",), ("dead-letters", "list", "--json"), ("status", "--json"))
    export, dead_letters, status = in_one_process(*((*words, *flags) for words in questions), cwd=cwd)
    lines = [json.loads(line) for line in export.splitlines()]
    counts = json.loads(status)
    pages = {line["url"]: tuple(line.get(name) for name in PAGE_FACTS) for line in lines}
    assert len(pages) == len(lines), "each page once"
    return Result(
        pages,
        {line["url"]: line["cause"] for line in map(json.loads, dead_letters.splitlines())},
        {name: count for name, count in counts["outcomes"].items() if name not in ("deferred", "missed")},
        {name: count for name, count in counts.get("refusals", {}).items() if not name.startswith("guess")},
        counts["settled"] - counts["outcomes"].get("missed", 0),
    )


def stopped(*workers: Running, by: signal.Signals = signal.SIGTERM) -> list[Ended]:
    for worker in workers:
        os.killpg(worker.pid, by)
    return [ended(worker) for worker in workers]
