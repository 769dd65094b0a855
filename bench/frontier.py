"""A frontier shared by many workers in simulated time: the real schedule and pace on a simulated database.

`Table` stands for PostgreSQL: the hosts, their waiting tasks, and which hosts are free. A `Worker` leases the hosts
that are ready first, paces them, and returns them. Nothing is fetched and nothing sleeps: `Frontier.run` advances a
simulated time to the next event, which is always a worker's next transaction.
"""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from itertools import accumulate
from math import ceil, inf

import msgspec

from tenax.config import Config, Sites
from tenax.database.schedule import Entry, Schedule, Slot
from tenax.hosts.rules import HostPace, SentRequests, host_after_visit
from tenax.hosts.throttle import pace_seconds
from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, RobotsCopy, RobotsVerdict

HOSTS_A_TAKE = 20
LEASE_SECONDS = 10.0
GROUP_SECONDS = 0.02
"""Between two transactions of a worker: 10 ms of gathering visits, and as long for writing them."""
ASK_SECONDS = 1.0
"""How often a worker polls for hosts without a notification."""
URLS_A_HOST = 10
AT_HOME_SHARE = 0.8
DEAD_SHARE = 0.01
LATENCY_SECONDS, LATENCY_SPREAD, LONGEST_SECONDS = 0.25, 0.8, 20.0
DRAWS = 8191  # a prime, so that the two tables of draws never fall into step

SITES = Sites(Config())
SITE = SITES.for_host("example.org")
PACE_SECONDS = pace_seconds(HostRecord("http://example.org", "example.org"), SITE.politeness)
_ROBOTS = RobotsCopy(RobotsVerdict.ALLOW_ALL, 0.0, inf)
_FETCHED = Fetched(200)
_SILENT = Failed("no answer", FailureKind.TIMEOUT_CONNECT, is_site_wide=True)
_FAILURES: tuple[tuple[float, Outcome], ...] = (
    (0.03, Failed("not found", FailureKind.NOT_FOUND, status=404)),
    (0.02, Failed("server error", FailureKind.SERVER_ERROR, status=500)),
    (0.01, Failed("no answer", FailureKind.TIMEOUT_HEADERS, is_site_wide=True)),
    (0.002, Failed("too many requests", FailureKind.RATE_LIMITED, status=429)),
)


@dataclass
class Count:
    """Counters of one period of simulated time."""

    visits: int = 0
    hosts_leased: int = 0
    transactions: int = 0
    violations: int = 0
    longest_overdue: float = 0.0


@cache
def entry(number: int) -> Entry:
    """One for all hosts: only a task's position within its host matters."""
    return Entry(0, 0, number, "", 0, 0, 0, None, 0, None, None)


class Web:
    """Answers of hosts and targets of links, drawn in advance because millions are needed."""

    def __init__(self, hosts: int, seed: int) -> None:
        self._random = random.Random(seed)
        weights = list(accumulate(1 / (rank + 10) for rank in range(hosts)))
        self._reach = array("d", (weight / weights[-1] for weight in weights))
        self._latencies = [min(self._draw_latency(), LONGEST_SECONDS) for _ in range(DRAWS)]
        self._outcomes = [self._draw_outcome() for _ in range(DRAWS - 1)]
        self._dead_from = int(hosts * (1 - DEAD_SHARE))
        self._ticket = 0

    def mean_latency(self) -> float:
        return sum(self._latencies) / DRAWS

    def answer(self, host: int) -> tuple[float, Outcome]:
        """Latency and outcome."""
        self._ticket += 1
        outcome = _SILENT if host >= self._dead_from else self._outcomes[self._ticket % (DRAWS - 1)]
        return self._latencies[self._ticket % DRAWS], outcome

    def link(self, home: int) -> int:
        """Target host of a new link: mostly the same host, else a random one weighted by size."""
        roll = self._random.random()
        return home if roll < AT_HOME_SHARE else bisect_left(self._reach, (roll - AT_HOME_SHARE) / (1 - AT_HOME_SHARE))

    def jitter(self) -> float:
        return self._random.random()

    def _draw_latency(self) -> float:
        return LATENCY_SECONDS * self._random.lognormvariate(0, LATENCY_SPREAD)

    def _draw_outcome(self) -> Outcome:
        roll = self._random.random()
        for share, outcome in _FAILURES:
            if roll < share:
                return outcome
            roll -= share
        return _FETCHED


