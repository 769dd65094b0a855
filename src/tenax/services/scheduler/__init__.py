"""The scheduler: sends seeds to the page-fetcher's queue, each at its own interval.

- **Once per interval**, however many schedulers run and however often they restart: a mark in Redis records that a URL
  was sent, and expires with its interval.
- **Never twice in the queue.** A URL that still waits in the queue is not sent again; it is checked again a little
  later.

`parse_schedule` reads the file, `SeedScheduler` decides what is due, `redis_store` sends it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, Protocol

from tenax.clock import Clock
from tenax.errors import ConfigError
from tenax.logs import logger
from tenax.model import Value
from tenax.runtime.cancellation import Pause, pause, run_until_set
from tenax.text.sanitize import mask_url
from tenax.urls.normalize import parse_exact_url


class Seed(Value, frozen=True):
    """A URL and how often it is wanted."""

    url: str
    every_seconds: float
    is_urgent: bool = False
    """The URL goes to the head of the queue."""


class SendStatus(Enum):
    """The result for one due seed."""

    SENT = 0
    ALREADY_SENT = 1
    """The seed was already sent in this interval."""
    STILL_QUEUED = 2
    """The seed is still in the queue."""


class SendResult(NamedTuple):
    status: SendStatus
    next_check_seconds: float
    """When to check the seed again."""


class SeedQueue(Protocol):
    """Sends URLs to the queue, and records that it has sent them."""

    async def send(self, seeds: Sequence[Seed]) -> list[SendResult]: ...

    async def close(self) -> None: ...


_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_UNITS = {"": 1, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_KEYS = ("url", "urls", "every", "priority")
_PRIORITIES = ("normal", "high")
MIN_INTERVAL_SECONDS = 1.0


def parse_schedule(document: object, file: str) -> tuple[Seed, ...]:
    """Every URL of a document such as `seeds: [{url: …, every: 1h}]`. Raises `ConfigError` at the first error."""
    if not isinstance(document, Mapping) or list(document) != ["seeds"] or not isinstance(document["seeds"], list):
        raise ConfigError(f"{file}: a schedule is a list under the only key `seeds`")
    seeds = [
        seed
        for number, entry in enumerate(document["seeds"], 1)
        for seed in _parse_entry(entry, f"{file}: seed {number}")
    ]
    if not seeds:
        raise ConfigError(f"{file}: no seeds")
    urls: set[str] = set()
    for seed in seeds:
        if seed.url in urls:
            raise ConfigError(f"{file}: {mask_url(seed.url)} is named twice")
        urls.add(seed.url)
    return tuple(seeds)


def _parse_entry(entry: Any, where: str) -> Iterator[Seed]:
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where}: write it with `url` and `every`")
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        raise ConfigError(f"{where}: unknown key `{unknown[0]}`; there are: {', '.join(_KEYS)}")
    if ("url" in entry) == ("urls" in entry):
        raise ConfigError(f"{where}: it needs one of `url` and `urls`")
    urls = entry["urls"] if "urls" in entry else [entry["url"]]
    if not isinstance(urls, list):
        raise ConfigError(f"{where}: `urls` takes a list of URLs")
    priority = entry.get("priority", "normal")
    if priority not in _PRIORITIES:
        raise ConfigError(f"{where}: `priority` takes {' or '.join(_PRIORITIES)}")
    every_seconds = parse_interval(entry.get("every"), where)
    for url in urls:
        if not isinstance(url, str) or parse_exact_url(url.strip()) is None:
            raise ConfigError(f"{where}: {mask_url(str(url))[:200]!r} is not an http or https URL")
        yield Seed(url.strip(), every_seconds, priority == "high")


def parse_interval(text: Any, where: str) -> float:
    """The seconds of an interval such as `900`, `900s`, `15min`, `1h` or `1d`."""
    match = _INTERVAL.fullmatch(str(text)) if isinstance(text, (str, int, float)) else None
    if match is None or match[2] not in _UNITS or float(match[1]) * _UNITS[match[2]] < MIN_INTERVAL_SECONDS:
        raise ConfigError(f"{where}: `every` takes a time such as 900s, 15min, 1h or 1d, not {str(text)[:100]!r}")
    return float(match[1]) * _UNITS[match[2]]


log = logger(__name__)

SEND_BATCH_SIZE = 200
MAX_WAIT_SECONDS = 60.0


class SeedScheduler:
    """Sends each seed once per interval. At the start all seeds are checked: the marks show which were sent."""

    def __init__(self, seeds: Sequence[Seed], seed_queue: SeedQueue, clock: Clock, pause: Pause = pause) -> None:
        self._seeds = seeds
        self._seed_queue = seed_queue
        self._clock = clock
        self._pause = pause
        self._stop_requested = asyncio.Event()
        self._due = [(clock.now(), number) for number in range(len(seeds))]
        heapify(self._due)

    def stop(self) -> None:
        self._stop_requested.set()

    async def run(self) -> None:
        while not self._stop_requested.is_set():
            # Stopping does not wait while Redis is unavailable: marks in Redis show what was sent.
            await run_until_set(self._stop_requested, self.send_due_seeds())
            if self._stop_requested.is_set():
                return
            wait = min(max(self._due[0][0] - self._clock.now(), 0.0), MAX_WAIT_SECONDS)
            if wait:
                await self._pause(self._stop_requested, wait)

    async def send_due_seeds(self) -> Counter[SendStatus]:
        """Make one round, and return its results."""
        now, counts = self._clock.now(), Counter[SendStatus]()
        due: list[int] = []
        while self._due and self._due[0][0] <= now:
            due.append(heappop(self._due)[1])
        for start in range(0, len(due), SEND_BATCH_SIZE):
            numbers = due[start : start + SEND_BATCH_SIZE]
            answers = await self._seed_queue.send([self._seeds[number] for number in numbers])
            for number, (how, again_seconds) in zip(numbers, answers, strict=True):
                counts[how] += 1
                heappush(self._due, (now + again_seconds, number))
        if counts:
            log.info(
                "seeds checked", sent=counts[SendStatus.SENT], not_yet=counts[SendStatus.ALREADY_SENT],
                still_queued=counts[SendStatus.STILL_QUEUED],
            )  # fmt: skip
        return counts
