"""The PostgreSQL database: any number of workers on one database, each visiting hosts that it leases for a time.

Workers lease hosts, not URLs. Claims are in memory. A task's row leaves the queue in the transaction that commits its
visit, so the claims of a worker end with the worker. The first worker that finds its heartbeats missing releases its
hosts. While the server is unavailable nothing is claimed, and commits wait until their leases expire.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from tenax.clock import Clock
from tenax.config import DatabaseConfig
from tenax.database import Admission, PaceRules, SharedServer, rows
from tenax.database.admission import DEFAULT_RULES, Batch, WriteRules
from tenax.database.claims import PendingCommit
from tenax.database.postgres import requeue, schema
from tenax.database.postgres.connection import (
    FIXED_PLAN_SETTINGS,
    RETRY_SECONDS,
    Address,
    Breaker,
    Connection,
    PostgresConnection,
)
from tenax.database.postgres.frontier import Connections, Frontier
from tenax.database.postgres.heartbeat import HEARTBEAT_LOOP_SECONDS, Heartbeat, Leader
from tenax.database.postgres.host_window import Window
from tenax.database.postgres.read import PostgresLinks, Reader, read_tally
from tenax.database.postgres.requeue import PostgresCutOffs, RunStep
from tenax.database.postgres.schema import correct_clock_rollback, find_problems, queries
from tenax.database.postgres.transactions import CommitCallbacks, GroupCommit, Writer, WriteResult
from tenax.database.postgres.visited import VisitedFilter, VisitedSet, read_member_encoder
from tenax.database.postgres.worker import LeasedSchedule, Worker, WorkerEnded, wrap_plain_write
from tenax.database.reports import Counts, DeadLetterRecord, DueTasks, PageFilter, Status, UrlHistory
from tenax.errors import DatabaseUnusable
from tenax.model import Candidate, CanonicalCopy, Claim, Cursor, Event, HostRecord, Page, Peers, Visit

T = TypeVar("T")

CLOSE_SECONDS = 10.0


class PostgresDatabase:
    """Implements `tenax.database.Database` and its `SharedServer`."""

    def __init__(
        self,
        url: str,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        write_rules: WriteRules,
        *,
        visited_set: VisitedSet | None,
        read_only: bool,
    ) -> None:
        address = Address(url, config.schema)
        self._config = config
        self._clock = clock
        self._pace_rules = pace_rules
        self._read_only = read_only
        self._visited_set = visited_set
        self._write_rules = write_rules
        self._visited_filter: VisitedFilter | None = None
        if read_only:
            self._query_connection = PostgresConnection(
                address, {"default_transaction_read_only": "on"}, should_wait=False
            )
            self._write_connection = self._query_connection
        else:
            # One connection for statements that must run in order, and one for queries. If workers count as dead
            # sooner, retries follow sooner, because a heartbeat must be possible after a short outage.
            breaker = Breaker(min(RETRY_SECONDS, config.dead_after_seconds / 4))
            self._query_connection = PostgresConnection(address, {}, should_wait=True, breaker=breaker)
            self._write_connection = PostgresConnection(address, FIXED_PLAN_SETTINGS, should_wait=True, breaker=breaker)
        self._leader = Leader(address, self._query_connection)
        self._tally: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None
        self._is_closed = False
        self._dead_worker_count = 0

    @classmethod
    async def open(
        cls,
        url: str,
        config: DatabaseConfig,
        clock: Clock,
        pace_rules: PaceRules,
        *,
        write_rules: WriteRules = DEFAULT_RULES,
        read_only: bool = False,
        visited_set: VisitedSet | None = None,
    ) -> PostgresDatabase:
        """Open the database, or create it in an empty schema. Tasks that dead workers claimed wait again.

        `visited_set` may save look-ups of URLs that other workers have admitted. It is closed with the database.
        """
        database = cls(url, config, clock, pace_rules, write_rules, visited_set=visited_set, read_only=read_only)
        try:
            await database._connect()
        except BaseException:
            await database._write_connection.close()
            await database._query_connection.close()
            if visited_set is not None:
                await visited_set.close()
            raise
        return database

    async def _connect(self) -> None:
        connection = self._query_connection
        await connection.open()
        if self._read_only:
            schema.check_version(await connection.run_idempotent(schema.read_version), connection.address)
        else:
            await connection.run_idempotent(lambda db: schema.ensure_tables(db, connection.address))
        if self._visited_set is not None:
            encoder = await connection.run_idempotent(read_member_encoder)
            self._visited_filter = VisitedFilter(self._visited_set, encoder)
        self._build_components(await connection.run_idempotent(schema.key_secret))
        if not self._read_only:
            await self._join()
        self._tally = Counter(await self._write_connection.run_idempotent(read_tally))

    def _build_components(self, secret: bytes) -> None:
        config, clock = self._config, self._clock
        self._schedule = LeasedSchedule(self._pace_rules, config.window_hosts, config.tasks_per_host)
        self._reader = Reader(self._query_connection, secret)
        self._url_key = rows.make_url_key(secret)
        self.links = PostgresLinks(self._query_connection, secret, self._run_in_transaction)
        self.cut_offs = PostgresCutOffs(self._query_connection, self._run_in_transaction, clock, self._run_requeue)
        self._writer = Writer(secret, self._visited_filter, self._write_rules)
        self._worker = Worker(self._write_connection, config, clock, self._pace_rules)
        self._window = Window(self._worker, self._schedule, self._writer, clock, config.window_hosts)
        connections = Connections(self._query_connection, self._write_connection)
        self._frontier = Frontier(
            self._worker, self._window, self._schedule, connections, config, clock=clock, on_failure=self._fail
        )
        self._heartbeat = Heartbeat(
            self._worker, self._window, self._frontier, self._write_connection, config, clock=clock
        )
        callbacks = CommitCallbacks(self._on_written, self._frontier.rejoin, self._fail)
        self._group_commit = GroupCommit(self._worker, self._writer, self._schedule, config, clock, callbacks=callbacks)

    async def _join(self) -> None:
        now = self._clock.now()
        await correct_clock_rollback(self._query_connection, now)
        await self._query_connection.set_on_connect(self._frontier.listen)
        await self._write_connection.open()
        await self._write_connection.run_idempotent(self._worker.register)
        await self._write_connection.set_on_connect(self._on_reconnect)
        created = repr(now).encode()
        await self._query(lambda db: db.execute(queries()["meta_begin"], "created_at", created))
        self._dead_worker_count = await self.recover()
        await self._heartbeat.update_peers()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run_heartbeat()), loop.create_task(self._watch_outage())]

    async def _on_reconnect(self, db: Connection) -> None:
        """Called first on each new connection for writing."""
        await self._window.reconcile(db)
        self._frontier.wake_waiters()

    # -- the frontier ---------------------------------------------------------------------------------------

    async def admit(self, candidates: Sequence[Candidate], via: int | None = None) -> Admission:
        self._raise_if_failed()
        return await self._group_commit.submit(PendingCommit(Batch(candidates, via, 0)))

    async def claim(self) -> Claim | None:
        self._raise_if_failed()
        claim = await self._frontier.claim()
        if claim is None:
            self._raise_if_failed()  # the claim may have failed because of the server
        return claim

    async def wait_for_work(self, timeout_seconds: float) -> None:
        self._raise_if_failed()
        await self._frontier.wait_for_work(timeout_seconds)

    async def commit(self, visit: Visit) -> Admission:
        self._raise_if_failed()
        return await self._group_commit.submit(PendingCommit.from_visit(visit, self._frontier.end_claim(visit.claim)))

    async def release(self, claim: Claim) -> None:
        self._frontier.release(claim)

    def next_claim_at(self) -> float | None:
        return self._frontier.next_claim_at()

    def lost_file(self) -> str:
        return ""  # there is no file

    @property
    def is_unavailable(self) -> bool:
        return self._write_connection.is_unavailable or self._query_connection.is_unavailable

    def counts(self) -> Counts:
        return rows.counts_from_tally(self._tally)

    def _on_written(self, result: WriteResult) -> None:
        """Called when a group is durable, while this process still uses the connection."""
        self._tally.update(result.tally)
        self._frontier.add_tasks(result.arrivals)
        if result.admitted.has_new_work:
            self._frontier.notify_workers()

    # -- heartbeat ------------------------------------------------------------------------------------------

    @property
    def shared_server(self) -> SharedServer:
        return self

    def peers(self) -> Peers:
        return self._heartbeat.peers

    def set_cut_off_check(self, is_cut_off: Callable[[], bool]) -> None:
        self._heartbeat.is_cut_off = is_cut_off

    async def clock_offset_seconds(self) -> float:
        return await self._query_connection.run_idempotent(lambda db: schema.clock_offset_seconds(db, self._clock))

    async def _run_heartbeat(self) -> None:
        try:
            await self._heartbeat.run(self.recover, self._update_counts)
        except Exception as error:
            self._fail(error)

    async def _watch_outage(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_LOOP_SECONDS / 2)
            if self._write_connection.is_unavailable:
                self._group_commit.abandon_expired(self._clock.now())

    async def _update_counts(self) -> None:
        """Read the counts of all workers.

        A write that is in progress adds its own counts at its end, so none is counted twice.
        """

        async def read(db: Connection) -> None:
            self._tally = Counter(await read_tally(db))

        await self._worker.run_between_writes(read)

    # -- the outbox -----------------------------------------------------------------------------------------

    async def events(self, after: int, limit: int) -> list[Event]:
        return await self._checked_reader.events(after, limit)

    async def subscribe(self, sink: str) -> Cursor:
        await self._query(lambda db: db.execute(queries()["cursor_begin"], sink))
        row = await self._query(lambda db: db.fetchrow(queries()["cursor_get"], sink))
        assert row is not None
        return Cursor(row["seq"], row["position"])

    async def advance(self, sink: str, cursor: Cursor) -> None:
        await self._query(lambda db: db.execute(queries()["cursor_put"], sink, cursor.seq, cursor.position))

    async def is_leader(self, sink: str) -> bool:
        self._raise_if_failed()
        return await self._leader.acquire(sink)

    # -- reports -------------------------------------------------------------------------------------------

    async def status(self) -> Status:
        return await self._checked_reader.status(self._clock.now(), self._worker.id)

    async def url_history(self, url: str) -> UrlHistory | None:
        return await self._checked_reader.url_history(url, rows.url_origin(url))

    async def host(self, origin: str) -> HostRecord | None:
        return await self._checked_reader.host(origin)

    async def canonical_copy(self, url: str) -> CanonicalCopy | None:
        return await self._checked_reader.canonical_copy(url)

    async def due_tasks(self, limit: int) -> DueTasks:
        return await self._checked_reader.due_tasks(self._clock.now(), limit)

    def pages(self, page_filter: PageFilter) -> AsyncIterator[Page]:
        return self._checked_reader.pages(page_filter)

    def dead_letters(self) -> AsyncIterator[DeadLetterRecord]:
        return self._checked_reader.dead_letters()

    async def replay(self, urls: Sequence[str] | None, *, needs_browser: bool = False) -> int:
        now = self._clock.now()
        wanted = list(urls) if urls is not None else None
        return await self._run_requeue(now, lambda part, db, above: part.replay(db, above, wanted, needs_browser))

    async def requeue(self, candidates: Sequence[Candidate]) -> int:
        now, url_key = self._clock.now(), self._url_key
        return await self._run_requeue(now, lambda part, db, above: part.requeue(db, above, candidates, url_key))

    async def unpark(self, causes: Sequence[str]) -> int:
        wanted = list(causes)
        return await self._run_requeue(self._clock.now(), lambda part, db, above: part.unpark(db, above, wanted))

    async def start_recrawl(self, now: float) -> int:
        await self._run_in_transaction(lambda db: requeue.begin_round(db, now))
        return await self._run_requeue(now, lambda part, db, above: part.requeue_settled(db, above))

    async def _run_requeue(self, now: float, run_step: RunStep) -> int:
        requeued = await requeue.run_steps(
            self._run_in_transaction,
            lambda: requeue.RequeueStep(self._worker.id, self._schedule.host_ids, now),
            run_step,
        )
        await self._update_counts()
        self._frontier.reload()
        self._frontier.notify_workers()
        return requeued

    async def recover(self) -> int:
        """Release the hosts of dead workers. Returns the number of workers, including those found when the database was
        opened."""
        found = self._dead_worker_count + await self._run_in_transaction(self._worker.recover)
        self._dead_worker_count = 0
        return found

    async def find_problems(self) -> list[str]:
        """See `Database`. For a large database, use one that was opened read-only, which has no time limit."""
        return await self._query(find_problems)

    # -- administration -------------------------------------------------------------------------------------

    async def set_meta(self, name: str, value: bytes) -> None:
        await self._query(lambda db: db.execute(queries()["meta_put"], name, value))

    async def compare_and_set_meta(self, name: str, expected: bytes | None, value: bytes) -> bool:
        return bool(await self._query(lambda db: db.fetchval(queries()["meta_swap"], name, expected, value)))

    async def get_meta(self, name: str) -> bytes | None:
        return await self._checked_reader.get_meta(name)

    async def close(self) -> None:
        """Release everything. Commits that still wait for their group fail, and their tasks can be claimed again."""
        if self._is_closed:
            return
        self._is_closed = True
        self._fail(DatabaseUnusable("the database is closed"))
        for task in self._tasks:
            task.cancel()
        await self._leader.close()
        if self._write_connection.is_unavailable:
            await self._write_connection.close()  # this ends the calls that wait for the connection
        await self._group_commit.close(CLOSE_SECONDS)
        await self._frontier.close()
        is_gone = self.is_unavailable
        if not self._read_only:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._leave()
            except Exception as error:  # other workers will release our hosts
                is_gone |= isinstance(error, TimeoutError)
        await self._write_connection.close(is_unresponsive=is_gone)
        await self._query_connection.close(is_unresponsive=is_gone)
        if self._visited_filter is not None:
            await self._visited_filter.close()

    async def _leave(self) -> None:
        if not self._write_connection.is_unavailable:
            async with self._write_connection.use() as db:
                await self._window.release_hosts(db, self._schedule.all_hosts(self._clock.now()))
            await self._worker.write(wrap_plain_write(self._worker.unregister))

    async def _run_in_transaction(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        while True:
            self._raise_if_failed()
            try:
                return await self._worker.write(wrap_plain_write(work))
            except WorkerEnded as error:
                await self._frontier.rejoin(error.worker_id)

    async def _query(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        self._raise_if_failed()
        return await self._query_connection.run_idempotent(work)

    @property
    def _checked_reader(self) -> Reader:
        self._raise_if_failed()
        return self._reader

    def _raise_if_failed(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: BaseException) -> None:
        """Make every later call raise this error. Committed work is kept."""
        if self._failure is None:
            self._failure = error
        self._group_commit.fail(self._failure)
        self._frontier.wake_waiters()