class Table:
    """The hosts in the database. A host is free, leased, or without work; free hosts are indexed."""

    def __init__(self, hosts: int, web: Web) -> None:
        self.hosts_with_work = hosts
        self.count = Count()
        self.first = array("q", [0]) * hosts
        """The number of each host's oldest waiting task."""
        sizes = [1 / (rank + 10) for rank in range(hosts)]
        scale = hosts * URLS_A_HOST / sum(sizes)
        self.end = array("q", (max(int(size * scale), 1) for size in sizes))
        """One more than the number of the newest task."""
        self.requested_at = array("d", [-inf]) * hosts
        self.hosts_never_requested = hosts
        self._is_leased = bytearray(hosts)
        self._ready_at = array("d", [0.0]) * hosts
        self._records: dict[int, HostRecord] = {}
        order = list(range(hosts))
        random.Random(1).shuffle(order)  # hosts of all sizes in random order
        self._free = [(0.0, position, host) for position, host in enumerate(order)]  # sorted: it is a heap
        self._ticket = hosts

    def overdue(self, now: float) -> float:
        """Seconds that the longest waiting free host is overdue."""
        return max(now - self._free[0][0], 0.0) if self._free else 0.0

    def has_due(self, now: float) -> bool:
        return bool(self._free) and self._free[0][0] <= now

    def take(self, now: float, most: int) -> list[tuple[int, HostRecord]]:
        """One statement: leases the hosts that are overdue longest."""
        taken: list[tuple[int, HostRecord]] = []
        while len(taken) < most and self.has_due(now):
            ready_at, _, host = heappop(self._free)
            self._is_leased[host] = True
            record = self._records.pop(host, None) or HostRecord(f"http://{host}", str(host), _ROBOTS)
            taken.append((host, msgspec.structs.replace(record, next_at=ready_at)))
        self.count.transactions += 1
        self.count.hosts_leased += len(taken)
        return taken

    def give_back(self, host: int, record: HostRecord) -> None:
        self._is_leased[host] = False
        self._ready_at[host] = record.next_at
        if record.recent_failures or record.rate_per_minute or record.breaker != "closed":
            self._records[host] = record
        if self.first[host] < self.end[host]:
            self._queue(host, record.next_at)
        else:
            self.hosts_with_work -= 1

    def admit(self, host: int, now: float) -> None:
        """Add a task; a host without tasks is indexed again."""
        was_idle = self.first[host] == self.end[host] and not self._is_leased[host]
        self.end[host] += 1
        if was_idle:
            self.hosts_with_work += 1
            self._queue(host, max(self._ready_at[host], now))

    def _queue(self, host: int, ready_at: float) -> None:
        self._ticket += 1
        heappush(self._free, (ready_at, self._ticket, host))


class Window(Schedule):
    """The schedule of a worker, with a method to remove a host."""

    def leave(self, host: int) -> HostRecord | None:
        """Remove the host and return its record; None while a visit is in flight."""
        slot = self._slots[host]
        if slot.in_flight:
            return None
        slot.ready_at = None
        self._refill_slots.pop(host, None)
        del self._slots[host]
        return slot.record


