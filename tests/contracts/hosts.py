"""The contract of every `Hosts`, a suite that each backend must pass.

A backend's test file subclasses `HostsContract` and gives it a `store` fixture: the hosts, and the memory of this
process that stands in front of them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import NamedTuple

import msgspec
import pytest

from tenax.hosts import Hosts
from tenax.hosts.records import MemoryHosts, UnsharedHosts
from tenax.hosts.robots import apply_robots, extend_robots_expiry
from tenax.hosts.rules import SentRequests, host_after_probe, host_after_visit, should_probe
from tenax.model import Deferred, HostRecord, Outcome, RobotsCopy, RobotsVerdict, TransportKind
from tests.hosts.history import (
    ALL,
    HTTP_403,
    HTTP_404,
    HTTP_429,
    HTTP_500,
    HTTP_503,
    OK,
    REFUSED,
    RESET,
    SITE,
    asking_to_wait,
)

NOW = 1_750_000_000.0
ORIGIN = "https://a.example"
AT_A_TIME = 25
RECORD = HostRecord(ORIGIN, "a.example")
ROBOTS = RobotsCopy(RobotsVerdict.RULES, NOW, NOW + 86_400, "User-agent: *\nCrawl-delay: 3", 200)

# Mostly common outcomes, so that backoffs, streaks and recoveries occur; and now and then any other.
USUAL: tuple[Outcome, ...] = (
    OK, OK, OK, HTTP_403, HTTP_403, HTTP_404, HTTP_429, asking_to_wait(HTTP_429, 30.0), HTTP_500, HTTP_503, REFUSED,
    REFUSED, RESET,
)  # fmt: skip
TEXTS = (
    "",
    "User-agent: *\nDisallow: /",
    "User-agent: *\nCrawl-delay: 7",
    "User-agent: *\nDisallow: /a\nCrawl-delay: 2",
)


class Store(NamedTuple):
    hosts: Hosts
    local_hosts: MemoryHosts
    """The records in this process's memory."""


class Event(NamedTuple):
    """The update of one visit, with its time."""

    now: float
    outcome: Outcome
    requests: int
    jitter: float
    transport: TransportKind
    robots: RobotsCopy | None

    def rule(self, record: HostRecord) -> HostRecord:
        """In the order in which a visit updates the record."""
        if self.robots is not None:
            copy = extend_robots_expiry(self.robots, record, SITE.politeness, self.now, self.requests)
            record = apply_robots(record, copy, SITE.politeness)
        outcome = self.outcome
        if should_probe(record):
            record = host_after_probe(record, outcome == OK, "no answer", self.now, SITE, self.jitter)
            outcome = Deferred(self.now, "probe")
        other = TransportKind.CURL if self.transport is TransportKind.HTTP else TransportKind.HTTP
        sent = SentRequests(self.requests, self.now, self.transport, other)
        return host_after_visit(record, outcome, sent, SITE, self.jitter)


def events(chance: random.Random, most: int) -> list[Event]:
    """A history of one host, by a clock that stands still, runs, or reaches the end of a backoff."""
    now, updates = NOW, []
    for _ in range(chance.randint(1, most)):
        now += chance.choice((0.0, 0.3, chance.uniform(0, 5), 31.0, chance.uniform(60, 4000)))
        robots = None
        if chance.random() < 0.2:
            verdict = chance.choice(list(RobotsVerdict))
            robots = RobotsCopy(verdict, now, now + chance.choice((300.0, 86_400.0)), chance.choice(TEXTS), 200)
        updates.append(
            Event(
                now,
                chance.choice(USUAL if chance.random() < 0.8 else ALL),
                chance.choice((0, 1, 1, 1, 2)),
                chance.random(),
                chance.choice((TransportKind.HTTP, TransportKind.HTTP, TransportKind.CURL, TransportKind.BROWSER)),
                robots,
            )
        )
    return updates


async def updated_record(
    hosts: Hosts, origin: str, known: HostRecord, rule: Callable[[HostRecord], HostRecord]
) -> HostRecord:
    """The record of a host after this change, however often others are faster."""
    before = hosts.get(origin) or known
    for attempt in count():
        after = rule(before)
        newer = await hosts.store(before, after, attempt)
        if newer is None:
            return after
        before = newer
    raise AssertionError


async def played(hosts: Hosts, record: HostRecord, history: list[Event]) -> list[HostRecord]:
    """The record after each visit."""
    known = []
    for event in history:
        adopted = await hosts.acquire(record)
        known.append(await updated_record(hosts, record.origin, adopted, event.rule))
        hosts.release(record.origin)
    return known


async def expected(record: HostRecord, history: list[Event]) -> list[HostRecord]:
    """The same in one process."""
    return await played(UnsharedHosts(MemoryHosts()), record, history)


async def side_by_side(play: Callable[[int], Awaitable[None]], count: int) -> None:
    """Run this many histories, each of its own host, several at a time."""
    for first in range(0, count, AT_A_TIME):
        await asyncio.gather(*map(play, range(first, min(first + AT_A_TIME, count))))


