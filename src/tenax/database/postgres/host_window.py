"""The window of this worker: leases hosts, reads their tasks, and releases hosts for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from tenax.clock import Clock
from tenax.database import rows
from tenax.database.postgres.connection import Connection, Row
from tenax.database.postgres.schema import queries
from tenax.database.postgres.transactions import Writer
from tenax.database.postgres.worker import MIN_LEASE_SECONDS, LeasedSchedule, ReleasedHost, Worker
from tenax.database.schedule import Entry

SCAN_INTERVAL_SECONDS = 0.1
"""Minimum time between two searches for free hosts, if there are some."""
POLL_INTERVAL_SECONDS = 1.0
"""Time between two searches if no free host is known, because other workers may have released one."""
NEVER = float("inf")


class WorkerLoad(NamedTuple):
    """The hosts of all workers."""

    workers: int
    leased: int
    min_leased: int
    """The smallest number of hosts that a worker leases."""
    leased_by_others: int
    free_hosts: int
    """Ready hosts that no worker leases. They are not counted beyond what is useful."""
    next_free_at: float | None


class Window:
    """Keeps the slots filled. Methods that take the connection need exclusive use of it."""

    def __init__(
        self, worker: Worker, schedule: LeasedSchedule, writer: Writer, clock: Clock, window_hosts: int
    ) -> None:
        self._worker = worker
        self._schedule = schedule
        self._writer = writer
        self._clock = clock
        self._window_hosts = window_hosts
        self._sql = queries()
        self._next_free_at = 0.0
        """When a host that no worker leases is ready, as far as is known."""
        self._poll_at = 0.0
        self._reported_hosts: int | None = None
        self._have_others_hosts = False

    # -- state ----------------------------------------------------------------------------------------------

    def is_due(self, now: float) -> bool:
        """Whether a refill is useful now."""
        return self._schedule.should_refill or self.next_scan_at <= now

    @property
    def next_scan_at(self) -> float:
        return min(self._next_free_at, self._poll_at)

    def next_claim_at(self) -> float | None:
        """When a claim may succeed, as far as is known: soon while other workers lease hosts, now while a refill is
        due."""
        if self._schedule.should_refill:
            return 0.0
        inside = self._schedule.next_claim_at()
        ready_at = min(
            self._next_free_at, NEVER if inside is None else inside, self._poll_at if self._have_others_hosts else NEVER
        )
        return None if ready_at == NEVER else ready_at

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        """Add a task of this host that waits from now on."""
        if host_id in self._schedule:
            self._schedule.add_task(host_id, entry, now)
        else:
            self.schedule_scan(max(entry.due / 1000, now))

    def schedule_scan(self, at: float) -> None:
        """Look for free hosts at this time, because there may be some with work."""
        self._next_free_at = min(self._next_free_at, at)

    def reset(self) -> None:
        """Forget all hosts, after the worker was registered again."""
        self._schedule.clear()
        self._reported_hosts = None
        self._next_free_at = self._poll_at = 0.0

    # -- refilling ------------------------------------------------------------------------------------------

    async def refill(self, db: Connection) -> None:
        """Release and lease hosts if it is time, and read the tasks that leased hosts need."""
        now = self._clock.now()
        if self.next_scan_at <= now:
            await self._exchange_hosts(db, now)
        if self._schedule.should_refill:
            await self._fill_hosts(db, now)

    async def _exchange_hosts(self, db: Connection, now: float) -> None:
        self._next_free_at, self._poll_at = NEVER, now + POLL_INTERVAL_SECONDS
        if self._reported_hosts is None:
            await self._report_hosts(db)
        load = WorkerLoad(
            *await db.fetchrow(self._sql["worker_load"], self._worker.id, now, self._window_hosts * 4) or ()
        )
        self._have_others_hosts = load.leased_by_others > 0
        if load.next_free_at is not None:
            self.schedule_scan(max(load.next_free_at, now + SCAN_INTERVAL_SECONDS))
        share = min(self._window_hosts, ceil((load.leased + load.free_hosts) / max(load.workers, 1)))
        self._release_surplus(load, share, now)
        await self.release_hosts(db, self._schedule.idle_hosts(now))
        capacity = min(share - len(self._schedule), self._schedule.free_capacity)
        if capacity > 0 and load.free_hosts:
            await self._lease_hosts(db, capacity, now)
        if load.free_hosts > max(capacity, 0):
            self.schedule_scan(now + SCAN_INTERVAL_SECONDS)
        if len(self._schedule) != self._reported_hosts:
            await self._report_hosts(db)

    def _release_surplus(self, load: WorkerLoad, share: int, now: float) -> None:
        """Release hosts beyond our share to workers that have fewer. In a full window, release the hosts that were
        leased longest."""
        surplus = len(self._schedule) - share
        if surplus > 0 and not load.free_hosts and load.min_leased < share:
            self._schedule.start_release(surplus, now)
        elif load.free_hosts and self._schedule.free_capacity <= 0:
            self._schedule.start_release(load.free_hosts, now - MIN_LEASE_SECONDS)

    async def _report_hosts(self, db: Connection) -> None:
        await db.execute(self._sql["worker_report_hosts"], self._worker.id, len(self._schedule))
        self._reported_hosts = len(self._schedule)

    async def _lease_hosts(self, db: Connection, capacity: int, now: float) -> None:
        for host_id, origin, state, copy in await db.fetch(self._sql["hosts_lease"], self._worker.id, now, capacity):
            record = rows.decode_host_record(origin, state, copy)
            self._writer.mark_robots_stored(host_id, record.robots)
            self._schedule.add_leased_host(host_id, record, now)

    async def release_hosts(self, db: Connection, released_hosts: Sequence[ReleasedHost]) -> None:
        """Release hosts. Tasks that are added to them at the same time are not missed."""
        if not released_hosts:
            return
        # Removed first, even if the connection then fails: `reconcile` finds the rows that remain.
        for one in released_hosts:
            if one.host_id in self._schedule:
                self._schedule.remove(one.host_id)
        await db.execute("BEGIN")
        locked = await db.fetch(self._sql["hosts_lock"], [one.host_id for one in released_hosts], self._worker.id)
        ours = {row["id"] for row in locked}
        if freeing := sorted(one for one in released_hosts if one.host_id in ours):
            for row in await db.fetch(self._sql["hosts_release"], *zip(*freeing, strict=True)):
                if row["has_work"]:
                    self.schedule_scan(max(row["ready_at"], self._clock.now() + SCAN_INTERVAL_SECONDS))
        await db.execute("COMMIT")

    async def reconcile(self, db: Connection) -> None:
        """After a lost connection, release hosts that are recorded as ours but are not in the schedule."""
        await self._worker.wait_for_last_write(db)
        now = self._clock.now()
        strays = [
            self._worker.release_after_pace(row["id"], row["origin"], row["state"], now)
            for row in await db.fetch(self._sql["hosts_leased_by"], self._worker.id)
            if row["id"] not in self._schedule
        ]
        await self.release_hosts(db, strays)

    async def _fill_hosts(self, db: Connection, now: float) -> None:
        refills = self._schedule.refill_requests()
        now_ms = int(now * 1000)
        found: dict[int, dict[int, Entry]] = defaultdict(dict)
        for row in await db.fetch(self._sql["queue_due"], *zip(*refills, strict=True), now_ms):
            if row["key"] not in found[row[0]]:
                found[row[0]][row["key"]] = _entry_from_row(row)
        short = [host_id for host_id, most in refills if len(found[host_id]) < most]
        later = (
            {row[0]: row[1] / 1000 for row in await db.fetch(self._sql["queue_next_due_after"], short, now_ms)}
            if short
            else {}
        )
        for host_id, most in refills:
            self._schedule.fill_host(host_id, list(found[host_id].values()), most, later.get(host_id))


def _entry_from_row(row: Row) -> Entry:
    values = tuple(row)
    stored_copy = rows.stored_copy_from_row(values[14:]) if values[14] is not None else None
    return Entry._make((*values[1:14], stored_copy))