class Worker:
    """A worker: its window, visits in flight, and maximum rate."""

    def __init__(self, table: Table, web: Web, workers: int, rate: float, concurrency: int) -> None:
        database = Config().database
        self._table = table
        self._web = web
        self._workers = workers
        self._rate = rate
        self._concurrency = concurrency
        self._most_hosts = database.window_hosts
        self._window = Window(HostPace(SITES), database.window_hosts, database.tasks_per_host)
        self._since: dict[int, float] = {}  # in lease order
        self._leaving: set[int] = set()  # lease expired, but a visit is in flight
        self._answers: list[tuple[float, int, Slot, int, Outcome]] = []
        self._worked_at = 0.0
        self._allowance = 0.0
        self._lease_tried_at = -inf
        self._ticket = 0

    def step(self, now: float) -> float:
        """Do all work that is due now; returns the time of the next step."""
        self._settle(now)
        self._give_back_old(now)
        self._lease(now)
        self._claim(now)
        return max(self._next_event(now), now + GROUP_SECONDS)

    def _settle(self, now: float) -> None:
        is_any = bool(self._answers) and self._answers[0][0] <= now
        while self._answers and self._answers[0][0] <= now:
            at, _, slot, key, outcome = heappop(self._answers)
            record = host_after_visit(slot.record, outcome, SentRequests(1, at), SITE, self._web.jitter())
            self._window.complete_visit(slot, key, record)
            self._table.first[slot.host_id] += 1
            self._table.count.visits += 1
            self._admit_link(slot, self._web.link(slot.host_id), now)
            if slot.host_id in self._leaving or (not slot.entries and not slot.has_more):
                self._let_go(slot.host_id)
        self._table.count.transactions += is_any

    def _admit_link(self, slot: Slot, host: int, now: float) -> None:
        """Each page links to one new page, so that the number of waiting tasks is constant; failed ones are retried."""
        self._table.admit(host, now)
        if host == slot.host_id:
            self._window.add_task(host, entry(self._table.end[host] - 1), now)

    def _give_back_old(self, now: float) -> None:
        before = len(self._since)
        while self._since and self._table.has_due(now):
            host, since = next(iter(self._since.items()))
            if since > now - LEASE_SECONDS:
                break
            if not self._let_go(host):
                del self._since[host]
                self._leaving.add(host)
        self._table.count.transactions += len(self._since) < before

    def _let_go(self, host: int) -> bool:
        record = self._window.leave(host)
        if record is not None:
            self._since.pop(host, None)
            self._leaving.discard(host)
            self._table.give_back(host, record)
        return record is not None

    def _lease(self, now: float) -> None:
        share = min(self._most_hosts, ceil(self._table.hosts_with_work / self._workers))
        while len(self._window) < share and self._table.has_due(now):
            for host, record in self._table.take(now, min(HOSTS_A_TAKE, share - len(self._window))):
                self._since[host] = now
                self._window.add_host(host, record)
            self._fill(now)
        if self._window.should_refill:
            self._fill(now)
            self._table.count.transactions += 1

    def _fill(self, now: float) -> None:
        """Load tasks of each host that needs them; with a lease this is the same statement."""
        for host, asked in self._window.refill_requests():
            first, end = self._table.first[host], self._table.end[host]
            rows = [entry(number) for number in range(first, min(first + asked, end))]
            self._window.fill_host(host, rows, asked, None)

    def _claim(self, now: float) -> None:
        self._allowance = min(self._allowance + (now - self._worked_at) * self._rate, max(self._rate * 0.1, 1.0))
        self._worked_at = now
        while self._allowance >= 1 and len(self._answers) < self._concurrency:
            taken = self._window.take(now)
            if taken is None:
                return
            slot, task = taken
            self._allowance -= 1
            self._watch(slot, now)
            latency, outcome = self._web.answer(slot.host_id)
            self._ticket += 1
            heappush(self._answers, (now + latency, self._ticket, slot, task.key, outcome))

    def _watch(self, slot: Slot, now: float) -> None:
        """Record the interval to the previous request, and how long the host was overdue."""
        count, requested_at = self._table.count, self._table.requested_at
        since = now - requested_at[slot.host_id]
        count.violations += since < PACE_SECONDS - 1e-6
        self._table.hosts_never_requested -= since == inf
        requested_at[slot.host_id] = now
        count.longest_overdue = max(count.longest_overdue, now - slot.record.next_at)

    def _next_event(self, now: float) -> float:
        claim_at = self._window.next_claim_at()
        times = [now + ASK_SECONDS]
        if self._answers:
            times.append(self._answers[0][0])
        if claim_at is not None and len(self._answers) < self._concurrency:
            times.append(max(claim_at, now + (1 - self._allowance) / self._rate))
        return min(times)


class Frontier:
    """All workers on one table, moved from event to event."""

    def __init__(self, hosts: int, workers: int, rate: float, concurrency: int, seed: int = 7) -> None:
        self.web = Web(hosts, seed)
        self.table = Table(hosts, self.web)
        self.now = 0.0
        pool = [Worker(self.table, self.web, workers, rate, concurrency) for _ in range(workers)]
        # Workers start at different times.
        self._events = [(GROUP_SECONDS * number / workers, number, worker) for number, worker in enumerate(pool)]

    def run(self, seconds: float) -> Count:
        """Run for this long; returns the counters of that time."""
        count = self.table.count = Count()
        end = self.now + seconds
        while self._events[0][0] <= end:
            at, number, worker = heappop(self._events)
            heappush(self._events, (worker.step(at), number, worker))
        self.now = end
        count.longest_overdue = max(count.longest_overdue, self.table.overdue(end))
        return count