def other_host(number: int) -> HostRecord:
    """A host without visits."""
    return HostRecord(f"https://h{number}.example", f"h{number}.example")


def counted(host: HostRecord) -> HostRecord:
    return msgspec.structs.replace(host, page_count=host.page_count + 1, next_at=host.next_at + 1)


def _replaced(record: HostRecord, _: HostRecord) -> HostRecord:
    """A rule that replaces the record."""
    return record


class HostsContract:
    async def test_a_host_that_nobody_knows_is_as_its_claim_says(self, store: Store) -> None:
        assert store.hosts.get(ORIGIN) is None
        assert await store.hosts.acquire(RECORD) == RECORD
        assert store.hosts.get(ORIGIN) == RECORD

    async def test_an_update_is_known_from_then_on(self, store: Store) -> None:
        await store.hosts.acquire(RECORD)
        updated = await updated_record(store.hosts, ORIGIN, RECORD, counted)
        assert (updated.page_count, updated.next_at) == (1, 1.0)
        assert store.hosts.get(ORIGIN) == updated
        assert await store.hosts.acquire(RECORD) == updated, "the claim is older"

    async def test_a_claim_that_is_newer_holds(self, store: Store) -> None:
        """Another process visited it meanwhile, and the database has its record."""
        await store.hosts.acquire(RECORD)
        await updated_record(store.hosts, ORIGIN, RECORD, counted)
        newer = msgspec.structs.replace(RECORD, next_at=50.0, page_count=9, blocks_in_a_row=2)
        assert await store.hosts.acquire(newer) == newer
        updated = await updated_record(store.hosts, ORIGIN, newer, counted)
        assert (updated.next_at, updated.page_count, updated.blocks_in_a_row) == (51.0, 10, 2)

    async def test_on_a_tie_what_is_known_holds(self, store: Store) -> None:
        await store.hosts.acquire(RECORD)
        updated = await updated_record(
            store.hosts, ORIGIN, RECORD, lambda host: apply_robots(host, ROBOTS, SITE.politeness)
        )
        assert (updated.next_at, updated.crawl_delay_seconds) == (RECORD.next_at, 3.0)
        assert await store.hosts.acquire(RECORD) == updated

    async def test_an_update_of_an_unknown_host_begins_with_the_fallback(self, store: Store) -> None:
        updated = await updated_record(store.hosts, ORIGIN, msgspec.structs.replace(RECORD, page_count=7), counted)
        assert updated.page_count == 8
        assert store.hosts.get(ORIGIN) == updated
        assert not store.local_hosts.is_busy(ORIGIN)

    async def test_a_host_is_busy_until_each_of_its_visits_is_released(self, store: Store) -> None:
        await store.hosts.acquire(RECORD)
        await store.hosts.acquire(RECORD)
        store.hosts.release(ORIGIN)
        assert store.local_hosts.is_busy(ORIGIN)
        store.hosts.release(ORIGIN)
        assert not store.local_hosts.is_busy(ORIGIN)
        assert store.hosts.get(ORIGIN) == RECORD, "seen lately"

    async def test_every_record_is_in_memory_once(self, store: Store) -> None:
        for number in range(3):
            await store.hosts.acquire(other_host(number))
        updated = await updated_record(store.hosts, other_host(0).origin, other_host(0), counted)
        store.hosts.release(other_host(1).origin)
        records = sorted(store.local_hosts.records(), key=lambda record: record.origin)
        assert records == [updated, other_host(1), other_host(2)]

    async def test_schemes_and_ports_of_one_name_are_different_hosts(self, store: Store) -> None:
        origins = (ORIGIN, "http://a.example", "https://a.example:8443")
        for number, origin in enumerate(origins):
            newest = HostRecord(origin, "a.example", robots=ROBOTS, page_count=number)
            await store.hosts.acquire(HostRecord(origin, "a.example"))
            await updated_record(store.hosts, origin, newest, partial(_replaced, newest))
        for number, origin in enumerate(origins):
            record = await store.hosts.acquire(HostRecord(origin, "a.example"))
            assert (record.origin, record.page_count, record.robots) == (origin, number, ROBOTS)

    @pytest.mark.parametrize("number", range(len(ALL)))
    async def test_every_ending_of_a_visit_teaches_the_same(self, store: Store, number: int) -> None:
        history = [
            Event(NOW + at, ALL[number], 1, 0.5, TransportKind.HTTP, ROBOTS if at == 0 else None)
            for at in (0, 1, 90, 400)
        ]
        assert await played(store.hosts, RECORD, history) == await expected(RECORD, history)

    async def test_a_thousand_histories_end_alike(self, store: Store) -> None:
        async def play(number: int) -> None:
            history = events(random.Random(number), most=8)
            found = await played(store.hosts, other_host(number), history)
            assert found == await expected(other_host(number), history), f"history {number}: {history}"

        await side_by_side(play, 1000)
