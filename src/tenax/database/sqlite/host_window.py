"""The window of hosts in memory: the schedule, filled from the file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from tenax.clock import Clock
from tenax.database import rows
from tenax.database.schedule import MAX_IDLE_SECONDS, RANKS, Entry, Schedule, window_cost
from tenax.database.sqlite.schema import queries, transaction
from tenax.model import HostRecord

SCAN_INTERVAL_SECONDS = 0.1
"""How often a full window looks for hosts outside of it."""
NEVER = float("inf")


class WindowRead(NamedTuple):
    """The hosts and tasks read for the window."""

    hosts: list[tuple[int, HostRecord]]
    next_scan_at: float
    """When to look for more hosts."""
    tasks: list[tuple[int, list[Entry], int, float | None]]


class Window:
    """Hosts outside of the window wait in the file; `start_fill` loads those that are ready."""

    def __init__(
        self, schedule: Schedule, thread: Executor, clock: Clock, on_change: Callable[[BaseException | None], None]
    ) -> None:
        """`on_change` is called if there may be more to claim, or with an error."""
        self._schedule = schedule
        self._thread = thread
        self._clock = clock
        self._on_change = on_change
        self._sql = queries()
        self.next_scan_at = 0.0
        """When to look for hosts outside of the window; `NEVER` if none is waiting."""
        self._full_until = 0.0
        self.is_filling = False
        self.requested_hosts: frozenset[int] = frozenset()
        """Hosts whose tasks are being read."""

    def connect(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        """Add a task of this host that waits from now on."""
        if host_id in self._schedule:
            self._schedule.add_task(host_id, entry, now)
        else:
            self.next_scan_at = min(self.next_scan_at, entry.due / 1000)

    def reload(self, now: float) -> None:
        """Read everything again, after many hosts got tasks."""
        self._schedule.reload()
        self.next_scan_at = min(self.next_scan_at, now)

    def start_fill(self, now: float) -> None:
        """Start to read what the window needs, unless a read is running."""
        wants_hosts = self.next_scan_at <= now
        if self.is_filling or not (wants_hosts or self._schedule.should_refill):
            return
        capacity = self._available_capacity(now) if wants_hosts else 0
        refills = self._schedule.refill_requests()
        if not refills and capacity <= 0:
            return
        self.is_filling = True
        self.requested_hosts = frozenset(host_id for host_id, _ in refills)
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._read_window, refills, capacity, now)
        future.add_done_callback(self._on_filled)

    def _available_capacity(self, now: float) -> int:
        """How many hosts may be added. Hosts are evicted from a full window at most once per scan interval."""
        if self._schedule.free_capacity <= 0 and self._full_until <= now:
            self._schedule.evict_hosts(now)
            self._full_until = now + SCAN_INTERVAL_SECONDS
        self.next_scan_at = NEVER if self._schedule.free_capacity > 0 else self._full_until
        return self._schedule.free_capacity

    def _read_window(self, refills: list[tuple[int, int]], capacity: int, now: float) -> WindowRead:
        """Read ready hosts outside of the window, and the tasks requested for hosts inside."""
        postponed: list[tuple[float, int]] = []
        hosts, next_scan_at = self._read_hosts(capacity, now, postponed) if capacity > 0 else ([], NEVER)
        tasks = [self._read_tasks(host, limit, now, postponed) for host, limit in refills]
        if postponed:
            with transaction(self._db):
                self._db.executemany(self._sql["host_postpone"], postponed)
        return WindowRead(hosts, next_scan_at, tasks)

    def _read_hosts(
        self, capacity: int, now: float, postponed: list[tuple[float, int]]
    ) -> tuple[list[tuple[int, HostRecord]], float]:
        """The hosts to add, and when to look again. Hosts with new work that back off are postponed."""
        hosts: list[tuple[int, HostRecord]] = []
        next_scan_at = NEVER
        # All hosts inside may sort before the first one outside.
        limit = len(self._schedule) + capacity + 1
        waiting = self._db.execute(self._sql["hosts_with_work"], (limit,)).fetchall()
        for host_id, ready_at in waiting:
            if host_id in self._schedule:
                continue
            if ready_at > now or capacity <= 0:
                return hosts, min(next_scan_at, max(ready_at, now + SCAN_INTERVAL_SECONDS))
            record = rows.decode_host_record(*self._db.execute(self._sql["host_by_id"], (host_id,)).fetchone())
            if record.next_at > now + MAX_IDLE_SECONDS:
                postponed.append((record.next_at, host_id))
                next_scan_at = min(next_scan_at, record.next_at)
            else:
                hosts.append((host_id, record))
                capacity -= window_cost(record)
        return hosts, next_scan_at if len(waiting) < limit else now + SCAN_INTERVAL_SECONDS

    def _read_tasks(
        self, host_id: int, limit: int, now: float, postponed: list[tuple[float, int]]
    ) -> tuple[int, list[Entry], int, float | None]:
        """The due tasks of a host, the best ones first, and the time of the next one."""
        sql, now_ms = self._sql, int(now * 1000)
        due: list[Entry] = []
        for rank in range(RANKS):
            # At least one task of each level, so that the host knows which task has waited longest.
            asked = (host_id, rank, now_ms, max(limit - len(due), 1))
            due.extend(map(Entry._make, self._db.execute(sql["queue_due"], asked).fetchall()))
        due = [entry if entry.record_id is None else self._attach_stored_copy(entry, entry.record_id) for entry in due]
        next_due = None
        if len(due) < limit:
            later = [
                row[0]
                for rank in range(RANKS)
                if (row := self._db.execute(sql["queue_next_due_after"], (host_id, rank, now_ms)).fetchone())
            ]
            next_due = min(later) / 1000 if later else None
        if not due and next_due is not None:
            postponed.append((next_due, host_id))
        return host_id, due, limit, next_due

    def _attach_stored_copy(self, entry: Entry, record_id: int) -> Entry:
        return entry._replace(
            stored_copy=rows.stored_copy_from_row(
                self._db.execute(self._sql["stored_copy"], {"id": record_id}).fetchone()
            )
        )

    def _on_filled(self, future: asyncio.Future[WindowRead]) -> None:
        self.is_filling = False
        self.requested_hosts = frozenset()
        if future.cancelled():
            return
        if (error := future.exception()) is not None:
            self._on_change(error)
            return
        found = future.result()
        for host_id, entries, asked, next_due in found.tasks:
            self._schedule.fill_host(host_id, entries, asked, next_due)
        for host_id, record in found.hosts:
            if host_id not in self._schedule:
                self._schedule.add_host(host_id, record)
        self.next_scan_at = min(self.next_scan_at, found.next_scan_at)
        now = self._clock.now()
        self.start_fill(now)
        self._on_change(None)
