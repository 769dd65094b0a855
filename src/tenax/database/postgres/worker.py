"""This worker: its row in the table of workers, transactions that are written exactly once, and the hosts that it
leases.

Every write first updates the worker's own row. If the row is marked as ended, because heartbeats stopped, the write is
refused: other workers have the hosts by now. The row also stores the number of the last write. So if the connection is
lost during a COMMIT, the next connection can tell whether the COMMIT was executed.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import PaceRules, rows
from tenax.database.corrections import CLOCK_TOLERANCE_SECONDS
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.schema import queries, write_rows
from tenax.database.schedule import Entry, Schedule, Slot, window_cost
from tenax.model import HostRecord

KEEP_HOST_SECONDS = 5.0
"""A host whose next request is within this time is kept. Other hosts are released."""
MIN_LEASE_SECONDS = 10.0
"""Minimum lease of a host if others wait for a place in a full window."""


class ReleasedHost(NamedTuple):
    """A host to release."""

    host_id: int
    ready_at: float
    """The earliest next request, by the rate limit of the host."""
    state: bytes | None = None
    """The record of the host, if the stored record would allow an earlier request."""


class LeasedSchedule(Schedule):
    """A `Schedule` of hosts with a temporary lease."""

    def __init__(self, pace_rules: PaceRules, window_hosts: int, tasks_per_host: int) -> None:
        super().__init__(pace_rules, window_hosts, tasks_per_host)
        self._leased_since: dict[int, float] = {}
        self._releasing: set[int] = set()
        """Hosts to release as soon as their last visit has ended. None of their tasks is claimed."""

    def add_leased_host(self, host_id: int, record: HostRecord, now: float) -> None:
        """Add a host that this worker has leased."""
        self.add_host(host_id, record)
        self._leased_since[host_id] = now

    def add_task(self, host_id: int, entry: Entry, now: float) -> None:
        if host_id not in self._releasing:
            super().add_task(host_id, entry, now)

    def complete_visit(self, slot: Slot, key: int, record: HostRecord) -> None:
        if self._slots.get(slot.host_id) is slot:  # not if the lease was lost meanwhile
            super().complete_visit(slot, key, record)

    def put_back(self, slot: Slot, entry: Entry, at: float) -> None:
        if self._slots.get(slot.host_id) is slot:
            super().put_back(slot, entry, at)
            if slot.host_id in self._releasing:
                self._clear_tasks(slot)

    def reload(self) -> None:
        super().reload()
        for host_id in self._releasing:
            self._clear_tasks(self._slots[host_id])

    def idle_hosts(self, now: float) -> list[ReleasedHost]:
        """Hosts that have no visit in the near future."""
        return [
            make_released_host(slot.host_id, slot.record, slot.next_at)
            for slot in self._slots.values()
            if not slot.in_flight
            and slot.host_id not in self._refill_slots
            and _next_visit_at(slot) > now + KEEP_HOST_SECONDS
        ]

    def start_release(self, count: int, leased_before: float) -> None:
        """Begin to release this many hosts that were leased before that time, the oldest lease first. Their tasks are
        no longer claimed."""
        found = [slot for slot in self._slots.values() if self._leased_since[slot.host_id] <= leased_before]
        found.sort(key=lambda slot: (self._leased_since[slot.host_id], slot.host_id))
        for slot in found[: max(count - len(self._releasing), 0)]:
            self._releasing.add(slot.host_id)
            self._clear_tasks(slot)

    def _clear_tasks(self, slot: Slot) -> None:
        self._refill_slots.pop(slot.host_id, None)
        slot.loaded_keys.difference_update(entry.key for entry in slot.entries)
        slot.entries, slot.has_more, slot.next_due_at, slot.ready_at = [], False, None, None

    def remove(self, host_id: int) -> None:
        slot = self._slots.pop(host_id)
        self._used_capacity -= window_cost(slot.record)
        slot.ready_at = None
        self._refill_slots.pop(host_id, None)
        self._releasing.discard(host_id)
        del self._leased_since[host_id]

    def clear(self) -> None:
        """Remove all hosts, because their leases are lost."""
        for host_id in list(self._slots):
            self.remove(host_id)

    def all_hosts(self, now: float) -> list[ReleasedHost]:
        """Every host, at the end of the worker.

        If visits are in flight, a request may have been sent without being recorded, so such a host waits for a whole
        pace.
        """
        return [
            make_released_host(
                slot.host_id,
                slot.record,
                max(slot.next_at, now + self._pace_rules.pace_seconds(slot.record)) if slot.in_flight else slot.next_at,
            )
            for slot in self._slots.values()
        ]


def make_released_host(host_id: int, record: HostRecord, ready_at: float) -> ReleasedHost:
    if ready_at <= record.next_at:
        return ReleasedHost(host_id, record.next_at)
    return ReleasedHost(host_id, ready_at, rows.encode_host_state(msgspec.structs.replace(record, next_at=ready_at)))


def _next_visit_at(slot: Slot) -> float:
    """When the next visit is possible; infinity if unknown."""
    if slot.entries or slot.has_more:
        return slot.next_at
    return max(slot.next_at, slot.next_due_at) if slot.next_due_at is not None else float("inf")


T = TypeVar("T")

log = logs.logger(__name__)

ENDED_WORKER_TTL_SECONDS = 86_400.0
"""How long the row of an ended worker is kept. The worker may still check whether its last write was executed."""


class WorkerEnded(Exception):
    """The lease of this worker has expired. Nothing was written, and its hosts are released."""

    def __init__(self, worker_id: int) -> None:
        super().__init__(worker_id)
        self.worker_id = worker_id


class Worker:
    """This process's row in the table of workers."""

    def __init__(
        self, connection: PostgresConnection, config: DatabaseConfig, clock: Clock, pace_rules: PaceRules
    ) -> None:
        self._connection = connection
        self._config = config
        self._clock = clock
        self._pace_rules = pace_rules
        self._sql = queries()
        self._write_lock = asyncio.Lock()
        self._write_count = 0
        self.id = 0
        self.alive_until = 0.0
        """The end of the lease, as other workers know it."""

    async def register(self, db: Connection) -> None:
        """Insert the row. Also called after the lease has expired."""
        name = f"{socket.gethostname()}:{os.getpid()}"
        alive_until = self._next_alive_until()
        self.id = await db.fetchval(
            self._sql["worker_insert"], name, self._clock.now(), alive_until, self._config.dead_after_seconds
        )
        self.alive_until = alive_until

    async def send_heartbeat(self, db: Connection) -> None:
        """Extend the lease. Raises `WorkerEnded`."""
        me, alive_until = self.id, self._next_alive_until()
        if await db.fetchval(self._sql["worker_heartbeat"], me, alive_until) is None:
            raise WorkerEnded(me)
        self.alive_until = alive_until

    def _next_alive_until(self) -> float:
        return self._clock.now() + self._config.dead_after_seconds

    # -- writing --------------------------------------------------------------------------------------------

    async def write(
        self, work: Callable[[Connection], Awaitable[tuple[T, str]]], on_commit: Callable[[T], None] | None = None
    ) -> T:
        """Run a transaction exactly once, however often the connection is lost. Raises `WorkerEnded`.

        `work` returns its result, and the statements to send with the COMMIT. It may run again after a failure.
        `on_commit` is called with the result after the commit, before any other use of the connection.
        """
        async with self._write_lock:
            self._write_count += 1
            sent: list[tuple[int, T]] = []
            """The worker id and the result of a COMMIT without a reply yet."""
            while True:
                try:
                    async with self._connection.use() as db:
                        if not sent or not await self._is_written(db, sent[0][0]):
                            sent.clear()
                            await self._begin_transaction(db)
                            result, last = await work(db)
                            sent.append((self.id, result))
                            await db.execute(f"{last} COMMIT")
                        _, result = sent[0]
                        if on_commit is not None:
                            on_commit(result)
                        return result
                except ConnectionLost:
                    continue
                except TransactionConflict as error:
                    log.info("write conflict, retrying", why=str(error))
                    await asyncio.sleep(random.uniform(0.0, 0.05))

    async def run_between_writes(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run a query that must not see a write of ours whose COMMIT is not confirmed yet."""
        async with self._write_lock:
            return await self._connection.run_idempotent(work)

    async def _begin_transaction(self, db: Connection) -> None:
        touched = await db.execute(
            f"BEGIN; UPDATE worker SET last_write = {self._write_count} WHERE id = {self.id} AND ended_at IS NULL"
        )
        if touched != "UPDATE 1":
            raise WorkerEnded(self.id)

    async def _is_written(self, db: Connection, worker_id: int) -> bool:
        return bool(await db.fetchval(self._sql["worker_last_write"], worker_id) == self._write_count)

    async def wait_for_last_write(self, db: Connection) -> None:
        """Wait until the server has finished the statements of lost connections."""
        await db.fetchval(self._sql["worker_last_write"], self.id)

    # -- dead workers ---------------------------------------------------------------------------------------

    async def recover(self, db: Connection) -> int:
        """Find workers whose lease has expired, and release their hosts. Returns the number of workers. Call in a
        transaction.

        A request may have been sent without being recorded, so their hosts wait for a whole pace.
        """
        await self.send_heartbeat(db)  # so that this worker is not among the dead
        now = self._clock.now()
        dead = await db.fetch(self._sql["workers_dead"], now, CLOCK_TOLERANCE_SECONDS)
        if dead:
            freed = await self._end_workers(db, [row["id"] for row in dead], now)
            names = ", ".join(row["name"] for row in dead)
            log.warning("dead workers found", workers=names, hosts=freed)
        await db.execute(self._sql["workers_delete"], now - ENDED_WORKER_TTL_SECONDS)
        return len(dead)

    def release_after_pace(self, host_id: int, origin: str, state: bytes | None, now: float) -> ReleasedHost:
        record = rows.decode_host_record(origin, state, None)
        return make_released_host(host_id, record, now + self._pace_rules.pace_seconds(record))

    async def unregister(self, db: Connection) -> None:
        """End this worker. Call in a transaction."""
        await self._end_workers(db, [self.id], self._clock.now())

    async def _end_workers(self, db: Connection, ids: list[int], now: float) -> int:
        """End workers and release their hosts. Returns the number of hosts."""
        freed = [
            self.release_after_pace(row["id"], row["origin"], row["state"], now)
            for row in await db.fetch(self._sql["hosts_lock_leased"], ids)
        ]
        await write_rows(db, "hosts_recover", freed)
        await db.execute(self._sql["workers_end"], ids, now)
        await db.execute(self._sql["tally_merge"], ids)
        return len(freed)


def wrap_plain_write(work: Callable[[Connection], Awaitable[T]]) -> Callable[[Connection], Awaitable[tuple[T, str]]]:
    """Work without statements to send with the COMMIT."""

    async def with_nothing(db: Connection) -> tuple[T, str]:
        return await work(db), ""

    return with_nothing
