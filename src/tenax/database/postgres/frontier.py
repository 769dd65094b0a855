"""The claims of one worker: what it holds in memory, kept filled from the server and shared with the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tenax import logs
from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import rows
from tenax.database.postgres.connection import Connection, ConnectionLost, PostgresConnection, TransactionConflict
from tenax.database.postgres.slots import LeasedSchedule
from tenax.database.postgres.window import Window
from tenax.database.postgres.worker import Worker, WorkerEnded
from tenax.database.schedule import Entry, Slot
from tenax.errors import DatabaseUnusable, LeaseLost
from tenax.model import Claim, Lease
from tenax.runtime.cancellation import cancel_and_wait

log = logs.logger(__name__)

REFILL_WAIT_SECONDS = 1.0
"""How long a claim waits for the server to be asked."""
MIN_WAIT_SECONDS = 0.001
NOTIFY_INTERVAL_SECONDS = 0.1
"""Others are told of new work at most this often; they look by themselves every second."""


class ActiveClaim(NamedTuple):
    """A claim as we keep it."""

    claim: Claim
    slot: Slot
    entry: Entry


class Frontier:
    """Gives claims from memory, and sees to it that there is something in memory to give."""

    def __init__(
        self,
        worker: Worker,
        window: Window,
        schedule: LeasedSchedule,
        write_connection: PostgresConnection,
        query_connection: PostgresConnection,
        config: DatabaseConfig,
        clock: Clock,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`write_connection` is the connection for everything that must follow one after the other."""
        self._worker = worker
        self._window = window
        self._schedule = schedule
        self._write_connection = write_connection
        self._query_connection = query_connection
        self._config = config
        self._clock = clock
        self._on_failure = on_failure
        self._channel = f"tenax_{config.schema}"
        self._claims: dict[int, ActiveClaim] = {}
        self._lease_number = 0
        self._has_claimed = False
        self._refill_task: asyncio.Task[None] | None = None
        self._notify_task: asyncio.Task[None] | None = None
        self._notified_at = 0.0
        self._join_lock = asyncio.Lock()
        self._changed = asyncio.Event()

    # -- claims ---------------------------------------------------------------------------------------------

    async def claim(self) -> Claim | None:
        self._has_claimed = True
        self._expire_claims(self._clock.now())
        for _ in range(3):
            if self._write_connection.is_unavailable:
                return None
            now = self._clock.now()
            # Past the time that others grant us, what we hold may be theirs: a sign of life comes first.
            is_alive = self._worker.alive_until > now
            taken = self._schedule.take(now) if is_alive else None
            is_due = not is_alive or self._window.is_due(now)
            if taken is not None:
                if is_due:
                    self.start_refill()
                return self._make_claim(*taken, now)
            if not is_due:
                return None
            await asyncio.wait({self.start_refill()}, timeout=REFILL_WAIT_SECONDS)
        return None

    def _make_claim(self, slot: Slot, entry: Entry, now: float) -> Claim:
        self._lease_number += 1
        lease = Lease(
            epoch=self._worker.id,
            number=self._lease_number,
            expires_at=now + self._config.lease_seconds,
            host_until=self._worker.alive_until,
        )
        task = rows.task_from_entry(entry, slot.record.origin)
        claim = Claim(task=task, host=slot.record, lease=lease, stored_copy=entry.stored_copy, waiting=slot.waiting)
        self._claims[lease.number] = ActiveClaim(claim, slot, entry)
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        inside = self._schedule.next_claim_at()
        turn = self._window.next_scan_at if inside is None else min(inside, self._window.next_scan_at)
        if not self._write_connection.is_unavailable:
            timeout_seconds = min(timeout_seconds, max(turn - self._clock.now(), MIN_WAIT_SECONDS))
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._changed.wait()

    def end_claim(self, claim: Claim) -> ActiveClaim:
        """The claim ends here, by a commit. Raises `LeaseLost`."""
        held = self._claims.get(claim.lease.number)
        if held is None or claim.lease.epoch != self._worker.id:
            raise LeaseLost(f"the claim on {claim.task.url} is void; its visit was not written")
        return self._claims.pop(claim.lease.number)

    def release(self, claim: Claim) -> None:
        with suppress(LeaseLost):
            held = self.end_claim(claim)
            self._schedule.put_back(held.slot, held.entry, self._clock.now())
            self._changed.set()

    def next_claim_at(self) -> float | None:
        return self._window.next_claim_at()

    def add_tasks(self, arrivals: list[tuple[int, Entry]]) -> None:
        """Tasks wait now, by host."""
        now = self._clock.now()
        for host_id, entry in arrivals:
            self._window.add_task(host_id, entry, now)
        self._changed.set()

    def reload(self) -> None:
        """Tasks wait now at many hosts."""
        self._schedule.reload()
        self._window.schedule_scan(self._clock.now())
        self._changed.set()

    def wake_waiters(self) -> None:
        """Whoever waits for work is to look again."""
        self._changed.set()

    def _expire_claims(self, now: float) -> None:
        # Every lease is as long as the others, so the first that was given is the first to end.
        while self._claims and (first := next(iter(self._claims.values()))).claim.lease.expires_at <= now:
            del self._claims[first.claim.lease.number]
            self._schedule.put_back(first.slot, first.entry, first.claim.lease.expires_at)

    # -- tending --------------------------------------------------------------------------------------------

    def start_refill(self) -> asyncio.Task[None]:
        if self._refill_task is None or self._refill_task.done():
            self._refill_task = asyncio.get_running_loop().create_task(self._refill())
        return self._refill_task

    def refill_if_due(self) -> None:
        """Also a worker that claims nothing just now must let go of hosts for others."""
        if self._has_claimed and self._window.is_due(self._clock.now()):
            self.start_refill()

    async def _refill(self) -> None:
        try:
            try:
                if self._worker.alive_until <= self._clock.now():
                    await self._write_connection.run_idempotent(self._worker.send_heartbeat)
                async with self._write_connection.use() as db:
                    await self._window.refill(db)
            except WorkerEnded as error:
                await self.rejoin(error.worker_id)
        except (ConnectionLost, TransactionConflict):
            pass  # the next turn brings another try
        except Exception as error:
            self._on_failure(error)
        self._changed.set()

    async def rejoin(self, ended_worker_id: int) -> None:
        """Others found the worker of this number dead, and what it held is theirs: join anew, holding nothing."""
        async with self._join_lock:
            if self._worker.id != ended_worker_id:
                return
            log.warning("this worker was taken for dead, joining anew", worker=ended_worker_id)
            self._worker.alive_until = 0.0
            self._claims.clear()
            self._window.reset()
            await self._write_connection.run_idempotent(self._worker.register)
        self._changed.set()

    # -- other workers --------------------------------------------------------------------------------------

    async def listen(self, db: Connection) -> None:
        await db.add_listener(self._channel, self._on_notification)

    def _on_notification(self, connection: object, pid: int, channel: str, payload: str) -> None:
        if payload != str(self._worker.id) and self._has_claimed:
            self._window.schedule_scan(self._clock.now())
            self._changed.set()

    def notify_workers(self) -> None:
        """There is work at hosts that nobody holds."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._notified_at >= NOTIFY_INTERVAL_SECONDS:
            self._notified_at = loop.time()
            self._notify_task = loop.create_task(self._notify())

    async def _notify(self) -> None:
        # In no transaction: a NOTIFY in one makes every other wait until it is committed.
        with suppress(ConnectionLost, TransactionConflict, DatabaseUnusable):  # they look by themselves before long
            async with self._query_connection.use() as db:
                await db.fetchval("SELECT pg_notify($1, $2)", self._channel, str(self._worker.id))

    async def close(self) -> None:
        for task in (self._refill_task, self._notify_task):
            if task is not None:
                await asyncio.wait({task}, timeout=REFILL_WAIT_SECONDS)
                await cancel_and_wait(task)
